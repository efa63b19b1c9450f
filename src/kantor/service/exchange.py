"""The exchange: everything that the parts of a running market share.

One process of a market has one of these: the store, the clock, the key that signs receipts, the tokens. `once` is how
every request that changes something runs: its effect, its events and its answer are one commit, and a request that
comes again with the same key is given the same answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select
from sqlalchemy.exc import IntegrityError

from kantor.evidence.signing import Signer
from kantor.sealing.keys import MarketKey
from kantor.service.accounts import Caller, Tokens
from kantor.service.clock import Clock
from kantor.service.failures import ConflictError, RefusedError
from kantor.service.held import Held, hold, no_market
from kantor.service.store import tables as t
from kantor.service.store.store import Store

__all__ = ["Answer", "Exchange"]

_ANSWER = select(t.answers).where(t.answers.c.account == bindparam("of"), t.answers.c.key == bindparam("named"))
_ADD_ANSWER = insert(t.answers)


@dataclass(frozen=True)
class Answer:
    """What a request is answered: a status and a plain body."""

    status: int
    body: dict[str, Any]


class Exchange:
    """One process's view of the markets that it runs."""

    def __init__(self, store: Store, folder: Path, clock: Clock | None = None, parties: Path | None = None) -> None:
        self.store, self.folder, self.clock, self.parties = store, folder, clock or Clock(), parties
        self.signer = Signer.at(folder / "server.key")
        self.secret = bytes.fromhex(Signer.at(folder / "tokens.key").sign("tokens", {}))
        self.tokens = Tokens(self.secret)
        self._keys: dict[str, tuple[MarketKey, str]] = {}

    def held(self, connection: Connection, market: str, caller: Caller | None = None) -> Held:
        """A market under lock, at the server's time: taken after the lock, so that waiting for it counts.

        To a caller who may not know of it, such as of another's draft, it does not exist.
        """
        found = hold(connection, market, "")
        if caller is not None and not caller.may_see(found.row):
            raise no_market(market)
        found.now = max(self.clock.now(), found.now)
        return found

    def key_of(self, market: str, caller: Caller) -> tuple[MarketKey, str]:
        """A market's key and the digest of its terms, once bidding has begun: from then on they never change."""
        if market not in self._keys:
            with self.store.read() as connection:
                row = connection.execute(select(t.markets).where(t.markets.c.id == market)).mappings().first()
            if row is None or not caller.may_see(row):
                raise no_market(market)
            if row["market_key"] is None:
                raise ConflictError(
                    f"market {market} has no key yet", remedy="Wait until bidding begins: the market's state says so."
                )
            self._keys[market] = MarketKey.read(json.loads(row["market_key"])), row["terms_digest"]
        return self._keys[market]

    def once(self, caller: Caller, key: str, request: str, work: Callable[[Connection], Answer]) -> Answer:
        """Run work unless the caller has had this key's answer already. request: a digest of what is asked.

        What keeps the key is its hash: a caller may have put into it what nobody should read. A refusal is not kept,
        so that the same key serves again once the request is mended.
        """
        name = hashlib.sha256(key.encode()).hexdigest()

        def piece(connection: Connection) -> Answer:
            known = _known(connection, caller, name, request)
            if known is not None:
                return known
            answer = work(connection)
            values = {
                "account": caller.account,
                "key": name,
                "request": request,
                "status": answer.status,
                "body": json.dumps(answer.body),
                "at": self.clock.now(),
            }
            connection.execute(_ADD_ANSWER, values)
            return answer

        try:
            return self.store.write(piece)
        except IntegrityError:  # another process has answered the same key a moment ago
            return self._again(piece)

    def _again(self, piece: Callable[[Connection], Answer]) -> Answer:
        try:
            return self.store.write(piece)
        except IntegrityError as fault:
            raise ConflictError(
                "there is something already that must be there once", remedy="Look at what there is, then ask anew."
            ) from fault


def _known(connection: Connection, caller: Caller, name: str, request: str) -> Answer | None:
    row = connection.execute(_ANSWER, {"of": caller.account, "named": name}).first()
    if row is None:
        return None
    if row.request != request:
        raise RefusedError(
            "this Idempotency-Key stands for another request already",
            remedy="A key names one request: repeat that one exactly, or use a new key.",
        )
    return Answer(row.status, json.loads(row.body))
