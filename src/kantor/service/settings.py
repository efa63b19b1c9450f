"""What an operator decides when it starts a server: where things are kept, and the limits."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kantor.errors import InputError
from kantor.evidence.signing import write_secret
from kantor.service.clock import Clock
from kantor.service.exchange import Exchange
from kantor.service.http.limits import Limits
from kantor.service.store.store import Store

__all__ = ["OPERATOR_TOKEN", "Settings"]

OPERATOR_TOKEN = "operator.token"  # noqa: S105  a file's name
_FIRST = "the first operator's"


@dataclass(frozen=True)
class Settings:
    """A server's folder holds its keys, and its database unless that is elsewhere."""

    folder: Path
    database: str | None = None
    parties: Path | None = None
    host: str = "127.0.0.1"
    port: int = 8440
    limits: Limits = field(default_factory=Limits)

    @property
    def url(self) -> str:
        """The database's address; KANTOR_DATABASE where none is given, so that a password is in no command line."""
        stated = self.database or os.environ.get("KANTOR_DATABASE")
        return stated or f"sqlite:///{self.folder / 'market.db'}"

    def exchange(self, clock: Clock | None = None) -> Exchange:
        """The exchange that these settings describe, its tables up to date and its operator known."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as fault:
            raise InputError(
                f"the folder cannot be made ({fault.strerror})", remedy="Choose a place to write to.", file=self.folder
            ) from fault
        store = Store(self.url)
        store.migrate()
        found = Exchange(store, self.folder, clock, self.parties)
        _first_operator(found)
        return found


def _first_operator(x: Exchange) -> None:
    """On first use: an operator's account, its token in a file that the operator alone can read."""
    from sqlalchemy import Connection, func, select

    from kantor.service.store import tables as t

    file = x.folder / OPERATOR_TOKEN

    def work(connection: Connection) -> str | None:
        if connection.execute(select(func.count()).select_from(t.accounts)).scalar():
            return None if file.exists() else _unwritten(connection)
        now = x.clock.now()
        account = x.tokens.add_account(connection, "operator", "operator", None, now)
        return str(x.tokens.add_token(connection, account["id"], now, label=_FIRST)["id"])

    number = x.store.write(work)
    if number is not None:
        file.unlink(missing_ok=True)
        write_secret(file, f"{x.tokens.text_of(number)}\n".encode())


def _unwritten(connection: Any) -> str | None:
    """The first token, if a crash came before its file was written, or the file was lost and the token not revoked."""
    from sqlalchemy import select

    from kantor.service.store import tables as t

    first = select(t.tokens.c.id).where(t.tokens.c.label == _FIRST, t.tokens.c.revoked_at.is_(None))
    return connection.execute(first.order_by(t.tokens.c.created_at)).scalar()
