"""What an agent has said in one market and been told: a small file that survives a power cut.

What is about to be said is written down first, so that an agent that was stopped says the same again. Several commands
may be at work in one home (one waits unattended, a person looks in with another): `alone` lets one at a time change
something, and `known` always reads what is on the disk.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from kantor.errors import InputError
from kantor.sealing.storing import in_file, read_file

__all__ = ["Notes"]

_WAIT = 120.0


class Notes:
    """A small durable record of one market; a change is on the disk before `keep` returns."""

    def __init__(self, file: Path) -> None:
        self.file = file

    @property
    def known(self) -> dict[str, Any]:
        """Everything that is written down."""
        if not self.file.exists():
            return {}
        try:
            return dict(read_file(self.file))
        except InputError as fault:
            raise InputError(
                "the notes of this market cannot be read",
                remedy="Put the file back from a copy; or move it away, enrol again, and fetch your receipts with: "
                "kantor owner receipts",
                file=self.file,
            ) from fault

    def keep(self, **parts: Any) -> None:
        """Write parts down, beside what is there."""
        in_file(self.file)({**self.known, **parts})

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While this lasts, nobody else in this home changes anything about this market; it ends with the process."""
        try:
            with closing(sqlite3.connect(self.file.with_suffix(".lock"), timeout=_WAIT, isolation_level=None)) as lock:
                lock.execute("BEGIN IMMEDIATE")
                yield
        except sqlite3.Error as fault:
            raise InputError(
                f"another command has been at work in this market for {_WAIT:.0f} seconds ({fault})",
                remedy="Nothing was done. Wait for it or end it, and try again.",
                file=self.file,
            ) from fault
