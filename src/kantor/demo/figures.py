"""What the demo can say because it knows everybody's data, which nobody in the market does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from kantor.delivery.money import Currency
from kantor.demo.drawing import Curve, Dot, curves, scatter, timeline
from kantor.demo.scene import STAGES
from kantor.demo.story import Told
from kantor.owners.distributions import Vector
from kantor.valuation.wasserstein import wasserstein

__all__ = ["Figures"]


@dataclass(frozen=True)
class Figures:
    """Numbers and drawings of a told story."""

    told: Told

    @property
    def money(self) -> Currency:
        """The market's currency."""
        return Currency(self.told.terms["currency"], self.told.terms["digits"])

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """Every owner's line of the outcome, with its household's name, the cheapest winners first."""
        named = [{**row, "name": self.told.names[row["owner"]]} for row in self.told.outcome["bids"]]
        return sorted(named, key=lambda row: (not row["selected"], row["name"]))

    @property
    def winners(self) -> list[dict[str, Any]]:
        """The lines of those who were bought."""
        return [row for row in self.rows if row["selected"]]

    @cached_property
    def _loads(self) -> dict[str, Vector]:
        return {person.name: person.loads for person in self.told.people}

    @cached_property
    def target(self) -> Vector:
        """The average household, day by day: what nobody has ever seen."""
        return np.asarray(np.mean(list(self._loads.values()), axis=0))

    @cached_property
    def purchase(self) -> Vector:
        """What the buyer received."""
        table = pl.read_csv(self.told.folder / "purchase" / "aggregate.csv")
        return table.get_column("value").to_numpy().astype(float)

    @cached_property
    def without_noise(self) -> Vector:
        """The same owners' mean, had they added no noise."""
        return np.asarray(np.mean([self._loads[row["name"]] for row in self.winners], axis=0))

    @property
    def off(self) -> float:
        """How far the purchase really lies from the target."""
        return float(wasserstein(self.purchase, self.target))

    @property
    def off_without_noise(self) -> float:
        """How far it would lie without noise."""
        return float(wasserstein(self.without_noise, self.target))

    @property
    def bound(self) -> float:
        """What the market held possible, at its confidence."""
        return float(self.told.manifest["bound"])

    @property
    def spend(self) -> int:
        """What was paid."""
        return int(self.told.outcome["spend"])

    def who(self) -> str:
        """Price against distance."""
        dots = [Dot(float(row["total"]), row["reserve"] / 100, row["selected"], self._about(row)) for row in self.rows]
        labels = ("distance from the average household, noise included (kWh a day)", f"asked for ({self.money.code})")
        return scatter(dots, labels, "Price against distance of every owner")

    def _about(self, row: dict[str, Any]) -> str:
        end = f"paid {self.money.show(row['payment'])}" if row["selected"] else "not bought"
        return (
            f"{row['name']}: distance {row['total']}, asked {self.money.show(row['reserve'])}, "
            f"epsilon {row['epsilon']}, {end}"
        )

    def quantiles(self) -> str:
        """The distribution that was bought against the one that was wanted."""
        levels = np.linspace(0.01, 0.99, 99)
        known = [
            ("the average household (never shown to anybody)", self.target, "truth"),
            ("bought: the winners' mean, with their noise", self.purchase, "got"),
            ("the same without noise", self.without_noise, "clean"),
        ]
        places = (100 * levels).tolist()
        lines = [Curve(name, places, np.quantile(data, levels).tolist(), style) for name, data, style in known]
        return curves(lines, ("share of days below, %", "kWh a day"), "Quantiles of what was bought and of the target")

    def stages(self) -> str:
        """How long each stage took."""
        reached = self.told.scene.reached
        order = [stage for stage in STAGES if stage in reached]
        spans = [(stage, reached[stage], reached[after]) for stage, after in pairwise(order) if stage != "draft"]
        return timeline(spans, "How long each stage took")
