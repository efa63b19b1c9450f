"""The people of the demo: forty made-up households, each with its own meter readings, price and wish for privacy.

Daily loads follow one weather (a winter that turns to summer), a week, and each household's own size, habits and
accidents. Prices are what each would really want to be paid at least; what the market believes beforehand is that they
lie anywhere between nothing and five euros.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kantor.owners.distributions import Vector

__all__ = ["DAYS", "HIGH", "Household", "households", "write_series"]

DAYS = 182
HIGH = 40.0
"""kWh a day that no household can exceed: its fuse, not its data."""
_SEED = 20261120


@dataclass(frozen=True)
class Household:
    """One owner: its readings in kWh a day, the least it wants (in cents), and the epsilon it insists on."""

    name: str
    loads: Vector
    price: int
    epsilon: int


def households(count: int = 40) -> list[Household]:
    """The same ones every time."""
    rng = np.random.default_rng(_SEED)
    day = np.arange(DAYS)
    weather = 3.0 * np.cos(np.pi * day / DAYS) + _smooth(rng.normal(0, 1.2, DAYS))
    weekend = np.where(day % 7 >= 5, 0.9, 0.0)
    found = []
    for number in range(1, count + 1):
        size, heating, habit = rng.uniform(5.0, 14.0), rng.uniform(0.2, 1.8), rng.gamma(6.0, 1 / 6.0, DAYS)
        loads = np.clip((size + heating * weather + weekend) * habit, 0.3, HIGH)
        price, epsilon = int(rng.integers(20, 480)), int(rng.choice([6, 10, 16, 24]))
        found.append(Household(f"household-{number:02}", np.round(loads, 2), price, epsilon))
    return found


def _smooth(values: Vector) -> Vector:
    return np.convolve(values, np.ones(5) / 5, mode="same")


def write_series(household: Household, folder: Path) -> Path:
    """A household's meter readings as a file of its own."""
    file = folder / f"{household.name}.csv"
    rows = "\n".join(f"{value:.2f}" for value in household.loads)
    file.write_text(f"kwh\n{rows}\n", encoding="utf-8")
    return file
