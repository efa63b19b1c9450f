"""A small synthetic population to try things on: the daily consumption of twelve households over a year.

Each household is a type (a flat, a family house, one with a heat pump, one with solar panels, ...) with a base load,
a share that follows the season, days away from home, and its own day-to-day variation. All numbers are made up;
`make_households` makes them again from the seed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl

__all__ = ["HOUSEHOLDS", "make_households"]

HOUSEHOLDS = Path(__file__).with_name("households.csv")
"""Daily consumption in kWh: 365 rows, a column for each household."""

# name: mean load in kWh, seasonal swing as a share of it, day-to-day variation, chance of a day away
_TYPES = {
    "studio": (4.0, 0.10, 0.20, 0.08),
    "flat": (7.0, 0.15, 0.20, 0.04),
    "old flat": (8.5, 0.25, 0.25, 0.04),
    "couple": (9.0, 0.15, 0.22, 0.06),
    "family": (13.0, 0.20, 0.18, 0.03),
    "large family": (17.0, 0.20, 0.20, 0.02),
    "home office": (12.0, 0.18, 0.15, 0.02),
    "heat pump": (16.0, 0.55, 0.22, 0.02),
    "electric car": (18.0, 0.15, 0.45, 0.03),
    "solar roof": (8.0, 0.60, 0.40, 0.03),
    "workshop": (14.0, 0.10, 0.50, 0.15),
    "weekend house": (3.5, -0.30, 0.60, 0.45),
}


def make_households(days: int = 365, seed: int = 2024) -> pl.DataFrame:
    """The population, drawn anew: a frame with a column for each household and a row for each day."""
    import polars as pl

    rng = np.random.default_rng(seed)
    season = np.cos(2 * np.pi * (np.arange(days) - 15) / 365)
    weather = rng.normal(0, 0.08, days)
    columns = {}
    for name, (mean, swing, variation, away) in _TYPES.items():
        load = mean * (1 + swing * (season + weather)) * rng.gamma(variation**-2, variation**2, days)
        columns[name] = np.round(np.where(rng.random(days) < away, 0.25 * mean, load), 2)
    return pl.DataFrame(columns)
