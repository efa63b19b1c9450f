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

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from kantor.evidence.signing import Signer
from kantor.service.accounts import Caller, Tokens
from kantor.service.clock import Clock
from kantor.service.failures import RefusedError
from kantor.service.held import Held, hold
from kantor.service.store import tables as t
from kantor.service.store.store import Store

__all__ = ["Answer", "Exchange"]


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

    def held(self, connection: Connection, market: str) -> Held:
        """A market under lock, at the server's time: taken after the lock, so that waiting for it counts."""
        found = hold(connection, market, "")
        found.now = max(self.clock.now(), found.now)
        return found

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
            connection.execute(insert(t.answers), values)
            return answer

        try:
            return self.store.write(piece)
        except IntegrityError:  # another process has answered the same key a moment ago
            return self.store.write(piece)


def _known(connection: Connection, caller: Caller, key: str, request: str) -> Answer | None:
    where = t.answers.c.account == caller.account, t.answers.c.key == key
    row = connection.execute(select(t.answers).where(*where)).first()
    if row is None:
        return None
    if row.request != request:
        raise RefusedError(
            "this Idempotency-Key stands for another request already",
            remedy="A key names one request: repeat that one exactly, or use a new key.",
            value=key,
        )
    return Answer(row.status, json.loads(row.body))
