"""The owner's agent: takes part in markets, and lets nothing leave that need not.

It trusts the server with nothing that can be checked: terms are compared with their digest, the market's key with the
trustees' signatures, the computing parties with the terms, receipts with the server's key as it was first seen, results
with the receipts. Each step first writes down what it is about to say, so it can be stopped anywhere and started again.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

from kantor.errors import EvidenceError, InputError
from kantor.evidence.canonical import digest
from kantor.evidence.signing import Signer, check_signature
from kantor.owners.distributions import Vector
from kantor.sealing.keys import MarketKey
from kantor.service.agent.bidding import REFUSED, Bidder
from kantor.service.agent.checking import check
from kantor.service.agent.fitting import check_unit, distance_of, fitting_data, terms_of
from kantor.service.agent.home import Home
from kantor.service.agent.receipts import check_receipt, merged, standing_bid
from kantor.service.agent.reserving import Reservations
from kantor.service.client import Client, ServiceError
from kantor.service.promises import as_text, promised, values_text
from kantor.service.statements import Delivery, Enrolment, name_of
from kantor.service.terms import Terms
from kantor.service.trustee_rounds import key_on

__all__ = ["OwnerAgent"]

_EVERY = 0.5


class OwnerAgent:
    """An owner in one market."""

    def __init__(self, home: Home, client: Client, market: str) -> None:
        self.home, self.client, self.market = home, client, market
        self.notes = home.notes(market)
        self.reservations = Reservations(home, market)

    @cached_property
    def signer(self) -> Signer:
        """The key of this owner in this market."""
        return self.home.signer(self.market)

    @property
    def name(self) -> str:
        """Its name here."""
        return name_of(self.market, self.signer.public)

    def about(self) -> dict[str, Any]:
        """The market as the server tells it, if that fits what was seen before."""
        found, known = self.client.market(self.market), self.notes.known
        terms_of(found)
        for name in ("server_key", "terms_digest"):
            if name in known and known[name] != found[name]:
                raise EvidenceError(
                    f"the market's {name.replace('_', ' ')} is not the one that was seen first",
                    remedy="Somebody else may be answering. Ask the operator over another way before going on.",
                )
        return found

    def terms(self) -> Terms:
        """The market's terms."""
        return terms_of(self.about())

    def fitting_data(self, terms: Terms) -> Vector:
        """The data, if they are what the terms ask for, and what was enrolled with."""
        data, said = fitting_data(self.home, terms), self.notes.known.get("enrolment")
        if said is not None and said["commitment"] != self.home.commitment(self.market, data):
            raise InputError(
                "the data are not those that you enrolled with",
                remedy="Put the file back as it was then: this market takes no other data of yours.",
                file=self.home.settings["data"],
            )
        return data

    # ---- enrolling

    def enrol(self, distance: str | None = None) -> dict[str, Any]:
        """Join: commit to the data, and state their distance where the terms leave that to owners."""
        with self.notes.alone():
            fresh = self.notes.known.get("enrolment") is None
            if fresh:
                self._write_enrolment(distance)
            said = self.notes.known["enrolment"]  # as it was written: the same bytes whenever it is sent
            signature = self.signer.sign("enrolment", said)
            try:
                answer = self.client.enrol(self.market, said, signature, key=f"enrol-{digest('enrolment', said)}")
            except ServiceError as fault:
                if fresh and fault.status in REFUSED:  # it never took place: another try may say something else
                    self.notes.keep(enrolment=None)
                raise
            if answer["owner"] != self.name:
                raise EvidenceError("the server knows this owner by another name", remedy="Ask the operator.")
            return answer

    def _write_enrolment(self, distance: str | None) -> None:
        about = self.about()
        terms = terms_of(about)
        check_unit(self.home, terms)
        data = fitting_data(self.home, terms)
        said = Enrolment(
            market=self.market,
            terms=terms.digest,
            key=self.signer.public,
            commitment=self.home.commitment(self.market, data),
            distance=distance_of(terms, data, distance),
            consent=True,
        ).plain()
        self.notes.keep(enrolment=said, server_key=about["server_key"], terms_digest=terms.digest)

    # ---- being valued

    def send_shares(self) -> bool:
        """Split the data among the parties, once they wait for it; returns whether that is done."""
        from kantor.service.agent.shares import forget_shares, submit

        invitation = self.client.invitation(self.market)
        if not invitation["ready"]:
            return False
        with self.notes.alone():
            if self.notes.known.get("shares") != invitation["session"]:
                file, terms = self.notes.file.with_suffix(".shares"), self.terms()
                submit(terms, invitation, self.fitting_data(terms), file)
                self.notes.keep(shares=invitation["session"])
                forget_shares(file)
        return True

    # ---- bidding

    def bid(self, reserve: int, epsilon: str) -> dict[str, Any]:
        """Seal a price and send it; a later one replaces it. Returns the receipt."""
        with self.notes.alone():
            return Bidder(self).place(reserve, epsilon)

    def standing_bid(self) -> dict[str, Any] | None:
        """The bid that counts, with its receipt; one whose receipt has not come yet is sent again first."""
        with self.notes.alone():
            Bidder(self).finish_pending()
            return standing_bid(self.notes.known)

    def withdraw(self) -> dict[str, Any]:
        """Take the standing bid back; it stays sealed for ever."""
        with self.notes.alone():
            return Bidder(self).withdraw()

    def market_key(self, about: dict[str, Any]) -> MarketKey:
        """The market's key, if all its trustees have signed it."""
        known = terms_of(about).trustees.sealing(self.market)
        key = key_on(self.client.board(self.market), known)
        if key is None or about["market_key"] is None or key.as_dict() != about["market_key"]:
            raise EvidenceError(
                "the market's key is not the one that its trustees have signed",
                remedy="If bidding has not begun, wait. Otherwise do not bid, and tell the trustees.",
            )
        return key

    # ---- delivering

    def deliver(self) -> dict[str, Any]:
        """Charge epsilon, add noise, sign and send. Sent again, it is the same noise and costs nothing."""
        with self.notes.alone():
            self.check()
            own, about = self.result(), self.about()
            if not own.get("bought"):
                raise InputError("nothing of yours was bought", remedy="There is nothing to deliver.")
            terms = terms_of(about)
            key = self.reservations.of(standing_bid(self.notes.known) or {}, own["epsilon"], terms)
            if not self.reservations.charged(key):
                _need_delivering(about)
            said, text = self._noised(terms, own["epsilon"], key)
            mark, signature = digest("delivery", said), self.signer.sign("delivery", said)
            receipt = self.client.deliver(self.market, said, signature, text, key=f"deliver-{mark}")
            self.check_receipt(receipt, what="delivered", delivery=mark)
            self.notes.keep(delivery=receipt)
            return receipt

    def _noised(self, terms: Terms, epsilon: str, key: str) -> tuple[dict[str, Any], str]:
        """What is said of the delivery, and the values; from here on epsilon is charged."""
        asked = promised(terms, epsilon)
        noised = self.home.balance.release(
            self.fitting_data(terms),
            asked.mechanism,
            key=key,
            purpose=terms.title,
            bounds=(asked.low, asked.high),
            epsilon=asked.epsilon,
            delta=asked.delta,
        )
        text, content = values_text(noised.values)
        values, manifest = hashlib.sha256(content).hexdigest(), as_text(noised.promise.as_dict())
        return Delivery(market=self.market, owner=self.name, values=values, manifest=manifest).plain(), text

    # ---- afterwards

    def result(self) -> dict[str, Any]:
        """What became of this owner's bid, as the server has signed it; empty before the clearing."""
        own = self.client.result(self.market)["own"] or {}
        if "signature" not in own:
            return dict(own)
        names = ("market", "root", "owner", "excluded", "bought", "payment", "epsilon", "distance", "noise")
        said = {name: own[name] for name in names}
        check_signature(self.server_key(), "result", said, own["signature"])
        if own["owner"] != self.name or own["market"] != self.market:
            raise EvidenceError("this is another owner's result", remedy="Tell the operator.")
        return dict(own)

    def check(self) -> list[str]:
        """Whether the market has kept its word to this owner: what was checked, or an error that says what is wrong."""
        return check(self)

    def fetch_receipts(self) -> int:
        """Get receipts that the server has and this home has not; returns how many there were."""
        with self.notes.alone():
            rows, known = self.client.bids(self.market), self.notes.known
            for row in rows:
                self.check_receipt(row["receipt"], nonce=row["nonce"])
            fresh = merged(known, rows)
            count = sum(len(fresh[name]) - len(known.get(name, [])) for name in ("bids", "withdrawals"))
            if count:
                self.notes.keep(**fresh)
            return count

    def check_receipt(self, receipt: dict[str, Any], **expected: str) -> None:
        """An error unless the server signed this receipt for this owner, and it is for what is expected."""
        check_receipt(receipt, self.server_key(), market=self.market, owner=self.name, **expected)

    def server_key(self) -> str:
        """The server's key, as it was first seen."""
        known = self.notes.known.get("server_key")
        if known is None:
            raise InputError("you have not enrolled in this market", remedy="Enrol first: kantor owner enrol")
        return str(known)

    def finish(self) -> None:
        """After the market: what was set aside and is not needed any more is free again."""
        state = str(self.about()["state"])
        lost = state in ("cleared", "delivering") and self.result().get("bought") is False
        if lost or state in ("settled", "cancelled"):
            with self.notes.alone():
                self.reservations.free()

    def wait_for(self, *states: str, say: Callable[[str], None] = lambda _: None) -> str:
        """Wait until the market is in one of these states, or at its end."""
        last = ""
        while True:
            state = str(self.about()["state"])
            if state != last:
                say(state)
                last = state
            if state in states or state in ("settled", "cancelled"):
                return state
            time.sleep(_EVERY)


def _need_delivering(about: dict[str, Any]) -> None:
    """Nothing is charged for a delivery that would be refused."""
    if about["state"] == "cleared":
        raise ServiceError(409, "conflict", "Delivery begins in a moment. Try again; nothing was charged.")
    if about["state"] != "delivering" or about["now"] >= about["deliver_until"]:
        raise ServiceError(
            409, "late", "The time for delivery is over. Nothing was charged, and nothing was sent. Ask the operator."
        )
