"""A trustee: keeps a share of each market's key, and opens bids once the market has closed, never before.

It trusts the server with nothing. It takes part in making a key only where it is named in the terms. Before it opens
anything it reads the market's whole log, sees that the market has closed by its own clock (or that everybody had bid,
where the terms close early then), works out from the log which bids count, and opens exactly those, once: the root that
it has opened is kept on its disk, and another root of the same market is refused for ever.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kantor.errors import EvidenceError, KantorError
from kantor.evidence.signing import check_signature
from kantor.sealing.ceremony import Ceremony
from kantor.sealing.identity import TrusteeIdentity
from kantor.sealing.opening import partials
from kantor.sealing.storing import in_file, read_file
from kantor.service.client import Client, ServiceError
from kantor.service.reading import Story, read_log
from kantor.service.statements import bid_digest, context_of
from kantor.service.terms import Terms
from kantor.service.trustee_rounds import ROUNDS

__all__ = ["TrusteeAgent"]


class TrusteeAgent:
    """One trustee at one server. `say` is told what it does."""

    def __init__(
        self,
        folder: Path,
        client: Client,
        say: Callable[[str], None] = lambda _: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.folder, self.client, self.say, self.now = folder, client, say, now
        self.identity = TrusteeIdentity.at(folder)
        self._done: set[str] = set()
        self._told: dict[str, str] = {}

    def run(self, over: Callable[[], bool], every: float = 0.3) -> None:
        """Do what is to be done, again and again, until `over` says so."""
        while not over():
            try:
                self.round()
            except ServiceError as fault:
                self._tell("server", str(fault))
            time.sleep(every)

    def round(self) -> None:
        """One look at every market."""
        for market in self.client.markets():
            if market["id"] not in self._done and market["state"] in ("enrolling", "closed"):
                try:
                    self.attend(market["id"])
                except ServiceError:
                    raise
                except KantorError as fault:
                    self._tell(market["id"], str(fault))

    def attend(self, market: str) -> None:
        """What this market needs of this trustee now."""
        about = self.client.market(market)
        terms = Terms.model_validate(about["terms"])
        if terms.digest != about["terms_digest"]:
            raise EvidenceError(f"the terms of market {market} are not those of its digest", remedy="Ask its operator.")
        known = terms.trustees.sealing(market)
        mine = self.identity.signer.public
        if all(trustee.signing != mine for trustee in known.trustees):
            self._done.add(market)
            return
        ceremony = Ceremony.at(self.folder / f"ceremony-{market}.json", self.identity, known)
        if about["state"] == "enrolling":
            self._make_key(market, ceremony)
        else:
            self._open(market, terms, ceremony)

    def _make_key(self, market: str, ceremony: Ceremony) -> None:
        posted = self.client.board(market)
        count = len(ceremony.terms.trustees)
        before = [posted.get(stage, {}) for stage in ROUNDS]
        if ceremony.place not in before[0]:
            self._post(market, "commit", ceremony, ceremony.commit())
        elif len(before[0]) == count and ceremony.place not in before[1]:
            self._post(market, "shares", ceremony, ceremony.deal(_ordered(before[0])))
        elif len(before[1]) == count and ceremony.place not in before[2]:
            ceremony.deal(_ordered(before[0]))
            ceremony.finish(_ordered(before[1]))
            self._post(market, "confirm", ceremony, {"signature": ceremony.sign()})
            self.say(f"market {market}: the key is made")

    def _post(self, market: str, stage: str, ceremony: Ceremony, message: dict[str, Any]) -> None:
        self.client.post(market, stage, ceremony.place, message, key=f"{market}-{stage}-{ceremony.place}")

    def _open(self, market: str, terms: Terms, ceremony: Ceremony) -> None:
        story = read_log(self.client.log(market), market)
        _check_time(story, terms, self.now())
        root = story.check_root()
        if not story.standing:
            return
        self._keep_root(market, root)
        closed = self.client.closed(market)
        signed = _counted(story, closed)
        envelopes = [(bid["envelope"], context_of(bid)) for bid in signed]
        self._post(market, "opening", ceremony, partials(ceremony.share, ceremony.key, envelopes, root))
        self._done.add(market)
        self.say(f"market {market}: {len(signed)} bids opened")

    def _keep_root(self, market: str, root: str) -> None:
        """Remember what is opened before it is; refuse anything else afterwards."""
        file = self.folder / f"opened-{market}.json"
        if file.exists():
            if read_file(file) != {"market": market, "root": root}:
                raise EvidenceError(
                    f"market {market} shows another closed set than the one that was opened",
                    remedy="Nothing more is opened. Tell its buyer and its owners.",
                )
            return
        in_file(file)({"market": market, "root": root})

    def _tell(self, about: str, text: str) -> None:
        if self._told.get(about) != text:
            self._told[about] = text
            self.say(f"{about}: {text}")


def _ordered(messages: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    return [messages[place] for place in sorted(messages)]


def _check_time(story: Story, terms: Terms, now: datetime) -> None:
    if story.only("opened").body["terms"] != terms.digest:
        raise EvidenceError("the log opens under other terms", remedy="Nothing is opened. Ask the operator.")
    if now < terms.schedule.bid_until and not (terms.schedule.early and story.everybody_bid):
        raise EvidenceError(
            f"bidding goes on until {terms.schedule.bid_until:%Y-%m-%d %H:%M:%S} UTC, whatever the server says",
            remedy="Nothing is opened before.",
        )


def _counted(story: Story, closed: dict[str, Any]) -> list[dict[str, Any]]:
    """The bids to open, if they are those of the log, each signed by its owner."""
    keys, leaves = story.keys, story.standing
    if [bid_digest(entry["bid"]) for entry in closed["bids"]] != [leaf["bid"] for leaf in leaves]:
        raise EvidenceError("the bids to open are not those that the log counts", remedy="Nothing is opened.")
    for entry in closed["bids"]:
        check_signature(keys[entry["bid"]["owner"]], "bid", entry["bid"], entry["signature"])
    return [entry["bid"] for entry in closed["bids"]]
