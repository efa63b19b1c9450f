"""The mechanisms of the paper (section 3), as what a buyer states about itself, and the base for one's own.

    Exogenous   a fixed budget, and as good data as it buys: a research institute with a grant
    Endogenous  a reference loss that data must beat, payments included: a community manager who wants the best data
    Joint       the same reference loss, and the least sum of loss and payments: a retailer that maximises profit

`feasibility="pointwise"` keeps the budget, counted in virtual costs, in every single clearing, as the published runs
do; `"interim"` keeps it in expectation over the owners' priors, as the problem is printed.

Any other rule is a subclass of `Mechanism` with one method, `decide`: bids in, a coalition and payments out. It then
runs through `kantor.clear`, the audit, the planner and the studies as the paper's do (docs/own-mechanism.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, is_dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, get_args

from kantor.clearing import optimal
from kantor.clearing.outcome import Decision, Payments
from kantor.errors import InputError

if TYPE_CHECKING:
    from kantor.bids.bids import Bids
    from kantor.clearing.outcome import Rules

__all__ = ["Endogenous", "Exogenous", "Feasibility", "Joint", "Mechanism", "Optimal"]

Feasibility: TypeAlias = Literal["pointwise", "interim"]


class Mechanism(ABC):
    """A rule that says whom to buy from and what to pay. Only `decide` has to be written.

    It must be a function of the bids and the rules alone: the same bids, in any order, give the same outcome. Whoever
    audits it asks it again with other reports. A rule that needs chance draws it from a seed of its own.
    """

    kind: ClassVar[str] = ""
    """Its name in a clearing; the class's own in lower case unless given."""
    payment_rules: ClassVar[tuple[str, ...]] = ("own",)
    """What `clear(payments=...)` may ask of it; the first is what it does unasked."""
    solvers: ClassVar[tuple[str, ...]] = ("own",)
    """What `clear(solver=...)` may ask of it."""
    only_these_owners: ClassVar[bool] = False
    """Whether it knows the owners that it was made for and no others, as a table of coalitions' values does."""

    budget: float = inf
    """What payments are not to exceed, on average."""
    reference_loss: float | None = None
    """What loss and payments together are not to exceed; the loss of buying nothing."""
    lipschitz: float = 1.0
    """K: what a unit of distance costs the buyer."""
    feasibility: Feasibility = "pointwise"
    """Whether the budget is meant for every clearing or on average."""

    def __init_subclass__(cls) -> None:
        """Name the mechanism after its class."""
        if not cls.__dict__.get("kind"):
            cls.kind = cls.__name__.lower()

    @abstractmethod
    def decide(self, bids: Bids, rules: Rules) -> Decision:
        """Who is bought and what each is paid, in the order of the bids."""

    @property
    def limit(self) -> float:
        """The budget, or the reference loss; infinity where neither is stated."""
        return float(self.budget if self.reference_loss is None else self.reference_loss)

    @property
    def nothing(self) -> float:
        """The loss of buying nothing: the reference loss, or infinity where there is only a budget."""
        return inf if self.reference_loss is None else float(self.reference_loss)

    def as_dict(self) -> dict[str, Any]:
        """What it was asked for as plain data; infinity is None. A dataclass tells its plain fields as well."""
        own: list[str] = [part.name for part in fields(self)] if is_dataclass(self) else []
        plain = {name: getattr(self, name) for name in own}
        return {
            "mechanism": self.kind,
            "limit": self.limit if isfinite(self.limit) else None,
            "lipschitz": float(self.lipschitz),
            "feasibility": self.feasibility,
            **{name: value for name, value in plain.items() if isinstance(value, bool | int | float | str)},
        }


class Optimal(Mechanism):
    """One of the paper's three: cleared to proved optimality."""

    kind: ClassVar[str] = "optimal"
    payment_rules: ClassVar[tuple[str, ...]] = get_args(Payments)
    solvers: ClassVar[tuple[str, ...]] = optimal.SOLVERS

    def decide(self, bids: Bids, rules: Rules) -> Decision:
        """The optimum of its problem, with threshold, virtual or clock payments."""
        return optimal.decide(bids, rules)


@dataclass(frozen=True, kw_only=True)
class Exogenous(Optimal):
    """Least bound with virtual costs within a fixed budget. It has no task, so K = 1."""

    kind: ClassVar[str] = "exogenous"
    budget: float = field()
    feasibility: Feasibility = "pointwise"

    def __post_init__(self) -> None:
        _amount("budget", self.budget)
        _feasible(self.feasibility)


@dataclass(frozen=True, kw_only=True)
class Endogenous(Optimal):
    """Least bound on the loss with loss and virtual costs together within the reference loss."""

    kind: ClassVar[str] = "endogenous"
    reference_loss: float = field()
    lipschitz: float = 1.0
    feasibility: Feasibility = "pointwise"

    def __post_init__(self) -> None:
        _amount("reference_loss", self.reference_loss)
        _amount("lipschitz", self.lipschitz)
        _feasible(self.feasibility)


@dataclass(frozen=True, kw_only=True)
class Joint(Optimal):
    """Least sum of the bound on the loss and virtual costs, or nothing at the reference loss."""

    kind: ClassVar[str] = "joint"
    reference_loss: float = field()
    lipschitz: float = 1.0

    def __post_init__(self) -> None:
        _amount("reference_loss", self.reference_loss)
        _amount("lipschitz", self.lipschitz)


def _amount(name: str, value: Any) -> None:
    try:
        number = float("nan") if isinstance(value, (str, bool)) else float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not isfinite(number) or number < 0:
        raise InputError(f"{name} is {value}", remedy="Give a finite number, at least 0.", value=value, argument=name)


def _feasible(feasibility: str) -> None:
    if feasibility not in get_args(Feasibility):
        raise InputError(
            f"feasibility {feasibility!r} is not known", remedy='Choose "pointwise" or "interim".', value=feasibility
        )
