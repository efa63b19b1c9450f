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
from typing import Any, NamedTuple

from kantor.errors import InputError
from kantor.evidence.canonical import parse
from kantor.evidence.signing import Signer, write_secret
from kantor.owners.accounting import Limit
from kantor.owners.balance import Balance
from kantor.owners.distributions import Vector
from kantor.owners.release import Unit
from kantor.sealing.storing import in_file
from kantor.service.agent.notes import Notes

__all__ = ["Home", "Notes", "Series", "read_series"]

_SETTINGS, _SEED, _TOKEN, _BALANCE, _MARKETS = "settings.json", "seed", "token", "balance.db", "markets"


class Series(NamedTuple):
    """An owner's data, and where they stand."""

    values: Vector
    file: Path
    column: str

    def place(self, index: int) -> dict[str, Any]:
        """Where a value stands, as an error says it: the header is row 1."""
        return {"file": self.file, "row": index + 2, "column": self.column}


@dataclass(frozen=True)
class Home:
    """An owner's folder."""

    folder: Path

    @classmethod
    def make(
        cls,
        folder: Path,
        *,
        server: str,
        token: str,
        data: Path,
        epsilon: float,
        delta: float,
        unit: Unit,
        column: str | None = None,
    ) -> Home:
        """A new home; an existing one is never replaced."""
        if (folder / _SETTINGS).exists():
            raise InputError(
                "there is an owner's home already", remedy="Use it, or choose another folder.", file=folder
            )
        Limit(epsilon, delta)  # an error before anything is made, if this is no limit
        series = read_series(data, column)  # or these are no data
        home = cls(_made(folder))
        for name, content in ((_SEED, os.urandom(32).hex()), (_TOKEN, token)):
            (folder / name).unlink(missing_ok=True)
            write_secret(folder / name, f"{content}\n".encode())
        _balance(folder / _BALANCE, epsilon, delta, unit)
        in_file(folder / _SETTINGS)({"server": server, "data": str(data.resolve()), "column": series.column})
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
    def token_file(self) -> Path:
        """Where the token is."""
        return self.folder / _TOKEN

    @property
    def token(self) -> str:
        """What signs the owner in at the server."""
        return self._kept(_TOKEN)

    @property
    def balance(self) -> Balance:
        """How much privacy has been spent."""
        return Balance(self.folder / _BALANCE)

    @property
    def series(self) -> Series:
        """The data, and where they stand."""
        settings = self.settings
        return read_series(Path(settings["data"]), settings.get("column"))

    @property
    def data(self) -> Vector:
        """The values themselves. They never leave this machine."""
        return self.series.values

    def signer(self, market: str) -> Signer:
        """The key for one market."""
        return Signer(self._derived(f"key {market}"))

    def commitment(self, market: str, data: Vector) -> str:
        """The salted hash of the data."""
        salt = self._derived(f"salt {market}")
        return hmac.new(salt, data.astype("<f8").tobytes(), hashlib.sha256).hexdigest()

    def notes(self, market: str) -> Notes:
        """What this owner has said in a market, and been told."""
        folder = self.folder / _MARKETS
        folder.mkdir(mode=0o700, exist_ok=True)
        return Notes(folder / f"{market}.json")

    def markets(self) -> list[str]:
        """The markets that there are notes of, the latest first."""
        files = sorted((self.folder / _MARKETS).glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
        return [file.stem for file in files]

    def _derived(self, what: str) -> bytes:
        return hmac.new(bytes.fromhex(self._kept(_SEED)), what.encode(), hashlib.sha256).digest()

    def _kept(self, name: str) -> str:
        try:
            return (self.folder / name).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as fault:
            raise InputError(
                f"it cannot be read ({fault})",
                remedy="Put it back from a copy of this folder.",
                file=self.folder / name,
            ) from fault


def read_series(file: Path, column: str | None = None) -> Series:
    """The column of a file that holds the data; empty cells may only stand at its end."""
    from kantor.owners.files import read_table
    from kantor.owners.frames import wide_column

    table = read_table(file)
    names = f"{', '.join(table.columns[:8])}{' ...' if table.width > 8 else ''}"
    if column is None and table.width != 1:
        raise InputError(
            f"the file has {table.width} columns ({names})",
            remedy="Say which holds your data: --column NAME",
            file=file,
        )
    chosen = table.columns[0] if column is None else column
    if chosen not in table.columns:
        raise InputError(f"there is no column {chosen!r}", remedy=f"The columns are: {names}.", value=chosen, file=file)
    return Series(wide_column(table.get_column(chosen), str(file)), file, chosen)


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as fault:
        problem = "this is a file" if folder.is_file() else f"the folder cannot be made ({fault.strerror})"
        raise InputError(problem, remedy="Choose a folder that you may write to.", file=folder) from fault
    return folder


def _balance(file: Path, epsilon: float, delta: float, unit: Unit) -> None:
    """The balance. One that is there from an `init` that was interrupted is kept, if it has these limits."""
    if not file.exists():
        Balance.create(file, epsilon=epsilon, delta=delta, unit=unit)
        return
    known = Balance(file)
    if (known.limit.epsilon, known.limit.delta, known.unit) != (epsilon, delta, unit):
        raise InputError(
            f"there is a balance already, of epsilon {known.limit.epsilon:g}, delta {known.limit.delta:g} and unit "
            f"{known.unit!r}",
            remedy="What was spent on a data set is not forgotten: give the same limits, or choose another folder.",
            file=file,
        )
