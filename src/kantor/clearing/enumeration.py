"""All coalitions, one by one: the solver that every other is checked against.

It values all 2^N coalitions at once, from subset sums, and knows nothing of how the exact solvers work. Twenty owners
are its limit.
"""

from __future__ import annotations

from math import inf

import numpy as np

from kantor.clearing.problem import Allocation, Problem, tolerance
from kantor.owners.distributions import Vector
from kantor.valuation.coalitions import check_enumerable, coalition_sizes, members, subset_sums

__all__ = ["all_objectives", "solve_by_enumeration"]

_ROUNDING = 4e-15


def all_objectives(problem: Problem) -> tuple[Vector, Vector]:
    """The objective and Psi of all coalitions of owners with finite costs, in bitmask order."""
    count = int(np.searchsorted(problem.costs, inf))
    if count == 0:
        return np.array([problem.reference]), np.zeros(1)
    check_enumerable(count)
    sizes, spend = coalition_sizes(count), subset_sums(problem.costs[:count])
    roots = np.sqrt(subset_sums(problem.squares[:count]))
    roots[0] = 1.0
    loss = problem.coefficients[sizes] * roots
    loss[0] = problem.reference
    if problem.kind == "joint":
        objective = loss + spend
    else:
        used = spend if problem.kind == "exogenous" else loss + spend
        objective = np.where(used <= problem.limit + tolerance(problem.limit), loss, inf)
    objective[0] = problem.reference
    return objective, spend


def solve_by_enumeration(problem: Problem, work_limit: int | None = None) -> Allocation:  # noqa: ARG001  one call for all
    """The best coalition of all; of those that tie the cheapest, then the one whose members come first."""
    objective, spend = all_objectives(problem)
    count = int(objective.size).bit_length() - 1
    least = float(objective.min())
    tied = np.flatnonzero(objective <= least + _ROUNDING * abs(least)) if least < inf else np.zeros(1, dtype=np.int64)
    if tied[0] == 0:
        chosen = np.empty(0, dtype=np.int64)
    else:
        cheapest = tied[spend[tied] <= spend[tied].min() * (1 + _ROUNDING)]
        rows = members(cheapest, count)
        chosen = np.flatnonzero(rows[np.lexsort(~rows.T[::-1])[0]])
    value = problem.objective(*problem.totals(chosen))
    return Allocation(chosen, value, value, objective.size)
