"""An owner's home: its keys, its data, its epsilon balance, and what it has said in each market.

Everything that is secret stays in this folder: the seed that the keys of all markets are made from (another key for
each market, so that nobody can tell that two are one owner's), the salts of commitments, prices, and the data.
What the agent is about to say is written down before it is said. A machine that stops in between says the same again,
byte for byte, when it comes back.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kantor.errors import InputError
from kantor.evidence.canonical import canonical, parse
from kantor.evidence.signing import Signer, write_secret
from kantor.owners.balance import Balance
from kantor.owners.distributions import Vector
from kantor.owners.release import Unit
from kantor.sealing.storing import in_file, read_file

__all__ = ["Home", "Notes"]

_SETTINGS, _SEED, _TOKEN, _BALANCE = "settings.json", "seed", "token", "balance.db"


@dataclass(frozen=True)
class Home:
    """An owner's folder."""

    folder: Path

    @classmethod
    def make(
        cls, folder: Path, *, server: str, token: str, data: Path, epsilon: float, delta: float, unit: Unit
    ) -> Home:
        """A new home; an existing one is never replaced."""
        if (folder / _SETTINGS).exists():
            raise InputError(
                "there is an owner's home already", remedy="Use it, or choose another folder.", file=folder
            )
        home = cls(folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _series(data)  # an error before anything is made, if these are no data
        for name, content in ((_SEED, os.urandom(32).hex()), (_TOKEN, token)):
            (folder / name).unlink(missing_ok=True)
            write_secret(folder / name, f"{content}\n".encode())
        if not (folder / _BALANCE).exists():
            Balance.create(folder / _BALANCE, epsilon=epsilon, delta=delta, unit=unit)
        settings = {"server": server, "data": str(data.resolve())}
        in_file(folder / _SETTINGS)(settings)
        return home

    @property
    def settings(self) -> dict[str, Any]:
        """The server's address and the data's place."""
        file = self.folder / _SETTINGS
        if not file.exists():
            raise InputError(
                "this is no owner's home", remedy="Make one with: kantor owner init --home FOLDER", file=self.folder
            )
        return dict(parse(file.read_bytes()))

    @property
    def token(self) -> str:
        """What signs the owner in at the server."""
        return (self.folder / _TOKEN).read_text(encoding="ascii").strip()

    @property
    def balance(self) -> Balance:
        """How much privacy has been spent."""
        return Balance(self.folder / _BALANCE)

    @property
    def data(self) -> Vector:
        """The series itself. It never leaves this machine."""
        return _series(Path(self.settings["data"]))

    def signer(self, market: str) -> Signer:
        """The key for one market."""
        return Signer(self._derived(f"key {market}"))

    def commitment(self, market: str, data: Vector) -> str:
        """The salted hash of the data."""
        salt = self._derived(f"salt {market}")
        return hmac.new(salt, data.astype("<f8").tobytes(), hashlib.sha256).hexdigest()

    def notes(self, market: str) -> Notes:
        """What this owner has said in a market, and been told."""
        folder = self.folder / "markets"
        folder.mkdir(mode=0o700, exist_ok=True)
        return Notes(folder / f"{market}.json")

    def _derived(self, what: str) -> bytes:
        seed = bytes.fromhex((self.folder / _SEED).read_text(encoding="ascii").strip())
        return hmac.new(seed, what.encode(), hashlib.sha256).digest()


class Notes:
    """A small durable record of one market; a change is on the disk before `keep` returns."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.known: dict[str, Any] = read_file(file) if file.exists() else {}

    def keep(self, **parts: Any) -> None:
        """Write parts down."""
        fresh = {**self.known, **parts}
        canonical(fresh)
        in_file(self.file)(fresh)
        self.known = fresh


def _series(file: Path) -> Vector:
    from kantor.owners.files import read_target

    return read_target(file).values
