"""The exchange: everything that the parts of a running market share.

One process of a market has one of these: the store, the clock, the key that signs receipts, the tokens. `once` is how
every request that changes something runs: its effect, its events and its answer are one commit, and a request that
comes again with the same key is given the same answer.
"""

from __future__ import annotations

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
from kantor.service.held import Held, hold
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

    def held(self, connection: Connection, market: str) -> Held:
        """A market under lock, at the server's time: taken after the lock, so that waiting for it counts."""
        found = hold(connection, market, "")
        found.now = max(self.clock.now(), found.now)
        return found

    def key_of(self, market: str) -> tuple[MarketKey, str]:
        """A market's key and the digest of its terms, once bidding has begun: from then on they never change."""
        if market not in self._keys:
            columns = t.markets.c.market_key, t.markets.c.terms_digest
            with self.store.read() as connection:
                row = connection.execute(select(*columns).where(t.markets.c.id == market)).first()
            if row is None or row.market_key is None:
                raise ConflictError(
                    f"market {market} has no key yet", remedy="Wait until bidding begins: the market's state says so."
                )
            self._keys[market] = MarketKey.read(json.loads(row.market_key)), row.terms_digest
        return self._keys[market]

    def once(self, caller: Caller, key: str, request: str, work: Callable[[Connection], Answer]) -> Answer:
        """Run work unless the caller has had this key's answer already. request: a digest of what is asked."""

        def piece(connection: Connection) -> Answer:
            known = _known(connection, caller, key, request)
            if known is not None:
                return known
            answer = work(connection)
            values = {
                "account": caller.account,
                "key": key,
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
            return self.store.write(piece)


def _known(connection: Connection, caller: Caller, key: str, request: str) -> Answer | None:
    row = connection.execute(_ANSWER, {"of": caller.account, "named": key}).first()
    if row is None:
        return None
    if row.request != request:
        raise RefusedError(
            "this Idempotency-Key stands for another request already",
            remedy="A key names one request: repeat that one exactly, or use a new key.",
            value=key,
        )
    return Answer(row.status, json.loads(row.body))
