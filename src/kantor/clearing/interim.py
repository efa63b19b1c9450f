"""Budgets that hold in expectation over the priors: one price of money for the whole market.

As the paper prints them, the exogenous and the endogenous problem bound the *expected* spend,

    exogenous   least E V  subject to  E Psi <= B,
    endogenous  least E V  subject to  E (V + Psi) <= B (buying nothing has V = B).

Both are solved by a multiplier. For a fixed mu the least E (V + mu Psi) is found price by price: it is the joint
problem with costs mu psi, monotone in every price, and priced like it. As mu rises less is spent; the mu to use is the
least at which the expectation meets the budget. It comes from draws of all prices from the priors, and from the
distances: never from the reports, or an owner could move its own price by moving mu.

The expectation is an average over draws, so the budget is met within its sampling error. Markets of more than 4,000
owners are represented by a strided selection by distance, each owner standing for many.
"""

from __future__ import annotations

from math import inf

import numpy as np

from kantor.bids.bids import Bids
from kantor.clearing.joint import solve_joint
from kantor.clearing.problem import Problem
from kantor.owners.distributions import Vector

__all__ = ["multiplier", "with_multiplier"]

_OWNERS = 4000
_SOLVED = 12_000
_SEED = 20240102


def with_multiplier(problem: Problem, mu: float) -> Problem:
    """The joint problem that clears an interim market: costs count mu times."""
    costs = np.where(np.isfinite(problem.costs), mu * np.where(np.isfinite(problem.costs), problem.costs, 0.0), inf)
    if mu == 0:
        # Without a price every owner ties; the order by cost stays, so that the cheap come first.
        costs = np.where(np.isfinite(problem.costs), 0.0, inf)
    return Problem("joint", problem.squares, costs, problem.coefficients, problem.reference)


def multiplier(bids: Bids, problem: Problem) -> float:
    """The least mu at which the expected use of the budget is within it; infinity where no mu is enough.

    It does not depend on the prices reported, so markets that differ in nothing else (an audit's) share one search.
    """
    coefficients = problem.coefficients.tobytes()
    market = bids.priors, bids.distance.tobytes(), coefficients, problem.kind, problem.limit
    if market not in _known:
        while len(_known) >= _REMEMBERED:
            _known.pop(next(iter(_known)))
        _known[market] = _search(_Market(bids, problem))
    return _known[market]


_REMEMBERED = 16
_known: dict[object, float] = {}


def _search(market: _Market) -> float:
    kind = market.problem.kind
    if market.excess(0.0) <= 0:
        return 0.0
    low, high = (0.0, 1.0) if kind == "endogenous" else (0.0, market.typical)
    while market.excess(high) > 0:
        if kind == "endogenous" or high > 1e9 * market.typical:
            return 1.0 if kind == "endogenous" else inf
        low, high = high, 4 * high
    for _ in range(30):
        middle = 0.5 * (low + high)
        if high - low <= 1e-4 * high:
            break
        low, high = (low, middle) if market.excess(middle) <= 0 else (middle, high)
    return high


class _Market:
    """Draws of all prices for the owners, or for a selection of them."""

    def __init__(self, bids: Bids, problem: Problem) -> None:
        self.step = max(1, -(-len(bids) // _OWNERS))
        rows = bids.by_distance[self.step // 2 :: self.step]
        draws = int(np.clip(_SOLVED // rows.size, 8, 1000))
        rng = np.random.default_rng(_SEED)
        prices = bids.priors.take(rows).rvs(rng, draws)
        self.problem, self.squares = problem, bids.distance[rows] ** 2 * self.step
        self.costs = np.stack([bids.priors.virtual(row, rows) for row in prices]) * self.step
        sizes = np.minimum(self.step * np.arange(rows.size + 1), problem.coefficients.size - 1)
        self.coefficients = problem.coefficients[sizes]
        finite = self.costs[np.isfinite(self.costs) & (self.costs > 0)]
        reach = float(np.sqrt(self.squares.sum()))
        self.typical = max(reach, 1e-300) / float(finite.mean()) if finite.size else 1.0

    def excess(self, mu: float) -> float:
        """The mean over draws of what is used, less the limit."""
        return float(np.mean([self._used(costs, mu) for costs in self.costs])) - self.problem.limit

    def _used(self, costs: Vector, mu: float) -> float:
        order = np.lexsort((self.squares, costs))
        drawn = Problem(self.problem.kind, self.squares[order], costs[order], self.coefficients, self.problem.limit)
        members = solve_joint(with_multiplier(drawn, mu)).members
        size, total, spend = drawn.totals(members)
        return spend if drawn.kind == "exogenous" else drawn.loss(size, total) + spend
