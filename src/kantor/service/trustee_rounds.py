"""The rounds in which trustees make a market's key, and what comes out of them: read by servers and agents alike."""

from __future__ import annotations

from typing import Any

from kantor.sealing.keys import MarketKey, check_market_key
from kantor.sealing.terms import Terms
from kantor.sealing.transcript import market_key

__all__ = ["OPENING", "ROUNDS", "key_on"]

ROUNDS = ("commit", "shares", "confirm")
OPENING = "opening"


def key_on(posted: dict[str, dict[int, dict[str, Any]]], terms: Terms) -> MarketKey | None:
    """The market's key, once every trustee has signed the same; an error if what they signed is none."""
    stages = [posted.get(stage, {}) for stage in ROUNDS]
    if any(len(stage) < len(terms.trustees) for stage in stages):
        return None
    first, second, third = ([stage[place] for place in sorted(stage)] for stage in stages)
    key = market_key(terms, first, second)
    check_market_key(key, [str(message.get("signature")) for message in third], terms)
    return key
