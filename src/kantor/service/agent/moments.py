"""Moments and spans of time in words: in the reader's own zone and in UTC, and how far away by the server's clock."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["clock_line", "moment", "short", "span", "when"]

_UNITS = ((86400, "day", "days"), (3600, "hour", "hours"), (60, "minute", "minutes"), (1, "second", "seconds"))
_AGREES = 2.0


def moment(text: str) -> datetime:
    """A moment as the server writes it."""
    return datetime.fromisoformat(text)


def span(seconds: float) -> str:
    """A span in its two largest units.

    >>> span(93600), span(604800), span(0.4)
    ('1 day 2 hours', '7 days', '0 seconds')
    """
    left, parts = int(seconds), []
    for size, one, many in _UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append((size, f"{count} {one if count == 1 else many}"))
    if not parts:
        return "0 seconds"
    following = [text for size, text in parts[1:2] if size * 100 >= parts[0][0]]
    return " ".join([parts[0][1], *following])


def short(text: str) -> str:
    """A moment in the reader's own zone, without its year."""
    return f"{moment(text).astimezone():%d %b %H:%M %Z}"


def when(text: str, now: str) -> str:
    """A moment in the reader's own zone and in UTC, and how far it is from the server's clock."""
    there, here = moment(text).astimezone(UTC), moment(text).astimezone()
    away = (there - moment(now)).total_seconds()
    far = f"in {span(away)}" if away >= 0 else f"{span(-away)} ago"
    utc = "" if here.utcoffset() == there.utcoffset() else f" ({there:%d %b %H:%M} UTC)"
    return f"{here:%a %d %b %Y, %H:%M} {here:%Z}{utc}, {far}"


def clock_line(now: str, here: datetime | None = None) -> str:
    """What the server's clock says, and how yours compares."""
    there = moment(now)
    ahead = ((here or datetime.now(UTC)) - there).total_seconds()
    same = abs(ahead) < _AGREES
    yours = "yours agrees" if same else f"yours is {span(abs(ahead))} {'ahead' if ahead > 0 else 'behind'}"
    return f"The server's clock decides. It says {there:%H:%M:%S} UTC; {yours}."
