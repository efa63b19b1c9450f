"""The two mechanisms with a budget, cleared exactly: least V with Psi <= B, or with V + Psi <= B.

A bound for all sizes (`budgeted_bounds`), a good coalition by rounding it, and then an exact search in the few sizes
whose bound does not exceed what was found (`budgeted_search`). What is proved is in the answer's `lower_bound`: the
least of the bounds of the sizes that were left unfinished, and the objective itself if none was.

Coalitions of no loss at all are set apart: owners at distance zero, of whom the cheapest is bought alone, and the
whole finite population.
"""

from __future__ import annotations

from math import inf

import numpy as np

from kantor.clearing.budgeted_bounds import Bounds, Market
from kantor.clearing.budgeted_prices import CriticalCosts, climb
from kantor.clearing.budgeted_search import Pool
from kantor.clearing.budgeted_sweep import WORK, search
from kantor.clearing.problem import Allocation, Places, Problem, tie, tolerance

__all__ = ["CriticalCosts", "critical_costs", "solve_endogenous", "solve_exogenous"]


def solve_exogenous(problem: Problem, work_limit: int | None = None) -> Allocation:
    """The least V with Psi within the budget (problem 3.1 in virtual costs, pointwise)."""
    return _solve(problem, work_limit)


def solve_endogenous(problem: Problem, work_limit: int | None = None) -> Allocation:
    """The least V with V + Psi within the reference loss, or nothing."""
    return _solve(problem, work_limit)


def critical_costs(
    problem: Problem, allocation: Allocation, winners: Places | None = None, work_limit: int | None = None
) -> CriticalCosts:
    """The highest virtual cost at which each winner would still have been bought (see `budgeted_prices`).

    winners: places to price, all members of the allocation unless told otherwise. An allocation that is not proved has
    no proved prices.
    """
    return climb(problem, allocation, _solve, winners, work_limit)


def _solve(problem: Problem, work_limit: int | None, known: Bounds | None = None) -> Allocation:
    pool = Pool(problem)
    _offer_free(problem, pool)
    market = Market.of(problem)
    lower = inf
    if pool.best > 0 and market.largest > 0:
        lower = search(market, pool, WORK if work_limit is None else work_limit, known)
    return _answer(problem, pool, lower)


def _answer(problem: Problem, pool: Pool, lower: float) -> Allocation:
    """The best found, or nothing; lower: a bound on all that was left unseen."""
    chosen = pool.choose()
    nothing = np.empty(0, dtype=np.int64)
    value, members = chosen if chosen is not None else (inf, nothing)
    if value == inf or value >= problem.reference - tie(value):
        value, members = problem.reference, nothing
    return Allocation(members, value, value if value == inf or lower >= value - tolerance(value) else lower, pool.nodes)


def _offer_free(problem: Problem, pool: Pool) -> None:
    """Coalitions of no loss: the cheapest owner at distance zero, and the sizes with c_n = 0."""
    nearest = np.flatnonzero(problem.squares == 0)
    if nearest.size:
        pool.offer(nearest[:1])
    for size in np.flatnonzero(problem.coefficients == 0)[:1].tolist():
        if size > 0:
            pool.offer(np.arange(size))
