"""A town with a market in every state, and for each operation a request that is right.

What participants have said is overheard on its way, so a right request is one that an agent of ours has made. Most can
be made again without another effect; where that is not so (`opening`, `cancellation`), `ready` makes a fresh market.
Nobody moves markets on by themselves here: what a test finds is what was made.
"""

from __future__ import annotations

import json
from typing import Any

import httpx

from kantor.service.agent.owner import OwnerAgent
from kantor.service.client import Client
from service.town import Town

DAY = 86400
STATES = ("draft", "enrolling", "bidding", "delivering", "disputed", "settled", "cancelled", "closed")


class World:
    """Markets by state, their owners, and what was said."""

    def __init__(self, town: Town) -> None:
        self.town = town
        self.heard: dict[tuple[str, str], Any] = {}
        self.rival, self.stranger = town.client("buyer", "a rival"), town.client("owner", "a stranger")
        self.auditor, self.outsider = town.client("auditor"), town.client("trustee", "of another market")
        self.owners: dict[str, list[OwnerAgent]] = {}
        self.markets: dict[str, str] = {}
        for state in STATES:
            self.markets[state] = getattr(self, f"_{state}")()

    def terms(self, **changed: Any) -> dict[str, Any]:
        """Terms of a market with days to go, in which everything happens as soon as it can."""
        schedule = {
            "enrol_until": self.town.later(30 * DAY),
            "bid_until": self.town.later(60 * DAY),
            "dispute_within": 30 * DAY,
            "early": True,
        }
        given = changed.pop("schedule", {})
        return self.town.terms(schedule={**schedule, **given}, **{"most_owners": 2, **changed})

    def ready(self) -> str:
        """A draft whose deposit is confirmed."""
        market, deposit = self._drafted()
        self.town.operator.confirm(market, deposit)
        return market

    def person(self, role: str, state: str) -> Client:
        """Who plays a role in the market of this state."""
        if role == "owner":
            owners = self.owners.get(self.markets[state])
            return owners[0].client if owners else self.owners[self.markets["bidding"]][0].client
        known = {"operator": self.town.operator, "buyer": self.town.buyer, "trustee": self.town.trustees[0].client}
        return known[role] if role in known else getattr(self, role)

    def said(self, state: str, kind: str) -> Any:
        """The body of the first request of a kind that was heard in the market of this state."""
        return self.heard[self.markets[state], kind]

    # ---- one market for each state

    def _drafted(self, **changed: Any) -> tuple[str, str]:
        self._listen(self.town.buyer)
        made = self.town.buyer.create(self.terms(**changed))
        deposit = self.town.buyer.deposit(made["id"], max(made["funds"]["needed"], 1), "by transfer")
        return str(made["id"]), str(deposit["id"])

    def _opened(self, owners: int, **changed: Any) -> str:
        market, deposit = self._drafted(**changed)
        self.town.operator.confirm(market, deposit)
        self.town.buyer.open(market)
        self.owners[market] = [self.town.owner(market, number) for number in range(owners)]
        for owner in self.owners[market]:
            self._listen(owner.client)
            owner.enrol()
        for trustee in self.town.trustees:
            self._listen(trustee.client)
        return market

    def _begun(self, asked: tuple[int, ...], **changed: Any) -> str:
        market = self._opened(2, **changed)
        self.town.until(market, "bidding")
        for owner, price in zip(self.owners[market], asked, strict=False):
            owner.bid(price, "50")
        return market

    def _draft(self) -> str:
        return self._drafted()[0]

    def _enrolling(self) -> str:
        market = self._opened(1, most_owners=4)
        self.town.turn(6)
        return market

    def _bidding(self) -> str:
        return self._begun((10,))

    def _closed(self) -> str:
        """Closed, and opened by its trustee; it is the last to be made, since the next look of a worker clears it."""
        market = self._begun((10, 20))
        trustees, self.town.trustees[:] = list(self.town.trustees), []
        self.town.until(market, "closed")
        self.town.trustees[:] = trustees
        for trustee in trustees:
            trustee.round()
        return market

    def _delivering(self) -> str:
        market = self._begun((10, 20))
        self.town.until(market, "delivering")
        return market

    def _disputed(self) -> str:
        market = self._delivering()
        for owner in self.owners[market]:
            owner.deliver()
        self.town.turn(2)
        self._listen(self.town.operator)
        self.dispute = self.town.buyer.dispute(market, "It is last year's", owner=self.owners[market][0].name)["id"]
        self.decided = self.town.buyer.dispute(market, "So is this", owner=self.owners[market][1].name)["id"]
        self.town.operator.decide(market, self.decided, "pay", "It is not")
        return market

    def _settled(self) -> str:
        market = self._begun((10, 20), schedule={"dispute_within": 0})
        self.town.until(market, "delivering")
        for owner in self.owners[market]:
            owner.deliver()
        self.town.until(market, "settled")
        return market

    def _cancelled(self) -> str:
        market = self._opened(1)
        self.town.buyer.cancel(market, "The need is gone")
        return market

    def _listen(self, client: Client) -> None:
        client._http.event_hooks = {"request": [self._hear], "response": []}

    def _hear(self, request: httpx.Request) -> None:
        if request.method == "POST":
            _, _, _, market, *rest = [*request.url.path.split("/"), "", ""]
            body = json.loads(request.content) if request.content else None
            self.heard.setdefault((market, "/".join(part for part in rest if part)), body)
