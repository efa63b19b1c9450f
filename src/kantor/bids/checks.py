"""What a bid may say: finite distances and reserve prices from 0 up, budgets above 0, one name for each owner.

Each refusal names the owner and, where bids came from a table, file, row and column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from kantor.bids.priors import Priors
from kantor.bids.virtual import VirtualCosts
from kantor.errors import InputError
from kantor.owners.distributions import Vector
from kantor.owners.samples import as_numbers

__all__ = [
    "ARRAYS",
    "Source",
    "amounts",
    "budgets",
    "count",
    "frozen",
    "names",
    "report",
    "sensitivities",
    "supported",
    "within",
]

Names = tuple[str, ...] | None
Array = TypeVar("Array", bound=npt.NDArray[Any])

_LARGEST = 1e150
"""Clearing squares distances."""

_REMEDIES = {
    "distance": "A distance is at least 0 and at most 1e150: measure it again, or leave the owner out.",
    "reserve": "A reserve price is finite and at least 0: ask the owner again, or leave it out.",
    "epsilon": "A privacy budget is finite and above 0: correct it, or leave the owner out.",
    "sensitivity": "A sensitivity is finite and above 0: how much one record can move the release.",
}


@dataclass(frozen=True)
class Source:
    """Where bids came from, to say where a faulty one stands."""

    file: str | None = None
    table: bool = False

    def where(self, column: str, place: int, name: str) -> dict[str, object]:
        """The place of one cell. The header is row 1."""
        if not self.table:
            return {"argument": column, "owner": repr(name)}
        return {"file": self.file, "row": place + 2, "column": column, "owner": repr(name)}


ARRAYS = Source()


def frozen(array: Array) -> Array:
    """The same array, read-only."""
    array.flags.writeable = False
    return array


def count(distance: Any) -> int:
    """How many owners bid, at least one."""
    if np.ndim(distance) != 1:
        raise InputError(
            f"distances have shape {np.shape(distance)}",
            remedy="Give a list with one number for each owner.",
            argument="distance",
        )
    if len(distance) == 0:
        raise InputError("there are no bids", remedy="Give at least one owner.", argument="distance")
    return len(distance)


def names(owner: Any, size: int, source: Source = ARRAYS) -> Names:
    """Names as texts, each given once; None stays None and stands for "0", "1", ..."""
    if owner is None:
        return None
    if isinstance(owner, str):
        raise InputError(
            f"owner is the text {owner!r}", remedy="Give a list with one name for each owner.", argument="owner"
        )
    listed = owner.tolist() if hasattr(owner, "tolist") else list(owner)
    _same_length("owner", len(listed), size)
    texts = tuple(name if isinstance(name, str) else _as_name(name) for name in listed)
    if len(set(texts)) < size or "" in texts:
        _refuse_names(texts, source)
    return texts


def _as_name(name: object) -> str:
    return "" if name is None or name != name else str(name)


def _refuse_names(texts: tuple[str, ...], source: Source) -> None:
    first: dict[str, int] = {}
    for place, name in enumerate(texts):
        where = source.where("owner", place, name)
        if not name:
            where.pop("owner", None)
            raise InputError(
                "the owner has no name" if source.table else f"bid {place} (counted from 0) has no owner",
                remedy="Name every owner.",
                **where,
            )
        if name in first:
            other = f"row {first[name] + 2}" if source.table else f"bid {first[name]} (counted from 0)"
            raise InputError(
                f"the owner bids a second time, after {other}",
                remedy="Keep one bid for each owner, and give every owner a name of its own.",
                value=name,
                **where,
            )
        first[name] = place


def amounts(column: str, values: Any, size: int, owners: Names, source: Source = ARRAYS) -> Vector:
    """Finite numbers from 0 up, one for each owner, as a read-only copy."""
    return _numbers(column, values, size, owners, source, lambda array: (array >= 0) & (array <= _LARGEST))


def budgets(values: Any, size: int, owners: Names, source: Source = ARRAYS) -> Vector:
    """Finite numbers above 0, one for each owner, as a read-only copy."""
    return _numbers("epsilon", values, size, owners, source, lambda array: array > 0)


def sensitivities(values: Any, size: int, owners: Names) -> Vector:
    """Finite numbers above 0: one for all owners, or one each."""
    spread = np.full(size, values) if np.ndim(values) == 0 else values
    return _numbers("sensitivity", spread, size, owners, ARRAYS, lambda array: array > 0)


def _numbers(
    column: str,
    values: Any,
    size: int,
    owners: Names,
    source: Source,
    allowed: Callable[[Vector], npt.NDArray[np.bool_]],
) -> Vector:
    if np.ndim(values) != 1:
        raise InputError(
            f"{column} has shape {np.shape(values)}",
            remedy="Give a list with one number for each owner.",
            argument=column,
        )
    _same_length(column, len(values), size)
    array = as_numbers(values, argument=column) + 0.0  # a copy, without negative zeros
    good = np.isfinite(array) & allowed(array)
    if not good.all():
        place = int(np.argmin(good))
        raise InputError(
            f"{column} is {array[place]}",
            remedy=_REMEDIES[column],
            value=float(array[place]),
            **source.where(column, place, _name(owners, place)),
        )
    return frozen(array)


def _same_length(column: str, length: int, size: int) -> None:
    if length != size:
        raise InputError(
            f"there are {size} distances and {length} values of {column}",
            remedy="Give one of each for every owner, in the same order.",
            argument=column,
        )


def supported(reserve: Vector, priors: Priors, owners: Names, source: Source = ARRAYS) -> None:
    """Refuse reserve prices that the prior says cannot be."""
    bad = (reserve < priors.lower) | (reserve > priors.highest)
    if bad.any():
        place = int(np.argmax(bad))
        where = source.where("reserve", place, _name(owners, place))
        _refuse_reserve(float(reserve[place]), priors.costs(place), where)


def report(column: str, value: float, name: str) -> None:
    """Refuse one owner's report that is no finite number from 0 up."""
    if not (np.isfinite(value) and value >= 0):
        raise InputError(f"{column} is {value}", remedy=_REMEDIES[column], value=value, **ARRAYS.where(column, 0, name))


def within(reserve: float, costs: VirtualCosts, name: str) -> None:
    """Refuse one owner's reserve price that its prior says cannot be."""
    if not costs.lower <= reserve <= costs.highest:
        _refuse_reserve(reserve, costs, ARRAYS.where("reserve", 0, name))


def _refuse_reserve(reserve: float, costs: VirtualCosts, where: dict[str, object]) -> None:
    raise InputError(
        f"reserve is {reserve:.17g}, outside the prior's support from {costs.lower:g} to {costs.highest:g}",
        remedy="Give a prior that allows this price, or leave the owner out.",
        value=reserve,
        **where,
    )


def _name(owners: Names, place: int) -> str:
    return str(place) if owners is None else owners[place]
