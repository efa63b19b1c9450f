"""The stages of a market's life, and which may follow which.

draft -> enrolling -> bidding -> closed -> cleared -> delivering -> settled
any of the first four -> cancelled
"""

from __future__ import annotations

__all__ = ["NEXT", "OPEN_ENDED"]

NEXT: dict[str, tuple[str, ...]] = {
    "draft": ("enrolling", "cancelled"),
    "enrolling": ("bidding", "cancelled"),
    "bidding": ("closed", "cancelled"),
    "closed": ("cleared", "cancelled"),
    "cleared": ("delivering",),
    "delivering": ("settled",),
    "settled": (),
    "cancelled": (),
}
"""What may follow each state. A market in which nothing is bought passes `delivering` without waiting."""

OPEN_ENDED = ("enrolling", "bidding", "closed", "cleared", "delivering")
"""States in which time, or the worker, moves a market on."""
