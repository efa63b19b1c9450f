"""Owners join: each with a key of its own, a commitment to its data, and its consent to being audited.

An owner's name in a market is made from the market and its key. It says nothing about the account behind it, and both
sides can work it out. The commitment is a hash of the data with a secret salt: should a dispute come to that, the owner
can show that the data are those it enrolled with; until then it tells nothing.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select

from kantor.evidence.canonical import canonical
from kantor.evidence.signing import check_signature
from kantor.service.accounts import Caller
from kantor.service.exchange import Exchange
from kantor.service.failures import ConflictError, LateError, MissingError, RefusedError
from kantor.service.held import Held
from kantor.service.statements import Enrolment, name_of
from kantor.service.store import tables as t

__all__ = ["enrol", "enrolled", "owner_of"]

_PLACE = select(t.enrolments).where(
    t.enrolments.c.market == bindparam("there"), t.enrolments.c.account == bindparam("who")
)

_NAMED = select(t.enrolments.c.owner).where(
    t.enrolments.c.market == bindparam("there"), t.enrolments.c.owner == bindparam("named")
)


def enrol(
    x: Exchange, connection: Connection, caller: Caller, market: str, said: Enrolment, signature: str
) -> dict[str, Any]:
    """Let an owner in, once."""
    caller.need("enrol", market)
    statement = said.plain()
    check_signature(said.key, "enrolment", statement, signature)
    held = x.held(connection, market, caller)
    owner = name_of(market, said.key)
    known = connection.execute(_PLACE, {"there": market, "who": caller.account}).first()
    if known is not None:
        if known.owner == owner and json.loads(known.statement) == statement:
            return _told(known)
        raise ConflictError(
            "this account has enrolled in this market already, otherwise",
            remedy="An account takes part once in a market, with the data that it enrolled first.",
        )
    _admissible(held, said)
    if held.connection.execute(_NAMED, {"there": market, "named": owner}).first() is not None:
        raise ConflictError("this key has enrolled in this market already", remedy="Use a key of your own.")
    row = {
        "market": market,
        "owner": owner,
        "account": caller.account,
        "key": said.key,
        "commitment": said.commitment,
        "statement": canonical(statement).decode(),
        "signature": signature,
        "at": held.now,
        "distance": said.distance,
    }
    connection.execute(insert(t.enrolments), row)
    held.log("enrolled", f"owner:{owner}", {"owner": owner, "key": said.key, "commitment": said.commitment})
    return enrolled(connection, caller, market)


def _admissible(held: Held, said: Enrolment) -> None:
    held.need("enrolling")
    if held.now >= held.row["enrol_until"]:
        raise LateError("enrolment is over", remedy="Look for the next market.", value=held.row["enrol_until"])
    if said.market != held.id or said.terms != held.row["terms_digest"]:
        raise RefusedError(
            "the enrolment was signed for another market or other terms",
            remedy="Read this market's terms again, and sign their digest.",
        )
    declared = held.terms.valuation.way != "private"
    if declared != (said.distance is not None):
        remedy = "State the distance: this market does not compute it." if declared else "Leave it out."
        raise RefusedError("the distance is stated by the owner or by the parties, not both", remedy=remedy)
    counted = held.connection.execute(
        select(func.count()).select_from(t.enrolments).where(t.enrolments.c.market == held.id)
    ).scalar()
    if int(counted or 0) >= held.terms.most_owners:
        raise ConflictError(f"the market is full: it admits {counted} owners", remedy="Look for the next market.")


def enrolled(connection: Connection, caller: Caller, market: str) -> dict[str, Any]:
    """The caller's own enrolment."""
    return _told(owner_of(connection, caller, market))


def owner_of(connection: Connection, caller: Caller, market: str) -> Any:
    """The caller's row among the owners of a market."""
    row = connection.execute(_PLACE, {"there": market, "who": caller.account}).first()
    if row is None:
        raise MissingError(f"you are not enrolled in market {market!r}", remedy="Enrol first.", value=market)
    return row


def _told(row: Any) -> dict[str, Any]:
    return {
        "market": row.market,
        "owner": row.owner,
        "key": row.key,
        "commitment": row.commitment,
        "at": row.at,
        "distance": row.distance,
        "excluded": row.excluded,
    }
