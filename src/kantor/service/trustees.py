"""The board on which a market's trustees make its key, and later open its bids together.

The server carries their messages and is not trusted with anything: each message is signed by a trustee of the terms,
each trustee checks what the others wrote, and the key is accepted by an owner's agent only with all of their
signatures. To open bids, each trustee fetches the closed set, checks it against the signed log, and posts its parts.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, insert, select

from kantor.evidence.canonical import canonical
from kantor.service.accounts import Caller
from kantor.service.exchange import Exchange
from kantor.service.failures import ConflictError, MissingError
from kantor.service.held import document_of
from kantor.service.store import tables as t
from kantor.service.trustee_rounds import OPENING

__all__ = ["board", "closed_set", "post"]


def board(connection: Connection, market: str) -> dict[str, dict[int, dict[str, Any]]]:
    """All messages so far, by round and trustee."""
    rows = connection.execute(select(t.messages).where(t.messages.c.market == market).order_by(t.messages.c.trustee))
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row.round, {})[row.trustee] = json.loads(row.message)
    return found


def post(
    x: Exchange, connection: Connection, caller: Caller, market: str, stage: str, trustee: int, message: dict[str, Any]
) -> dict[str, Any]:
    """A trustee's message; once for each round."""
    caller.need("trustee", market)
    held = x.held(connection, market)
    held.need("closed" if stage == OPENING else "enrolling")
    if not 1 <= trustee <= len(held.terms.trustees.members):
        raise MissingError(f"there is no trustee {trustee}", remedy="Trustees count from 1, in the terms' order.")
    text = canonical(message).decode()
    known = connection.execute(
        select(t.messages.c.message).where(
            t.messages.c.market == market, t.messages.c.round == stage, t.messages.c.trustee == trustee
        )
    ).scalar()
    if known is not None and known != text:
        raise ConflictError(f"trustee {trustee} has posted its {stage} already", remedy="A message is posted once.")
    if known is None:
        row = {"market": market, "round": stage, "trustee": trustee, "message": text, "at": held.now}
        connection.execute(insert(t.messages), row)
    return {"market": market, "round": stage, "trustee": trustee}


def closed_set(connection: Connection, market: str) -> dict[str, Any]:
    """What is opened: every bid under the root, as its owner signed it."""
    closed = document_of(connection, market, "closed")
    if closed is None:
        raise ConflictError(f"market {market} has not closed", remedy="Bids are opened after it has.")
    rows = connection.execute(
        select(t.bids.c.owner, t.bids.c.envelope, t.bids.c.signature)
        .where(t.bids.c.market == market, t.bids.c.state == "standing")
        .order_by(t.bids.c.owner)
    )
    bids = [{"bid": json.loads(row.envelope), "signature": row.signature} for row in rows]
    return {"market": market, "root": closed["root"], "bids": bids}
