"""The reference budget: what the buyer would lose, in money, with the data it already has.

A buyer who has free reference data X_R (public, or its own) should never spend more, losses included, than doing with
them would cost. In the endogenous and the joint mechanism that amount is the budget (paper, section 3.4):

    B_M(X_R) = L(X_R) - L(X_T),

an excess, in the money of the payments. It has to be estimated, because the target X_T is what the buyer does not
have yet, and the buyer bears the error of the estimate:

*Too low*: everything promised still holds, and the buyer gets less data than it could have afforded.

*Too high*: the buyer may buy more than is worth it, and end up worse off than with the reference data alone. Budget
feasibility is no longer guaranteed, although the slack in K W may still save it.

Owners are paid at least their reserve in either case. There are two ways to estimate:

- from a distance: the excess is at most K W(X_R, X_T), an upper bound, and so an estimate that is too high;
- from history: past losses with the reference data and with the target's, whose mean difference comes with a Student
  t interval. Its lower end is the prudent budget, its upper end the eager one. The interval assumes periods that
  are independent of each other and like the next one, and a mean that is nearly normal.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, Literal

import numpy as np
import scipy

from kantor.errors import InputError
from kantor.owners.distributions import Vector
from kantor.owners.samples import as_sample
from kantor.valuation.tasks import Task
from kantor.valuation.wasserstein import wasserstein

__all__ = ["ReferenceBudget", "reference_budget"]


@dataclass(frozen=True)
class ReferenceBudget:
    """An estimate of B_M(X_R) in money, usable as a number: `float(budget)` is its `value`.

    kind "bound": `value` and `upper` are K W, and the true excess lies between `lower` and `upper` for certain (if K
    is a proved constant). kind "history": `value` is the mean, and the interval holds the true mean excess with
    the given confidence.
    """

    value: float
    lower: float
    upper: float
    kind: Literal["bound", "history"]
    confidence: float
    basis: str

    def __float__(self) -> float:
        return self.value


def reference_budget(
    task: Task | None = None,
    reference: Any = None,
    target: Any = None,
    *,
    lipschitz: float | None = None,
    distance: float | None = None,
    reference_losses: Any = None,
    target_losses: Any = None,
    excesses: Any = None,
    confidence: float = 0.95,
    money_per_loss: float = 1.0,
) -> ReferenceBudget:
    """B_M(X_R), the excess L(X_R) - L(X_T) in money, estimated in one of two ways.

    From a bound: `lipschitz` x W, where W is `distance`, or that of `reference` and `target` data. A `task` supplies
    its guarantee for `lipschitz`. From history: `reference_losses` and `target_losses` of the same periods, or
    their differences as `excesses`, at least two. `money_per_loss` is what one unit of loss costs.

    >>> float(reference_budget(lipschitz=0.13, distance=2.0, money_per_loss=100))
    26.0
    >>> budget = reference_budget(reference_losses=[5, 7, 6], target_losses=[4, 4, 4])
    >>> budget.value, round(budget.lower, 3), round(budget.upper, 3)
    (2.0, -0.484, 4.484)
    """
    if not 0 < money_per_loss < inf:
        raise InputError(
            f"one unit of loss is worth {money_per_loss}", remedy="Give a positive amount.", value=money_per_loss
        )
    history = [reference_losses, target_losses, excesses]
    bound = [task, reference, target, lipschitz, distance]
    if any(given is not None for given in history) == any(given is not None for given in bound):
        raise InputError(
            "a budget is estimated either from a Lipschitz bound or from historical losses",
            remedy="Give lipschitz and distance (or a task and data), or else past losses; one of the two.",
        )
    if any(given is not None for given in history):
        return _from_history(_past_excesses(reference_losses, target_losses, excesses), confidence, money_per_loss)
    return _from_bound(task, _slope(task, lipschitz), _gap(reference, target, distance), money_per_loss)


def _slope(task: Task | None, lipschitz: float | None) -> float:
    if lipschitz is None and task is None:
        raise InputError("the loss's slope is not known", remedy="Give lipschitz, or a task that has a guarantee.")
    constant = task.guarantee if lipschitz is None and task is not None else lipschitz
    if constant is None or not 0 <= constant < inf:
        proof = f": {task.proof}" if task is not None and lipschitz is None else ""
        raise InputError(
            f"the Lipschitz constant is {constant}{proof}",
            remedy="Give a finite lipschitz yourself, such as the task's own `lipschitz`, or use historical losses.",
            value=constant,
        )
    return float(constant)


def _gap(reference: Any, target: Any, distance: float | None) -> float:
    if distance is None:
        if reference is None or target is None:
            raise InputError(
                "the distance from the reference data to the target is not known",
                remedy="Give distance, or both reference and target data.",
            )
        distance = wasserstein(reference, target)
    elif reference is not None or target is not None:
        raise InputError(
            "both a distance and data were given", remedy="Give one of them: the distance would hide the data."
        )
    if not 0 <= distance < inf:
        raise InputError(f"the distance is {distance}", remedy="A distance is finite and at least 0.", value=distance)
    return float(distance)


def _from_bound(task: Task | None, lipschitz: float, distance: float, money: float) -> ReferenceBudget:
    most = money * lipschitz * distance
    least = 0.0 if task is not None and task.optimal else -most
    basis = f"{lipschitz:g} x W, W = {distance:g}" + (f" ({task.name})" if task is not None else "")
    return ReferenceBudget(most, least + 0.0, most, "bound", 1.0, basis)


def _past_excesses(reference_losses: Any, target_losses: Any, excesses: Any) -> Vector:
    if excesses is not None:
        if reference_losses is not None or target_losses is not None:
            raise InputError(
                "both excesses and losses were given", remedy="Give the losses, or their differences, not both."
            )
        return as_sample(excesses, argument="excesses")
    if reference_losses is None or target_losses is None:
        raise InputError(
            "only one of reference_losses and target_losses was given",
            remedy="Give both, period by period, or their differences as excesses.",
        )
    with_reference = as_sample(reference_losses, argument="reference_losses")
    with_target = as_sample(target_losses, argument="target_losses")
    if with_reference.shape != with_target.shape:
        raise InputError(
            f"there are {with_reference.size} losses with the reference and {with_target.size} with the target",
            remedy="Losses are compared period by period: give one of each for every period.",
        )
    return with_reference - with_target


def _from_history(past: Vector, confidence: float, money: float) -> ReferenceBudget:
    if not 0 <= confidence < 1:
        raise InputError(f"the confidence is {confidence}", remedy="Give at least 0 and less than 1.", value=confidence)
    if past.size < 2:
        raise InputError("one period says nothing about how much periods differ", remedy="Give at least two periods.")
    centre = money * float(past.mean())
    error = money * float(past.std(ddof=1) / np.sqrt(past.size))
    margin = float(scipy.special.stdtrit(past.size - 1, 0.5 + 0.5 * confidence)) * error
    if not isfinite(centre) or not isfinite(margin):
        raise InputError("the losses are too large for their mean to be a number", remedy="Use larger units.")
    return ReferenceBudget(
        centre, centre - margin, centre + margin, "history", confidence, f"{past.size} periods, Student t"
    )
