"""A kantor process that kills itself at its n-th write point: `python -m service.faults.crashing N COMMAND...`.

A write point is the moment just before, or just after, something becomes durable: a COMMIT in the server's or the
worker's database, a COMMIT in the owner's epsilon balance, a file that takes another one's place. The process is ended
by SIGKILL, so nothing of it runs any more. With N = 0 it is never killed.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

_LEFT = [0]


def point() -> None:
    """A moment at which the machine may stop."""
    _LEFT[0] -= 1
    if _LEFT[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)


def install(number: int) -> None:
    """Die at the write point of this number."""
    _LEFT[0] = number
    _watch_databases()
    _watch_balances()
    _watch_files()


def _watch_databases() -> None:
    from sqlalchemy import Engine, event

    def before(*arguments: Any) -> None:
        if arguments[2] == "COMMIT":
            point()

    event.listen(Engine, "before_cursor_execute", before)
    event.listen(Engine, "after_cursor_execute", before)


class _Store(sqlite3.Connection):
    def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
        if sql != "COMMIT":
            return super().execute(sql, *rest)
        point()
        done = super().execute(sql, *rest)
        point()
        return done


def _watch_balances() -> None:
    from kantor.owners import balance

    class Module:
        """sqlite3 with connections that are watched."""

        Error, Connection = sqlite3.Error, sqlite3.Connection

        @staticmethod
        def connect(*arguments: Any, **more: Any) -> sqlite3.Connection:
            return sqlite3.connect(*arguments, **more, factory=_Store)

    balance.sqlite3 = Module  # type: ignore[misc, assignment]


def _watch_files() -> None:
    replace = Path.replace

    def watched(self: Path, target: Any) -> Path:
        point()
        done = replace(self, target)
        point()
        return done

    Path.replace = watched  # type: ignore[method-assign]


if __name__ == "__main__":
    install(int(sys.argv[1]))
    from kantor.cli import main

    main(sys.argv[2:])
