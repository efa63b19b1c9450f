"""What is going on, as the demo shows it: counts that follow from the market's public log alone."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from kantor.service.client import Client

__all__ = ["STAGES", "Scene"]

STAGES = ("draft", "enrolling", "bidding", "closed", "cleared", "delivering", "settled")
_TOLD = {
    "opened": "the buyer has opened the market",
    "enrolled": "{who} has enrolled",
    "valued": "three parties have computed all distances, and seen no data",
    "bidding": "the trustee has made the market's key: bidding begins",
    "bid": "{who} has sent a sealed bid",
    "closed": "the market has closed: {bids} bids count",
    "cleared": "the market is cleared: {bought} bought",
    "delivered": "{who} has delivered noised data",
    "handed over": "the buyer receives the aggregate",
    "settled": "everybody is paid, the rest went back",
    "doubted": "a delivery is doubted",
    "missed": "{who} has not delivered",
    "cancelled": "the market was called off: {reason}",
}


@dataclass
class Scene:
    """A market as far as it has come."""

    owners: int
    names: dict[str, str]
    """Households by their name in the market."""
    start: float = field(default_factory=time.monotonic)
    state: str = "draft"
    counts: Counter[str] = field(default_factory=Counter)
    news: list[tuple[str, str]] = field(default_factory=list)
    reached: dict[str, float] = field(default_factory=dict)
    """Seconds from the start at which each stage was reached."""
    seq: int = 0
    bought: int = 0

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self.start

    def look(self, client: Client, market: str) -> None:
        """See what is new."""
        for event in client.log(market, self.seq):
            self.seq = event["seq"]
            self._note(event)
        state = str(client.market(market)["state"])
        if state != self.state or state not in self.reached:
            self.state = state
            self.reached.setdefault(state, self.seconds)

    def _note(self, event: dict[str, Any]) -> None:
        kind, body = event["kind"], event["body"]
        self.counts[kind] += 1
        if kind == "cleared":
            self.bought = body["bought"]
        if kind in _TOLD:
            who = self.names.get(body.get("owner", ""), "an owner")
            self.news.append((event["at"][11:19], _TOLD[kind].format(who=who, **{**_BLANK, **body})))


_BLANK = {"bids": "", "bought": "", "reason": ""}
