"""The owner's side: enrol, be valued, bid, deliver, and see what concerns oneself."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from sqlalchemy import Connection

from kantor.service import bidding, closing, delivering, enrolment, valuing
from kantor.service.http.asking import Asked, Who, X
from kantor.service.http.models import (
    BidIn,
    BidOut,
    DeliveryIn,
    EnrolmentIn,
    EnrolmentOut,
    Inclusion,
    Invitation,
    Receipt,
    WithdrawalIn,
)
from kantor.service.http.paging import MarketId
from kantor.service.promises import values_from

__all__ = ["router"]

router = APIRouter(tags=["owners"])


@router.post("/v1/markets/{market}/enrolment", status_code=201, response_model=EnrolmentOut)
def enrol(asked: Asked, market: MarketId, body: EnrolmentIn) -> dict[str, Any]:
    """Take part in a market (owner)."""
    asked.caller.need("enrol", market)
    return asked.do(lambda c: enrolment.enrol(asked.x, c, asked.caller, market, body.enrolment, body.signature))


@router.get("/v1/markets/{market}/enrolment", response_model=EnrolmentOut)
def enrolled(x: X, caller: Who, market: MarketId) -> dict[str, Any]:
    """The caller's place in a market, with its distance once that is known (owner)."""
    caller.need("enrol", market)
    with x.store.read() as connection:
        return enrolment.enrolled(connection, caller, market)


@router.get("/v1/markets/{market}/valuation", response_model=Invitation)
def invitation(x: X, caller: Who, market: MarketId) -> dict[str, Any]:
    """Where to send the shares of one's data (owner)."""
    caller.need("enrol", market)
    with x.store.read() as connection:
        found = valuing.invitation(x, connection, caller, market)
    return {"ready": found is not None, **(found or {})}


@router.post("/v1/markets/{market}/bids", status_code=201, response_model=Receipt, response_model_exclude_none=True)
def bid(asked: Asked, market: MarketId, body: BidIn) -> dict[str, Any]:
    """Place a sealed bid; it replaces the one before. The answer is the receipt (owner)."""
    asked.caller.need("bid", market)
    bidding.check_bid(asked.x, asked.caller, market, body.bid)

    def work(connection: Connection) -> dict[str, Any]:
        return bidding.place_bid(asked.x, connection, asked.caller, market, body.bid, body.signature)

    return asked.do(work)


@router.get("/v1/markets/{market}/bids", response_model_exclude_none=True)
def own_bids(x: X, caller: Who, market: MarketId) -> list[BidOut]:
    """The caller's own bids and their receipts, oldest first (owner)."""
    caller.need("bid", market)
    with x.store.read() as connection:
        return [BidOut(**row) for row in bidding.bids_of(connection, caller, market)]


@router.post(
    "/v1/markets/{market}/withdrawals", status_code=201, response_model=Receipt, response_model_exclude_none=True
)
def withdraw(asked: Asked, market: MarketId, body: WithdrawalIn) -> dict[str, Any]:
    """Take one's standing bid back (owner)."""
    asked.caller.need("bid", market)
    return asked.do(lambda c: bidding.withdraw(asked.x, c, asked.caller, market, body.withdrawal, body.signature))


@router.get("/v1/markets/{market}/inclusion", response_model=Inclusion)
def inclusion(x: X, caller: Who, market: MarketId) -> dict[str, Any]:
    """The proof that one's bid is among those that count (owner)."""
    caller.need("bid", market)
    with x.store.read() as connection:
        return closing.own_inclusion(connection, caller, market)


@router.post("/v1/markets/{market}/delivery", status_code=201, response_model=Receipt, response_model_exclude_none=True)
def deliver(asked: Asked, market: MarketId, body: DeliveryIn) -> dict[str, Any]:
    """Hand over one's noised values. The answer is the receipt (owner)."""
    asked.caller.need("deliver", market)
    values, content = values_from(body.values)
    found = delivering.look_at(asked.x, asked.caller, market, body.delivery, values, content)

    def work(connection: Connection) -> dict[str, Any]:
        return delivering.deliver(
            asked.x, connection, asked.caller, market, body.delivery, body.signature, content, found
        )

    return asked.do(work)
