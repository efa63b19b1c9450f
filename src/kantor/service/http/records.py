"""What trustees, auditors and outsiders read: the board, the log, the bundles."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from sqlalchemy import select

from kantor.evidence.canonical import canonical
from kantor.service import trustees
from kantor.service.bundle import bundle_of
from kantor.service.failures import ConflictError
from kantor.service.held import document_of
from kantor.service.http.asking import Asked, Who, X
from kantor.service.http.models import ClosedOut, EventOut, MessageIn, Page, Posted
from kantor.service.http.paging import Limit, MarketId, part
from kantor.service.markets import seen
from kantor.service.store import tables as t
from kantor.service.trustee_rounds import OPENING

__all__ = ["router"]

router = APIRouter(tags=["records"])
Round = Annotated[Literal["commit", "shares", "confirm", "opening"], Path()]


@router.get("/v1/markets/{market}/log", response_model=Page[EventOut])
def log(
    x: X, caller: Who, market: MarketId, limit: Limit = 100, after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0
) -> dict[str, Any]:
    """The market's log, from the event after number `after`: each entry carries the hash of the one before it."""
    with x.store.read() as connection:
        seen(x, connection, caller, market)
        rows = connection.execute(
            select(t.events)
            .where(t.events.c.market == market, t.events.c.seq > after)
            .order_by(t.events.c.seq)
            .limit(limit + 1)
        ).mappings()
        items = [{**row, "body": json.loads(row["body"])} for row in rows]
    return part(items, limit, "seq")


@router.get("/v1/markets/{market}/board")
def board(x: X, caller: Who, market: MarketId) -> dict[str, dict[str, dict[str, Any]]]:
    """What the trustees have posted: the making of the market's key."""
    with x.store.read() as connection:
        seen(x, connection, caller, market)
        found = trustees.board(connection, market)
    found.pop(OPENING, None)
    return {stage: {str(trustee): message for trustee, message in each.items()} for stage, each in found.items()}


@router.get("/v1/markets/{market}/closed", response_model=ClosedOut)
def closed(x: X, caller: Who, market: MarketId) -> dict[str, Any]:
    """The closed set, sealed as it is (trustee)."""
    caller.need("trustee", market)
    with x.store.read() as connection:
        seen(x, connection, caller, market)
        return trustees.closed_set(connection, market)


@router.post("/v1/markets/{market}/board/{stage}/{trustee}", status_code=201, response_model=Posted)
def post(
    asked: Asked, market: MarketId, stage: Round, trustee: Annotated[int, Path(ge=1, le=10)], body: MessageIn
) -> dict[str, Any]:
    """Post a trustee's message (trustee)."""
    asked.caller.need("trustee", market)
    trustees.check_message(asked.x, asked.caller, market, stage, trustee, body.message)
    return asked.do(lambda c: trustees.post(asked.x, c, asked.caller, market, stage, trustee, body.message))


@router.get("/v1/markets/{market}/bundle")
def bundle(x: X, caller: Who, market: MarketId, kind: Literal["public", "auditor"] = "public") -> Response:
    """Everything that `kantor verify` needs: the public bundle for anybody, the auditor's with every bid (auditor)."""
    if kind == "auditor":
        caller.need("audit", market)
    with x.store.read() as connection:
        about = seen(x, connection, caller, market)
        if kind == "auditor" and document_of(connection, market, "public") is None:
            raise ConflictError(
                f"market {market} is {about['state']}",
                remedy="Owners have agreed that an auditor sees their bids after the clearing. See the public bundle.",
            )
        content = canonical(bundle_of(x, connection, market, kind))
    name = f"{market}-{kind}.json"
    return Response(
        content, media_type="application/json", headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )
