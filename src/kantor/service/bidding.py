"""Sealed bids: taken until the market closes, replaced and withdrawn by their owner, each with a signed receipt.

The server cannot read a bid. It checks that the envelope is well made for this market, this owner and this nonce, that
the owner's key signed it, and that bidding goes on, by its own clock, read while it holds the market's lock: closing
takes the same lock, so a bid is in the closed set if and only if it was committed before, and then it has a receipt.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from kantor.evidence.canonical import canonical
from kantor.evidence.signing import check_signature
from kantor.sealing.envelope import check_envelope
from kantor.service.accounts import Caller
from kantor.service.enrolment import owner_of
from kantor.service.exchange import Exchange
from kantor.service.failures import ConflictError, LateError, MissingError, RefusedError
from kantor.service.held import Held
from kantor.service.statements import Bid, Withdrawal, bid_digest, context_of
from kantor.service.store import tables as t

__all__ = ["bids_of", "check_bid", "place_bid", "withdraw"]

_OWN = (
    select(t.bids)
    .where(t.bids.c.market == bindparam("there"), t.bids.c.owner == bindparam("who"))
    .order_by(t.bids.c.number)
)
_ADD = insert(t.bids)


def check_bid(x: Exchange, caller: Caller, market: str, said: Bid) -> None:
    """Whether the envelope is well made; costly, so it is done before the lock is taken."""
    key, terms = x.key_of(market, caller)
    if (said.market, said.terms, said.key) != (market, terms, key.digest):
        raise RefusedError(
            "the bid was made for another market, other terms or another key",
            remedy="Read the market again, and seal anew.",
        )
    check_envelope(key, said.envelope, context_of(said.plain()))


def place_bid(
    x: Exchange, connection: Connection, caller: Caller, market: str, said: Bid, signature: str
) -> dict[str, Any]:
    """Take a bid; it replaces the one before it. What is returned is the receipt."""
    held, owner, statement = _asked(x, connection, caller, market, said)
    before = connection.execute(_OWN, {"there": market, "who": owner.owner}).all()
    known = next((row for row in before if row.nonce == said.nonce), None)
    if known is not None:
        if known.digest == bid_digest(statement):
            return dict(json.loads(known.receipt))
        raise ConflictError("this nonce was used for another bid", remedy="Seal the bid again, with a new nonce.")
    check_signature(owner.key, "bid", statement, signature)
    _in_time(held)
    number = 1 + len(before)
    if any(row.state == "standing" for row in before):
        _replace(held, owner.owner)
    fingerprint = bid_digest(statement)
    event = held.log(
        "bid", f"owner:{owner.owner}", {"owner": owner.owner, "number": number, "nonce": said.nonce, "bid": fingerprint}
    )
    receipt = _receipt(x, held, owner.owner, number, said.nonce, fingerprint, event.seq, event.hash, "bid")
    row = {
        "market": market,
        "owner": owner.owner,
        "number": number,
        "state": "standing",
        "nonce": said.nonce,
        "envelope": canonical(statement).decode(),
        "signature": signature,
        "digest": fingerprint,
        "seq": event.seq,
        "at": held.now,
        "receipt": canonical(receipt).decode(),
    }
    connection.execute(_ADD, row)
    return receipt


def withdraw(
    x: Exchange, connection: Connection, caller: Caller, market: str, said: Withdrawal, signature: str
) -> dict[str, Any]:
    """Take a bid back; it stays sealed for ever. What is returned is a receipt."""
    held, owner, statement = _asked(x, connection, caller, market, said)
    before = connection.execute(_OWN, {"there": market, "who": owner.owner}).all()
    row = next((each for each in before if each.nonce == said.nonce), None)
    if row is None:
        raise MissingError("there is no such bid", remedy="See your bids in this market.", value=said.nonce)
    check_signature(owner.key, "withdrawal", statement, signature)
    if row.state == "withdrawn":
        return dict(json.loads(row.receipt))
    _in_time(held)
    if row.state != "standing":
        raise ConflictError("this bid was replaced by a later one", remedy="Withdraw the later one.", value=said.nonce)
    event = held.log(
        "withdrawn", f"owner:{owner.owner}", {"owner": owner.owner, "number": row.number, "nonce": said.nonce}
    )
    receipt = _receipt(x, held, owner.owner, row.number, said.nonce, row.digest, event.seq, event.hash, "withdrawn")
    connection.execute(
        update(t.bids)
        .where(t.bids.c.market == market, t.bids.c.owner == owner.owner, t.bids.c.number == row.number)
        .values(state="withdrawn", receipt=canonical(receipt).decode())
    )
    return receipt


def bids_of(connection: Connection, caller: Caller, market: str) -> list[dict[str, Any]]:
    """The caller's own bids in a market, with their receipts, oldest first."""
    owner = owner_of(connection, caller, market)
    rows = connection.execute(_OWN, {"there": market, "who": owner.owner})
    return [
        {"number": row.number, "state": row.state, "nonce": row.nonce, "at": row.at, "receipt": json.loads(row.receipt)}
        for row in rows
    ]


def _asked(x: Exchange, connection: Connection, caller: Caller, market: str, said: Bid | Withdrawal) -> Any:
    caller.need("bid", market)
    held = x.held(connection, market, caller)
    owner = owner_of(connection, caller, market)
    if said.owner != owner.owner or said.market != market:
        raise RefusedError("this was signed by another owner, or for another market", remedy="Use your own agent.")
    return held, owner, said.plain()


def _in_time(held: Held) -> None:
    if held.state == "bidding" and held.now < held.row["bid_until"]:
        return
    if held.state in ("draft", "enrolling"):
        held.need("bidding")
    raise LateError(
        "bidding is over",
        remedy="Nothing was changed. What has a receipt from before counts.",
        value=held.row["bid_until"],
    )


def _replace(held: Held, owner: str) -> None:
    held.connection.execute(
        update(t.bids)
        .where(t.bids.c.market == held.id, t.bids.c.owner == owner, t.bids.c.state == "standing")
        .values(state="replaced")
    )


def _receipt(
    x: Exchange, held: Held, owner: str, number: int, nonce: str, bid: str, seq: int, head: str, what: str
) -> dict[str, Any]:
    said = {
        "what": what,
        "market": held.id,
        "owner": owner,
        "number": number,
        "nonce": nonce,
        "bid": bid,
        "at": held.now,
        "seq": seq,
        "log": head,
    }
    return {**said, "signature": x.signer.sign("receipt", said), "server": x.signer.public}
