"""A descending clock: prices that are truthful and never over budget, whatever the owners ask.

Threshold payments keep the budget in expectation only. Where a budget is hard, the clock is used instead. Every
owner sees an offer psi_i^-1((z - a_i) / mu), which falls with z, and leaves when it falls below its reserve; that is,
it stands while its key a_i + mu psi_i is at most z. The clock stops as soon as the offers to those who stand fit the
budget (for Endogenous and Joint: as soon as their loss V and the offers together fit the reference loss), and pays the
offers. A winner's own report moves neither its offer nor the stop while it stands, so nothing is gained by another one.

mu, the weight of money against distance, is fixed before any price is known: it is the one that does best on draws
from the priors. The clock claims no optimality.
"""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from kantor.bids.bids import Bids
from kantor.clearing.problem import Places, Problem
from kantor.owners.distributions import Vector

__all__ = ["clock", "clock_weight"]

_DRAWS = 8
_OWNERS = 2000


def clock(bids: Bids, problem: Problem, order: Places) -> tuple[Places, Vector]:
    """Those who stand when the clock stops, as places in canonical order, and the offers that they are paid.

    `order` takes canonical places to rows of the bids.
    """
    mu = clock_weight(bids, problem, order)
    return _Clock(bids, problem, order, mu).stop()


class _Clock:
    """The market at any z."""

    def __init__(self, bids: Bids, problem: Problem, order: Places, mu: float) -> None:
        self.bids, self.problem, self.order, self.mu = bids, problem, order, mu
        with np.errstate(invalid="ignore"):
            keys = problem.squares + mu * problem.costs
        finite = np.flatnonzero(np.isfinite(keys))
        self.ranked = finite[np.argsort(keys[finite], kind="stable")]
        self.keys = keys[self.ranked]
        self.totals = np.cumsum(problem.squares[self.ranked])
        self.ends = np.append(np.flatnonzero(np.diff(self.keys) > 0), self.keys.size - 1) if self.keys.size else []

    def offers(self, count: int, z: float) -> Vector:
        """What the first `count` owners are offered at z; never below their reserve, never above the prior's end."""
        rows = self.order[self.ranked[:count]]
        offered = self.bids.priors.inverse((z - self.problem.squares[self.ranked[:count]]) / self.mu, rows)
        return np.maximum(offered, self.bids.reserve[rows])

    def loss(self, count: int) -> float:
        """The part of the limit that their loss takes."""
        if self.problem.kind == "exogenous":
            return 0.0
        return float(self.problem.coefficients[count]) * sqrt(float(self.totals[count - 1]))

    def fits(self, count: int, z: float) -> bool:
        """Whether offers and loss are within the limit."""
        return self.loss(count) + float(self.offers(count, z).sum()) <= self.problem.limit

    def stop(self) -> tuple[Places, Vector]:
        """From the top: the largest group that fits at the z at which its last member would leave."""
        at = self._largest(0, len(self.ends) - 1)
        if at is None:
            return self.ranked[:0], np.empty(0)
        count = int(self.ends[at]) + 1
        low = float(self.keys[count - 1])
        high = float(self.keys[count]) if count < self.keys.size else inf
        z = self._highest(count, low, high)
        return self.ranked[:count], self.offers(count, z)

    def _largest(self, first: int, last: int) -> int | None:
        """The last of the groups first..last that fits. Offers fall and losses rise as the group shrinks."""
        stack = [(first, last)]
        while stack:
            low, high = stack.pop()
            if low > high:
                continue
            most, least = int(self.ends[high]) + 1, int(self.ends[low]) + 1
            cheapest = float(self.offers(least, float(self.keys[least - 1])).sum())
            if min(self.loss(most), self.loss(least)) + cheapest > self.problem.limit and self._loss_falls(least, most):
                continue
            if low == high:
                if self.fits(least, float(self.keys[least - 1])):
                    return low
                continue
            middle = (low + high) // 2
            stack.extend([(low, middle), (middle + 1, high)])
        return None

    def _loss_falls(self, least: int, most: int) -> bool:
        """Whether no group between the two has a smaller loss than the smaller of theirs."""
        if self.problem.kind == "exogenous":
            return True
        sizes = np.arange(least, most + 1)
        losses = self.problem.coefficients[sizes] * np.sqrt(self.totals[sizes - 1])
        return bool(losses.min() >= min(self.loss(least), self.loss(most)))

    def _highest(self, count: int, low: float, high: float) -> float:
        """The highest z below `high` at which this group fits, to the last bit: where the falling clock stops."""
        if high == inf:
            top = float((self.problem.squares[self.ranked[:count]] + self.mu * self._dearest(count)).max())
            if self.fits(count, top):
                return top
            high = top
        for _ in range(200):
            middle = low + 0.5 * (high - low)
            if not low < middle < high:
                break
            low, high = (middle, high) if self.fits(count, middle) else (low, middle)
        return low

    def _dearest(self, count: int) -> Vector:
        highest = self.bids.priors.highest[self.order[self.ranked[:count]]]
        return np.where(np.isfinite(highest), highest, 1e6 * (1 + self.problem.limit))


def clock_weight(bids: Bids, problem: Problem, order: Places) -> float:
    """The weight from the priors and the distances alone: the one whose prefixes do best on eight draws of all prices.

    Markets of more than 2,000 owners are represented by a strided selection by distance, each standing for many.
    """
    by_distance = np.lexsort((order, problem.squares))
    step = max(1, by_distance.size // _OWNERS)
    some = by_distance[step // 2 :: step]
    rows = order[some]
    rng = np.random.default_rng(20240101)
    prices = bids.priors.take(rows).rvs(rng, _DRAWS)
    costs = np.stack([bids.priors.virtual(row, rows) for row in prices])
    a = problem.squares[some]
    finite = costs[np.isfinite(costs)]
    typical = float(finite.mean()) if finite.size and finite.mean() > 0 else 1.0
    scale = float(a.mean()) / typical if a.any() else 1.0 / typical
    weights = scale * 10.0 ** np.linspace(-4, 4, 33)
    scores = [np.mean([_score(problem, a, row, mu, step) for row in costs]) for mu in weights]
    return float(weights[int(np.argmin(scores))])


def _score(problem: Problem, a: Vector, p: Vector, mu: float, step: int) -> float:
    """The best objective among the prefixes by a + mu p, each owner standing for `step`; a large one for nothing."""
    order = np.argsort(np.where(np.isfinite(p), a + mu * p, inf), kind="stable")
    total, spend = step * np.cumsum(a[order]), step * np.cumsum(p[order])
    sizes = np.minimum(step * np.arange(1, a.size + 1), problem.coefficients.size - 1)
    loss = problem.coefficients[sizes] * np.sqrt(total)
    used = spend if problem.kind == "exogenous" else loss + spend
    value = loss + spend if problem.kind == "joint" else loss
    allowed = value[used <= problem.limit]
    nothing = problem.limit if problem.kind != "exogenous" else float(problem.coefficients[1] * np.sqrt(total[-1]) + 1)
    return float(allowed.min()) if allowed.size else nothing
