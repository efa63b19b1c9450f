"""A market under lock: the only way in which anything about it changes.

Whoever changes a market holds its row until the commit, so bids, the closing and the clearing of one market happen one
after another, in whichever process they run. The log is written through the same object: an event and what it tells of
are in one commit, or neither is.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from kantor.delivery.ledger import Book, Transfer
from kantor.evidence.canonical import canonical, digest
from kantor.evidence.chain import Event, chained
from kantor.service.failures import ConflictError, MissingError
from kantor.service.states import NEXT
from kantor.service.store import tables as t
from kantor.service.terms import Terms

__all__ = ["Held", "book_of", "digest_of", "document_of", "hold", "no_market", "read_terms", "transfers_of"]

# Statements of the way that every bid takes are built once.
_LOCK = select(t.markets).where(t.markets.c.id == bindparam("this")).with_for_update()
_ADD_EVENT = insert(t.events)
_ADVANCE = (
    update(t.markets)
    .where(t.markets.c.id == bindparam("this"))
    .values(seq=bindparam("new_seq"), head=bindparam("new_head"), last_at=bindparam("new_last_at"))
)


@lru_cache(maxsize=256)
def read_terms(text: str) -> Terms:
    """Terms as they are stored."""
    return Terms.model_validate_json(text)


class Held:
    """One market, locked until the transaction ends."""

    def __init__(self, connection: Connection, row: Mapping[str, Any], now: str) -> None:
        self.connection = connection
        self.row = dict(row)
        self.now = max(now, row["last_at"])
        """The moment of whatever happens in this transaction: never before what is in the log."""

    @property
    def id(self) -> str:
        """The market's name."""
        return str(self.row["id"])

    @property
    def state(self) -> str:
        """Where in its life it is."""
        return str(self.row["state"])

    @property
    def terms(self) -> Terms:
        """Its parameters."""
        return read_terms(self.row["terms"])

    def log(self, kind: str, actor: str, body: dict[str, Any]) -> Event:
        """Write an event."""
        seq, head = self.row["seq"], self.row["head"]
        last = None if seq == 0 else Event(self.id, seq, self.row["last_at"], "", "", {}, "", head)
        event = chained(last, self.id, self.now, kind, actor, body)
        self.connection.execute(_ADD_EVENT, {**event.as_dict(), "body": canonical(body).decode()})
        known = {"seq": event.seq, "head": event.hash, "last_at": self.now}
        self.connection.execute(_ADVANCE, {"this": self.id, **{f"new_{name}": part for name, part in known.items()}})
        self.row.update(known)
        return event

    def change(self, **columns: Any) -> None:
        """Change the market's own row."""
        self.connection.execute(update(t.markets).where(t.markets.c.id == self.id).values(**columns))
        self.row.update(columns)

    def become(self, state: str, **columns: Any) -> None:
        """Go to the next state."""
        if state not in NEXT[self.state]:
            raise ConflictError(
                f"market {self.id} is {self.state}, and cannot become {state}",
                remedy=f"From here it can become: {', '.join(NEXT[self.state]) or 'nothing else'}.",
            )
        self.change(state=state, **columns)

    def need(self, *states: str) -> None:
        """Refuse unless the market is in one of these states."""
        if self.state not in states:
            raise ConflictError(
                f"market {self.id} is {self.state}",
                remedy=f"This can be done while it is {' or '.join(states)}.",
                value=self.state,
            )

    def keep(self, kind: str, document: dict[str, Any]) -> None:
        """Keep a document of this market; once for each kind."""
        text = canonical(document).decode()
        self.connection.execute(insert(t.outcomes), {"market": self.id, "kind": kind, "document": text, "at": self.now})

    def document(self, kind: str) -> dict[str, Any] | None:
        """A document that was kept."""
        return document_of(self.connection, self.id, kind)

    def book(self, *moves: Transfer) -> None:
        """Book transfers, each key once. The log tells their keys and salted digests, since amounts are private."""
        transfers = sorted(moves, key=lambda each: each.key)
        known = book_of(self.connection, self.id)
        first = len(known.keys) + 1
        for transfer in transfers:
            known.add(transfer)
        salts = [secrets.token_hex(16) for _ in transfers]
        heads = [
            {"market": self.id, "key": each.key, "number": number, "salt": salt, "at": self.now}
            for number, (each, salt) in enumerate(zip(transfers, salts, strict=True), start=first)
        ]
        parts = [
            {"market": self.id, "key": each.key, "account": account, "amount": amount}
            for each in transfers
            for account, amount in each.postings.items()
        ]
        self.connection.execute(insert(t.transfers), heads)
        self.connection.execute(insert(t.postings), parts)
        digests = {each.key: digest_of(self.id, each, salt) for each, salt in zip(transfers, salts, strict=True)}
        self.log("booked", "market", {"transfers": digests})


def digest_of(market: str, transfer: Transfer, salt: str) -> str:
    """What the log says of a transfer: nobody can guess an amount from it without the salt."""
    return digest("transfer", {"market": market, "salt": salt, **transfer.as_dict()})


def hold(connection: Connection, market: str, now: str) -> Held:
    """Lock a market."""
    found = connection.execute(_LOCK, {"this": market}).mappings().first()
    if found is None:
        raise no_market(market)
    return Held(connection, dict(found), now)


def no_market(market: str) -> MissingError:
    """What is said of a market that does not exist, and of one that the caller may not know of."""
    return MissingError(f"there is no market {market!r}", remedy="See the list of markets.", value=market)


def document_of(connection: Connection, market: str, kind: str) -> dict[str, Any] | None:
    """A document that was kept of a market."""
    text = connection.execute(
        select(t.outcomes.c.document).where(t.outcomes.c.market == market, t.outcomes.c.kind == kind)
    ).scalar()
    return None if text is None else dict(json.loads(text))


def transfers_of(connection: Connection, market: str) -> list[Transfer]:
    """All transfers of a market, in their order."""
    rows = connection.execute(
        select(t.transfers.c.key, t.postings.c.account, t.postings.c.amount)
        .join_from(t.transfers, t.postings)
        .where(t.transfers.c.market == market)
        .order_by(t.transfers.c.number)
    )
    found: dict[str, dict[str, int]] = {}
    for key, account, amount in rows:
        found.setdefault(key, {})[account] = amount
    return [Transfer(key, parts) for key, parts in found.items()]


def book_of(connection: Connection, market: str) -> Book:
    """The book of a market."""
    return Book.of(transfers_of(connection, market))
