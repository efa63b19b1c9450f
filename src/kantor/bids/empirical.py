"""Survey answers as a prior: what people said they would ask for, taken as it stands.

The paper's prior "could be obtained through willingness-to-pay estimates from, for example, stated preference survey
studies". With answers x_1 <= ... <= x_n the cost of buying from the k cheapest of n is R(k/n) = (k/n) x_k, a handful of
points; the slope of their lower convex hull is the virtual cost of the answers below it. Two answers 1 and 2 give
R = 0, 1/2, 2 at q = 0, 1/2, 1 and virtual costs 1 and 3: to win the second owner as well, a buyer who must pay both
the same pays 3 more.

Nobody asked everybody. A price below all answers counts as itself (F = 0), a price above them all cannot be weighed
against anything and is never bought (F = 1 and f = 0, so psi is infinite); neither is an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kantor.bids.ironing import Interval, lower_hull
from kantor.errors import InputError
from kantor.owners.distributions import Vector
from kantor.owners.samples import as_sample

__all__ = ["EmpiricalCosts", "EmpiricalPrior"]


@dataclass(frozen=True, init=False, repr=False)
class EmpiricalPrior:
    """The prior in which each answer is equally likely. One answer is a point mass, and psi(theta) = theta there.

    >>> EmpiricalPrior([2.0, 1.0]).ppf([0.5, 1.0]).tolist()
    [1.0, 2.0]
    """

    answers: tuple[float, ...]
    _ordered: Vector = field(compare=False)

    def __init__(self, answers: Any) -> None:
        ordered = np.sort(as_sample(answers, argument="answers")) + 0.0
        if ordered[0] < 0:
            raise InputError(
                f"an answer is {ordered[0]}",
                remedy="Reserve prices are at least 0: leave the answer out.",
                value=ordered[0],
                argument="answers",
            )
        ordered.flags.writeable = False
        object.__setattr__(self, "answers", tuple(ordered.tolist()))
        object.__setattr__(self, "_ordered", ordered)

    def __repr__(self) -> str:
        return f"EmpiricalPrior({len(self.answers)} answers from {self.answers[0]:g} to {self.answers[-1]:g})"

    def cdf(self, x: Any) -> Vector:
        """The share of answers up to x."""
        return np.searchsorted(self._ordered, x, side="right") / self._ordered.size

    def sf(self, x: Any) -> Vector:
        """The share of answers above x."""
        return 1.0 - self.cdf(x)

    def ppf(self, q: Any) -> Vector:
        """The least answer that at least a share q does not exceed."""
        size = self._ordered.size
        place = np.ceil(np.asarray(q, dtype=np.float64) * size * (1.0 - 1e-15)) - 1
        return self._ordered[np.clip(place, 0, size - 1).astype(np.int64)]

    def isf(self, q: Any) -> Vector:
        """`ppf` counted from the upper end."""
        return self.ppf(1.0 - np.asarray(q, dtype=np.float64))

    def mean(self) -> float:
        """The mean answer."""
        return float(self._ordered.mean())

    def support(self) -> tuple[float, float]:
        """The least and the largest answer."""
        return self.answers[0], self.answers[-1]

    def rvs(self, size: Any = 1, random_state: Any = None) -> Vector:
        """Answers, drawn with replacement."""
        return np.random.default_rng(random_state).choice(self._ordered, size=size)


@dataclass(frozen=True)
class EmpiricalCosts:
    """Virtual costs of survey answers: a staircase."""

    prior: EmpiricalPrior

    @property
    def lower(self) -> float:
        """The least price that can be asked for."""
        return 0.0

    @property
    def upper(self) -> float:
        """The highest price that can ever be paid, the largest answer."""
        return self.prior.answers[-1]

    @property
    def highest(self) -> float:
        """The highest price that may be asked for; above `upper` it is never bought."""
        return float("inf")

    @property
    def regular(self) -> bool:
        """Whether the hull passes through every answer."""
        return not self.ironed

    @property
    def flat(self) -> bool:
        """A staircase: always."""
        return True

    @property
    def ironed(self) -> tuple[Interval, ...]:
        """Where several different answers count with one virtual cost."""
        highs, costs = self._steps
        ordered = self.prior._ordered  # noqa: SLF001  the same answers, as an array
        before = np.concatenate([[0], np.searchsorted(ordered, highs, side="right")])
        return tuple(
            Interval(float(ordered[a]), float(high), float(cost))
            for a, high, cost in zip(before[:-1], highs, costs, strict=True)
            if ordered[a] < high
        )

    @cached_property
    def _steps(self) -> tuple[Vector, Vector]:
        """The upper end of each step, and its virtual cost: the slope of the hull of (k/n, k x_k / n)."""
        ordered = self.prior._ordered  # noqa: SLF001
        ranks = np.arange(ordered.size + 1, dtype=np.float64)
        spends = ranks * np.concatenate([[0.0], ordered])
        corners = lower_hull(ranks, spends)
        costs = np.diff(spends[corners]) / np.diff(ranks[corners])
        return ordered[corners[1:] - 1], np.maximum.accumulate(np.maximum(costs, ordered[corners[:-1]]))

    def cost(self, theta: Any) -> Vector:
        """psi(theta), ironed; infinite above the largest answer."""
        prices = np.asarray(theta, dtype=np.float64)
        highs, costs = self._steps
        step = np.searchsorted(highs, prices, side="left")
        return np.where(prices < self.prior.answers[0], prices, np.append(costs, np.inf)[step])

    def inverse(self, cost: Any) -> Vector:
        """The highest price with a virtual cost of at most this."""
        limits = np.asarray(cost, dtype=np.float64)
        highs, costs = self._steps
        step = np.searchsorted(costs, limits, side="right")
        below = np.clip(limits, 0.0, self.prior.answers[0])
        return np.where(np.isnan(limits), np.nan, np.where(step == 0, below, highs[np.maximum(step - 1, 0)]))
