"""What comes out of a clearing: who was bought, what each is paid, and what is proved about it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from math import fsum, inf, isfinite
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from kantor.bids.bids import Bids
from kantor.clearing.outcome_text import proof, summary
from kantor.owners.distributions import Vector
from kantor.valuation.hoeffding import Population, hoeffding_bound

if TYPE_CHECKING:
    import polars as pl

    from kantor.clearing.mechanisms import Mechanism

__all__ = ["Clearing", "Decision", "Flags", "Payments", "Rules"]

Payments: TypeAlias = Literal["threshold", "virtual", "clock"]
Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How a clearing was asked for: everything but the bids."""

    mechanism: Mechanism
    confidence: float
    population: Population
    population_size: int
    payments: str
    """"threshold", "virtual" or "clock"; "own" where the mechanism has a rule of its own."""
    solver: str
    work_limit: int | None = None

    def loss(self, distances: Vector) -> float:
        """V of the owners at these distances: K times their Hoeffding bound; what nothing costs for nobody."""
        if distances.size == 0:
            return self.mechanism.nothing
        bound = hoeffding_bound(distances, self.population_size, self.confidence, self.population)
        return float(self.mechanism.lipschitz) * bound

    def as_dict(self) -> dict[str, Any]:
        """Plain data, enough to clear again."""
        return {
            **self.mechanism.as_dict(),
            "confidence": self.confidence,
            "population": self.population,
            "population_size": self.population_size,
            "payments": self.payments,
            "solver": self.solver,
            "work_limit": self.work_limit,
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Decision:
    """What a mechanism decides, in the order of the bids. Only the first two have to be stated."""

    selected: Any
    """Who is bought, as booleans."""
    payments: Any
    """What each owner is paid; 0 for those who are not bought."""
    bound: float | None = None
    """K times the coalition's bound; computed from its distances (Theorem 2) if not stated."""
    objective: float | None = None
    """What was minimised; the bound if not stated."""
    lower_bound: float = -inf
    """What the objective was proved not to fall below."""
    critical: Any = None
    """The highest price at which each winner would still have been bought, as far as known."""
    truthful: bool = False
    """Whether the mechanism claims that no owner gains by another price."""
    nodes: int = 0
    """How much work it was."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Clearing:
    """A coalition, its payments, and the proof; arrays follow the order of the bids."""

    bids: Bids
    rules: Rules
    selected: Flags
    payments: Vector
    """What each owner is paid; 0 for those not bought."""
    critical: Vector
    """The highest price at which each winner would still have been bought; NaN where unknown and for losers."""
    bound: float
    """K times the coalition's bound; the reference loss (infinity for Exogenous) where nothing is bought."""
    objective: float
    lower_bound: float
    truthful: bool
    """Whether no owner gains by another price: proved critical payments, or a clock's offers."""
    nodes: int = 0

    @property
    def gap(self) -> float:
        """(objective - lower bound) / max(1, |objective|); exactly 0 where the allocation is proved to 1e-12."""
        if self.objective == self.lower_bound:
            return 0.0
        if self.objective == inf:
            return inf
        gap = (self.objective - self.lower_bound) / max(1.0, abs(self.objective))
        return 0.0 if gap <= 1e-12 else gap

    @cached_property
    def spend(self) -> float:
        """The sum of the payments."""
        return fsum(self.payments.tolist())

    @property
    def size(self) -> int:
        """How many owners are bought."""
        return int(self.selected.sum())

    def to_frame(self) -> pl.DataFrame:
        """A row for each owner: owner, selected, payment, distance, reserve, virtual."""
        import polars as pl

        bids = self.bids
        return pl.DataFrame(
            {
                "owner": bids.owner,
                "selected": self.selected,
                "payment": self.payments,
                "distance": bids.distance,
                "reserve": bids.reserve,
                "virtual": bids.virtual,
            }
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data with every parameter and prior; infinity is None."""
        return {
            **self.rules.as_dict(),
            "bids": self.bids.hash,
            "priors": self.bids.priors.describe(),
            "bound": _plain(self.bound),
            "objective": _plain(self.objective),
            "lower_bound": _plain(self.lower_bound),
            "gap": _plain(self.gap),
            "truthful": self.truthful,
            "spend": self.spend,
            "size": self.size,
            "owners": [
                {name: _plain(value) for name, value in row.items()} for row in self.to_frame().iter_rows(named=True)
            ],
        }

    def to_json(self) -> str:
        """The same as JSON text."""
        return json.dumps(self.as_dict())

    def __repr__(self) -> str:
        return (
            f"Clearing({self.size} of {len(self.bids)} owners bought for {self.spend:.6g}, "
            f"bound {self.bound:.6g}, objective {self.objective:.6g}, {self.proof})"
        )

    @property
    def proof(self) -> str:
        """What is known of the objective, in a few words."""
        return proof(self)

    def __str__(self) -> str:
        return summary(self)

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>{self.to_frame().head(50)._repr_html_()}"


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not isfinite(value) else value
