"""Markets: the buyer's side, and what everybody may see."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path

from kantor.service import delivering, markets
from kantor.service.failures import MissingError
from kantor.service.goods import purchase
from kantor.service.http.asking import Asked, Who, X
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
)
from kantor.service.http.paging import After, Limit, MarketId, page
from kantor.service.results import result_for
from kantor.service.terms import Terms

__all__ = ["router"]

router = APIRouter(tags=["markets"])
Number = Annotated[str, Path(max_length=40)]


@router.get("/v1/markets")
def all_markets(x: X, caller: Who, limit: Limit = 50, after: After = None) -> Page:
    """Markets, newest first; drafts are seen by their buyer and the operator alone."""
    with x.store.read() as connection:
        rows, more = markets.listed(connection, caller, after, limit)
    following = f"{rows[-1]['created_at']}/{rows[-1]['id']}" if more else None
    return Page(items=[MarketBrief(**row).model_dump() for row in rows], next=following)


@router.post("/v1/markets", status_code=201, response_model=MarketOut)
def create(asked: Asked, terms: Terms) -> dict[str, Any]:
    """Draft a market (buyer)."""
    return asked.do(lambda c: markets.create(asked.x, c, asked.caller, terms))


@router.get("/v1/markets/{market}", response_model=MarketOut)
def one_market(x: X, caller: Who, market: MarketId) -> dict[str, Any]:
    """A market: its terms, its state, the server's clock, the end of its log; never a price."""
    with x.store.read() as connection:
        return markets.seen(x, connection, caller, market)


@router.post("/v1/markets/{market}/terms", status_code=201, response_model=MarketOut)
def revise(asked: Asked, market: MarketId, terms: Terms) -> dict[str, Any]:
    """Other terms for a draft (buyer)."""
    return asked.do(lambda c: markets.revise(asked.x, c, asked.caller, market, terms))


@router.post("/v1/markets/{market}/deposits", status_code=201, response_model=DepositOut)
def announce(asked: Asked, market: MarketId, body: DepositIn) -> dict[str, Any]:
    """Say what was paid in (buyer); the operator confirms it when the money is there."""
    return asked.do(lambda c: markets.announce_deposit(asked.x, c, asked.caller, market, body.amount, body.reference))


@router.get("/v1/markets/{market}/deposits")
def deposits(x: X, caller: Who, market: MarketId, limit: Limit = 50) -> Page:
    """A market's deposits (its buyer, operator)."""
    with x.store.read() as connection:
        if "funds" not in markets.seen(x, connection, caller, market):
            raise MissingError(f"there is nothing of yours in market {market!r}", remedy="See your own markets.")
        rows = markets.deposits_of(connection, market)
    return page(rows, max(limit, len(rows)), "id")


@router.post("/v1/markets/{market}/deposits/{number}/confirmation", status_code=201, response_model=DepositOut)
def confirm(asked: Asked, market: MarketId, number: Number) -> dict[str, Any]:
    """The money is there (operator)."""
    return asked.do(lambda c: markets.confirm_deposit(asked.x, c, asked.caller, market, number))


@router.post("/v1/markets/{market}/opening", status_code=201, response_model=MarketOut)
def open_market(asked: Asked, market: MarketId) -> dict[str, Any]:
    """Freeze and publish the terms, and let owners enrol (buyer)."""
    return asked.do(lambda c: markets.open_market(asked.x, c, asked.caller, market))


@router.post("/v1/markets/{market}/cancellation", status_code=201, response_model=MarketOut)
def cancel(asked: Asked, market: MarketId, body: CancelIn) -> dict[str, Any]:
    """Call the market off, before it is cleared (buyer, operator)."""
    return asked.do(lambda c: markets.cancel(asked.x, c, asked.caller, market, body.reason))


@router.get("/v1/markets/{market}/result")
def result(x: X, caller: Who, market: MarketId) -> dict[str, Any]:
    """What came out, as far as it is the caller's business."""
    with x.store.read() as connection:
        return result_for(x, connection, caller, market)


@router.get("/v1/markets/{market}/purchase")
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
    return asked.do(
        lambda c: delivering.decide_doubt(asked.x, c, asked.caller, market, number, body.decision, body.reason)
    )


@router.post("/v1/markets/{market}/disputes", status_code=201, response_model=DoubtOut)
def dispute(asked: Asked, market: MarketId, body: DisputeIn) -> dict[str, Any]:
    """Object (buyer: to a delivery; owner: to what happened to its own); that one payment waits."""
    return asked.do(lambda c: delivering.dispute(asked.x, c, asked.caller, market, body.owner, body.text))
