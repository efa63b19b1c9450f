"""Purchases in many trials at once, by looking at every coalition.

Clearing one market is `kantor.clear`. Here hundreds of small markets are cleared for every point of a curve, so they
stand in tables (a row for each trial, a column for each coalition), and a mechanism is what it minimises and what it
allows. tests/studies/test_buying.py plays the tables against `kantor.clear` and `kantor.baselines`, market by market.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kantor.owners.distributions import Vector
from kantor.studies.populations import Population
from kantor.valuation.hoeffding import Correction, coefficient
from kantor.valuation.hoeffding import Population as Kind

__all__ = ["CONFIDENCE", "KINDS", "Purchases", "bounds", "buy", "endogenous", "exogenous", "joint", "within"]

Purchases = npt.NDArray[np.int64]
"""The coalition bought in each trial; -1 where nothing is."""

CONFIDENCE = 0.95

KINDS: dict[str, Kind] = {"FIN": "finite", "INF": "infinite"}
"""The bounds by their names in the paper."""


def bounds(
    population: Population,
    alone: Vector,
    kind: Kind = "finite",
    confidence: float = CONFIDENCE,
    correction: Correction = "program",
) -> Vector:
    """The Hoeffding bound of every coalition from its members' distances (FIN, INF)."""
    constant = coefficient(population.sizes, population.owners, confidence, kind, correction)
    return constant * np.sqrt(population.total(alone**2))


def within(spend: Any, limit: Any) -> Any:
    """Whether a sum fits a budget, rounding forgiven; nothing fits where a price is not a number."""
    allowed = np.asarray(limit, dtype=float)
    return np.asarray(spend) <= allowed + 1e-12 * np.maximum(1.0, np.abs(allowed))


def exogenous(loss: Vector, spend: Vector, budget: Any) -> Purchases:
    """Least loss with the spend within the budget."""
    return _least(loss, within(spend, budget))


def endogenous(loss: Vector, spend: Vector, reference: Vector) -> Purchases:
    """Least loss with loss and spend together within the reference loss."""
    return _least(loss, within(loss + spend, reference[:, None]))


def joint(loss: Vector, spend: Vector, reference: Vector) -> Purchases:
    """Least sum of loss and spend, where that is within the reference loss."""
    return _least(loss + spend, within(loss + spend, reference[:, None]))


def _least(objective: Vector, allowed: Any) -> Purchases:
    held = np.where(allowed, objective, np.inf)
    chosen = held.argmin(axis=1)
    return np.where(np.isfinite(held[np.arange(chosen.size), chosen]), chosen, -1)


def buy(values: npt.NDArray[Any], chosen: Purchases, nothing: Any) -> Vector:
    """What the purchases are worth by this table; `nothing` where nothing was bought."""
    return np.where(chosen >= 0, values[np.arange(chosen.size), chosen], nothing)
