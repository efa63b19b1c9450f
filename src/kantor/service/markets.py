"""Making a market, paying in, opening it, calling it off; and what each role may see of it.

A buyer drafts terms and may revise them until it opens the market; from then on they are frozen, and their digest is
what everybody signs. Opening needs the deposit: what it has to cover is worked out from the terms (`funds`).
"""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from kantor.delivery.ledger import DEPOSIT, deposit, refund
from kantor.evidence.canonical import canonical
from kantor.evidence.chain import START
from kantor.service.accounts import Caller
from kantor.service.exchange import Exchange
from kantor.service.failures import ConflictError, LateError, MissingError, RefusedError
from kantor.service.funds import funds_needed
from kantor.service.held import Held, book_of, no_market, read_terms
from kantor.service.store import tables as t
from kantor.service.terms import Terms
from kantor.service.trustee_rounds import OPENING
from kantor.service.trustees import board

__all__ = [
    "announce_deposit",
    "cancel",
    "confirm_deposit",
    "create",
    "listed",
    "mine",
    "open_market",
    "revise",
    "roster_digest",
    "seen",
    "stop",
]


def create(x: Exchange, connection: Connection, caller: Caller, terms: Terms) -> dict[str, Any]:
    """A draft."""
    caller.need("buy")
    now, market = x.clock.now(), secrets.token_hex(8)
    row = {
        "id": market,
        "buyer": caller.account,
        "state": "draft",
        "created_at": now,
        "seq": 0,
        "head": START,
        "last_at": now,
        **_columns(terms),
    }
    connection.execute(insert(t.markets), row)
    held = x.held(connection, market)
    held.log("created", "buyer", {"terms": terms.digest, "server": x.signer.public})
    return _told(x, connection, caller, market)


def revise(x: Exchange, connection: Connection, caller: Caller, market: str, terms: Terms) -> dict[str, Any]:
    """Other terms for a draft."""
    caller.need("buy", market)
    held = mine(x, connection, caller, market)
    held.need("draft")
    held.change(**_columns(terms))
    held.log("revised", "buyer", {"terms": terms.digest})
    return _told(x, connection, caller, market)


def announce_deposit(
    x: Exchange, connection: Connection, caller: Caller, market: str, amount: int, reference: str
) -> dict[str, Any]:
    """The buyer says that it has paid in; the operator confirms when the money is there."""
    caller.need("buy", market)
    held = mine(x, connection, caller, market)
    held.need("draft")
    number = secrets.token_hex(8)
    row = {"id": number, "market": market, "amount": amount, "reference": reference, "announced_at": held.now}
    connection.execute(insert(t.deposits), row)
    return {**row, "confirmed_at": None}


def confirm_deposit(x: Exchange, connection: Connection, caller: Caller, market: str, number: str) -> dict[str, Any]:
    """The money is there: it is booked."""
    caller.need("deposits", market)
    held = x.held(connection, market)
    row = (
        connection.execute(select(t.deposits).where(t.deposits.c.id == number, t.deposits.c.market == market))
        .mappings()
        .first()
    )
    if row is None:
        raise MissingError(f"market {market} has no deposit {number!r}", remedy="See the list of its deposits.")
    if row["confirmed_at"] is not None:
        return dict(row)
    held.need("draft")
    held.book(deposit(number, row["amount"]))
    connection.execute(update(t.deposits).where(t.deposits.c.id == number).values(confirmed_at=held.now))
    return {**row, "confirmed_at": held.now}


def open_market(x: Exchange, connection: Connection, caller: Caller, market: str) -> dict[str, Any]:
    """Freeze the terms, publish them, and let owners enrol."""
    caller.need("buy", market)
    held = mine(x, connection, caller, market)
    held.need("draft")
    terms = _with_roster(x, held.terms)
    if terms.schedule.model_dump(mode="json")["enrol_until"] <= held.now:
        raise LateError(
            f"enrolment would end at {terms.schedule.enrol_until:%Y-%m-%d %H:%M:%S} UTC, which is over",
            remedy="Revise the schedule first.",
        )
    needed, there = funds_needed(terms), book_of(connection, market).balances[DEPOSIT]
    if there < needed.amount:
        raise ConflictError(
            f"{terms.money.show(there)} is paid in and confirmed, and {terms.money.show(needed.amount)} is needed",
            remedy=f"Pay in the rest. {needed.why}",
            value=there,
        )
    held.become("enrolling", **_columns(terms))
    held.log("opened", "buyer", {"terms": terms.digest})
    return _told(x, connection, caller, market)


def cancel(x: Exchange, connection: Connection, caller: Caller, market: str, reason: str) -> dict[str, Any]:
    """Call a market off, before it is cleared; the deposit goes back."""
    if caller.role == "operator":
        caller.need("cancel", market)
        held, actor = x.held(connection, market), "operator"
    else:
        caller.need("buy", market)
        held, actor = mine(x, connection, caller, market), "buyer"
    if held.state == "closed" and board(connection, market).get(OPENING):
        raise ConflictError(
            "its bids have been opened: nobody may call a market off who could have seen its prices",
            remedy="It will be cleared. Object to a delivery if there is reason to.",
        )
    stop(held, actor, reason)
    return _told(x, connection, caller, market)


def stop(held: Held, actor: str, reason: str) -> None:
    """Cancel: give the deposit back and say why."""
    held.become("cancelled")
    left = book_of(held.connection, held.id).balances[DEPOSIT]
    if left:
        held.book(refund(left))
    held.log("cancelled", actor, {"reason": reason})


def mine(x: Exchange, connection: Connection, caller: Caller, market: str) -> Held:
    """A buyer's own market, locked; another's does not exist for it."""
    held = x.held(connection, market)
    if held.row["buyer"] != caller.account:
        raise no_market(market)
    return held


def seen(x: Exchange, connection: Connection, caller: Caller, market: str) -> dict[str, Any]:
    """A market as the caller may see it."""
    caller.need("read", market)
    return _told(x, connection, caller, market)


def _told(x: Exchange, connection: Connection, caller: Caller, market: str) -> dict[str, Any]:
    row = connection.execute(select(t.markets).where(t.markets.c.id == market)).mappings().first()
    if row is None or not caller.may_see(row):
        raise no_market(market)
    terms = read_terms(row["terms"])
    found: dict[str, Any] = {
        **_brief(row, terms),
        "terms": json.loads(row["terms"]),
        "terms_digest": row["terms_digest"],
        "server_key": x.signer.public,
        "now": x.clock.now(),
        "log": {"seq": row["seq"], "hash": row["head"]},
        "root": row["root"],
        "market_key": None if row["market_key"] is None else json.loads(row["market_key"]),
        "owners": _count(connection, t.enrolments, market),
        "bids": _count(connection, t.bids, market, t.bids.c.state == "standing"),
        "deliver_until": row["deliver_until"],
        "settle_at": row["settle_at"],
    }
    if caller.role == "operator" or row["buyer"] == caller.account:
        needed = funds_needed(terms)
        found["funds"] = {
            "needed": needed.amount,
            "why": needed.why,
            "there": book_of(connection, market).balances[DEPOSIT],
        }
        found["trouble"] = row["trouble"]
    return found


def listed(connection: Connection, caller: Caller, after: str | None, limit: int) -> list[dict[str, Any]]:
    """Markets that the caller may see, newest first; one more than `limit` if there is. after: the last one seen."""
    caller.need("read", caller.market)
    query = select(t.markets)
    if caller.role == "buyer":
        query = query.where((t.markets.c.buyer == caller.account) | (t.markets.c.state != "draft"))
    elif caller.role != "operator":
        query = query.where(t.markets.c.state != "draft")
    if caller.market is not None:
        query = query.where(t.markets.c.id == caller.market)
    if after is not None:
        at, _, number = after.partition("/")
        query = query.where(
            (t.markets.c.created_at < at) | ((t.markets.c.created_at == at) & (t.markets.c.id < number))
        )
    rows = (
        connection.execute(query.order_by(t.markets.c.created_at.desc(), t.markets.c.id.desc()).limit(limit + 1))
        .mappings()
        .all()
    )
    return [_brief(row, read_terms(row["terms"])) for row in rows]


def roster_digest(x: Exchange) -> str:
    """What stands for the parties that this market values data with."""
    if x.parties is None:
        raise RefusedError(
            "this market has no compute parties",
            remedy="Choose another way of valuation, or ask the operator for them.",
        )
    return hashlib.sha256((x.parties / "roster.json").read_bytes()).hexdigest()


def _with_roster(x: Exchange, terms: Terms) -> Terms:
    if terms.valuation.way != "private":
        return terms
    valuation = terms.valuation.model_copy(update={"roster": roster_digest(x)})
    return Terms.model_validate({**terms.plain, "valuation": valuation.model_dump(mode="json")})


def _columns(terms: Terms) -> dict[str, Any]:
    schedule = terms.plain["schedule"]
    return {
        "terms": canonical(terms.plain).decode(),
        "terms_digest": terms.digest,
        "enrol_until": schedule["enrol_until"],
        "bid_until": schedule["bid_until"],
    }


def _brief(row: Any, terms: Terms) -> dict[str, Any]:
    return {
        "id": row["id"],
        "title": terms.title,
        "state": row["state"],
        "created_at": row["created_at"],
        "enrol_until": row["enrol_until"],
        "bid_until": row["bid_until"],
    }


def _count(connection: Connection, table: Any, market: str, *conditions: Any) -> int:
    query = select(func.count()).select_from(table).where(table.c.market == market, *conditions)
    return int(connection.execute(query).scalar() or 0)
