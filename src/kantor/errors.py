"""Failures, worded for the person who has to mend them.

Every message says three things: what is wrong and with which value, where it stands (file, row, column, owner),
and what to do about it. The parts are kept apart as well as joined, so that a program can read them (`as_dict`)
while a person reads the sentence. Rows are counted as a spreadsheet counts them: the header is row 1.
"""

from __future__ import annotations

from typing import Any

__all__ = ["BalanceError", "EvidenceError", "InputError", "KantorError", "MissingExtraError", "PartyError"]


class KantorError(Exception):
    """Anything that kantor refuses to do, with the reason."""

    def as_dict(self) -> dict[str, Any]:
        """The failure as plain data, for `--json`."""
        return {"error": type(self).__name__, "message": str(self)}


class InputError(KantorError, ValueError):
    """What was given cannot be used: names the place and the value, and says what to do.

    `problem` is a clause without a full stop; `remedy` is an instruction. `where` takes any of file, row, column,
    owner, argument, in the order in which they should be read.
    """

    def __init__(self, problem: str, *, remedy: str, value: object = None, **where: object) -> None:
        self.problem = problem
        self.remedy = remedy
        self.value = value
        self.where = {name: place for name, place in where.items() if place is not None}
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        places = ", ".join(str(place) if name == "file" else f"{name} {place}" for name, place in self.where.items())
        return f"{places}: {self.problem}. {self.remedy}" if places else f"{self.problem}. {self.remedy}"

    def as_dict(self) -> dict[str, Any]:
        """The failure as plain data, its parts kept apart."""
        plain = {name: place if isinstance(place, int) else str(place) for name, place in self.where.items()}
        value = None if self.value is None else str(self.value)
        return {
            **super().as_dict(),
            "problem": self.problem,
            "remedy": self.remedy,
            "value": value,
            "where": plain,
        }


class BalanceError(InputError):
    """An owner's epsilon balance refuses: what was asked for is not left, or what was done cannot be undone."""


class EvidenceError(InputError):
    """What should prove something does not: a changed record, a wrong signature, a chain with a gap."""


class PartyError(KantorError):
    """A computation among parties ended without a result: says which party is to blame, as far as can be told."""

    def __init__(self, problem: str, *, remedy: str, party: int | None = None) -> None:
        self.problem, self.remedy, self.party = problem, remedy, party
        super().__init__(f"{problem}. {remedy}")

    def as_dict(self) -> dict[str, Any]:
        """The failure as plain data, its parts kept apart."""
        return {**super().as_dict(), "problem": self.problem, "remedy": self.remedy, "party": self.party}


class MissingExtraError(KantorError, ImportError):
    """An optional library is needed and is not installed."""

    def __init__(self, purpose: str, library: str, extra: str) -> None:
        self.extra = extra
        super().__init__(
            f"{purpose} needs {library}, which is not installed. Install it with: pip install 'kantor[{extra}]'"
        )
