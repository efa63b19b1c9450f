"""The three mechanisms of the paper (section 3), as what a buyer states about itself.

    Exogenous   a fixed budget, and as good data as it buys: a research institute with a grant
    Endogenous  a reference loss that data must beat, payments included: a community manager who wants the best data
    Joint       the same reference loss, and the least sum of loss and payments: a retailer that maximises profit

`feasibility="pointwise"` keeps the budget, counted in virtual costs, in every single clearing, as the published runs
do; `"interim"` keeps it in expectation over the owners' priors, as the problem is printed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal, TypeAlias, get_args

from kantor.clearing.problem import Kind
from kantor.errors import InputError

__all__ = ["Endogenous", "Exogenous", "Feasibility", "Joint", "Mechanism"]

Feasibility: TypeAlias = Literal["pointwise", "interim"]


@dataclass(frozen=True, kw_only=True)
class Exogenous:
    """Least bound with virtual costs within a fixed budget."""

    budget: float
    feasibility: Feasibility = "pointwise"

    def __post_init__(self) -> None:
        _amount("budget", self.budget)
        _feasible(self.feasibility)

    @property
    def kind(self) -> Kind:
        """Which problem it poses."""
        return "exogenous"

    @property
    def limit(self) -> float:
        """B."""
        return float(self.budget)

    @property
    def lipschitz(self) -> float:
        """No task, so K = 1."""
        return 1.0


@dataclass(frozen=True, kw_only=True)
class Endogenous:
    """Least bound on the loss with loss and virtual costs together within the reference loss."""

    reference_loss: float
    lipschitz: float = 1.0
    feasibility: Feasibility = "pointwise"

    def __post_init__(self) -> None:
        _amount("reference_loss", self.reference_loss)
        _amount("lipschitz", self.lipschitz)
        _feasible(self.feasibility)

    @property
    def kind(self) -> Kind:
        """Which problem it poses."""
        return "endogenous"

    @property
    def limit(self) -> float:
        """The reference loss."""
        return float(self.reference_loss)


@dataclass(frozen=True, kw_only=True)
class Joint:
    """Least sum of the bound on the loss and virtual costs, or nothing at the reference loss."""

    reference_loss: float
    lipschitz: float = 1.0

    def __post_init__(self) -> None:
        _amount("reference_loss", self.reference_loss)
        _amount("lipschitz", self.lipschitz)

    @property
    def kind(self) -> Kind:
        """Which problem it poses."""
        return "joint"

    @property
    def limit(self) -> float:
        """The reference loss."""
        return float(self.reference_loss)

    @property
    def feasibility(self) -> Feasibility:
        """Optimal pointwise, and therefore in expectation."""
        return "pointwise"


Mechanism: TypeAlias = Exogenous | Endogenous | Joint


def _amount(name: str, value: float) -> None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not isfinite(number) or number < 0:
        raise InputError(f"{name} is {value}", remedy="Give a finite number, at least 0.", value=value, argument=name)


def _feasible(feasibility: str) -> None:
    if feasibility not in get_args(Feasibility):
        raise InputError(
            f"feasibility {feasibility!r} is not known", remedy='Choose "pointwise" or "interim".', value=feasibility
        )
