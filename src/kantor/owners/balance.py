"""The owner's epsilon balance: what has been spent on a data set, and what may still be.

The balance lives in a file of the owner's own (SQLite) and is kept like money that only goes out:

1. **reserve**: the release is entered, if it fits beside everything that is reserved or charged already; else refused.
2. **charge**: the noised values are stored beside the entry in the same durable commit that charges it.
3. **release**: only what `charge` has returned may leave the machine.

So a machine that stops anywhere has charged whatever it has released. A reservation that was never charged still
counts until it is cancelled, a charge is for ever: the file itself refuses to delete or undo one. Asking again with the
same key gives the same noised values and costs nothing, since the same numbers tell nothing new; that is how a
delivery is repeated after a failure.

What the file cannot see: a copy of it that is put back forgets what came after, and two files for one data set each
know half. Keep one, and never restore it from a backup without lowering the limit.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from kantor.errors import BalanceError, InputError
from kantor.owners.accounting import Cost, Limit, cost_of, spent
from kantor.owners.calibration import Calibration, Mechanism
from kantor.owners.distributions import Vector
from kantor.owners.release import Promise, Release, Unit, promise, release
from kantor.owners.samples import as_sample

__all__ = ["Balance", "Entry", "State", "fingerprint"]

State: TypeAlias = Literal["reserved", "charged", "cancelled"]

_TABLES = """
CREATE TABLE settings (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, epsilon REAL NOT NULL,
  delta REAL NOT NULL, unit TEXT NOT NULL);
CREATE TABLE entries (number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, purpose TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('reserved', 'charged', 'cancelled')), promise TEXT NOT NULL, cost TEXT NOT NULL,
  fingerprint TEXT NOT NULL, reserved_at TEXT NOT NULL, charged_at TEXT, "values" BLOB, clipped INTEGER);
CREATE TRIGGER no_refund BEFORE UPDATE ON entries WHEN OLD.state <> 'reserved'
  BEGIN SELECT RAISE(ABORT, 'a charge or a cancellation is final'); END;
CREATE TRIGGER same_promise BEFORE UPDATE OF key, promise, cost, fingerprint ON entries
  BEGIN SELECT RAISE(ABORT, 'what was reserved is not changed'); END;
CREATE TRIGGER no_deletion BEFORE DELETE ON entries
  BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END;
"""
_VERSION = 1
_WAIT = 120.0


@dataclass(frozen=True)
class Entry:
    """One line of the balance."""

    key: str
    purpose: str
    state: State
    promise: Promise
    cost: Cost
    reserved_at: str
    charged_at: str | None


class Balance:
    """An epsilon balance in a file. Any number of threads and processes may use one file at a time.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> balance = Balance.create(folder / "balance.db", epsilon=1.0, unit="series")
    >>> sent = balance.release([3.0, 4.0], "laplace", key="market 1", purpose="spring", bounds=(0, 10), epsilon=0.6)
    >>> round(balance.left(), 3)
    0.4
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.exists():
            raise InputError("there is no balance", remedy="Make one with Balance.create.", file=self.path)
        with self._store() as store:
            row = store.execute("SELECT version, epsilon, delta, unit FROM settings").fetchone()
        if row is None or row[0] != _VERSION:
            raise InputError("this is no finished balance of this version", remedy="Make a new one.", file=self.path)
        self.limit = Limit(row[1], row[2])
        self.unit: Unit = json.loads(row[3])

    @classmethod
    def create(cls, path: str | Path, *, epsilon: float, delta: float = 0.0, unit: Unit) -> Balance:
        """A new balance: at most epsilon at delta, for one unit of privacy. An existing file is never replaced."""
        limit = Limit(float(epsilon), float(delta))
        place = Path(path)
        try:
            os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError as fault:
            raise InputError(
                "there is a file already", remedy="Open it with Balance(path), or choose another name.", file=place
            ) from fault
        except OSError as fault:
            raise InputError(
                f"it cannot be made ({fault.strerror})", remedy="Check the folder and its permissions.", file=place
            ) from fault
        with _opened(place) as store:
            settings = (_VERSION, limit.epsilon, limit.delta, json.dumps(unit))
            store.executescript(f"BEGIN IMMEDIATE; {_TABLES} COMMIT;")
            store.execute("INSERT INTO settings VALUES (1, ?, ?, ?, ?)", settings)
        return cls(place)

    def reserve(self, promised: Promise, *, key: str, purpose: str, fingerprint: str = "") -> Entry:
        """Enter a release if it fits, once for each key; refuse it with `BalanceError` if not."""
        if promised.unit != self.unit:
            raise InputError(
                f"the release hides {promised.unit!r}, and this balance counts {self.unit!r}",
                remedy="Release with the balance's unit: losses of different units do not add up.",
                file=self.path,
                value=promised.unit,
            )
        cost, text = cost_of(promised), json.dumps(promised.__dict__, sort_keys=True)
        with self._writing() as store:
            known = self._find(store, key)
            if known is not None:
                return self._same(store, known, text, fingerprint)
            held = _costs(store)
            if not self.limit.affords([*held, cost]):
                raise BalanceError(
                    f"epsilon {promised.epsilon:g} is more than is left: {spent(held, self.limit.delta):.4g} of "
                    f"{self.limit.epsilon:g} is spent or reserved (delta {self.limit.delta:g}, {len(held)} releases)",
                    remedy="Nothing was released. Release with a smaller epsilon, or not at all.",
                    file=self.path,
                )
            store.execute(
                "INSERT INTO entries (key, purpose, state, promise, cost, fingerprint, reserved_at) "
                "VALUES (?, ?, 'reserved', ?, ?, ?, ?)",
                (key, purpose, text, json.dumps(cost), fingerprint, _now()),
            )
            entry = self._find(store, key)
        assert entry is not None  # noqa: S101  just written
        return entry

    def charge(self, key: str, noised: Release) -> Release:
        """Charge a reservation and keep its noised values, in one durable commit; what it returns may leave."""
        with self._writing() as store:
            self._existing(store, key)
            changed = store.execute(
                "UPDATE entries SET state = 'charged', charged_at = ?, \"values\" = ?, clipped = ? "
                "WHERE key = ? AND state = 'reserved'",
                (_now(), np.ascontiguousarray(noised.values, dtype="<f8").tobytes(), noised.clipped, key),
            ).rowcount
            if not changed and self._existing(store, key).state == "cancelled":
                raise BalanceError(
                    f"the reservation {key!r} was cancelled", remedy="Reserve again, under a new key.", file=self.path
                )
        kept = self.charged(key)
        assert kept is not None  # noqa: S101  committed above, or charged before
        return kept

    def charged(self, key: str) -> Release | None:
        """The noised values that were charged under this key, as often as they are asked for."""
        with self._store() as store:
            row = store.execute(
                "SELECT promise, \"values\", clipped FROM entries WHERE key = ? AND state = 'charged'", (key,)
            ).fetchone()
        if row is None:
            return None
        return Release(np.frombuffer(row[1], dtype="<f8").astype(np.float64), Promise(**json.loads(row[0])), row[2])

    def cancel(self, key: str) -> None:
        """Give back a reservation that was never charged."""
        with self._writing() as store:
            if self._existing(store, key).state == "charged":
                raise BalanceError(
                    f"{key!r} has been charged, and a charge is never given back",
                    remedy="Its values may have left the machine.",
                    file=self.path,
                )
            store.execute("UPDATE entries SET state = 'cancelled' WHERE key = ? AND state = 'reserved'", (key,))

    def release(
        self,
        values: Any,
        mechanism: Mechanism,
        *,
        key: str,
        purpose: str,
        bounds: tuple[float, float],
        epsilon: float,
        delta: float | None = None,
        calibration: Calibration = "analytic",
        progress: Callable[[int, int], None] | None = None,
    ) -> Release:
        """Reserve, draw noise, charge; then the values may leave. The same key again gives the same values."""
        clean = as_sample(values, argument="values")
        how: dict[str, Any] = {"bounds": bounds, "unit": self.unit, "epsilon": epsilon, "delta": delta}
        promised = promise(mechanism, clean.size, calibration=calibration, **how)
        entry = self.reserve(promised, key=key, purpose=purpose, fingerprint=fingerprint(clean))
        if entry.state == "cancelled":
            raise BalanceError(
                f"the reservation {key!r} was cancelled", remedy="Release under a new key.", file=self.path
            )
        known = self.charged(key)
        if known is not None:
            return known
        return self.charge(key, release(clean, mechanism, calibration=calibration, progress=progress, **how))

    def spent(self) -> float:
        """The epsilon that is charged or reserved, at the balance's delta."""
        with self._store() as store:
            return spent(_costs(store), self.limit.delta)

    def left(self) -> float:
        """What of the limit is left: a release of this epsilon fits, if it needs no delta."""
        return max(self.limit.epsilon - self.spent(), 0.0)

    def affords(self, promised: Promise) -> bool:
        """Whether a release would be admitted now."""
        with self._store() as store:
            return self.limit.affords([*_costs(store), cost_of(promised)])

    def entries(self) -> list[Entry]:
        """Every line, in the order of reservation."""
        with self._store() as store:
            return [_entry(row) for row in store.execute(f"{_SELECT} ORDER BY number")]

    def _same(self, store: sqlite3.Connection, known: Entry, promised: str, fingerprint: str) -> Entry:
        kept = store.execute("SELECT promise, fingerprint FROM entries WHERE key = ?", (known.key,)).fetchone()
        if tuple(kept) != (promised, fingerprint):
            raise BalanceError(
                f"the key {known.key!r} stands for another release already",
                remedy="A key names one release of one data set; use a new one.",
                file=self.path,
            )
        return known

    def _find(self, store: sqlite3.Connection, key: str) -> Entry | None:
        row = store.execute(f"{_SELECT} WHERE key = ?", (key,)).fetchone()
        return None if row is None else _entry(row)

    def _existing(self, store: sqlite3.Connection, key: str) -> Entry:
        entry = self._find(store, key)
        if entry is None:
            raise BalanceError(f"nothing is reserved under {key!r}", remedy="Reserve it first.", file=self.path)
        return entry

    @contextmanager
    def _store(self) -> Iterator[sqlite3.Connection]:
        with _opened(self.path) as store:
            yield store

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with _opened(self.path) as store:
            store.execute("BEGIN IMMEDIATE")
            yield store
            store.execute("COMMIT")


_SELECT = "SELECT key, purpose, state, promise, cost, reserved_at, charged_at FROM entries"


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection for one piece of work. A commit returns only when the disk has it; what is not committed is not."""
    try:
        store = sqlite3.connect(path, timeout=_WAIT, isolation_level=None)
        try:
            store.execute("PRAGMA journal_mode = WAL")
            store.execute("PRAGMA synchronous = FULL")
            yield store
        finally:
            store.close()
    except sqlite3.Error as fault:
        raise BalanceError(
            f"the balance cannot be used ({fault})",
            remedy="Nothing was released. Check the disk, and that the file is a balance.",
            file=path,
        ) from fault


def _costs(store: sqlite3.Connection) -> list[Cost]:
    rows = store.execute("SELECT cost FROM entries WHERE state <> 'cancelled'")
    return [Cost(*json.loads(row[0])) for row in rows]


def _entry(row: Any) -> Entry:
    key, purpose, state, promised, cost, reserved_at, charged_at = row
    return Entry(key, purpose, state, Promise(**json.loads(promised)), Cost(*json.loads(cost)), reserved_at, charged_at)


def fingerprint(values: Vector) -> str:
    """Says whether a repeated key means the same data. It never leaves this file, which is as secret as the data."""
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<f8").tobytes()).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
