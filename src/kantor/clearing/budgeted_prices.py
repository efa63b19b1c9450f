"""The highest virtual cost at which each winner would still have been bought: threshold prices under a budget.

Owner i is bought at b if and only if some coalition P with i in it is allowed at b and beats the best without i, whose
loss is V*(-i). Such a P stands until b reaches

    B - s V(P) - Psi(P without i)                 if V(P) < V*(-i),
    min(B - s V(P), Psi*(-i)) - Psi(P without i)  if the two tie, since then less Psi wins,

and the critical cost is the greatest of these over P. It is not that of the coalition that is best at the owner's own
cost: a dearer owner may still be wanted in a smaller one. W = (2, 3, 2), costs (1, 2, 2), B = 3: at 2 the third owner
is bought with the first.

The greatest is climbed to: clear, read off where the winning P stops, clear again with b just above that, and so
on until i is no longer bought. Each step leads to another P that stands for longer, so it ends, and because the
allocation is monotone in b (less Psi and earlier members for a lower b, and the same V) nothing above is missed.
Every step is a clearing with its own proof; a price is proved if all its clearings are.

Steps from one P to the next are small, so that the climb starts near the top: the partners of i with the least Psi and
V(P) < V*(-i) are another knapsack, in which a and p change places and each size has a limit of its own,
A <= (V*(-i) / c_n)^2 - a_i. Nothing rests on that start being the best one.

What it costs: three clearings in random markets (without the owner, for the start, and to see that it is the top). The
first and the last begin with the bounds of the market as it is: an owner who leaves, or asks for more, only raises
them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import fsum, inf, sqrt

import numpy as np
import numpy.typing as npt

from kantor.clearing.budgeted_bounds import Bounds, Market, bounds
from kantor.clearing.budgeted_search import Pool
from kantor.clearing.budgeted_sweep import WORK, search
from kantor.clearing.problem import Allocation, Places, Problem, tie, tolerance
from kantor.owners.distributions import Vector

__all__ = ["CriticalCosts", "climb"]

Solver = Callable[[Problem, int | None, Bounds | None], Allocation]


@dataclass(frozen=True)
class CriticalCosts:
    """For each member of an allocation, in its order: the critical virtual cost, and whether it is proved."""

    members: Places
    values: Vector
    proved: npt.NDArray[np.bool_]
    nodes: int
    """Nodes of all the clearings."""


def climb(
    problem: Problem, allocation: Allocation, solve: Solver, winners: Places | None, work_limit: int | None
) -> CriticalCosts:
    """The critical costs of the winners (all members unless told otherwise)."""
    chosen = allocation.members if winners is None else winners
    market = Market.of(problem)
    known = bounds(market) if chosen.size and market.largest else None
    found = [_critical(problem, allocation, int(owner), solve, work_limit, known) for owner in chosen]
    values = np.array([value for value, _, _ in found], dtype=np.float64)
    proved = np.array([sure for _, sure, _ in found], dtype=np.bool_)
    return CriticalCosts(chosen, values, proved, sum(nodes for _, _, nodes in found))


def _critical(
    problem: Problem, allocation: Allocation, owner: int, solve: Solver, work_limit: int | None, known: Bounds | None
) -> tuple[float, bool, int]:
    """The critical cost of one winner, whether it is proved, and the nodes it took."""
    others = _without(problem, owner)
    rival = solve(others, work_limit, known)
    sure, nodes = allocation.lower_bound == allocation.objective, rival.nodes
    sure = sure and rival.lower_bound == rival.objective
    spend = others.totals(rival.members)[2] if rival.members.size else inf
    square = float(problem.squares[owner])
    value = max(float(problem.costs[owner]), _stands(problem, allocation, owner, rival.objective, spend))
    work = WORK if work_limit is None else work_limit
    value = max(value, _start(problem, others, square, rival.objective, work))
    while True:
        trial, place = _with_cost(others, square, problem, value + 4 * tolerance(problem.limit))
        current = solve(trial, work_limit, known)
        sure, nodes = sure and current.lower_bound == current.objective, nodes + current.nodes
        if place not in current.members:
            return value, sure, nodes
        value = max(value, _stands(trial, current, place, rival.objective, spend))


@dataclass(frozen=True)
class Partners:
    """Coalitions that an owner could join, as a problem: the least Psi with A within a limit for each size."""

    squares: Vector
    """The partners' p_i; what is minimised is the root of their sum."""
    costs: Vector
    """Their a_i, rising."""
    limits: Vector
    reference: float = inf

    def totals(self, members: Places) -> tuple[int, float, float]:
        """Their number, Psi and A."""
        return members.size, fsum(self.squares[members].tolist()), fsum(self.costs[members].tolist())

    def objective(self, size: int, total: float, spend: float) -> float:
        """The root of Psi, if the owner may join."""
        return sqrt(total) if spend <= self.limits[size] else inf


def _start(problem: Problem, others: Problem, square: float, rival: float, work: int) -> float:
    """Up to which cost the cheapest coalition that beats the best without the owner stands; 0 if none is found."""
    partners = _partners(problem, others, square, rival)
    found: list[Places] = [np.empty(0, dtype=np.int64)] if partners.limits[0] >= 0 else []
    if not found and partners.limits.size > 1:
        pool = Pool(partners)
        ones = np.ones(partners.limits.size)
        search(Market(partners.squares, partners.costs, ones, 0.0, 0.0, partners.limits), pool, work)
        chosen = pool.choose()
        found = [chosen[1]] if chosen is not None else []
    share = 1.0 if problem.kind == "endogenous" else 0.0
    for members in found:
        size, spend, total = partners.totals(members)
        return problem.limit - share * problem.loss(size + 1, total + square) - spend
    return 0.0


def _partners(problem: Problem, others: Problem, square: float, rival: float) -> Partners:
    """Who may join the owner: V of all together is to be below the best without the owner by more than a tie."""
    usable = others.costs <= others.limit
    costs, squares = others.costs[usable], others.squares[usable]
    order = np.lexsort((costs, squares))
    goal = rival - 2 * tie(rival) if rival < inf else inf
    with np.errstate(divide="ignore", invalid="ignore"):
        limits = (goal / problem.coefficients[1 : order.size + 2]) ** 2 - square if goal > 0 else np.array([-1.0])
    enough = 2 * float(squares.sum()) + 1
    return Partners(costs[order], squares[order], np.nan_to_num(np.minimum(limits, enough), nan=-1.0))


def _stands(problem: Problem, current: Allocation, place: int, rival: float, spend: float) -> float:
    """Up to which cost of the owner at this place its coalition wins against the best without the owner."""
    share = 1.0 if problem.kind == "endogenous" else 0.0
    limit = problem.limit - share * current.objective
    ties = rival < inf and current.objective >= rival - tie(rival)
    partners = current.members[current.members != place]
    return min(limit, spend if ties else inf) - problem.totals(partners)[2]


def _without(problem: Problem, owner: int) -> Problem:
    """The market in which an owner does not sell; the population stays as it is."""
    return replace(
        problem,
        squares=np.delete(problem.squares, owner),
        costs=np.delete(problem.costs, owner),
        coefficients=problem.coefficients[:-1],
    )


def _with_cost(others: Problem, square: float, problem: Problem, cost: float) -> tuple[Problem, int]:
    """The market in which the owner asks for another cost, and where it then stands."""
    first = int(np.searchsorted(others.costs, cost, side="left"))
    last = int(np.searchsorted(others.costs, cost, side="right"))
    place = first + int(np.searchsorted(others.squares[first:last], square, side="right"))
    squares, costs = np.insert(others.squares, place, square), np.insert(others.costs, place, cost)
    return replace(problem, squares=squares, costs=costs), place
