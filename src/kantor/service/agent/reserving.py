"""What one market may cost an owner's balance: set aside with a bid, charged with the delivery, or free again.

Epsilon is set aside before a bid is sent, so that whatever is bid in several markets can be delivered in all of them.
A bid that replaces another at the same epsilon takes over what that one had set aside: only one of them can win.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kantor.errors import BalanceError
from kantor.owners.balance import Entry, fingerprint
from kantor.owners.distributions import Vector
from kantor.service.agent.home import Home
from kantor.service.promises import promised
from kantor.service.terms import Terms

__all__ = ["Reservations"]


class Reservations:
    """The entries of one market in the balance of a home."""

    def __init__(self, home: Home, market: str) -> None:
        self.home, self.market = home, market

    def entries(self) -> list[Entry]:
        """All of this market's."""
        mark = f"market {self.market} bid "
        return [entry for entry in self.home.balance.entries() if entry.key.startswith(mark)]

    def take(self, terms: Terms, epsilon: str, data: Vector, nonce: str, before: Mapping[str, Any] | None) -> str:
        """Set aside what winning would cost, or take over what the bid before has set aside; returns the key."""
        known = None if before is None else self._reserved(before)
        same = known is not None and before is not None and (before["ask"] or {}).get("epsilon") == epsilon
        key = known.key if same and known is not None else self._key(nonce)
        promise, mark = promised(terms, epsilon), fingerprint(data)
        try:
            self.home.balance.reserve(promise, key=key, purpose=terms.title, fingerprint=mark)
        except BalanceError as fault:
            if known is None:
                raise
            raise BalanceError(
                fault.problem,
                remedy=f"Your standing bid keeps epsilon {known.promise.epsilon:g} set aside. Withdraw it first: "
                f"kantor owner withdraw {self.market}",
                **fault.where,
            ) from fault
        return key

    def of(self, bid: Mapping[str, Any], epsilon: str, terms: Terms) -> str:
        """The key under which a bid's epsilon is set aside, also where the notes were lost and fetched again."""
        stated = bid.get("entry") or self._key(bid["receipt"]["nonce"])
        entries = {entry.key: entry for entry in self.entries() if entry.state != "cancelled"}
        promise = promised(terms, epsilon)
        alike = [key for key, entry in entries.items() if entry.promise == promise]
        return stated if stated in entries or not alike else alike[-1]

    def charged(self, key: str) -> bool:
        """Whether the noise was drawn and its epsilon charged already."""
        return self.home.balance.charged(key) is not None

    def free(self, keep: Iterable[str] = ()) -> None:
        """Give back what was set aside and never charged, but for these keys."""
        kept, balance = set(keep), self.home.balance
        for entry in self.entries():
            if entry.state == "reserved" and entry.key not in kept:
                balance.cancel(entry.key)

    def _reserved(self, bid: Mapping[str, Any]) -> Entry | None:
        key = bid.get("entry") or self._key(bid["receipt"]["nonce"])
        return next((entry for entry in self.entries() if entry.key == key and entry.state == "reserved"), None)

    def _key(self, nonce: str) -> str:
        return f"market {self.market} bid {nonce}"
