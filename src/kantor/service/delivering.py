"""Delivery: winners hand over noised data, the buyer receives them, and money moves when nobody objects.

What is uploaded is refused at once if it has not the form that the terms and the owner's own bid ask for; it can be
sent again until the time for delivery is over. What has the form is accepted and looked at more closely: a doubt (see
`kantor.delivery.checks`) is shown to the operator and holds back that one payment, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import Any

from sqlalchemy import Connection, insert, select, update

from kantor.delivery.ledger import DEPOSIT, pay, refund, unhold
from kantor.evidence.canonical import canonical, digest
from kantor.evidence.signing import check_signature
from kantor.owners.distributions import Vector
from kantor.service.accounts import Caller
from kantor.service.enrolment import owner_of
from kantor.service.exchange import Exchange
from kantor.service.failures import ConflictError, LateError, MissingError, RefusedError
from kantor.service.goods import Findings, asked_of, examined, summary_of
from kantor.service.held import Held, book_of, document_of, no_market
from kantor.service.promises import manifest_from
from kantor.service.statements import Delivery
from kantor.service.store import tables as t

__all__ = [
    "all_in",
    "decide_doubt",
    "deliver",
    "delivered",
    "dispute",
    "doubts_of",
    "end_delivery",
    "look_at",
    "settle",
    "winners_of",
]


def winners_of(connection: Connection, market: str) -> dict[str, dict[str, Any]]:
    """The rows of those who were bought, by owner."""
    outcome = document_of(connection, market, "outcome")
    rows: list[dict[str, Any]] = [] if outcome is None else outcome["bids"]
    return {row["owner"]: row for row in rows if row["selected"]}


def delivered(connection: Connection, market: str) -> list[str]:
    """Whose data have come."""
    return list(connection.execute(select(t.deliveries.c.owner).where(t.deliveries.c.market == market)).scalars())


def deliver(
    x: Exchange,
    connection: Connection,
    caller: Caller,
    market: str,
    said: Delivery,
    signature: str,
    content: bytes,
    found: Findings,
) -> dict[str, Any]:
    """Take a winner's values; what is returned is the receipt."""
    caller.need("deliver", market)
    held = x.held(connection, market)
    owner = owner_of(connection, caller, market)
    statement = said.plain()
    known = connection.execute(
        select(t.deliveries).where(t.deliveries.c.market == market, t.deliveries.c.owner == owner.owner)
    ).first()
    if known is not None:
        if json.loads(known.statement) == statement:
            return dict(json.loads(known.receipt))
        raise ConflictError("your data have been delivered already", remedy="Nothing more is needed: see the receipt.")
    check_signature(owner.key, "delivery", statement, signature)
    if held.state == "delivering" and held.now >= held.row["deliver_until"]:
        raise LateError("the time for delivery is over", remedy="Ask the operator.", value=held.row["deliver_until"])
    held.need("delivering")
    fingerprint = digest("delivery", statement)
    about = {"owner": owner.owner, "delivery": fingerprint, "findings": digest("findings", found.plain)}
    event = held.log("delivered", f"owner:{owner.owner}", about)
    receipt = {
        "what": "delivered",
        "market": market,
        "owner": owner.owner,
        "delivery": fingerprint,
        "at": held.now,
        "seq": event.seq,
        "log": event.hash,
    }
    signed = {**receipt, "signature": x.signer.sign("receipt", receipt), "server": x.signer.public}
    row = {
        "market": market,
        "owner": owner.owner,
        "statement": canonical(statement).decode(),
        "signature": signature,
        "values": content,
        "findings": canonical(found.plain).decode(),
        "seq": event.seq,
        "at": held.now,
        "receipt": canonical(signed).decode(),
    }
    connection.execute(insert(t.deliveries), row)
    if found.doubts:
        _doubt(held, owner.owner, "checks", " ".join(found.doubts))
    return signed


def look_at(x: Exchange, caller: Caller, market: str, said: Delivery, values: Vector, content: bytes) -> Findings:
    """Whether values have the form that was promised, and what the tests say: before the lock, since it takes time."""
    if hashlib.sha256(content).hexdigest() != said.values:
        raise RefusedError("the values are not those that were signed", remedy="Send them again, as they were signed.")
    with x.store.read() as connection:
        owner = owner_of(connection, caller, market)
        winner = winners_of(connection, market).get(owner.owner)
        if winner is None:
            raise ConflictError(
                "there is nothing for you to deliver", remedy="The market has not bought your data, or not yet."
            )
        held = connection.execute(select(t.markets.c.terms).where(t.markets.c.id == market)).scalar()
    if said.owner != owner.owner or said.market != market:
        raise RefusedError("this was signed by another owner, or for another market", remedy="Use your own agent.")
    asked = asked_of(str(held), winner)
    return examined(asked, values, manifest_from(said.manifest), owner.owner)


def all_in(held: Held) -> bool:
    """Whether every winner has delivered."""
    return set(winners_of(held.connection, held.id)) <= set(delivered(held.connection, held.id))


def end_delivery(x: Exchange, held: Held) -> None:
    """Delivery is over: who did not deliver is not paid, and the time for disputes begins."""
    winners = winners_of(held.connection, held.id)
    missing = sorted(set(winners) - set(delivered(held.connection, held.id)))
    for owner in missing:
        held.log("missed", "market", {"owner": owner})
    summary = summary_of(held.connection, held.id, held.terms)
    held.keep("handover", summary)
    wait = held.terms.schedule.dispute_within if winners else 0
    held.change(settle_at=max(x.clock.later(wait), held.now))
    held.log("handed over", "market", {"handover": digest("handover", summary), "missing": missing})


def dispute(x: Exchange, connection: Connection, caller: Caller, market: str, owner: str, text: str) -> dict[str, Any]:
    """A buyer objects to a delivery, or an owner to what happened to it; that one payment waits for the operator."""
    caller.need("dispute", market)
    held = x.held(connection, market, caller)
    if caller.role == "owner":
        owner = owner_of(connection, caller, market).owner
    elif held.row["buyer"] != caller.account:
        raise no_market(market)
    held.need("delivering")
    if owner not in winners_of(connection, market):
        raise MissingError(f"{owner!r} is no winner of this market", remedy="See its result.", value=owner)
    return _doubt(held, owner, caller.role, text)


def _doubt(held: Held, owner: str, by: str, text: str) -> dict[str, Any]:
    row = {"id": secrets.token_hex(8), "market": held.id, "owner": owner, "raised_by": by, "text": text, "at": held.now}
    held.connection.execute(insert(t.doubts), row)
    held.log("doubted", by, {"owner": owner, "doubt": row["id"]})
    return row


def doubts_of(connection: Connection, market: str, *conditions: Any) -> list[dict[str, Any]]:
    """The doubts and disputes of a market."""
    rows = connection.execute(
        select(t.doubts).where(t.doubts.c.market == market, *conditions).order_by(t.doubts.c.at, t.doubts.c.id)
    )
    return [dict(row) for row in rows.mappings()]


def decide_doubt(
    x: Exchange, connection: Connection, caller: Caller, market: str, number: str, decision: str, reason: str
) -> dict[str, Any]:
    """The operator's word, once: the owner is paid, or it is not."""
    caller.need("doubts", market)
    held = x.held(connection, market)
    row = next((each for each in doubts_of(connection, market) if each["id"] == number), None)
    if row is None:
        raise MissingError(f"there is no doubt {number!r}", remedy="See the market's list of doubts.", value=number)
    if row["decision"] is not None:
        if row["decision"] == decision:
            return row
        raise ConflictError(f"it was decided already: {row['decision']}", remedy="A decision is final.")
    held.need("delivering")
    decided = {"decision": decision, "reason": reason, "decided_by": caller.account, "decided_at": held.now}
    connection.execute(update(t.doubts).where(t.doubts.c.id == number).values(**decided))
    held.log("decided", "operator", {"doubt": number, "owner": row["owner"], "decision": decision, "reason": reason})
    return {**row, **decided}


def settle(held: Held) -> bool:
    """Pay whom nobody doubts, give back what is not to be paid, and end the market when nothing is open any more."""
    winners, here = winners_of(held.connection, held.id), set(delivered(held.connection, held.id))
    doubts = doubts_of(held.connection, held.id)
    waiting = {row["owner"] for row in doubts if row["decision"] is None}
    refused = {row["owner"] for row in doubts if row["decision"] == "refuse"}
    book = book_of(held.connection, held.id)
    moves = []
    for owner, row in sorted(winners.items()):
        if owner in waiting or {f"pay:{owner}", f"unhold:{owner}"} & book.keys:
            continue
        good = owner in here and owner not in refused
        moves.append((pay if good else unhold)(owner, row["payment"]))
    if moves:
        held.book(*moves)
    if waiting:
        return False
    left = book_of(held.connection, held.id).balances[DEPOSIT]
    if left:
        held.book(refund(left))
    held.become("settled")
    held.log(
        "settled", "market", {"paid": sum(row["payment"] for owner, row in winners.items() if owner in here - refused)}
    )
    return True
