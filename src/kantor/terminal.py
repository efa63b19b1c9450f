"""What a person at a terminal sees: tables, and a bar for whatever takes longer than two seconds."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

__all__ = ["Progress", "console", "is_terminal", "plain", "print_csv", "print_json", "print_table", "say"]

_SHOWN = 40
_PATIENCE = 2.0


def console(stderr: bool = False) -> Console:
    """Where to print; nothing in a text is taken for colour."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def is_terminal() -> bool:
    """Whether a person reads standard output, rather than a program or a file."""
    return sys.stdout.isatty()


def plain(value: Any) -> Any:
    """JSON has no infinity: null stands for it."""
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def print_json(value: Any) -> None:
    """One line of JSON."""
    print(json.dumps(plain(value)))


def say(text: str, stderr: bool = False) -> None:
    """Sentences, wrapped to the width of a terminal."""
    out = console(stderr)
    out.print(text, markup=False, soft_wrap=not out.is_terminal)


def print_csv(table: pl.DataFrame) -> None:
    """A table as plain CSV."""
    sys.stdout.write(table.write_csv())
    sys.stdout.flush()


def print_table(table: pl.DataFrame, title: str, headings: Sequence[str], more: str = "") -> None:
    """The first rows, under these headings. more: what to do about the rest."""
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=Text(title), title_justify="left")
    for heading, kind in zip(headings, table.dtypes, strict=True):
        shown.add_column(heading, justify="right" if kind.is_numeric() else "left")
    for row in table.head(_SHOWN).iter_rows():
        shown.add_row(*(Text(f"{cell:.6g}" if isinstance(cell, float) else str(cell)) for cell in row))
    out = console()
    out.print(shown)
    if table.height > _SHOWN:
        out.print(f"... and {table.height - _SHOWN:,} more{more}.", markup=False)


class Progress:
    """A progress bar on standard error, for whoever has waited longer than two seconds.

    Called with (done, whole), it shows how far the work is; never called, that it goes on and for how long it has.
    """

    def __init__(self, label: str, quiet: bool = False) -> None:
        self.label, self.quiet = label, quiet or not sys.stderr.isatty()
        self._lock = threading.Lock()
        self._over = False
        self._bar: Any = None
        self._told: tuple[int, int | None] = (0, None)
        self._alarm = threading.Timer(_PATIENCE, self._start)
        self._alarm.daemon = True

    def __enter__(self) -> Progress:
        if not self.quiet:
            self._alarm.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._alarm.cancel()
        with self._lock:
            self._over = True
            if self._bar is not None:
                self._bar.stop()

    def __call__(self, done: int, whole: int) -> None:
        """So many steps are done, of so many."""
        self._told = done, whole
        if self._bar is not None:
            self._bar.update(0, completed=done, total=whole)

    def _start(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        with self._lock:
            if self._over:
                return
            done, whole = self._told
            known = [] if whole is None else [MofNCompleteColumn(), TimeRemainingColumn()]
            columns = [TextColumn("{task.description}"), BarColumn(), *known, TimeElapsedColumn()]
            bar = Bar(*columns, console=console(stderr=True), transient=True)
            bar.add_task(self.label, total=whole, completed=done)
            bar.start()
            self._bar = bar
