"""`kantor.clear`: bids and a mechanism in, a coalition with payments and proof out.

The work is elsewhere; here it is put together: owners are put in canonical order, the problem is posed, a solver is
chosen, winners are priced, and everything is taken back to the order of the bids.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, get_args

import numpy as np

from kantor.bids.bids import Bids
from kantor.clearing import budgeted
from kantor.clearing.clock import clock
from kantor.clearing.enumeration import solve_by_enumeration
from kantor.clearing.interim import multiplier, with_multiplier
from kantor.clearing.joint import solve_joint
from kantor.clearing.joint_prices import critical_costs_of_joint
from kantor.clearing.mechanisms import Mechanism
from kantor.clearing.outcome import Clearing, Payments, Rules
from kantor.clearing.problem import Allocation, Places, Problem
from kantor.errors import InputError
from kantor.owners.distributions import Vector
from kantor.valuation.hoeffding import Population, coefficient

__all__ = ["SOLVERS", "clear", "pose"]

Solver = Callable[[Problem, int | None], Allocation]


def _exact(problem: Problem, work_limit: int | None = None) -> Allocation:
    solve = {"joint": solve_joint, "exogenous": budgeted.solve_exogenous, "endogenous": budgeted.solve_endogenous}[
        problem.kind
    ]
    return solve(problem, work_limit)


SOLVERS: dict[str, Solver] = {"exact": _exact, "enumerate": solve_by_enumeration}


def clear(
    bids: Bids,
    mechanism: Mechanism,
    confidence: float = 0.95,
    population: Population = "finite",
    population_size: int | None = None,
    payments: Payments = "threshold",
    solver: str = "exact",
    work_limit: int | None = None,
) -> Clearing:
    """Choose the coalition to buy and what to pay for it.

    population_size: how many owners define the target; the number of bids unless given, and never fewer.
    payments: "threshold" (the highest price at which each winner would still have been bought), "virtual" (as the paper
        prints it: not truthful), "clock" (truthful and never over budget, without a claim to optimality).
    work_limit: the most nodes to search, so that a clearing that stops early is still reproducible.
    """
    rules = _rules(bids, mechanism, confidence, population, population_size, payments, solver, work_limit)
    problem = pose(bids, rules)
    if payments == "clock":
        members, offers = clock(bids, problem)
        return _by_clock(bids, rules, problem, members, offers)
    if mechanism.feasibility == "interim":
        return _by_multiplier(bids, rules, problem)
    allocation = SOLVERS[solver](problem, work_limit)
    costs, sure = (None, True) if payments == "virtual" else _critical(problem, allocation)
    return _outcome(bids, rules, problem, allocation, costs, sure)


def _by_multiplier(bids: Bids, rules: Rules, problem: Problem) -> Clearing:
    """An interim budget: the joint problem at the market's own price of money."""
    mu = multiplier(bids, problem)
    if mu == inf:
        nothing = Allocation(np.empty(0, dtype=np.int64), problem.reference, problem.reference)
        return _outcome(bids, rules, problem, nothing, np.empty(0), sure=True)
    scaled = with_multiplier(problem, mu)
    allocation = SOLVERS[rules.solver](scaled, rules.work_limit)
    costs = None
    if rules.payments != "virtual":
        costs = critical_costs_of_joint(scaled, allocation)
        costs = costs / mu if mu > 0 else np.full(costs.size, inf)
    size, total, _ = problem.totals(allocation.members)
    loss = problem.loss(size, total)
    known = Allocation(allocation.members, loss, loss if allocation.proved else 0.0, allocation.nodes)
    return _outcome(bids, rules, problem, known, costs, sure=True)


def _outcome(
    bids: Bids, rules: Rules, problem: Problem, allocation: Allocation, costs: Vector | None, sure: bool
) -> Clearing:
    """Back to the order of the bids; `costs` are the winners' critical virtual costs, None to pay virtual costs."""
    members, rows = allocation.members, bids.canonical[allocation.members]
    paid, critical = np.zeros(len(bids)), np.full(len(bids), np.nan)
    if costs is None:
        paid[rows] = problem.costs[members]
    else:
        paid[rows] = critical[rows] = np.maximum(bids.priors.inverse(costs, rows), bids.reserve[rows])
    size, total, spend = problem.totals(members)
    loss = problem.loss(size, total)
    objective = loss + spend if rules.mechanism.kind == "joint" and size else loss
    return Clearing(
        bids=bids,
        rules=rules,
        selected=_flags(len(bids), rows),
        payments=paid,
        critical=critical,
        bound=loss,
        objective=objective,
        lower_bound=min(allocation.lower_bound, objective),
        truthful=members.size == 0 or (costs is not None and allocation.proved and sure),
        nodes=allocation.nodes,
    )


def pose(bids: Bids, rules: Rules) -> Problem:
    """The bids as a problem, owners in canonical order."""
    order, mechanism = bids.canonical, rules.mechanism
    sizes = np.arange(len(bids) + 1)
    constants = coefficient(sizes, rules.population_size, rules.confidence, rules.population)
    return Problem(
        mechanism.kind,
        bids.distance[order] ** 2,
        bids.virtual[order],
        np.where(sizes > 0, mechanism.lipschitz * np.where(sizes > 0, constants, 0.0), np.inf),
        mechanism.limit,
    )


def _critical(problem: Problem, allocation: Allocation) -> tuple[Vector, bool]:
    """The winners' critical virtual costs, and whether all are proved."""
    if problem.kind == "joint":
        return critical_costs_of_joint(problem, allocation), allocation.proved
    prices = budgeted.critical_costs(problem, allocation)
    return prices.values, bool(np.all(prices.proved))


def _by_clock(bids: Bids, rules: Rules, problem: Problem, members: Places, offers: Vector) -> Clearing:
    rows = bids.canonical[members]
    paid, critical = np.zeros(len(bids)), np.full(len(bids), np.nan)
    paid[rows] = critical[rows] = offers
    size, total, spend = problem.totals(members)
    loss = problem.loss(size, total)
    return Clearing(
        bids=bids,
        rules=rules,
        selected=_flags(len(bids), rows),
        payments=paid,
        critical=critical,
        bound=loss,
        objective=loss + spend if problem.kind == "joint" and size else loss,
        lower_bound=0.0,
        truthful=True,
    )


def _flags(count: int, rows: Places) -> Any:
    selected = np.zeros(count, dtype=bool)
    selected[rows] = True
    return selected


def _rules(
    bids: Bids,
    mechanism: Mechanism,
    confidence: float,
    population: Population,
    population_size: int | None,
    payments: Payments,
    solver: str,
    work_limit: int | None,
) -> Rules:
    if not isinstance(bids, Bids):
        raise InputError(
            f"bids are {type(bids).__name__}", remedy="Give kantor.Bids, or kantor.Bids.read(path).", argument="bids"
        )
    if not isinstance(mechanism, get_args(Mechanism)):
        raise InputError(
            f"mechanism is {mechanism!r}",
            remedy="Give kantor.Exogenous(budget=...), kantor.Endogenous(reference_loss=...) or kantor.Joint(...).",
            argument="mechanism",
        )
    size = len(bids) if population_size is None else population_size
    if size < len(bids):
        raise InputError(
            f"population_size is {population_size}, and there are {len(bids)} bids",
            remedy="Count every owner who defines the target, those who did not bid included.",
            value=population_size,
        )
    if payments not in get_args(Payments):
        raise InputError(
            f"payments {payments!r} is not known", remedy='Choose "threshold", "virtual" or "clock".', value=payments
        )
    if solver not in SOLVERS:
        raise InputError(
            f"solver {solver!r} is not known", remedy=f"Choose one of: {', '.join(SOLVERS)}.", value=solver
        )
    return Rules(
        mechanism=mechanism,
        confidence=confidence,
        population=population,
        population_size=size,
        payments=payments,
        solver=solver,
        work_limit=work_limit,
    )
