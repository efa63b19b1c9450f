"""Claim: a market takes hundreds of bids a second durably, and 10,000 bids are cleared and settled within minutes.

A real server process, with its worker, on SQLite and on PostgreSQL (KANTOR_BENCH_POSTGRESQL, or the one on
127.0.0.1:5432). Every bid is sealed and signed beforehand, and sent over HTTP by 32 connections at once. A bid counts
when its receipt is back. What a user would use instead is a form that writes a row: the same database, one committed
insert after another, is measured beside it.

    python -m benchmarks.market_load [--quick]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
from sqlalchemy import text

from benchmarks.crowd import Crowd, send, server_process
from benchmarks.timing import timed
from kantor.service import advance
from kantor.service.settings import Settings

_AT_ONCE = 32
_WEEK = timedelta(days=8)


def measure(quick: bool = False) -> dict[str, object]:
    """Both databases."""
    count = 200 if quick else 10_000
    found: dict[str, object] = {"bids": count, "connections": _AT_ONCE}
    for name, url in _databases():
        with tempfile.TemporaryDirectory() as folder:
            settings = Settings(Path(folder) / "server", database=url)
            numbers = {"plain inserts a second": _plain_inserts(settings)}
            with server_process(settings) as address:
                crowd = Crowd(Path(folder), settings, address, count)
                numbers |= _bidding(crowd)
                numbers |= _to_the_end(crowd)
                crowd.close()
        numbers["bids to plain inserts"] = numbers["bids a second"] / numbers["plain inserts a second"]
        found |= {f"{name}: {what}": value for what, value in numbers.items()}
    return found


def _databases() -> Iterator[tuple[str, str | None]]:
    yield "SQLite", None
    server = os.environ.get("KANTOR_BENCH_POSTGRESQL", "postgresql://postgres@127.0.0.1:5432")
    import psycopg

    name = f"kantor_bench_{os.getpid()}"
    try:
        with psycopg.connect(f"{server}/postgres", autocommit=True, connect_timeout=3) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
    except psycopg.OperationalError:
        return
    try:
        yield "PostgreSQL", f"{server}/{name}"
    finally:
        with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _plain_inserts(settings: Settings) -> float:
    """What the disk allows without us: a row, a commit, a row, a commit."""
    exchange = settings.exchange()
    with exchange.store.engine.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE plain (a INTEGER, b VARCHAR(2000))")
        start, done = time.perf_counter(), 0
        while time.perf_counter() - start < 2:
            connection.execute(text("INSERT INTO plain VALUES (:a, :b)"), {"a": done, "b": "x" * 1000})
            done += 1
        seconds = time.perf_counter() - start
        connection.exec_driver_sql("DROP TABLE plain")
    exchange.store.close()
    return done / seconds


def _bidding(crowd: Crowd) -> dict[str, float]:
    market = crowd.open()
    requests = crowd.bids()
    seconds, answers = timed(lambda: send(crowd.url, market, requests, _AT_ONCE))
    refused = [answer for answer in answers if answer.status != 201]
    if refused or len(answers) != crowd.count:
        raise RuntimeError(f"{crowd.count - len(answers)} bids got no answer, {refused[:1]} was refused")
    waits = [1000 * answer.seconds for answer in answers]
    return {
        "bids a second": crowd.count / seconds,
        "p50 ms": float(np.quantile(waits, 0.5)),
        "p99 ms": float(np.quantile(waits, 0.99)),
    }


def _to_the_end(crowd: Crowd) -> dict[str, float]:
    """From the last bid on: closing, opening, clearing; then nobody delivers, and all money goes back."""
    closing, _ = timed(lambda: _wait(crowd, "closed"))
    opening, _ = timed(crowd.trustee.round)
    clearing, _ = timed(lambda: _wait(crowd, "delivering"))
    crowd.x.clock.ahead += _WEEK
    settling, _ = timed(lambda: _settle(crowd))
    return {
        "seconds to close": closing,
        "seconds for a trustee to open": opening,
        "seconds to check the opening and clear": clearing,
        "winners": crowd.operator.result(crowd.market)["public"]["bought"],
        "seconds to settle": settling,
    }


def _wait(crowd: Crowd, state: str) -> None:
    while crowd.operator.market(crowd.market)["state"] != state:
        time.sleep(0.02)


def _settle(crowd: Crowd) -> None:
    while advance.advance(crowd.x, crowd.market) != "settled":
        pass


if __name__ == "__main__":
    for what, value in measure("--quick" in sys.argv).items():
        print(f"{what}: {value:.4g}" if isinstance(value, float) else f"{what}: {value}")
