"""Many writers, one transaction: durable commits by the group.

A commit that survives a power cut costs a wait for the disk, whatever it holds. So requests that arrive while one
commit is under way are put into the next one together. Whoever gets the lock first leads: it takes all work that waits,
runs it in one transaction, commits once, and wakes the others. No answer goes out before the commit that holds its
effect.

Most work succeeds, so a group is first run as it stands. If a piece is refused, the group is rolled back and run again
with a savepoint around each piece: one that fails leaves no trace and disturbs nobody.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from kantor.service.failures import StoreError

__all__ = ["Writer"]

T = TypeVar("T")
_TOGETHER = 128
_TRIES = 5
_DEADLOCK, _SERIALIZATION = "40P01", "40001"


class _Ticket(Generic[T]):
    """A piece of work and what became of it."""

    def __init__(self, work: Callable[[Connection], T]) -> None:
        self.work, self.done = work, False
        self.result: T | None = None
        self.fault: BaseException | None = None

    def run(self, connection: Connection) -> None:
        """Do the work; what it raises ends the group."""
        self.result, self.fault = self.work(connection), None

    def run_apart(self, connection: Connection) -> None:
        """Do the work behind a savepoint; what it raises is its own, unless the transaction is spoilt by it."""
        connection.exec_driver_sql("SAVEPOINT piece")
        try:
            self.run(connection)
        except Exception as fault:  # handed to whoever asked for the work
            if isinstance(fault, DBAPIError) and not isinstance(fault, IntegrityError):
                raise
            self.fault = fault
            connection.exec_driver_sql("ROLLBACK TO SAVEPOINT piece")
        connection.exec_driver_sql("RELEASE SAVEPOINT piece")


class Writer:
    """`do` runs work in a durable transaction and returns its result after the commit.

    Work may be run more than once before it counts: it must change nothing but the database.
    """

    def __init__(self, engine: Engine, begin: str) -> None:
        self.engine, self.begin = engine, begin
        self._waiting: deque[_Ticket[Any]] = deque()
        self._lock = threading.Lock()

    def do(self, work: Callable[[Connection], T]) -> T:
        """The work's result, or what it raised; nothing of it is kept in that case."""
        ticket = _Ticket(work)
        self._waiting.append(ticket)
        with self._lock:
            if not ticket.done:
                self._lead(ticket)
        if ticket.fault is not None:
            raise ticket.fault
        return ticket.result  # type: ignore[return-value]

    def _lead(self, own: _Ticket[Any]) -> None:
        while not own.done:
            group = [self._waiting.popleft() for _ in range(min(len(self._waiting), _TOGETHER))]
            try:
                self._commit(group)
            except PoolTimeoutError as fault:
                for ticket in group:
                    ticket.fault = StoreError.of(fault)
            except BaseException as fault:
                for ticket in group:
                    ticket.fault = fault
                raise
            finally:
                for ticket in group:
                    ticket.done = True

    def _commit(self, group: list[_Ticket[Any]]) -> None:
        """Commit a group; where the store fails, try again what may pass, and each piece alone before giving up."""
        for attempt in range(_TRIES):
            try:
                self._together(group)
            except DBAPIError as fault:
                if _passing(fault) and attempt + 1 < _TRIES:
                    continue
                if len(group) > 1 and not fault.connection_invalidated:
                    for ticket in group:
                        self._commit([ticket])
                else:
                    for ticket in group:
                        ticket.fault = StoreError.of(fault)
            return

    def _together(self, group: list[_Ticket[Any]]) -> None:
        try:
            self._transaction(group, _Ticket.run)
        except Exception as fault:
            if isinstance(fault, DBAPIError) and not isinstance(fault, IntegrityError):
                raise
            if len(group) == 1:
                group[0].fault = fault
            else:
                self._transaction(group, _Ticket.run_apart)

    def _transaction(self, group: list[_Ticket[Any]], run: Callable[[_Ticket[Any], Connection], None]) -> None:
        with self.engine.connect() as connection:
            connection.exec_driver_sql(self.begin)
            try:
                for ticket in group:
                    run(ticket, connection)
                connection.exec_driver_sql("COMMIT")
            except BaseException:
                if not connection.invalidated:
                    connection.exec_driver_sql("ROLLBACK")
                raise


def _passing(fault: DBAPIError) -> bool:
    """Whether trying again may help: a deadlock, a lost race."""
    return getattr(fault.orig, "sqlstate", None) in (_DEADLOCK, _SERIALIZATION)
