"""Budgets that hold in expectation over the priors: one price of money for the whole market.

As the paper prints them, the exogenous and the endogenous problem bound the *expected* spend,

    exogenous   least E V  subject to  E Psi <= B,
    endogenous  least E V  subject to  E (V + Psi) <= B (buying nothing has V = B).

Both are solved by a multiplier. For a fixed mu the least E (V + mu Psi) is found price by price: it is the joint
problem with costs mu psi, monotone in every price, and priced like it. As mu rises less is spent; the mu to use is the
least at which the expectation meets the budget. It comes from draws of all prices from the priors, and from the
distances: never from the reports, or an owner could move its own price by moving mu.

Virtual costs have heavy tails: those of an exponential prior have no mean at all. But they cost in expectation what
threshold prices cost (Myerson), and an owner's threshold t depends on the other owners' prices only, so that given
these it is paid t F(t) on average. These are averaged over draws, which are spread evenly (a scrambled Sobol sequence)
so that few tell much. Up to twelve owners all coalitions of all draws are listed once; more are solved draw by draw.
Markets of more than 4,000 owners are represented by a strided selection by distance, each standing for many.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import inf, sqrt
from typing import Protocol

import numpy as np
import scipy

from kantor.bids.bids import Bids
from kantor.bids.order import Places
from kantor.bids.priors import Priors
from kantor.clearing.joint import solve_joint
from kantor.clearing.joint_prices import critical_costs_of_joint
from kantor.clearing.outcome import Flags
from kantor.clearing.problem import Allocation, Problem
from kantor.clearing.remembered import remembered
from kantor.owners.distributions import Vector
from kantor.valuation.coalitions import coalition_sizes, subset_sums

__all__ = ["dearest", "multiplier", "with_multiplier"]

_OWNERS = 4000
_SOLVED = 8_192
_LISTED = 12
_CELLS = 1 << 19
_MOST = 1 << 13
_SEED = 20240102
_NEAR, _CLOSE = 1e-2, 1e-6
_FREE = 1e-9
_DEAREST = 1e6


def with_multiplier(problem: Problem, mu: float) -> Problem:
    """The joint problem that clears an interim market: costs count mu times."""
    costs = np.where(problem.costs > dearest(problem), inf, mu * problem.costs)
    return Problem("joint", problem.squares, costs, problem.coefficients, problem.reference)


def dearest(problem: Problem) -> float:
    """The virtual cost above which nobody is bought: a million budgets, so that an only seller's price is finite."""
    return _DEAREST * problem.limit if problem.kind == "exogenous" else inf


@remembered
def multiplier(bids: Bids, problem: Problem) -> float:
    """The least mu at which the expected use of the budget is within it; infinity where no mu is enough.

    Money is never quite free, so that what ties in V goes to the cheaper owner, at a price.
    """
    market = _drawn(bids, problem)
    if problem.kind == "endogenous":
        return _least(market, problem.limit, min(_FREE * market.typical, _FREE), 1.0, 1.0)
    return _least(market, problem.limit, _FREE * market.typical, market.typical, market.typical / _FREE)


def _least(market: _Drawn, limit: float, free: float, high: float, most: float) -> float:
    """The least mu from `free` on at which `used` falls to the limit: nearly, by few draws, and then by all."""

    @cache
    def excess(mu: float, draws: int | None = None) -> float:
        return min(float(market.used(mu, draws).mean()) - limit, 1e300)

    if excess(free) <= 0:
        return free
    few = market.draws // 8
    near = min(_root(lambda mu: excess(mu, few), free, high, most, _NEAR), most) if few else high
    for width in (1.02, 1.2, 4.0):
        low, high = max(near / width, free), min(near * width, most)
        if excess(high) <= 0 < excess(low):
            return _root(excess, low, high, most, _CLOSE)
    return _root(excess, free, min(near, most), most, _CLOSE)


def _root(excess: Callable[[float], float], low: float, high: float, most: float, close: float) -> float:
    """The mu at which the excess is no longer above 0; the most, or infinity, if it always is."""
    if excess(low) <= 0:
        return low
    while excess(high) > 0:
        if high >= most:
            return high if most == 1.0 else inf
        low, high = high, min(4 * high, most)
    while high > 4 * low:
        middle = sqrt(low * high)
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    root = float(scipy.optimize.brentq(excess, low, high, xtol=1e-300, rtol=close, disp=False))
    while excess(root) > 0 and root < high:
        root = min(root * (1 + close), high)
    return root


class _Drawn(Protocol):
    """A market at many draws of all prices."""

    typical: float
    """A multiplier of the right order of magnitude."""

    @property
    def draws(self) -> int:
        """How many."""
        ...

    def used(self, mu: float, draws: int | None = None) -> Vector:
        """What each draw's clearing uses of the limit; of the first draws, or of all."""
        ...


def _drawn(bids: Bids, problem: Problem) -> _Drawn:
    step = max(1, -(-len(bids) // _OWNERS))
    rows = bids.by_distance[step // 2 :: step]
    listed = rows.size <= _LISTED and step == 1
    draws = min(_MOST, _CELLS >> rows.size) if listed else max(16, 1 << int(np.log2(_SOLVED / rows.size)))
    points = scipy.stats.qmc.Sobol(rows.size, rng=np.random.default_rng(_SEED)).random(draws)
    believed = bids.priors.take(rows)
    costs = believed.virtual(believed.quantile(points)) * step
    squares = bids.distance[rows] ** 2 * step
    sizes = np.minimum(step * np.arange(rows.size + 1), problem.coefficients.size - 1)
    market = Problem(problem.kind, squares, costs[0], problem.coefficients[sizes], problem.limit)
    return _Listed(market, costs, believed) if listed else _Solved(market, costs, points, believed, step)


def _typical(squares: Vector, costs: Vector) -> float:
    finite = costs[np.isfinite(costs) & (costs > 0)]
    reach = float(np.sqrt(squares.sum()))
    return reach / float(finite.mean()) if finite.size and reach > 0 else 1.0


class _Listed:
    """Few owners: V of every coalition, and its Psi in every draw."""

    def __init__(self, market: Problem, costs: Vector, believed: Priors) -> None:
        self.typical, self.believed = _typical(market.squares, costs), believed
        roots = np.sqrt(subset_sums(market.squares))
        roots[0] = 1.0
        self.losses = market.coefficients[coalition_sizes(market.squares.size)] * roots
        self.losses[0] = market.reference
        self.spends = np.zeros((costs.shape[0], 1))
        for column in costs.T:
            held = np.where(column > dearest(market), inf, column)[:, None]
            self.spends = np.concatenate([self.spends, self.spends + held], axis=1)
        self.counted, self.dearest = market.kind != "exogenous", dearest(market)
        self.draws = costs.shape[0]

    def used(self, mu: float, draws: int | None = None) -> Vector:
        """What each draw's clearing uses of the limit; of the first draws, or of all."""
        scaled = mu * self.spends[:draws]
        objectives = self.losses + scaled
        used = self.losses[np.argmin(objectives, axis=1)] if self.counted else np.zeros(objectives.shape[0])
        for owner in range(len(self.believed)):
            apart = (self.losses.size >> owner + 1, 2, 1 << owner)
            without = objectives.reshape(-1, *apart)[:, :, 0]
            partners = self.losses.reshape(apart)[:, 1] + scaled.reshape(-1, *apart)[:, :, 0]
            with np.errstate(over="ignore"):
                critical = (without.min(axis=(1, 2)) - partners.min(axis=(1, 2))) / mu
            place = np.full(1, owner)
            threshold = self.believed.inverse(np.minimum(critical, self.dearest)[:, None], place)
            used = used + (threshold * self.believed.cdf(threshold, place))[:, 0]
        return np.asarray(used)


class _Solved:
    """Any number of owners: one exact clearing for each draw.

    A winner counts with its virtual cost. Only in the last part of its prior, of which each owner has one draw, is the
    mean over all prices at which it would have been bought taken instead: (t F(t) - q F(q)) / (F(t) - F(q)), q being
    where that part begins. That is where virtual costs may have no bound.
    """

    def __init__(self, market: Problem, costs: Vector, points: Vector, believed: Priors, step: int) -> None:
        self.typical, self.believed, self.step, self.draws = _typical(market.squares, costs), believed, step, len(costs)
        self.level, self.dearest = 1 - 1 / self.draws, dearest(market)
        self.last = believed.quantile(np.full(len(believed), self.level))
        self.drawn = [self._draw(market, row, point) for row, point in zip(costs, points, strict=True)]

    def _draw(self, market: Problem, costs: Vector, points: Vector) -> tuple[Problem, Places, Flags]:
        order = np.lexsort((market.squares, costs))
        drawn = Problem(market.kind, market.squares[order], costs[order], market.coefficients, market.limit)
        return drawn, order, points[order] > self.level

    def used(self, mu: float, draws: int | None = None) -> Vector:
        """What each draw's clearing uses of the limit."""
        return np.array([self._used(*drawn, mu) for drawn in self.drawn[:draws]])

    def _used(self, drawn: Problem, order: Places, dear: Flags, mu: float) -> float:
        scaled = with_multiplier(drawn, mu)
        allocation = solve_joint(scaled)
        late = allocation.members[dear[allocation.members]]
        size, total, spend = drawn.totals(allocation.members)
        if late.size:
            spend += self._mean(scaled, allocation, late, order, mu) - float(drawn.costs[late].sum())
        return spend if drawn.kind == "exogenous" else drawn.loss(size, total) + spend

    def _mean(self, scaled: Problem, allocation: Allocation, late: Places, order: Places, mu: float) -> float:
        rows = order[late]
        critical = critical_costs_of_joint(scaled, allocation, late) / (mu * self.step)
        threshold = self.believed.inverse(np.minimum(critical, self.dearest), rows)
        level = self.believed.cdf(threshold, rows)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = (threshold * level - self.last[rows] * self.level) / (level - self.level)
        psi = scaled.costs[late] / (mu * self.step)
        return self.step * float(np.where(level > self.level, np.maximum(means, threshold), psi).sum())
