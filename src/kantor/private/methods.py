"""What every way of valuing data privately has in common.

A method is three programs. The *owner's* turns data into whole numbers, to be split among the parties; it refuses what
the method cannot hold. The *parties'* computes on the shares and ends with one number for each owner, still shared. The
*market's* puts the shares of the result together. Before any of them runs, everybody knows the method's parameters, and
so the bound on its error.

Owners whose numbers cannot come from any data (a falling cumulative count, a negative spread) are left out by the
parties, who learn of an owner only whether that is so.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from kantor.errors import InputError
from kantor.owners.distributions import Vector
from kantor.private.engine import Engine
from kantor.private.randomness import Words

__all__ = ["Method", "Outcome", "Plain", "method_from", "refuse_unsound", "whole"]


@dataclass(frozen=True)
class Outcome:
    """What the parties end with: which owners' numbers were sound, a number for each of those, shared, and what was
    opened to everybody on the way.
    """

    sound: npt.NDArray[np.bool_]
    totals: Words
    opened: dict[str, int]


class Method(Protocol):
    """A way of computing distances. Its fields are its public parameters."""

    name: ClassVar[str]

    @property
    def size(self) -> int:
        """How many numbers an owner shares."""

    def encode(self, data: Any, owner: str | None = None) -> Vector:
        """An owner's data as whole numbers."""

    def compute(self, engine: Engine, inputs: Words, references: Words) -> Outcome:
        """The parties' program: inputs (2, owners, size) and reference data that are no part of the target."""

    def decode(self, totals: npt.NDArray[np.int64], owners: int, opened: dict[str, int]) -> Vector:
        """The distances, from the opened totals."""

    @property
    def error_bound(self) -> float:
        """No distance is further from that of the raw data than this."""

    def as_dict(self) -> dict[str, Any]:
        """The parameters as plain data."""


class Plain:
    """Methods as plain data."""

    name: ClassVar[str]

    def as_dict(self) -> dict[str, Any]:
        """The parameters, the method's name among them."""
        return {"method": self.name, **asdict(self)}  # type: ignore[call-overload]


def method_from(parameters: dict[str, Any]) -> Method:
    """The method that these parameters describe."""
    from kantor.private.aligned import Aligned
    from kantor.private.histogram import Histogram
    from kantor.private.parameters import Parameters

    known: dict[str, type[Any]] = {each.name: each for each in (Histogram, Parameters, Aligned)}
    given = dict(parameters)
    name = given.pop("method", None)
    if name not in known:
        raise InputError(f"method {name!r} is not known", remedy=f"Choose one of: {', '.join(known)}.", value=name)
    try:
        return known[name](**given)
    except TypeError as fault:
        raise InputError(f"these are no parameters of {name} ({fault})", remedy="See the method's fields.") from fault


def whole(name: str, value: Any, least: int, most: int) -> None:
    """Refuse what is no whole number in a range."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(
            f"{name} is {value!r}", remedy=f"Give a whole number from {least} to {most}.", value=value, argument=name
        )


def refuse_unsound(engine: Engine, violations: Words) -> npt.NDArray[np.bool_]:
    """Which owners are sound: their number of violations is opened, and is 0 for every honest owner."""
    return engine.open(violations) == 0
