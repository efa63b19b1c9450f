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

from math import inf, sqrt
from typing import Protocol

import numpy as np
from scipy.stats import qmc

from kantor.bids.bids import Bids
from kantor.bids.order import Places
from kantor.bids.priors import Priors
from kantor.clearing.joint import solve_joint
from kantor.clearing.joint_prices import critical_costs_of_joint
from kantor.clearing.problem import Problem
from kantor.clearing.remembered import remembered
from kantor.owners.distributions import Vector
from kantor.valuation.coalitions import coalition_sizes, subset_sums

__all__ = ["multiplier", "with_multiplier"]

_OWNERS = 4000
_SOLVED = 16_384
_LISTED = 12
_CELLS = 1 << 19
_MOST = 1 << 13
_SEED = 20240102
_CLOSE = 1e-6
_FREE = 1e-9


def with_multiplier(problem: Problem, mu: float) -> Problem:
    """The joint problem that clears an interim market: costs count mu times."""
    return Problem("joint", problem.squares, mu * problem.costs, problem.coefficients, problem.reference)


@remembered
def multiplier(bids: Bids, problem: Problem) -> float:
    """The least mu at which the expected use of the budget is within it; infinity where no mu is enough.

    Money is never quite free, so that what ties in V goes to the cheaper owner, at a price.
    """
    market = _drawn(bids, problem)
    if problem.kind == "endogenous":
        return _least(market, problem.limit, min(_FREE * market.typical, _FREE), 1.0, 1.0)
    return _least(market, problem.limit, _FREE * market.typical, market.typical, market.typical / _FREE)


def _least(market: _Drawn, limit: float, low: float, high: float, most: float) -> float:
    """The least mu from `low` on at which `used` falls to the limit, by false position."""

    def excess(mu: float) -> float:
        return float(market.used(mu).mean()) - limit

    above = excess(low)
    if above <= 0:
        return low
    while (below := excess(high)) > 0:
        if high >= most:
            return high if most == 1.0 else inf
        low, above, high = high, below, 4 * high
    for step in range(60):
        if high - low <= _CLOSE * high or below == 0:
            break
        share = min(max(above / (above - below), 0.01), 0.99) if above < inf else 0.5
        middle = sqrt(low * high) if high > 4 * low else low + (0.5 if step % 3 == 2 else share) * (high - low)
        found = excess(middle)
        if found > 0:
            low, above = middle, found
        else:
            high, below = middle, found
    return high


class _Drawn(Protocol):
    """A market at many draws of all prices."""

    typical: float
    """A multiplier of the right order of magnitude."""

    def used(self, mu: float) -> Vector:
        """What each draw's clearing uses of the limit."""
        ...


def _drawn(bids: Bids, problem: Problem) -> _Drawn:
    step = max(1, -(-len(bids) // _OWNERS))
    rows = bids.by_distance[step // 2 :: step]
    listed = rows.size <= _LISTED and step == 1
    draws = min(_MOST, _CELLS >> rows.size) if listed else max(8, 1 << int(np.log2(_SOLVED / rows.size)))
    points = qmc.Sobol(rows.size, rng=np.random.default_rng(_SEED)).random(draws)
    believed = bids.priors.take(rows)
    costs = believed.virtual(believed.quantile(points)) * step
    squares = bids.distance[rows] ** 2 * step
    sizes = np.minimum(step * np.arange(rows.size + 1), problem.coefficients.size - 1)
    market = Problem(problem.kind, squares, costs[0], problem.coefficients[sizes], problem.limit)
    return _Listed(market, costs, believed) if listed else _Solved(market, costs, believed, step)


def _typical(squares: Vector, costs: Vector) -> float:
    finite = costs[np.isfinite(costs) & (costs > 0)]
    return max(float(np.sqrt(squares.sum())), 1e-300) / float(finite.mean()) if finite.size else 1.0


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
            self.spends = np.concatenate([self.spends, self.spends + column[:, None]], axis=1)
        self.counted = market.kind != "exogenous"

    def used(self, mu: float) -> Vector:
        """What each draw's clearing uses of the limit."""
        objectives = self.losses + mu * self.spends
        used = self.losses[np.argmin(objectives, axis=1)] if self.counted else np.zeros(objectives.shape[0])
        for owner in range(len(self.believed)):
            apart = (self.losses.size >> owner + 1, 2, 1 << owner)
            without = objectives.reshape(-1, *apart)[:, :, 0]
            partners = self.losses.reshape(apart)[:, 1] + mu * self.spends.reshape(-1, *apart)[:, :, 0]
            with np.errstate(over="ignore"):
                critical = (without.min(axis=(1, 2)) - partners.min(axis=(1, 2))) / mu
            place = np.full(1, owner)
            threshold = self.believed.inverse(critical[:, None], place)
            used = used + (threshold * self.believed.cdf(threshold, place))[:, 0]
        return np.asarray(used)


class _Solved:
    """Any number of owners: one exact clearing for each draw, and its threshold prices."""

    def __init__(self, market: Problem, costs: Vector, believed: Priors, step: int) -> None:
        self.typical, self.believed, self.step = _typical(market.squares, costs), believed, step
        orders = [np.lexsort((market.squares, row)) for row in costs]
        self.draws = [
            (Problem(market.kind, market.squares[order], row[order], market.coefficients, market.limit), order)
            for row, order in zip(costs, orders, strict=True)
        ]

    def used(self, mu: float) -> Vector:
        """What each draw's clearing uses of the limit."""
        return np.array([self._used(drawn, order, mu) for drawn, order in self.draws])

    def _used(self, drawn: Problem, order: Places, mu: float) -> float:
        scaled = with_multiplier(drawn, mu)
        allocation = solve_joint(scaled)
        rows, critical = order[allocation.members], critical_costs_of_joint(scaled, allocation) / (mu * self.step)
        spend = self.step * float(self.believed.inverse(critical, rows).sum())
        size, total, _ = drawn.totals(allocation.members)
        return spend if drawn.kind == "exogenous" else drawn.loss(size, total) + spend
