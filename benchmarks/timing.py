"""How the benchmarks take times: the best of several warm runs, since a busy machine only ever adds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of one run, and what it returned."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def best(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The fastest of several runs after one that does not count."""
    work()
    return min((timed(work) for _ in range(repeats)), key=lambda run: run[0])
