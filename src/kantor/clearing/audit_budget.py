"""Is the budget kept? Once, in this clearing, and on average, over what owners could have asked for.

The paper promises budget feasibility in expectation over the priors (section 3.2), so that one dear clearing breaks
nothing. The expectation is estimated: reserve prices of all owners are drawn, the market cleared, and what it uses
beyond its limit averaged. The promise counts as broken only where the whole interval lies above 0. Intervals are
Student's, and a few draws of a rare large overrun would mislead them: the share of draws that overspent stands beside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nan, sqrt
from typing import Any

import numpy as np
import scipy

from kantor.clearing.audit_case import Case, spend_of
from kantor.owners.distributions import Vector

__all__ = ["Draws", "Estimate", "draw", "estimate"]


@dataclass(frozen=True)
class Estimate:
    """A mean over draws, and the interval within which the expectation lies with the audit's confidence."""

    mean: float
    low: float
    high: float
    draws: int

    def __str__(self) -> str:
        return f"{self.mean:.6g} ({self.low:.6g} to {self.high:.6g}, {self.draws} draws)"

    def as_dict(self) -> dict[str, Any]:
        """Plain data; what is not known is None."""
        parts = {"mean": self.mean, "low": self.low, "high": self.high}
        return {**{name: part if np.isfinite(part) else None for name, part in parts.items()}, "draws": self.draws}


@dataclass(frozen=True)
class Draws:
    """What clearings over the priors spend, and use beyond their limit."""

    spend: Estimate
    excess: Estimate
    overspent: float
    """The share of draws beyond the limit; not a broken promise, since the promise is one on average."""


def draw(case: Case, count: int, confidence: float, rng: np.random.Generator, done: Callable[[], None]) -> Draws:
    """Clear `count` markets of the same owners at prices drawn from their priors."""
    priors = case.bids.priors
    spends, excesses = np.empty(count), np.empty(count)
    for place in range(count):
        prices = np.clip(priors.rvs(rng), priors.lower, priors.highest)
        outcome = case.clear(case.bids.replace(reserve=prices))
        spends[place], excesses[place] = spend_of(outcome), case.excess(outcome)
        done()
    beyond = float(np.mean(excesses > case.tolerance)) if count else nan
    return Draws(estimate(spends, confidence), estimate(excesses, confidence), beyond)


def estimate(values: Vector, confidence: float) -> Estimate:
    """Mean and Student's interval; with fewer than two values nothing is known."""
    if values.size < 2:
        return Estimate(float(values.mean()) if values.size else nan, -inf, inf, values.size)
    if not np.isfinite(values).all():
        return Estimate(float(values[0]), -inf, inf, values.size)
    mean, error = float(values.mean()), float(values.std(ddof=1)) / sqrt(values.size)
    reach = error * float(scipy.stats.t.ppf(0.5 + confidence / 2, values.size - 1))
    return Estimate(mean, mean - reach, mean + reach, values.size)
