"""What a market's log says, read without trusting whoever shows it.

Trustees read it before they open bids, owners to see that their receipts are in it, auditors and outsiders to verify.
It is enough to know which bids count: the last one of each owner that was neither replaced nor withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kantor.errors import EvidenceError
from kantor.evidence.chain import Event, check_chain
from kantor.evidence.tree import root_of

__all__ = ["Story", "read_log"]

_REMEDY = "The market did not follow its own rules. Show this to an auditor, and do not rely on it."
_STATES = {
    "created": "draft",
    "opened": "enrolling",
    "bidding": "bidding",
    "closed": "closed",
    "cleared": "cleared",
    "delivering": "delivering",
    "settled": "settled",
    "cancelled": "cancelled",
}


class Story:
    """A log whose chain is whole, and what follows from it."""

    def __init__(self, events: list[Event]) -> None:
        self.events = events

    def only(self, kind: str) -> Event:
        """The one event of this kind."""
        found = self.all(kind)
        if len(found) != 1:
            raise EvidenceError(f"the log has {len(found)} events {kind!r}, not one", remedy=_REMEDY)
        return found[0]

    def all(self, kind: str) -> list[Event]:
        """All events of this kind."""
        return [event for event in self.events if event.kind == kind]

    @property
    def state(self) -> str:
        """Where in its life the market is."""
        return next(_STATES[event.kind] for event in reversed(self.events) if event.kind in _STATES)

    @property
    def keys(self) -> dict[str, str]:
        """Each owner's key."""
        return {event.body["owner"]: event.body["key"] for event in self.all("enrolled")}

    @property
    def closing(self) -> int:
        """The number of the event that closed the market."""
        return self.only("closed").seq

    @property
    def standing(self) -> list[dict[str, Any]]:
        """The leaves that must be under the root: each owner's last bid before the closing, unless withdrawn."""
        found: dict[str, dict[str, Any]] = {}
        for event in self.events[: self.closing - 1]:
            body = event.body
            if event.kind == "bid":
                found[body["owner"]] = {"owner": body["owner"], "number": body["number"], "bid": body["bid"]}
            elif event.kind == "withdrawn" and found.get(body["owner"], {}).get("number") == body["number"]:
                del found[body["owner"]]
        return [found[owner] for owner in sorted(found)]

    @property
    def everybody_bid(self) -> bool:
        """Whether every owner who could be valued had bid before the closing, which is when an early market closes."""
        left_out = set(self.only("valued").body["left_out"])
        tried = {event.body["owner"] for event in self.all("bid") if event.seq < self.closing}
        return set(self.keys) - left_out <= tried

    def check_root(self) -> str:
        """The root of the closed set, if it is that of the bids that stand."""
        said = self.only("closed").body["root"]
        if said != root_of([leaf["bid"] for leaf in self.standing]):
            raise EvidenceError("the root of the closed set is not that of the bids in the log", remedy=_REMEDY)
        return str(said)


def read_log(events: Iterable[dict[str, Any]], market: str) -> Story:
    """The story of a log, if its chain is whole."""
    return Story(list(check_chain(events, market)))
