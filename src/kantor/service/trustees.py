"""The board on which a market's trustees make its key, and later open its bids together.

The server carries their messages and is not trusted with anything: each message is signed by a trustee of the terms,
each trustee checks what the others wrote, and the key is accepted by an owner's agent only with all of their
signatures. To open bids, each trustee fetches the closed set, checks it against the signed log, and posts its parts.

A message is posted once, so whoever could post in a trustee's name could keep it off the board, and the market from
ever opening a bid. An account says nothing of whose keys somebody has; therefore every message must prove itself that
it is of the trustee in whose place it is put.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, insert, select

from kantor.evidence.canonical import canonical
from kantor.evidence.signing import is_signed
from kantor.sealing.keys import KIND, MarketKey
from kantor.sealing.opening import check_partials
from kantor.sealing.terms import Terms
from kantor.sealing.transcript import COMMITMENTS, SHARES, market_key
from kantor.service.accounts import Caller
from kantor.service.exchange import Exchange
from kantor.service.failures import ConflictError, MissingError, RefusedError
from kantor.service.held import document_of, no_market, read_terms
from kantor.service.statements import context_of
from kantor.service.store import tables as t
from kantor.service.trustee_rounds import OPENING

__all__ = ["board", "check_message", "closed_set", "post"]

_SIGNED = {"commit": COMMITMENTS, "shares": SHARES}


def board(connection: Connection, market: str) -> dict[str, dict[int, dict[str, Any]]]:
    """All messages so far, by round and trustee."""
    rows = connection.execute(select(t.messages).where(t.messages.c.market == market).order_by(t.messages.c.trustee))
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row.round, {})[row.trustee] = json.loads(row.message)
    return found


def check_message(x: Exchange, caller: Caller, market: str, stage: str, trustee: int, message: dict[str, Any]) -> None:
    """Whether a message is that trustee's own; before the lock is taken, since that costs time for an opening."""
    with x.store.read() as connection:
        row = connection.execute(select(t.markets).where(t.markets.c.id == market)).mappings().first()
        if row is None or not caller.may_see(row):
            raise no_market(market)
        terms = read_terms(row["terms"]).trustees.sealing(market)
        posted = board(connection, market)
        closed = closed_set(connection, market) if stage == OPENING else None
    if trustee > len(terms.trustees):
        raise MissingError(f"there is no trustee {trustee}", remedy="Trustees count from 1, in the terms' order.")
    if closed is not None:
        own = message.get("trustee") == trustee
        if own:
            envelopes = [(each["bid"]["envelope"], context_of(each["bid"])) for each in closed["bids"]]
            check_partials(MarketKey.read(json.loads(row["market_key"])), envelopes, closed["root"], trustee, message)
    else:
        own = _is_of(terms, stage, trustee, message, posted)
    if not own:
        raise RefusedError(
            f"this message is not of trustee {trustee}, or not for this market",
            remedy="A trustee posts in its own place, with the keys that the terms name.",
        )


def _is_of(terms: Terms, stage: str, trustee: int, message: dict[str, Any], posted: dict[str, Any]) -> bool:
    content, signing = dict(message), terms.trustees[trustee - 1].signing
    signature = content.pop("signature", None)
    if stage in _SIGNED:
        bound = content.get("terms") == terms.digest and content.get("trustee") == trustee
        return bound and is_signed(signing, _SIGNED[stage], content, signature)
    first, second = ([posted.get(each, {})[place] for place in sorted(posted.get(each, {}))] for each in _SIGNED)
    if len(second) < len(terms.trustees):
        raise ConflictError("not all trustees have posted their shares", remedy="Wait for them: see the board.")
    return not content and is_signed(signing, KIND, market_key(terms, first, second).as_dict(), signature)


def post(
    x: Exchange, connection: Connection, caller: Caller, market: str, stage: str, trustee: int, message: dict[str, Any]
) -> dict[str, Any]:
    """A trustee's message; once for each round."""
    caller.need("trustee", market)
    held = x.held(connection, market, caller)
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
