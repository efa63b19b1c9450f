"""The store: one object for reading, writing and bringing the tables up to date.

Both databases are told when a transaction begins and ends (drivers' own ideas of that differ), reads see one moment of
the database, and writes go through the group writer. SQLite runs in WAL mode and waits for the disk at every commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from kantor.errors import InputError, MissingExtraError
from kantor.service.failures import StoreError
from kantor.service.store.writer import Writer

__all__ = ["Store"]

T = TypeVar("T")
_PATIENCE = 30
_CONNECT = 5
_PRAGMAS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "foreign_keys = ON",
    "recursive_triggers = ON",  # or REPLACE would delete history without asking the triggers that protect it
    f"busy_timeout = {_PATIENCE}000",
)


class Store:
    """A database by its address, such as sqlite:///market.db or postgresql://user@host/name."""

    def __init__(self, url: str, *, readers: int = 20) -> None:
        self.url = url
        self.engine = _engine(url, readers)
        self.dialect = self.engine.dialect.name
        sqlite = self.dialect == "sqlite"
        self._read = "BEGIN" if sqlite else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        self._writer = Writer(self.engine, "BEGIN IMMEDIATE" if sqlite else "BEGIN")

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run work in a transaction; when this returns, its effect is on the disk."""
        return self._writer.do(work)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees one moment of the database."""
        try:
            with self.engine.connect() as connection:
                connection.exec_driver_sql(self._read)
                try:
                    yield connection
                finally:
                    if not connection.invalidated:
                        connection.exec_driver_sql("ROLLBACK")
        except (DBAPIError, PoolTimeoutError) as fault:
            raise StoreError.of(fault) from fault

    def migrate(self) -> None:
        """Make the tables, or bring them up to this version's."""
        from kantor.service.store.migrating import upgrade

        upgrade(self.engine)

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()


def _engine(url: str, readers: int) -> Engine:
    try:
        parsed = make_url(url)
    except ArgumentError as fault:
        raise InputError(
            f"{url.partition('@')[2] or url!r} is no database address",
            remedy="Give sqlite:///FILE or postgresql://USER@HOST/NAME.",
        ) from fault
    if parsed.drivername in ("postgresql", "postgres"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    if not parsed.drivername.startswith(("postgresql", "sqlite")):
        raise InputError(
            f"a market is not kept in {parsed.drivername!r}",
            remedy="Give sqlite:///FILE or postgresql://USER@HOST/NAME.",
        )
    sqlite = parsed.drivername.startswith("sqlite")
    if sqlite and (parsed.database is None or not Path(parsed.database).parent.is_dir()):
        raise InputError(
            f"there is no folder for {parsed.database or 'a database in memory'}",
            remedy="Make the folder first: a market is kept in a file.",
        )
    more: dict[str, Any] = (
        {"connect_args": {"timeout": _PATIENCE, "check_same_thread": False}}
        if sqlite
        else {"connect_args": {"connect_timeout": _CONNECT}}
    )
    try:
        engine = create_engine(
            parsed,
            isolation_level="AUTOCOMMIT",
            pool_size=readers,
            max_overflow=readers,
            pool_pre_ping=not sqlite,
            **more,
        )
    except ImportError as missing:
        raise MissingExtraError("PostgreSQL", "psycopg", "postgres") from missing
    if sqlite:
        event.listen(engine, "connect", _careful)
    return engine


def _careful(connection: Any, _: Any) -> None:
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
