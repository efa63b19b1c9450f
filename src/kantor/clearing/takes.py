"""What it would take for an owner to be bought: a lower price, or data that lie nearer.

The selection is monotone in both: who is bought at a price or at a distance is bought at any lower one, all else being
equal. So each has one highest value at which the owner is bought. For threshold payments the price is the owner's
critical one, found by a clearing in which it asks for as little as it could; for other mechanisms, and for distances,
it is closed in on by clearing again and again. (An interim budget's multiplier depends on the distances. There the
answer holds for the distances as they are, and the one for another distance is nearly, not provably, the highest.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

from kantor.bids.bids import Bids
from kantor.clearing.clear import clear_by
from kantor.clearing.mechanisms import Optimal
from kantor.clearing.optimal import critical_price
from kantor.clearing.outcome import Clearing

__all__ = ["WhatItTakes", "what_it_takes"]

_STEPS = 40
_CLOSE = 1e-6


@dataclass(frozen=True)
class WhatItTakes:
    """One owner's bid, and up to where either part of it is good enough, the other and all others' bids unchanged."""

    owner: str
    selected: bool
    reserve: float
    distance: float
    price: float | None
    """The highest price at which it is bought; None if it is bought at none."""
    reach: float | None
    """The furthest distance at which a loser would be bought at its price; None if at none, and for winners."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def __str__(self) -> str:
        if self.selected:
            until = "" if self.price is None else f" and would be up to a price of {self.price:.6g}"
            return f"{self.owner} asked for {self.reserve:.6g} at distance {self.distance:.6g}: it is bought{until}."
        asked = f"{self.owner} asked for {self.reserve:.6g} at distance {self.distance:.6g} and is not bought."
        price = "at no price" if self.price is None else f"at a price of at most {self.price:.6g}"
        reach = "at no distance" if self.reach is None else f"at a distance of at most {self.reach:.6g}"
        return f"{asked} It would be bought {price}, all else equal; at the price it asked for, {reach}."


def what_it_takes(c: Clearing, owner: str) -> WhatItTakes:
    """Up to which price, and which distance, this owner would be bought in this market."""
    place = c.bids.place(owner)
    bids, selected = c.bids, bool(c.selected[place])
    reserve, distance = float(bids.reserve[place]), float(bids.distance[place])
    price = _price(c, place)
    reach = None if selected else _highest(c, 0.0, distance, lambda d: bids.with_report(place, distance=d), place)
    return WhatItTakes(bids.name(place), selected, reserve, distance, price, reach)


def _price(c: Clearing, place: int) -> float | None:
    known = float(c.critical[place])
    if not isnan(known):
        return known
    if isinstance(c.rules.mechanism, Optimal) and c.rules.payments != "clock":
        return critical_price(c.bids, c.rules, place)
    lower, highest = float(c.bids.priors.lower[place]), float(c.bids.reserve[place])
    if c.selected[place]:
        lower, highest = highest, float(min(c.bids.priors.highest[place], 1e6 * max(highest, 1.0)))
    return _highest(c, lower, highest, lambda price: c.bids.with_report(place, reserve=price), place)


def _highest(c: Clearing, low: float, high: float, other: Callable[[float], Bids], place: int) -> float | None:
    """The highest report between two at which the owner is bought; None if it is not bought at the lower one."""

    def bought(report: float) -> bool:
        return bool(clear_by(c.rules, other(report)).selected[place])

    if not bought(low):
        return None
    if bought(high):
        return high
    for _ in range(_STEPS):
        if high - low <= _CLOSE * high:
            break
        middle = low + 0.5 * (high - low)
        low, high = (middle, high) if bought(middle) else (low, middle)
    return low
