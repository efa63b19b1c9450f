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

from math import inf

import numpy as np
import scipy

from kantor.bids.bids import Bids
from kantor.bids.order import by_key
from kantor.clearing.problem import Places, Problem
from kantor.clearing.remembered import remembered
from kantor.owners.distributions import Vector

__all__ = ["clock", "clock_weight"]

_DRAWS = 8
_ROUNDING = 2.3e-16
_OWNERS = 2000


def clock(bids: Bids, problem: Problem) -> tuple[Places, Vector]:
    """Those who stand when the clock stops, as places in canonical order, and the offers that they are paid."""
    return _Clock(bids, problem, clock_weight(bids, problem)).stop()


class _Clock:
    """The market at any z."""

    def __init__(self, bids: Bids, problem: Problem, mu: float) -> None:
        self.bids, self.problem, self.order, self.mu = bids, problem, bids.canonical, mu
        with np.errstate(invalid="ignore", over="ignore"):
            keys = problem.squares + mu * problem.costs
        finite = np.flatnonzero(np.isfinite(keys))
        self.ranked = finite[by_key(keys[finite])]
        self.keys = keys[self.ranked]
        self.ends = np.append(np.flatnonzero(np.diff(self.keys) > 0), self.keys.size - 1)[: self.keys.size]
        self.losses = self._losses(self.ends + 1)
        self.limit = problem.limit * (1 - _ROUNDING * (len(bids) + 16))  # sums of offers round; budgets do not
        self.flat = bool(bids.priors.flat.any())

    def _losses(self, sizes: Places) -> Vector:
        """The part of the limit that each group's loss takes."""
        if self.problem.kind == "exogenous":
            return np.zeros(sizes.size)
        totals = np.cumsum(self.problem.squares[self.ranked])
        return self.problem.coefficients[sizes] * np.sqrt(totals[sizes - 1])

    def offers(self, count: int, z: float) -> Vector:
        """What the first `count` owners are offered at z; never below their reserve, never above the prior's end."""
        rows, squares = self.order[self.ranked[:count]], self.problem.squares[self.ranked[:count]]
        limits = (z - squares) / self.mu
        offered = self.bids.priors.inverse(limits, rows)
        if self.flat and z < inf:
            offered = self._on_flats(rows, squares, limits, z)
        return np.maximum(offered, self.bids.reserve[rows])

    def _on_flats(self, rows: Places, squares: Vector, limits: Vector, z: float) -> Vector:
        """Offers where ranges of prices count alike: the end of a range at whose key an owner stands, to the last bit.

        Rounding in (z - a) / mu must not put an offer at the wrong end.
        """
        priors, rounding = self.bids.priors, 4 * np.finfo(float).eps * (abs(z) + squares) / self.mu
        best = priors.inverse(limits - rounding, rows)
        for level in (limits, limits + rounding):
            higher = priors.inverse(level, rows)
            with np.errstate(over="ignore"):
                best = np.where(squares + self.mu * priors.virtual(higher, rows) <= z, higher, best)
        return best

    def excess(self, group: int, z: float) -> float:
        """By how much a group's offers and loss exceed the limit; never falls as z rises, rounding included."""
        offers = self.offers(int(self.ends[group]) + 1, z)
        return float(self.losses[group]) + float(offers.sum()) - self.limit

    def fits(self, group: int, z: float) -> bool:
        """Whether a group's offers and loss are within the limit."""
        return self.excess(group, z) <= 0

    def stop(self) -> tuple[Places, Vector]:
        """From the top: the largest group that fits at the z at which its last member would leave."""
        group = self._largest(0, self.ends.size - 1)
        if group is None:
            return self.ranked[:0], np.empty(0)
        count = int(self.ends[group]) + 1
        return self.ranked[:count], self.offers(count, self._highest(group))

    def _last(self, group: int) -> float:
        """The z below which the group's last member leaves."""
        return float(self.keys[self.ends[group]])

    def _largest(self, first: int, last: int) -> int | None:
        """The last of the groups first..last that fits; offers fall as the group shrinks, losses may do either."""
        stack = [(first, last)]
        while stack:
            low, high = stack.pop()
            if low > high:
                continue
            cheapest = float(self.offers(int(self.ends[low]) + 1, self._last(low)).sum())
            if float(self.losses[low : high + 1].min()) + cheapest > self.limit:
                continue
            if low == high:
                if self.fits(low, self._last(low)):
                    return low
                continue
            middle = (low + high) // 2
            stack.extend([(low, middle), (middle + 1, high)])
        return None

    def _highest(self, group: int) -> float:
        """The highest z, to the last bit, at which this group stands and fits: where the falling clock stops."""
        low = self._last(group)
        if group + 1 < self.ends.size:
            high = float(self.keys[self.ends[group] + 1])
        elif self.fits(group, inf):
            return inf
        else:
            high = max(2 * low, 1.0)
            while self.fits(group, high):
                low, high = high, 2 * high
        return self._last_that_fits(group, low, high)

    def _last_that_fits(self, group: int, low: float, high: float) -> float:
        """The last z below `high` that fits, if `low` does: near the root first, then bit by bit on both sides of it.

        The very last number is found, because one that depended on where the search began would depend on reports.
        """
        high = max(low, float(np.nextafter(high, -inf)))
        if self.fits(group, high):
            return high
        near = low
        if self.excess(group, high) < inf and self.excess(group, low) < 0:
            near = float(
                scipy.optimize.brentq(lambda z: self.excess(group, z), low, high, xtol=1e-300, rtol=1e-15, disp=False)
            )
        width = np.spacing(near)
        while low < near - width and not self.fits(group, near - width):
            high, width = near - width, 4 * width
        low = max(low, near - width)
        width = np.spacing(near)
        while near + width < high and self.fits(group, near + width):
            low, width = near + width, 4 * width
        high = min(high, near + width)
        while True:
            middle = low + 0.5 * (high - low)
            if not low < middle < high:
                return low
            low, high = (middle, high) if self.fits(group, middle) else (low, middle)


@remembered
def clock_weight(bids: Bids, problem: Problem) -> float:
    """The weight from the priors and the distances alone: the one whose prefixes do best on eight draws of all prices.

    Markets of more than 2,000 owners are represented by a strided selection by distance, each standing for many.
    """
    step = max(1, len(bids) // _OWNERS)
    rows = bids.by_distance[step // 2 :: step]
    rng = np.random.default_rng(20240101)
    prices = bids.priors.take(rows).rvs(rng, _DRAWS)
    costs = np.stack([bids.priors.virtual(row, rows) for row in prices])
    a = bids.distance[rows] ** 2
    finite = costs[np.isfinite(costs)]
    typical = float(finite.mean()) if finite.size and finite.mean() > 0 else 1.0
    scale = float(a.mean()) / typical if a.any() else 1.0 / typical
    weights = scale * 10.0 ** np.linspace(-4, 4, 33)
    scores = [np.mean([_score(problem, a, row, mu, step) for row in costs]) for mu in weights]
    least = min(scores)  # scores have plateaus: rounding must not choose among equals
    return float(weights[int(np.argmax(np.asarray(scores) <= least + 1e-12 * abs(least)))])


def _score(problem: Problem, a: Vector, p: Vector, mu: float, step: int) -> float:
    """The best objective among the prefixes by a + mu p, each owner standing for `step`; a large one for nothing."""
    order = by_key(np.where(np.isfinite(p), a + mu * p, inf))
    total, spend = step * np.cumsum(a[order]), step * np.cumsum(p[order])
    sizes = np.minimum(step * np.arange(1, a.size + 1), problem.coefficients.size - 1)
    loss = problem.coefficients[sizes] * np.sqrt(total)
    used = spend if problem.kind == "exogenous" else loss + spend
    value = loss + spend if problem.kind == "joint" else loss
    allowed = value[used <= problem.limit]
    nothing = problem.limit if problem.kind != "exogenous" else float(problem.coefficients[1] * np.sqrt(total[-1]) + 1)
    return float(allowed.min()) if allowed.size else nothing
