"""Bidding without losing count: a bid is written down with what it sets aside, then sent, then its receipt is kept.

An agent that was stopped between the two last steps does not know whether its bid stands. So before anything else is
said in a market, what was written down is sent again: it has one effect however often it arrives, and its answer tells.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from kantor.errors import InputError
from kantor.evidence.canonical import canonical
from kantor.sealing.envelope import seal
from kantor.sealing.keys import MarketKey
from kantor.service.agent.fitting import ask_of, terms_of
from kantor.service.agent.receipts import standing_bid
from kantor.service.client import ServiceError
from kantor.service.statements import Ask, Bid, Withdrawal, bid_digest, context_of
from kantor.service.terms import Terms

if TYPE_CHECKING:
    from kantor.service.agent.owner import OwnerAgent

__all__ = ["REFUSED", "Bidder", "need_bidding"]

REFUSED = (400, 404, 409, 413, 422)
"""Answers after which sending the same again is of no use."""


class Bidder:
    """An owner's bids in one market. Whoever calls holds the notes alone."""

    def __init__(self, agent: OwnerAgent) -> None:
        self.agent, self.notes, self.reservations = agent, agent.notes, agent.reservations

    def place(self, reserve: int, epsilon: str) -> dict[str, Any]:
        """Seal a price and send it; returns the receipt."""
        about = self.agent.about()
        terms = terms_of(about)
        ask = ask_of(terms, reserve, epsilon)
        receipt = self.finish_pending(ask)
        if receipt is None:
            need_bidding(about)
            self._write(terms, self.agent.market_key(about), ask)
            receipt = self._send()
        return receipt

    def withdraw(self) -> dict[str, Any]:
        """Take the standing bid back; returns the receipt."""
        self.finish_pending()
        bid = standing_bid(self.notes.known)
        if bid is None:
            raise InputError("there is no bid to withdraw", remedy="See: kantor owner status")
        market, nonce = self.agent.market, bid["receipt"]["nonce"]
        said = Withdrawal(market=market, owner=self.agent.name, nonce=nonce).plain()
        signature = self.agent.signer.sign("withdrawal", said)
        receipt = self.agent.client.withdraw(market, said, signature, key=f"withdraw-{nonce}")
        self.agent.check_receipt(receipt, what="withdrawn", nonce=nonce)
        self.notes.keep(withdrawals=[*self.notes.known.get("withdrawals", []), receipt])
        self.reservations.free()
        return receipt

    def finish_pending(self, wanted: Ask | None = None) -> dict[str, Any] | None:
        """Send again what was written down and may have been sent; returns its receipt if it is what is wanted now."""
        pending = self.notes.known.get("pending")
        if pending is None:
            return None
        try:
            receipt = self._send()
        except ServiceError as fault:
            if fault.status not in REFUSED:
                raise
            return None
        return receipt if wanted is not None and pending["ask"] == wanted.plain() else None

    def _write(self, terms: Terms, key: MarketKey, ask: Ask) -> None:
        """Seal, set aside what winning would cost, and write both down: nothing has been said yet."""
        nonce = secrets.token_hex(16)
        bound = {
            "market": self.agent.market,
            "owner": self.agent.name,
            "terms": terms.digest,
            "key": key.digest,
            "nonce": nonce,
        }
        envelope = seal(key, canonical(ask.plain()), context_of(bound))
        said = Bid.model_validate({**bound, "envelope": envelope}).plain()
        data, before = self.agent.fitting_data(terms), standing_bid(self.notes.known)
        entry = self.reservations.take(terms, ask.epsilon, data, nonce, before)
        self.notes.keep(pending={"ask": ask.plain(), "said": said, "entry": entry})

    def _send(self) -> dict[str, Any]:
        known = self.notes.known
        pending = known["pending"]
        said = pending["said"]
        try:
            signature = self.agent.signer.sign("bid", said)
            receipt = self.agent.client.bid(self.agent.market, said, signature, key=f"bid-{said['nonce']}")
        except ServiceError as fault:
            if fault.status in REFUSED:  # it does not stand, and never will
                self.notes.keep(pending=None)
                self._free_others(standing_bid(known))
            raise
        self.agent.check_receipt(receipt, what="bid", bid=bid_digest(said), nonce=said["nonce"])
        bid = {**pending, "receipt": receipt}
        self.notes.keep(bids=[*known.get("bids", []), bid], pending=None)
        self._free_others(bid)
        return receipt

    def _free_others(self, bid: dict[str, Any] | None) -> None:
        """Bids that cannot win any more cost nothing."""
        if bid is None:
            self.reservations.free()
        elif bid.get("entry") is not None:
            self.reservations.free((bid["entry"],))


def need_bidding(about: dict[str, Any]) -> None:
    """Refuse here what the server would refuse."""
    if about["state"] in ("draft", "enrolling"):
        raise ServiceError(409, "conflict", "Bidding has not begun. Wait until the market's state is bidding.")
    if about["state"] != "bidding" or about["now"] >= about["bid_until"]:
        raise ServiceError(409, "late", "Bidding is over. Nothing was sent. What has a receipt from before counts.")
