"""The running market's laws, for `make soak`: crashes, crowds, tampering, at any number of seeds.

Even seeds run on SQLite, odd ones on PostgreSQL. Each seed is a market of its own.
"""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path

import structlog

from kantor.service.verify import verify
from laws import Clear, Law, Tally
from service.databases import database
from service.faults.crowds import at_closing, repeated
from service.faults.director import Director
from service.tampering import changed_bytes, rewritten, same, sealed
from service.town import town

__all__ = ["SERVICE"]

_KINDS = ("sqlite", "postgresql")
_PAID = {"owner0": 100, "owner1": 100, "owner2": 0}
_CHANGES = 250


def play(folder: Path, url: str, crash_at: dict[str, list[int]], chance: random.Random | None = None) -> Tally:
    """A market whose processes die at these write points, or at random moments; nothing may come of it."""
    found = Tally()
    director = Director(folder, url, crash_at=crash_at)
    try:
        director.raise_curtain()
        director.play(patience=600, chance=chance, pause=1.0)
        for fault in director.faults(_PAID):
            found.expect(False, fault)
    except AssertionError as fault:
        found.expect(False, str(fault))
    finally:
        director.close()
    found.count("kills", director.kills)
    found.count("markets")
    return found


def _at_write_points(seed: int, _: Clear) -> Tally:
    chance = random.Random(seed)
    plan = {
        name: [chance.randint(1, most) for _ in range(chance.randint(1, 6))]
        for name, most in {"server": 16, "worker": 6, "trustee": 8, "owner0": 12, "owner1": 12, "owner2": 12}.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        return play(Path(folder), _database(seed, folder), plan)


def _at_random_moments(seed: int, _: Clear) -> Tally:
    with tempfile.TemporaryDirectory() as folder:
        return play(Path(folder), _database(seed, folder), {}, random.Random(seed))


def _repeated(seed: int, _: Clear) -> Tally:
    found = Tally()
    with tempfile.TemporaryDirectory() as folder:
        for fault in repeated(Path(folder), _database(seed, folder), 1000, seed):
            found.expect(False, fault)
    found.count("bidders", 1000)
    return found


def _at_closing(seed: int, _: Clear) -> Tally:
    found = Tally()
    with tempfile.TemporaryDirectory() as folder:
        faults, in_time = at_closing(Path(folder), _database(seed, folder), 2000, seed)
    for fault in faults:
        found.expect(False, fault)
    found.count("bids", 2000)
    found.count("in time", in_time)
    return found


def _tampered(seed: int, _: Clear) -> Tally:
    """A settled market's bundles, changed by a stranger and rewritten by an operator who seals them again."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    found, chance = Tally(), random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, town(Path(folder), _database(seed, folder)) as place:
        market, _owners = place.settled()
        auditor, signer = place.client("auditor"), place.exchange.signer
        for kind in ("public", "auditor"):
            content = auditor.bundle(market, kind)
            found.expect(verify(content).passed, f"seed {seed}: the {kind} bundle itself does not hold")
            for _ in range(_CHANGES):
                changed = changed_bytes(content, chance)
                found.expect(changed == content or not verify(changed).passed, f"seed {seed}: a changed byte passed")
                what, other = rewritten(json.loads(content), chance)
                passed = not same(other, json.loads(content)) and verify(sealed(other, signer)).passed
                found.expect(not passed, f"seed {seed}: rewritten and sealed again, it passed: {what}")
            found.count("changes", 2 * _CHANGES)
    return found


def _database(seed: int, folder: str) -> str:
    return database(_KINDS[seed % 2], Path(folder))


SERVICE = (
    Law(
        "crash at write points",
        "a process killed just before or after any write loses and doubles nothing, and the clearing is the same",
        _at_write_points,
        "kills",
        300,
        1,
    ),
    Law(
        "crash at random moments",
        "no bid, payment or epsilon is lost or doubled by kill -9 at any moment, and the clearing is the same",
        _at_random_moments,
        "kills",
        300,
        1,
    ),
    Law("repeated requests", "a key has one effect, whoever asks how often at once", _repeated, "bidders", 2000, 1),
    Law("bids at closing", "those with a receipt are the closed set, exactly", _at_closing, "bids", 4000, 1),
    Law("tampering", "a changed log or bundle never verifies", _tampered, "changes", 2000, 1),
)
