"""Running studies: files written whole, what is complete left alone, several processes at work.

A study's files are FIGURE.csv, FIGURE.svg, FIGURE.png, and FIGURE.provenance.json, one line that says which version
made them with which seed, trials and owners, when, and in how many seconds. The last is written last, and it has the
table's SHA-256: a study is complete when its line is there, says what is asked for, and fits the table. So a run may
be stopped at any moment, and the same command goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from kantor.errors import InputError
from kantor.studies.catalogue import figure_of
from kantor.studies.drawing import draw, require_matplotlib, save
from kantor.studies.figure import Case
from kantor.studies.frames import Curves, read_frame
from kantor.studies.populations import FAMILIES
from kantor.studies.setting import Setting
from kantor.studies.store import blocks, keep, recall, valued_block
from kantor.writing import make_folder, write_table, write_text

__all__ = ["is_complete", "run", "stem"]

Progress = Callable[[int, int], None]


def stem(name: str, setting: Setting) -> str:
    """What a study's files are called."""
    return f"{name}-as-described" if setting.described else name


def run(
    names: Sequence[str], folder: Path, setting: Setting, jobs: int = 1, progress: Progress | None = None
) -> list[str]:
    """Make what is not complete yet, and return its names."""
    if jobs < 1:
        raise InputError(f"{jobs} jobs were asked for", remedy="Give at least 1.", value=jobs, argument="jobs")
    require_matplotlib()
    make_folder(folder)
    if not os.access(folder, os.W_OK):
        raise InputError("nothing may be written to this folder", remedy="Write elsewhere.", file=folder)
    todo = [name for name in names if not is_complete(name, folder, setting)]
    with _pool(min(jobs, max(1, len(todo)))) as pool:
        _Run(folder, setting, pool, progress).make(todo)
    return todo


def is_complete(name: str, folder: Path, setting: Setting) -> bool:
    """Whether all files are there, made by this version with this setting."""
    base = folder / stem(name, setting)
    try:
        line = json.loads(_with(base, ".provenance.json").read_text(encoding="utf-8"))
        same = line["csv_sha256"] == _digest(_with(base, ".csv"))
    except (OSError, ValueError, KeyError, TypeError):
        return False  # not there, or not whole: it is made again
    wanted = {"version": _version(), **asdict(setting)}
    drawn = all(_with(base, ending).is_file() for ending in (".svg", ".png"))
    return same and drawn and all(line.get(key) == value for key, value in wanted.items())


class _Run:
    """Counts what is done, and starts what is to do: slow valuations first, figures that need none beside them."""

    def __init__(self, folder: Path, setting: Setting, pool: Executor, progress: Progress | None) -> None:
        self._folder, self._setting, self._pool, self._progress = folder, setting, pool, progress
        self._done, self._whole = 0, 0

    def make(self, names: Sequence[str]) -> None:
        """All of these."""
        waiting = [name for name in names if figure_of(name).sampled]
        unknown = [f for f in FAMILIES[1:] if waiting and recall(self._folder, self._setting, f) is None]
        parts = [(family, *block) for family in unknown for block in blocks(self._setting)]
        self._whole = len(names) + len(parts)
        self._tell()
        tables = {part: self._start(valued_block, self._setting, *part) for part in parts}
        figures = [self._figure(name) for name in names if name not in waiting]
        for family in unknown:
            table = np.concatenate([future.result() for part, future in tables.items() if part[0] == family])
            keep(self._folder, self._setting, family, table)
        figures += [self._figure(name) for name in waiting]
        for future in as_completed(figures):
            future.result()

    def _figure(self, name: str) -> Future[Any]:
        return self._start(_make, name, self._folder, self._setting)

    def _start(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future = self._pool.submit(function, *arguments)
        future.add_done_callback(self._count)
        return future

    def _count(self, future: Future[Any]) -> None:
        if not future.cancelled() and future.exception() is None:
            self._done += 1
            self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self._done, self._whole)


def _make(name: str, folder: Path, setting: Setting) -> None:
    """One study's files, the line of provenance last."""
    start = time.perf_counter()
    figure, base = figure_of(name), folder / stem(name, setting)
    write_table(figure.compute(_case(setting, folder)), _with(base, ".csv"))
    about = {"figure": name, "version": _version(), **asdict(setting)}
    text = ", ".join(f"{key} {value}" for key, value in about.items())
    canvas = draw(figure, Curves(read_frame(_with(base, ".csv"))), setting.described)
    for ending in (".svg", ".png"):
        save(canvas, _with(base, ending), f"kantor {text}")
    about["made"] = datetime.now(UTC).isoformat(timespec="seconds")
    about["seconds"] = round(time.perf_counter() - start, 2)
    about["csv_sha256"] = _digest(_with(base, ".csv"))
    write_text(json.dumps(about) + "\n", _with(base, ".provenance.json"))


@lru_cache(maxsize=2)
def _case(setting: Setting, folder: Path) -> Case:
    return Case(setting, folder)


def _with(base: Path, ending: str) -> Path:
    return base.with_name(base.name + ending)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _version() -> str:
    import kantor

    return kantor.__version__


class _Here(Executor):
    """Does what it is given at once, in this process."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*arguments, **options))
        return future


@contextmanager
def _pool(jobs: int) -> Iterator[Executor]:
    """Processes, if more than one is wanted. Interrupted, it forgets what has not begun and does not wait."""
    if jobs == 1:
        yield _Here()
        return
    fresh = multiprocessing.get_context("spawn")  # a fork would inherit locks of threads that it does not inherit
    pool = ProcessPoolExecutor(jobs, mp_context=fresh, initializer=_leave_quietly)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _leave_quietly() -> None:
    """A process at work that is interrupted tidies up and says nothing: the one that started it does."""
    signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
