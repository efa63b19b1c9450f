"""`kantor.clear`: bids and a mechanism in, a coalition with payments and proof out.

What is asked is checked, the mechanism decides, and what it decides is checked again: a mechanism may be anybody's.
"""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np

from kantor.bids.bids import Bids
from kantor.bids.checks import frozen
from kantor.clearing.mechanisms import Mechanism
from kantor.clearing.outcome import Clearing, Decision, Flags, Payments, Rules
from kantor.errors import InputError
from kantor.owners.distributions import Vector
from kantor.valuation.hoeffding import Population, coefficient

__all__ = ["choice", "clear", "clear_by"]


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

    mechanism: Exogenous, Endogenous, Joint, or one of your own (docs/own-mechanism.md).
    population_size: how many owners define the target; the number of bids unless given, and never fewer.
    payments: "threshold" (the highest price at which each winner would still have been bought), "virtual" (as the paper
        prints it: not truthful), "clock" (truthful and never over budget, without a claim to optimality).
    solver: "exact"; to check it "enumerate" (up to 20 owners) or "misocp" (the paper's program, in SCIP; any other
        installed solver can be named, as in "misocp:GUROBI").
    work_limit: the most nodes to search, so that a clearing that stops early is still reproducible.
    """
    _known(bids, mechanism)
    _enough(bids, population_size)
    _amount_of_work(work_limit)
    size = len(bids) if population_size is None else int(population_size)
    coefficient(len(bids), size, confidence, population)  # an error if these make no bound
    rules = Rules(
        mechanism=mechanism,
        confidence=float(confidence),
        population=population,
        population_size=size,
        payments=choice("payments", payments, mechanism.payment_rules, "threshold"),
        solver=choice("solver", solver, mechanism.solvers, "exact"),
        work_limit=None if work_limit is None else int(work_limit),
    )
    return clear_by(rules, bids)


def clear_by(rules: Rules, bids: Bids) -> Clearing:
    """Clear by rules that are known already, as an audit does again and again."""
    return _clearing(bids, rules, rules.mechanism.decide(bids, rules))


def _clearing(bids: Bids, rules: Rules, decision: Decision) -> Clearing:
    """The decision as an outcome, if it can be one."""
    if not isinstance(decision, Decision):
        raise _unusable(rules, f"decided {type(decision).__name__}", "Return kantor.Decision(selected=, payments=).")
    selected = _selected(bids, rules, decision.selected)
    payments = _payments(bids, rules, decision.payments)
    bound = rules.loss(bids.distance[selected]) if decision.bound is None else float(decision.bound)
    objective = bound if decision.objective is None else float(decision.objective)
    critical = np.full(len(bids), np.nan) if decision.critical is None else decision.critical
    return Clearing(
        bids=bids,
        rules=rules,
        selected=frozen(selected),
        payments=frozen(payments),
        critical=frozen(np.where(selected, np.asarray(critical, dtype=np.float64), np.nan)),
        bound=bound,
        objective=objective,
        lower_bound=float(decision.lower_bound) if isnan(objective) else min(float(decision.lower_bound), objective),
        truthful=bool(decision.truthful),
        nodes=int(decision.nodes),
    )


def _selected(bids: Bids, rules: Rules, given: Any) -> Flags:
    flags = np.asarray(given)
    if flags.shape != (len(bids),) or flags.dtype != bool:
        said = f"selected has shape {flags.shape} and type {flags.dtype}, and there are {len(bids)} bids"
        raise _unusable(rules, said, "Give one True or False for each bid, in their order.")
    return flags.copy()


def _payments(bids: Bids, rules: Rules, given: Any) -> Vector:
    try:
        payments = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as fault:
        raise _unusable(rules, f"payments are not numbers ({fault})", "Give one number for each bid.") from fault
    if payments.shape != (len(bids),):
        said = f"payments have shape {payments.shape}, and there are {len(bids)} bids"
        raise _unusable(rules, said, "Give one number for each bid, in their order.")
    wrong = np.flatnonzero(~np.isfinite(payments))
    if wrong.size:
        name, value = bids.name(int(wrong[0])), payments[wrong[0]]
        raise _unusable(rules, f"owner {name!r} is to be paid {value}", "Give 0 to whom nothing is paid.")
    return payments


def _unusable(rules: Rules, said: str, remedy: str) -> InputError:
    return InputError(f"the mechanism {rules.mechanism.kind!r} {said}", remedy=remedy, argument="mechanism")


def _known(bids: Any, mechanism: Any) -> None:
    if not isinstance(bids, Bids):
        raise InputError(
            f"bids are {type(bids).__name__}", remedy="Give kantor.Bids, or kantor.Bids.read(path).", argument="bids"
        )
    if not isinstance(mechanism, Mechanism):
        raise InputError(
            f"mechanism is {mechanism!r}",
            remedy="Give kantor.Exogenous(budget=...), kantor.Endogenous(reference_loss=...), kantor.Joint(...), "
            "or an object of your own class that inherits from kantor.Mechanism.",
            argument="mechanism",
        )


def _enough(bids: Bids, population_size: Any) -> None:
    if population_size is None:
        return
    if isinstance(population_size, bool) or not isinstance(population_size, (int, np.integer)):
        raise InputError(
            f"population_size is {population_size!r}",
            remedy="Give a whole number, at least the number of bids.",
            value=population_size,
            argument="population_size",
        )
    if population_size < len(bids):
        raise InputError(
            f"population_size is {population_size}, and there are {len(bids)} bids",
            remedy="Count every owner who defines the target, those who did not bid included.",
            value=population_size,
        )


def _amount_of_work(work_limit: Any) -> None:
    if work_limit is not None and (
        isinstance(work_limit, bool) or not isinstance(work_limit, (int, np.integer)) or work_limit < 0
    ):
        raise InputError(
            f"work_limit is {work_limit!r}",
            remedy="Give a whole number of nodes, at least 0, or leave it out.",
            value=work_limit,
            argument="work_limit",
        )


def choice(name: str, given: str, allowed: tuple[str, ...], default: str) -> str:
    """What was asked for, if the mechanism does it; what a mechanism of one's own does where nothing was asked."""
    if (
        isinstance(given, str)
        and given.partition(":")[0] in allowed
        and (given.startswith("misocp:") or ":" not in given)
    ):
        return given
    if given == default:
        return allowed[0]
    choices = ", ".join(f'"{choice}"' for choice in allowed)
    raise InputError(f"{name} {given!r} is not known", remedy=f"Choose one of: {choices}.", value=given, argument=name)
