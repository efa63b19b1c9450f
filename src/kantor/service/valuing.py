"""How far each owner's data lie from the target, by the way that the terms say.

Where owners state their distance, it came with their enrolment. Where three parties compute it, the worker opens a
session with them once enrolment is over, hands each owner its token (through its own page of this market), waits until
all have sent their shares or the time for it is over, and has the parties compute. The session's name and the tokens
follow from the market's, so a worker that is stopped and started goes on with the same session.

Distances are kept as decimals with six digits. They are private: the log has a salted digest of all of them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, select, update

from kantor.errors import PartyError
from kantor.evidence.canonical import digest
from kantor.service.accounts import Caller
from kantor.service.enrolment import owner_of
from kantor.service.exchange import Exchange
from kantor.service.held import Held
from kantor.service.store import tables as t

if TYPE_CHECKING:
    from kantor.private.client import Market

__all__ = ["VALUING_TIME", "invitation", "open_session", "record", "stated"]

VALUING_TIME = 3600.0
"""Seconds that owners have to send their shares, unless bidding has to begin before."""


def stated(connection: Connection, market: str) -> dict[str, str]:
    """The distances that owners stated themselves."""
    rows = connection.execute(
        select(t.enrolments.c.owner, t.enrolments.c.distance).where(t.enrolments.c.market == market)
    )
    return {row.owner: row.distance for row in rows if row.distance is not None}


def record(held: Held, distances: dict[str, str], left_out: dict[str, str], owners: int, error: str) -> None:
    """Write distances down, and who has none. owners: how many make up the target."""
    document = {
        "salt": secrets.token_hex(16),
        "market": held.id,
        "distances": distances,
        "owners": owners,
        "error_bound": error,
    }
    held.keep("valued", document)
    for owner, distance in distances.items():
        _set(held, owner, distance=distance)
    for owner, reason in left_out.items():
        _set(held, owner, excluded=reason)
    held.log(
        "valued", "market", {"owners": owners, "left_out": dict(left_out), "distances": digest("valued", document)}
    )


def _set(held: Held, owner: str, **columns: Any) -> None:
    held.connection.execute(
        update(t.enrolments).where(t.enrolments.c.market == held.id, t.enrolments.c.owner == owner).values(**columns)
    )


def open_session(x: Exchange, market: str, method: Any, owners: list[str], attempt: int) -> Market:
    """The parties' session for these owners; asked again, the same one."""
    from kantor.private.client import Market
    from kantor.private.identity import MARKET, Identity, Roster

    folder = _parties(x)
    session = _secret(x, f"session {market} {attempt}")[:32]
    return Market(
        Roster.read(folder),
        Identity.of(folder, MARKET),
        method,
        owners,
        least_owners=2,
        session=session,
        token_of=lambda owner: _secret(x, f"owner {session} {owner}"),
    )


def invitation(x: Exchange, connection: Connection, caller: Caller, market: str) -> dict[str, Any] | None:
    """What the caller needs to send its shares: the parties' roster, the session, its name there and its token."""
    owner = owner_of(connection, caller, market)
    text = connection.execute(select(t.markets.c.session).where(t.markets.c.id == market)).scalar()
    if text is None:
        return None
    session = json.loads(text)["session"]
    roster = json.loads((_parties(x) / "roster.json").read_text(encoding="utf-8"))
    return {
        "roster": roster,
        "session": session,
        "name": owner.owner,
        "token": _secret(x, f"owner {session} {owner.owner}"),
    }


def _parties(x: Exchange) -> Any:
    if x.parties is None:
        raise PartyError(
            "this server knows no compute parties", remedy="Start it with --parties FOLDER, the folder of the roster."
        )
    return x.parties


def _secret(x: Exchange, what: str) -> str:
    return hmac.new(x.secret, what.encode(), hashlib.sha256).hexdigest()
