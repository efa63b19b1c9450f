"""Databases for tests: SQLite in a file, and a real PostgreSQL.

PostgreSQL is the one at KANTOR_TEST_POSTGRESQL, or one that listens on 127.0.0.1:5432 and lets `postgres` in, or a
private one that is started from the binaries on this machine. Where there is none, its half of the tests is skipped and
says so; with KANTOR_NEEDS_POSTGRESQL set (as `.ci/run` does) that is a failure.
"""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from functools import lru_cache
from itertools import count
from pathlib import Path

import psycopg
import pytest

from kantor.service.store.store import Store

_NUMBERS = count()


class NoPostgresqlError(Exception):
    """There is none to be had here, and why."""


@lru_cache(maxsize=1)
def server() -> str:
    """The address of a PostgreSQL server, without a database."""
    stated = os.environ.get("KANTOR_TEST_POSTGRESQL")
    for url in [stated] if stated else ["postgresql://postgres@127.0.0.1:5432"]:
        try:
            psycopg.connect(f"{url}/postgres", connect_timeout=3).close()
        except psycopg.OperationalError as fault:
            if stated:
                raise NoPostgresqlError(f"KANTOR_TEST_POSTGRESQL is {stated}, and does not answer: {fault}") from fault
        else:
            return url
    return _private()


def _private() -> str:
    """Start a server of our own; it ends with the tests."""
    binaries = _binaries()
    folder = Path(tempfile.mkdtemp(prefix="kantor-pg-"))
    user = _user()
    if user is not None:
        shutil.chown(folder, user)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [binaries / name, *arguments], user=user, capture_output=True, text=True, cwd=folder, check=False
        )

    made = run("initdb", "-D", str(folder / "data"), "-U", "postgres", "-A", "trust", "-N")
    if made.returncode:
        raise NoPostgresqlError(f"initdb failed: {made.stderr.strip()[-300:]}")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -k {folder} -c max_connections=200"
    begun = run("pg_ctl", "-D", str(folder / "data"), "-o", options, "-l", str(folder / "log"), "-w", "start")
    if begun.returncode:
        raise NoPostgresqlError(f"pg_ctl failed: {begun.stdout.strip()[-300:]}")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(run, "pg_ctl", "-D", str(folder / "data"), "-m", "immediate", "stop")
    return f"postgresql://postgres@127.0.0.1:{port}"


def _binaries() -> Path:
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).parent
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if not found:
        raise NoPostgresqlError("no server answers on 127.0.0.1:5432, and there is no initdb on this machine")
    return found[-1].parent


def _user() -> str | None:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        raise NoPostgresqlError("PostgreSQL does not run as root, and there is no user postgres here") from None


@lru_cache(maxsize=1)
def _template() -> str:
    """A database with all tables, to be copied."""
    name = _fresh("template")
    store = Store(f"{server()}/{name}")
    store.migrate()
    store.close()
    return name


def _fresh(kind: str, template: str = "template1") -> str:
    name = f"kantor_{kind}_{os.getpid()}_{next(_NUMBERS)}"
    with psycopg.connect(f"{server()}/postgres", autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    atexit.register(drop, name)
    return name


def drop(name: str) -> None:
    """Remove a database."""
    try:
        with psycopg.connect(f"{server()}/postgres", autocommit=True) as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
    except psycopg.OperationalError:
        pass  # the server went first


def database(kind: str, folder: Path) -> str:
    """The address of a new, empty database of a kind."""
    if kind == "sqlite":
        return f"sqlite:///{folder / f'market-{next(_NUMBERS)}.db'}"
    try:
        return f"{server()}/{_fresh('test', _template())}"
    except NoPostgresqlError as fault:
        if os.environ.get("KANTOR_NEEDS_POSTGRESQL"):
            raise
        pytest.skip(f"the PostgreSQL half was not run: {fault}")


def wait_until(holds: object, patience: float = 20.0) -> None:
    """Wait for something that is bound to come."""
    until = time.monotonic() + patience
    while not holds():  # type: ignore[operator]
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(0.02)
