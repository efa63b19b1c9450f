"""Double entry: money never appears or vanishes, it moves between accounts.

A transfer is a list of postings that add up to nothing. Each has a key that says what it is for ("hold:" and the
owner), and a book takes each key once: whatever is tried again after a failure cannot pay twice. The accounts of a
market are

    outside         the world: what the buyer paid in counts here with a minus, what it got back with a plus
    deposit         what the buyer has paid in and what is not spoken for
    hold:OWNER      set aside for a winner at clearing, until its data have come and nobody objects
    owner:OWNER     what the winner is owed and paid

No account but `outside` ever falls below nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kantor.errors import EvidenceError

__all__ = ["DEPOSIT", "OUTSIDE", "Book", "Transfer", "deposit", "hold", "pay", "refund", "unhold"]

OUTSIDE, DEPOSIT = "outside", "deposit"


@dataclass(frozen=True)
class Transfer:
    """One movement: its key, and what it adds to each account."""

    key: str
    postings: Mapping[str, int]

    def __post_init__(self) -> None:
        if sum(self.postings.values()) != 0 or not self.postings:
            raise EvidenceError(
                f"the transfer {self.key!r} does not add up: {dict(self.postings)}",
                remedy="Debits must equal credits. Nothing was booked.",
            )

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"key": self.key, "postings": dict(sorted(self.postings.items()))}


def _moved(key: str, amount: int, source: str, goal: str) -> Transfer:
    if amount < 0:
        raise EvidenceError(f"{key!r} would move {amount}", remedy="Amounts are not negative. Nothing was booked.")
    return Transfer(key, {source: -amount, goal: amount})


def deposit(number: str, amount: int) -> Transfer:
    """The buyer pays in."""
    return _moved(f"deposit:{number}", amount, OUTSIDE, DEPOSIT)


def hold(owner: str, amount: int) -> Transfer:
    """A winner's payment is set aside."""
    return _moved(f"hold:{owner}", amount, DEPOSIT, f"hold:{owner}")


def pay(owner: str, amount: int) -> Transfer:
    """A winner is paid what was set aside."""
    return _moved(f"pay:{owner}", amount, f"hold:{owner}", f"owner:{owner}")


def unhold(owner: str, amount: int) -> Transfer:
    """What was set aside goes back: the data did not come, or a dispute was decided so."""
    return _moved(f"unhold:{owner}", amount, f"hold:{owner}", DEPOSIT)


def refund(amount: int) -> Transfer:
    """What is left goes back to the buyer."""
    return _moved("refund", amount, DEPOSIT, OUTSIDE)


@dataclass
class Book:
    """All transfers of a market, and what stands on each account."""

    balances: Counter[str] = field(default_factory=Counter)
    keys: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, transfers: Iterable[Transfer]) -> Book:
        """The book after these transfers, in their order; an error at the first that may not be."""
        book = cls()
        for transfer in transfers:
            book.add(transfer)
        return book

    def add(self, transfer: Transfer) -> None:
        """Book a transfer, if it may be."""
        if transfer.key in self.keys:
            raise EvidenceError(f"{transfer.key!r} is booked already", remedy="A key is booked once.")
        for account, amount in transfer.postings.items():
            if account != OUTSIDE and self.balances[account] + amount < 0:
                raise EvidenceError(
                    f"{transfer.key!r} takes {-amount} from {account}, which has {self.balances[account]}",
                    remedy="Nothing was booked.",
                )
        self.keys.add(transfer.key)
        self.balances.update(transfer.postings)

    @property
    def settled(self) -> bool:
        """Whether nothing is set aside or unclaimed any more."""
        return all(
            amount == 0 or name == OUTSIDE or name.startswith("owner:") for name, amount in self.balances.items()
        )
