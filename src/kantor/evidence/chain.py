"""A log in which every entry fixes all before it.

Each event carries the hash of the event before it and its place. Whoever has the last hash (every receipt quotes one)
can tell whether anything earlier was changed, left out, added or put in another order; whoever has an old hash can tell
whether the log that is shown now is a continuation of the one that was shown then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from kantor.errors import EvidenceError
from kantor.evidence.canonical import digest

__all__ = ["START", "Event", "chained", "check_chain"]

START = "0" * 64
"""What the first event of a log has before it."""

_FIELDS = ("market", "seq", "at", "kind", "actor", "body", "previous")
_REMEDY = "The log was changed after it was written. Get it again; if it stays so, do not rely on this market."


class Event(NamedTuple):
    """One entry: what happened, when by the server's clock, by whom, and the hash of everything up to here."""

    market: str
    seq: int
    """1, 2, 3, ... within its market."""
    at: str
    kind: str
    actor: str
    body: dict[str, Any]
    previous: str
    hash: str

    def as_dict(self) -> dict[str, Any]:
        """Plain data, the hash included."""
        return self._asdict()


def chained(last: Event | None, market: str, at: str, kind: str, actor: str, body: dict[str, Any]) -> Event:
    """The next event after `last`."""
    seq, previous = (1, START) if last is None else (last.seq + 1, last.hash)
    said: dict[str, Any] = {
        "market": market,
        "seq": seq,
        "at": at,
        "kind": kind,
        "actor": actor,
        "body": body,
        "previous": previous,
    }
    return Event(**said, hash=digest("event", said))


def check_chain(events: Iterable[dict[str, Any]], market: str) -> Sequence[Event]:
    """The events of a whole log, if each follows from the one before it; an error that names the first that fails."""
    checked: list[Event] = []
    for place, plain in enumerate(events, start=1):
        event = _event(plain, place)
        last = checked[-1] if checked else None
        if event.market != market:
            raise EvidenceError(f"event {place} belongs to market {event.market!r}, not {market!r}", remedy=_REMEDY)
        if event != chained(last, market, event.at, event.kind, event.actor, event.body):
            raise EvidenceError(f"event {place} ({event.kind}) does not follow from those before it", remedy=_REMEDY)
        if last is not None and event.at < last.at:
            raise EvidenceError(f"event {place} is dated before event {place - 1}", remedy=_REMEDY)
        checked.append(event)
    return checked


def _event(plain: Any, place: int) -> Event:
    if not isinstance(plain, dict) or set(plain) != {*_FIELDS, "hash"}:
        raise EvidenceError(f"entry {place} of the log is no event", remedy=_REMEDY)
    if not isinstance(plain["body"], dict) or any(not isinstance(plain[name], str) for name in ("at", "kind", "hash")):
        raise EvidenceError(f"entry {place} of the log is no event", remedy=_REMEDY)
    return Event(**plain)
