"""How the paper's three mechanisms decide: a problem is posed and solved to proof, and its winners are priced.

The work is elsewhere; here it is put together. Owners stand in canonical order in a problem, so nothing depends on the
order of the bids; what was decided is taken back to it at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf
from typing import TypeAlias, cast

import numpy as np

from kantor.bids.bids import Bids
from kantor.clearing import budgeted
from kantor.clearing.clock import clock
from kantor.clearing.enumeration import critical_costs_by_enumeration, solve_by_enumeration
from kantor.clearing.interim import dearest, multiplier, with_multiplier
from kantor.clearing.joint import solve_joint
from kantor.clearing.joint_prices import critical_costs_of_joint
from kantor.clearing.misocp import solve_misocp
from kantor.clearing.outcome import Decision, Rules
from kantor.clearing.problem import Allocation, Kind, Places, Problem, tolerance
from kantor.clearing.threshold import threshold_prices
from kantor.owners.distributions import Vector
from kantor.valuation.hoeffding import coefficient

__all__ = ["SOLVERS", "critical_price", "decide", "pose"]

SOLVERS = ("exact", "enumerate", "misocp")
"""The last may name a solver that CVXPY finds, as in "misocp:GUROBI"; SCIP unless named."""

Solver: TypeAlias = Callable[[Problem, int | None], Allocation]


def decide(bids: Bids, rules: Rules) -> Decision:
    """The optimum and its payments; for the clock, what stands when it stops."""
    problem = pose(bids, rules)
    if rules.payments == "clock":
        members, offers = clock(bids, problem)
        return _decision(bids, problem, Allocation(members, _objective(problem, members), 0.0), offers, truthful=True)
    if rules.mechanism.feasibility == "interim":
        return _by_multiplier(bids, rules, problem)
    allocation = _solver(rules.solver)(problem, rules.work_limit)
    if rules.payments == "virtual":
        return _at_virtual_costs(bids, problem, allocation)
    costs, sure = _critical(problem, allocation, rules.solver)
    paid = _prices(bids, rules, problem, allocation.objective, allocation.members, costs)
    return _decision(bids, problem, allocation, paid, truthful=sure)


def critical_price(bids: Bids, rules: Rules, place: int) -> float | None:
    """The highest price at which this owner would be bought, whatever it asked for; None if at no price.

    It asks for as little as it could; where it is bought then, it alone is priced.
    """
    eager = bids.with_report(place, reserve=float(bids.priors.lower[place]))
    problem = pose(eager, rules)
    mu = multiplier(eager, problem) if rules.mechanism.feasibility == "interim" else None
    if mu == inf:
        return None
    posed = problem if mu is None else with_multiplier(problem, mu)
    allocation = _solver(rules.solver)(posed, rules.work_limit)
    spot = int(np.flatnonzero(eager.canonical == place)[0])
    mine = np.flatnonzero(allocation.members == spot)
    if mine.size == 0:
        return None
    if posed.kind == "joint":
        costs = critical_costs_of_joint(posed, allocation, allocation.members[mine])
    else:
        costs = budgeted.critical_costs(posed, allocation, winners=allocation.members[mine]).values
    weight = 1.0 if mu is None else mu
    found = allocation.members[mine]
    most = inf if mu is None else dearest(problem)
    return float(_prices(eager, rules, posed, allocation.objective, found, costs, weight, most)[0])


def pose(bids: Bids, rules: Rules) -> Problem:
    """The bids as a problem, owners in canonical order."""
    order, mechanism = bids.canonical, rules.mechanism
    sizes = np.arange(len(bids) + 1)
    constants = coefficient(sizes, rules.population_size, rules.confidence, rules.population)
    return Problem(
        cast(Kind, mechanism.kind),
        bids.distance[order] ** 2,
        bids.virtual[order],
        np.where(sizes > 0, mechanism.lipschitz * np.where(sizes > 0, constants, 0.0), np.inf),
        mechanism.limit,
    )


def _solver(name: str) -> Solver:
    family, _, installed = name.partition(":")
    if family == "misocp":
        return partial(solve_misocp, solver=installed) if installed else solve_misocp
    return solve_by_enumeration if family == "enumerate" else _exact


def _exact(problem: Problem, work_limit: int | None = None) -> Allocation:
    solve: dict[str, Solver] = {
        "joint": solve_joint,
        "exogenous": budgeted.solve_exogenous,
        "endogenous": budgeted.solve_endogenous,
    }
    return solve[problem.kind](problem, work_limit)


def _by_multiplier(bids: Bids, rules: Rules, problem: Problem) -> Decision:
    """An interim budget: the joint problem at the market's own price of money."""
    mu = multiplier(bids, problem)
    if mu == inf:
        nothing = Allocation(np.empty(0, dtype=np.int64), problem.reference, problem.reference)
        return _decision(bids, problem, nothing, np.empty(0), truthful=True)
    scaled = with_multiplier(problem, mu)
    allocation = _solver(rules.solver)(scaled, rules.work_limit)
    loss = problem.loss(*problem.totals(allocation.members)[:2])
    known = Allocation(allocation.members, loss, loss if allocation.proved else 0.0, allocation.nodes)
    if rules.payments == "virtual":
        return _at_virtual_costs(bids, problem, known)
    costs, sure = _critical(scaled, allocation, rules.solver)
    paid = _prices(bids, rules, scaled, allocation.objective, known.members, costs, mu, dearest(problem))
    return _decision(bids, problem, known, paid, truthful=sure)


def _critical(problem: Problem, allocation: Allocation, solver: str) -> tuple[Vector, bool]:
    """The winners' critical virtual costs, and whether all are proved."""
    if solver == "enumerate":
        return critical_costs_by_enumeration(problem, allocation), True
    if problem.kind == "joint":
        return critical_costs_of_joint(problem, allocation), allocation.proved
    prices = budgeted.critical_costs(problem, allocation)
    return prices.values, allocation.proved and bool(np.all(prices.proved))


def _prices(
    bids: Bids,
    rules: Rules,
    solved: Problem,
    objective: float,
    members: Places,
    costs: Vector,
    mu: float = 1.0,
    most: float = inf,
) -> Vector:
    """Critical costs of the problem that was solved, in which costs counted mu times, as prices."""
    by_solver = replace(rules, payments="virtual")

    def bought(row: int, price: float) -> bool:
        return bool(decide(bids.with_report(row, reserve=price), by_solver).selected[row])

    width = tolerance(solved.limit)
    if solved.kind == "joint":
        width = 1e-12 * max(abs(objective), float(costs.max(initial=0.0)))
    return threshold_prices(bids, bids.canonical[members], np.minimum(costs / mu, most), width / mu, bought)


def _at_virtual_costs(bids: Bids, problem: Problem, allocation: Allocation) -> Decision:
    paid = problem.costs[allocation.members]
    return _decision(bids, problem, allocation, paid, truthful=False, critical=False)


def _objective(problem: Problem, members: Places) -> float:
    """V + Psi for joint, V for the others, whatever the budget allows."""
    size, total, spend = problem.totals(members)
    loss = problem.loss(size, total)
    return loss + spend if problem.kind == "joint" and size else loss


def _decision(
    bids: Bids, problem: Problem, allocation: Allocation, paid: Vector, *, truthful: bool, critical: bool = True
) -> Decision:
    """Back to the order of the bids; `paid` are the members' payments, which are critical prices or not."""
    rows = bids.canonical[allocation.members]
    selected, payments, prices = np.zeros(len(bids), dtype=bool), np.zeros(len(bids)), np.full(len(bids), np.nan)
    selected[rows], payments[rows] = True, paid
    if critical:
        prices[rows] = paid
    size, total, _ = problem.totals(allocation.members)
    objective = _objective(problem, allocation.members)
    return Decision(
        selected=selected,
        payments=payments,
        critical=prices,
        bound=problem.loss(size, total),
        objective=objective,
        lower_bound=min(allocation.lower_bound, objective),
        truthful=truthful,
        nodes=allocation.nodes,
    )
