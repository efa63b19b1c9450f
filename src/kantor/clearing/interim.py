"""Budgets that hold in expectation over the priors: one price of money for the whole market.

As the paper prints them, the exogenous and the endogenous problem bound the *expected* spend,

    exogenous   least E V  subject to  E Psi <= B,
    endogenous  least E V  subject to  E (V + Psi) <= B (buying nothing has V = B).

Both are solved by a multiplier. For a fixed mu the least E (V + mu Psi) is found price by price: it is the joint
problem with costs mu psi, monotone in every price, and priced like it. As mu rises less is spent; the mu to use is the
least at which the expectation meets the budget. It comes from draws of all prices from the priors, and from the
distances: never from the reports, or an owner could move its own price by moving mu.

The expectation is an average over draws, which are spread evenly (a scrambled Sobol sequence) so that few tell much:
8 owners are drawn 16,384 times, and the budget is then met to a few parts in ten thousand. Up to twelve owners all
coalitions of all draws are listed once; more are solved draw by draw. Markets of more than 4,000 owners are represented
by a strided selection by distance, each owner standing for many.
"""

from __future__ import annotations

from math import inf
from typing import Protocol

import numpy as np
from scipy.stats import qmc

from kantor.bids.bids import Bids
from kantor.clearing.joint import solve_joint
from kantor.clearing.problem import Problem
from kantor.clearing.remembered import remembered
from kantor.owners.distributions import Vector
from kantor.valuation.coalitions import coalition_sizes, subset_sums

__all__ = ["multiplier", "with_multiplier"]

_OWNERS = 4000
_SOLVED = 16_384
_LISTED = 12
_CELLS = 1 << 22
_MOST = 1 << 14
_SEED = 20240102
_CLOSE = 1e-6


def with_multiplier(problem: Problem, mu: float) -> Problem:
    """The joint problem that clears an interim market: costs count mu times."""
    costs = np.where(np.isfinite(problem.costs), mu * np.where(np.isfinite(problem.costs), problem.costs, 0.0), inf)
    if mu == 0:
        # Without a price every owner ties; the order by cost stays, so that the cheap come first.
        costs = np.where(np.isfinite(problem.costs), 0.0, inf)
    return Problem("joint", problem.squares, costs, problem.coefficients, problem.reference)


@remembered
def multiplier(bids: Bids, problem: Problem) -> float:
    """The least mu at which the expected use of the budget is within it; infinity where no mu is enough."""
    market = _drawn(bids, problem)
    if problem.kind == "endogenous":
        return _least(market, problem.limit, 1.0, 1.0)
    return _least(market, problem.limit, market.typical, 1e9 * market.typical)


def _least(market: _Drawn, limit: float, high: float, most: float) -> float:
    """The least mu at which `used` falls to the limit, by false position; 0 if that is enough."""

    def excess(mu: float) -> float:
        return float(market.used(mu).mean()) - limit

    low, above = 0.0, excess(0.0)
    if above <= 0:
        return 0.0
    while (below := excess(high)) > 0:
        if high >= most:
            return high if most == 1.0 else inf
        low, above, high = high, below, 4 * high
    for step in range(40):
        if high - low <= _CLOSE * high or below == 0:
            break
        share = 0.5 if step % 3 == 2 else min(max(above / (above - below), 0.01), 0.99)
        middle = low + share * (high - low)
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
    return (_Listed if listed else _Solved)(market, costs)


def _typical(squares: Vector, costs: Vector) -> float:
    finite = costs[np.isfinite(costs) & (costs > 0)]
    return max(float(np.sqrt(squares.sum())), 1e-300) / float(finite.mean()) if finite.size else 1.0


class _Listed:
    """Few owners: V of every coalition, and its Psi in every draw."""

    def __init__(self, market: Problem, costs: Vector) -> None:
        self.typical = _typical(market.squares, costs)
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
        best = np.argmin(self.losses + max(mu, 1e-300) * self.spends, axis=1)
        spend = self.spends[np.arange(best.size), best]
        return np.asarray(spend + self.losses[best] if self.counted else spend)


class _Solved:
    """Any number of owners: one exact clearing for each draw."""

    def __init__(self, market: Problem, costs: Vector) -> None:
        self.typical = _typical(market.squares, costs)
        orders = [np.lexsort((market.squares, row)) for row in costs]
        self.draws = [
            Problem(market.kind, market.squares[order], row[order], market.coefficients, market.limit)
            for row, order in zip(costs, orders, strict=True)
        ]

    def used(self, mu: float) -> Vector:
        """What each draw's clearing uses of the limit."""
        return np.array([self._used(drawn, mu) for drawn in self.draws])

    def _used(self, drawn: Problem, mu: float) -> float:
        size, total, spend = drawn.totals(solve_joint(with_multiplier(drawn, mu)).members)
        return spend if drawn.kind == "exogenous" else drawn.loss(size, total) + spend
