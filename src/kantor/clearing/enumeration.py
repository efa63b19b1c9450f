"""All coalitions, one by one: the solver that every other is checked against.

It values all 2^N coalitions at once, from subset sums, and knows nothing of how the exact solvers work. Twenty owners
are its limit.
"""

from __future__ import annotations

from math import inf

import numpy as np

from kantor.clearing.problem import TIE, Allocation, Places, Problem, tolerance
from kantor.owners.distributions import Vector
from kantor.valuation.coalitions import check_enumerable, coalition_sizes, members, subset_sums

__all__ = ["all_objectives", "critical_costs_by_enumeration", "first_of", "solve_by_enumeration"]


def all_objectives(problem: Problem) -> tuple[Vector, Vector]:
    """The objective and Psi of all coalitions of owners with finite costs, in bitmask order."""
    loss, spend = _all_losses(problem)
    if problem.kind == "joint":
        objective = loss + spend
    else:
        used = spend if problem.kind == "exogenous" else loss + spend
        objective = np.where(used <= problem.limit + tolerance(problem.limit), loss, inf)
    objective[0] = problem.reference
    return objective, spend


def _all_losses(problem: Problem) -> tuple[Vector, Vector]:
    """V and Psi of all coalitions of owners with finite costs."""
    count = int(np.searchsorted(problem.costs, inf))
    if count == 0:
        return np.array([problem.reference]), np.zeros(1)
    check_enumerable(count)
    roots = np.sqrt(subset_sums(problem.squares[:count]))
    roots[0] = 1.0
    loss = problem.coefficients[coalition_sizes(count)] * roots
    loss[0] = problem.reference
    return loss, subset_sums(problem.costs[:count])


def critical_costs_by_enumeration(problem: Problem, allocation: Allocation) -> Vector:
    """The highest virtual cost at which each member would still be bought, from the table of all coalitions."""
    objective, spend = all_objectives(problem)
    loss, _ = _all_losses(problem)
    masks = np.arange(objective.size)
    return np.array([_critical(problem, objective, loss, spend, masks, place) for place in allocation.members.tolist()])


def _critical(problem: Problem, objective: Vector, loss: Vector, spend: Vector, masks: Places, place: int) -> float:
    """Up to which cost of this owner some coalition with it is chosen before the best without it."""
    mine = (masks >> place & 1).astype(bool)
    rival, partners = float(objective[~mine].min()), spend[masks[mine] ^ (1 << place)]
    if problem.kind == "joint":
        return rival - float((loss[mine] + partners).min())
    room = problem.limit - partners - (loss[mine] if problem.kind == "endogenous" else 0.0)
    better = loss[mine] < rival * (1 - TIE)
    highest = float(room[better].max(initial=-inf))
    ties = ~better & (loss[mine] <= rival * (1 + TIE)) if rival < problem.reference else np.zeros(1, dtype=bool)
    if ties.any():  # what ties in V is chosen if it costs less
        cheapest = float(spend[~mine][objective[~mine] <= rival * (1 + TIE)].min())
        highest = max(highest, float(np.minimum(room, cheapest - partners)[ties].max()))
    return highest


def first_of(tied: Places, spend: Vector, canonical: Places) -> int:
    """Of coalitions that tie, the cheapest; of these the smallest, then the one whose members come first."""
    rows = members(tied[spend <= spend.min() * (1 + TIE)], canonical.size)[:, canonical]
    rows = rows[rows.sum(axis=1) == rows.sum(axis=1).min()]
    chosen = rows[np.lexsort(~rows.T[::-1])[0]]
    return int((1 << canonical[chosen]).sum())


def solve_by_enumeration(problem: Problem, work_limit: int | None = None) -> Allocation:  # noqa: ARG001  one call for all
    """The best coalition of all; of those that tie the cheapest, then the smallest, then the first."""
    objective, spend = all_objectives(problem)
    count = int(objective.size).bit_length() - 1
    least = float(objective.min())
    tied = np.flatnonzero(objective <= least + TIE * abs(least)) if least < inf else np.zeros(1, dtype=np.int64)
    if tied[0] == 0:
        chosen = np.empty(0, dtype=np.int64)
    else:
        chosen = np.flatnonzero(members(np.array([first_of(tied, spend[tied], np.arange(count))]), count)[0])
    value = problem.objective(*problem.totals(chosen))
    return Allocation(chosen, value, value, objective.size)
