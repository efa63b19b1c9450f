"""The worker: a process of its own that moves markets on.

It may be killed at any moment, and any number of workers may run: what a step does is one commit, and what it computes
before is a function of what is stored. A market whose step fails is left as it is, the failure is noted for the
operator, and the others go on.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import structlog
from sqlalchemy import Connection

from kantor.errors import KantorError
from kantor.service.advance import advance, due
from kantor.service.exchange import Exchange
from kantor.service.failures import StoreError, place_of

__all__ = ["WATCHED", "Worker", "run_worker"]

WATCHED = "KANTOR_WORKER_WATCHED"
"""Set by a server for its own worker: standard input is then a pipe that ends when the server does."""

_LOG = structlog.get_logger("kantor")
_EVERY = 0.1
_AFTER_FAILURE = 2.0


class Worker:
    """`run` returns when `stop` is called from another thread or a signal."""

    def __init__(self, exchange: Exchange, every: float = _EVERY) -> None:
        self.x, self.every = exchange, every
        self._over = threading.Event()
        self._resting: dict[str, float] = {}

    def stop(self) -> None:
        """End after the step that is under way."""
        self._over.set()

    def run(self) -> None:
        """Move markets on until stopped."""
        while not self._over.is_set():
            try:
                moved = self.round()
            except StoreError as fault:
                _LOG.error("store", error=str(fault))
                moved = False
            if not moved:
                self._over.wait(self.every)

    def round(self) -> bool:
        """One step of every market that may have one; returns whether any got to another state."""
        moved = False
        for market in due(self.x):
            if self._resting.get(market, 0.0) <= time.monotonic():
                moved = self._step(market) or moved
        return moved

    def _step(self, market: str) -> bool:
        before = _state(self.x, market)
        try:
            after = advance(self.x, market)
        except StoreError:
            raise
        except KantorError as fault:
            self._failed(market, fault, str(fault))
            return False
        except Exception as fault:  # noqa: BLE001  one market's failure must not stop the others; it is told
            self._failed(market, fault, f"{type(fault).__name__} at {place_of(fault)}")
            return False
        if after != before:
            _LOG.info("moved on", market=market, before=before, after=after)
        return after != before

    def _failed(self, market: str, fault: BaseException, told: str) -> None:
        self._resting[market] = time.monotonic() + _AFTER_FAILURE
        _LOG.error("step failed", market=market, error=type(fault).__name__, where=place_of(fault))

        def note(connection: Connection) -> None:
            self.x.held(connection, market).change(trouble=told)

        self.x.store.write(note)


def _state(x: Exchange, market: str) -> str:
    from sqlalchemy import select

    from kantor.service.store import tables as t

    with x.store.read() as connection:
        return str(connection.execute(select(t.markets.c.state).where(t.markets.c.id == market)).scalar())


def run_worker(exchange: Exchange) -> None:
    """Run a worker in this process until a signal, or until the server that started it is gone."""
    worker = Worker(exchange)
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: worker.stop())

    def watch() -> None:
        sys.stdin.buffer.read()  # ends when the process at the other end of the pipe does, however it ends
        worker.stop()

    if os.environ.get(WATCHED):
        threading.Thread(target=watch, daemon=True).start()
    worker.run()
