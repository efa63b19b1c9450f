"""Lists in parts."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from fastapi import Path, Query

from kantor.service.http.models import Page

__all__ = ["After", "Limit", "MarketId", "page"]

Limit: TypeAlias = Annotated[int, Query(ge=1, le=500, description="How many at the most.")]
After: TypeAlias = Annotated[
    str | None, Query(max_length=100, pattern=r"^[0-9A-Za-z:./-]+$", description="`next` of the part before.")
]
MarketId: TypeAlias = Annotated[str, Path(max_length=40, pattern="^[0-9a-f]+$", examples=["9f2c5a1b7d3e4f60"])]


def page(rows: list[dict[str, Any]], limit: int, by: str) -> Page:
    """The first `limit` of these rows, and where the next part begins if there is more."""
    more = len(rows) > limit
    return Page(items=rows[:limit], next=str(rows[limit - 1][by]) if more else None)
