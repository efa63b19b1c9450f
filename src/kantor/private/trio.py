"""Three parties on one machine, for trials: real processes that talk over TLS, with keys made for the occasion.

It shows what a valuation takes and how it fails, and it protects nothing: whoever runs all three parties can put the
shares together.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from kantor.private.client import wait_for_parties
from kantor.private.identity import MARKET, Address, Identity, Roster, make_keys
from kantor.private.sharing import PARTIES

__all__ = ["Trio", "free_addresses", "local_trio"]


@dataclass(frozen=True)
class Trio:
    """A running trio: its roster, the market's key, and the processes."""

    folder: Path
    roster: Roster
    market: Identity
    processes: list[subprocess.Popen[bytes]]


def free_addresses() -> tuple[Address, ...]:
    """Three ports of this machine that nobody listens on."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(PARTIES)]
        return tuple(Address("127.0.0.1", each.getsockname()[1]) for each in sockets)


def start_party(folder: Path, number: int, patience: float) -> subprocess.Popen[bytes]:
    """A party process, as `kantor party start` makes it."""
    command = [sys.executable, "-m", "kantor", "party", "start", str(folder), "--number", str(number)]
    return subprocess.Popen([*command, "--patience", str(patience), "--quiet"])  # noqa: S603  our own command


@contextmanager
def local_trio(folder: Path | None = None, patience: float = 60.0) -> Iterator[Trio]:
    """Make keys (unless the folder has some), start three parties, and end them at the end."""
    with ExitStack() as stack:
        place = Path(stack.enter_context(TemporaryDirectory(prefix="kantor-trio-"))) if folder is None else folder
        exists = (place / "roster.json").exists()
        roster = Roster.read(place) if exists else make_keys(place, free_addresses())
        processes = [start_party(place, number + 1, patience) for number in range(PARTIES)]
        try:
            wait_for_parties(roster)
            yield Trio(place, roster, Identity.of(place, MARKET), processes)
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                try:
                    process.wait(timeout=5)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
