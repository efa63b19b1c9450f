"""Markets: the buyer's side, and what everybody may see."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from sqlalchemy import select

from kantor.service import delivering, markets
from kantor.service.goods import purchase
from kantor.service.held import no_market
from kantor.service.http.asking import Asked, Who, X
from kantor.service.http.drafts import TermsIn
from kantor.service.http.models import (
    CancelIn,
    DecisionIn,
    DepositIn,
    DepositOut,
    DisputeIn,
    DoubtOut,
    MarketBrief,
    MarketOut,
    Page,
    PurchaseOut,
    ResultOut,
)
from kantor.service.http.paging import After, Limit, MarketId, Number, follow, part
from kantor.service.results import result_for
from kantor.service.store import tables as t

__all__ = ["router"]

router = APIRouter(tags=["markets"])


@router.get("/v1/markets", response_model=Page[MarketBrief])
def all_markets(x: X, caller: Who, limit: Limit = 50, after: After = None) -> dict[str, Any]:
    """Markets, newest first; drafts are seen by their buyer and the operator alone."""
    with x.store.read() as connection:
        rows = markets.listed(connection, caller, after, limit)
    return part(rows, limit, "created_at", "id")


@router.post("/v1/markets", status_code=201, response_model=MarketOut)
def create(asked: Asked, terms: TermsIn) -> dict[str, Any]:
    """Draft a market (buyer)."""
    asked.caller.need("buy")
    return asked.do(lambda c: markets.create(asked.x, c, asked.caller, terms))


@router.get("/v1/markets/{market}", response_model=MarketOut)
def one_market(x: X, caller: Who, market: MarketId) -> dict[str, Any]:
    """A market: its terms, its state, the server's clock, the end of its log; never a price."""
    with x.store.read() as connection:
        return markets.seen(x, connection, caller, market)


@router.post("/v1/markets/{market}/terms", status_code=201, response_model=MarketOut)
def revise(asked: Asked, market: MarketId, terms: TermsIn) -> dict[str, Any]:
    """Other terms for a draft (buyer)."""
    asked.caller.need("buy", market)
    return asked.do(lambda c: markets.revise(asked.x, c, asked.caller, market, terms))


@router.post("/v1/markets/{market}/deposits", status_code=201, response_model=DepositOut)
def announce(asked: Asked, market: MarketId, body: DepositIn) -> dict[str, Any]:
    """Say what was paid in (buyer); the operator confirms it when the money is there."""
    asked.caller.need("buy", market)
    return asked.do(lambda c: markets.announce_deposit(asked.x, c, asked.caller, market, body.amount, body.reference))


@router.get("/v1/markets/{market}/deposits", response_model=Page[DepositOut])
def deposits(x: X, caller: Who, market: MarketId, limit: Limit = 50, after: After = None) -> dict[str, Any]:
    """A market's deposits, in the order of their announcements (its buyer, operator)."""
    query = select(t.deposits).where(t.deposits.c.market == market)
    with x.store.read() as connection:
        if "funds" not in markets.seen(x, connection, caller, market):
            raise no_market(market)
        found = connection.execute(follow(query, (t.deposits.c.announced_at, t.deposits.c.id), after).limit(limit + 1))
        rows = [dict(row) for row in found.mappings()]
    return part(rows, limit, "announced_at", "id")


@router.post("/v1/markets/{market}/deposits/{number}/confirmation", status_code=201, response_model=DepositOut)
def confirm(asked: Asked, market: MarketId, number: Number) -> dict[str, Any]:
    """The money is there (operator)."""
    asked.caller.need("deposits", market)
    return asked.do(lambda c: markets.confirm_deposit(asked.x, c, asked.caller, market, number))


@router.post("/v1/markets/{market}/opening", status_code=201, response_model=MarketOut)
def open_market(asked: Asked, market: MarketId) -> dict[str, Any]:
    """Freeze and publish the terms, and let owners enrol (buyer)."""
    asked.caller.need("buy", market)
    return asked.do(lambda c: markets.open_market(asked.x, c, asked.caller, market))


@router.post("/v1/markets/{market}/cancellation", status_code=201, response_model=MarketOut)
def cancel(asked: Asked, market: MarketId, body: CancelIn) -> dict[str, Any]:
    """Call the market off, before it is cleared (buyer, operator)."""
    asked.caller.need("cancel" if asked.caller.role == "operator" else "buy", market)
    return asked.do(lambda c: markets.cancel(asked.x, c, asked.caller, market, body.reason))


@router.get("/v1/markets/{market}/result", response_model=ResultOut, response_model_exclude_unset=True)
def result(x: X, caller: Who, market: MarketId) -> dict[str, Any]:
    """What came out, as far as it is the caller's business."""
    with x.store.read() as connection:
        return result_for(x, connection, caller, market)


@router.get("/v1/markets/{market}/purchase", response_model=PurchaseOut)
def bought(x: X, caller: Who, market: MarketId) -> dict[str, Any]:
    """What the buyer bought: the aggregate of the winners' noised data, with its manifest."""
    caller.need("purchase", market)
    with x.store.read() as connection:
        return purchase(x, connection, caller, market)


@router.get("/v1/markets/{market}/doubts")
def doubts(x: X, caller: Who, market: MarketId) -> list[DoubtOut]:
    """Doubts and disputes (operator)."""
    caller.need("doubts", market)
    with x.store.read() as connection:
        return [DoubtOut(**row) for row in delivering.doubts_of(connection, market)]


@router.post("/v1/markets/{market}/doubts/{number}/decision", status_code=201, response_model=DoubtOut)
def decide(asked: Asked, market: MarketId, number: Number, body: DecisionIn) -> dict[str, Any]:
    """Decide on a doubt (operator)."""
    asked.caller.need("doubts", market)
    return asked.do(
        lambda c: delivering.decide_doubt(asked.x, c, asked.caller, market, number, body.decision, body.reason)
    )


@router.post("/v1/markets/{market}/disputes", status_code=201, response_model=DoubtOut)
def dispute(asked: Asked, market: MarketId, body: DisputeIn) -> dict[str, Any]:
    """Object (buyer: to a delivery; owner: to what happened to its own); that one payment waits."""
    asked.caller.need("dispute", market)
    return asked.do(lambda c: delivering.dispute(asked.x, c, asked.caller, market, body.owner, body.text))
