"""Lists in parts. Each begins after the last row of the one before it, so that rows added meanwhile shift nothing."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from fastapi import Path, Query
from sqlalchemy import Column, Select, and_, or_

__all__ = ["After", "Limit", "MarketId", "Number", "follow", "part"]

Limit: TypeAlias = Annotated[int, Query(ge=1, le=500, description="How many at the most.", examples=[50])]
After: TypeAlias = Annotated[
    str | None, Query(max_length=100, pattern=r"^[0-9A-Za-z:./-]+$", description="`next` of the part before.")
]
MarketId: TypeAlias = Annotated[
    str, Path(max_length=40, pattern="^[0-9a-f]+$", description="A market.", examples=["9f2c5a1b7d3e4f60"])
]
Number: TypeAlias = Annotated[
    str, Path(max_length=40, pattern="^[0-9a-f]+$", description="Its `id`.", examples=["0b9c1d2e3f405162"])
]


def follow(query: Select[Any], by: tuple[Column[Any], ...], after: str | None) -> Select[Any]:
    """The query in the order of these columns, from the row after this one on."""
    ordered = query.order_by(*by)
    if after is None:
        return ordered
    values = [*after.split("/"), *[""] * len(by)][: len(by)]
    beyond = [
        and_(*(column == value for column, value in zip(by[:place], values, strict=False)), by[place] > values[place])
        for place in range(len(by))
    ]
    return ordered.where(or_(*beyond))


def part(rows: list[dict[str, Any]], limit: int, *by: str) -> dict[str, Any]:
    """The first `limit` of these rows (one more was asked for), and where the next part begins if there is more."""
    more = len(rows) > limit
    return {"items": rows[:limit], "next": "/".join(str(rows[limit - 1][name]) for name in by) if more else None}
