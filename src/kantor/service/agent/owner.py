"""The owner's agent: takes part in markets, and lets nothing leave that need not.

It trusts the server with nothing that can be checked: terms are compared with their digest, the market's key with the
trustees' signatures, receipts with the server's key as it was first seen, results with the receipts. Each step first
writes down what it is about to say, so it can be stopped anywhere and started again.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

from kantor.errors import EvidenceError, InputError
from kantor.evidence.canonical import canonical
from kantor.evidence.signing import Signer, check_signature
from kantor.evidence.tree import check_inclusion
from kantor.owners.balance import fingerprint
from kantor.owners.distributions import Vector
from kantor.sealing.envelope import seal
from kantor.sealing.keys import MarketKey
from kantor.service.agent.home import Home
from kantor.service.client import Client
from kantor.service.promises import as_text, fixed, promised, values_text
from kantor.service.reading import read_log
from kantor.service.statements import Ask, Bid, Delivery, Enrolment, Withdrawal, bid_digest, context_of, name_of
from kantor.service.terms import Terms
from kantor.service.trustee_rounds import key_on

__all__ = ["OwnerAgent"]

_EVERY = 0.5


class OwnerAgent:
    """An owner in one market."""

    def __init__(self, home: Home, client: Client, market: str) -> None:
        self.home, self.client, self.market = home, client, market
        self.notes = home.notes(market)

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
        found = self.client.market(self.market)
        terms = Terms.model_validate(found["terms"])
        if terms.digest != found["terms_digest"]:
            raise EvidenceError("the terms are not those of their digest", remedy="Do not take part.")
        for name in ("server_key", "terms_digest"):
            if name in self.notes.known and self.notes.known[name] != found[name]:
                raise EvidenceError(
                    f"the market's {name.replace('_', ' ')} is not the one that was seen first",
                    remedy="Somebody else may be answering. Ask the operator over another way before going on.",
                )
        return found

    def terms(self) -> Terms:
        """The market's terms."""
        return Terms.model_validate(self.about()["terms"])

    # ---- enrolling

    def enrol(self, distance: str | None = None) -> dict[str, Any]:
        """Join: commit to the data, and state their distance where the terms leave that to owners."""
        if "enrolment" not in self.notes.known:
            about = self.about()
            terms = Terms.model_validate(about["terms"])
            data = self.fitting_data(terms)
            said = Enrolment(
                market=self.market,
                terms=terms.digest,
                key=self.signer.public,
                commitment=self.home.commitment(self.market, data),
                distance=self.distance(terms, data, distance),
                consent=True,
            )
            self.notes.keep(enrolment=said.plain(), server_key=about["server_key"], terms_digest=terms.digest)
        said = self.notes.known["enrolment"]
        answer = self.client.enrol(
            self.market, said, self.signer.sign("enrolment", said), key=f"enrol-{self.market}-{self.name}"
        )
        if answer["owner"] != self.name:
            raise EvidenceError("the server knows this owner by another name", remedy="Ask the operator.")
        return answer

    def fitting_data(self, terms: Terms) -> Vector:
        """The data, if they are what the terms ask for."""
        data, low, high = self.home.data, float(terms.data.low), float(terms.data.high)
        file = self.home.settings["data"]
        if data.size != terms.data.records:
            raise InputError(
                f"the series has {data.size} values, and this market asks for {terms.data.records}",
                remedy=f"It wants: {terms.data.what}. Give a file with that.",
                file=file,
            )
        outside = (data < low) | (data > high)
        if outside.any():
            place = int(outside.argmax())
            raise InputError(
                f"value {place + 1} is {data[place]:g}, outside the market's limits {low:g} to {high:g}",
                remedy="Check its unit. If it is right, this market does not fit these data; nothing was sent.",
                value=float(data[place]),
                file=file,
            )
        return data

    def distance(self, terms: Terms, data: Vector, stated: str | None) -> str | None:
        """What the enrolment says of the distance."""
        if terms.valuation.way == "private":
            return None
        if terms.valuation.way == "public":
            from kantor.valuation.wasserstein import wasserstein

            return fixed(wasserstein(data, [float(value) for value in terms.valuation.target]))
        if stated is None:
            raise InputError("this market lets owners declare their distance", remedy="Give one: --distance 1.25")
        return fixed(float(stated))

    # ---- being valued

    def send_shares(self) -> bool:
        """Split the data among the parties, once they wait for it; returns whether that is done."""
        invitation = self.client.invitation(self.market)
        if not invitation["ready"]:
            return False
        if self.notes.known.get("shares") != invitation["session"]:
            side = self._side(invitation)
            expected = self.terms().valuation.method_object()
            if side.method != expected:
                raise EvidenceError("the parties run another method than the terms say", remedy="Nothing was sent.")
            side.submit(self.fitting_data(self.terms()))
            self.notes.keep(shares=invitation["session"])
        return True

    def _side(self, invitation: dict[str, Any]) -> Any:
        from kantor.private.client import OwnerSide
        from kantor.private.identity import Roster

        roster = Roster.parse(invitation["roster"])
        return OwnerSide(roster, invitation["session"], invitation["name"], invitation["token"])

    # ---- bidding

    def bid(self, reserve: int, epsilon: str) -> dict[str, Any]:
        """Seal a price and send it; a later one replaces it. Returns the receipt."""
        about = self.about()
        terms, key = Terms.model_validate(about["terms"]), self.market_key(about)
        ask = self._ask(terms, reserve, epsilon)
        pending = self.notes.known.get("pending")
        if pending is None or pending["ask"] != ask.plain():
            nonce = secrets.token_hex(16)
            bound = {
                "market": self.market,
                "owner": self.name,
                "terms": terms.digest,
                "key": key.digest,
                "nonce": nonce,
            }
            envelope = seal(key, canonical(ask.plain()), context_of(bound))
            said = Bid.model_validate({**bound, "envelope": envelope}).plain()
            self._set_aside(terms, epsilon, nonce)
            pending = {"ask": ask.plain(), "said": said}
            self.notes.keep(pending=pending)
        said = pending["said"]
        receipt = self.client.bid(self.market, said, self.signer.sign("bid", said), key=f"bid-{said['nonce']}")
        self._check_receipt(receipt, bid=bid_digest(said), nonce=said["nonce"])
        before = self.notes.known.get("bids", [])
        self.notes.keep(bids=[*before, {**pending, "receipt": receipt}], pending=None)
        for bid in before:
            self._give_back(bid["said"]["nonce"])
        return receipt

    def _set_aside(self, terms: Terms, epsilon: str, nonce: str) -> None:
        """Reserve the epsilon that winning would cost: what is bid in several markets can be delivered in all."""
        data = self.fitting_data(terms)
        self.home.balance.reserve(
            promised(terms, epsilon), key=self._entry(nonce), purpose=terms.title, fingerprint=fingerprint(data)
        )

    def _give_back(self, nonce: str) -> None:
        """A bid that cannot win any more costs nothing."""
        balance = self.home.balance
        if any(entry.key == self._entry(nonce) and entry.state == "reserved" for entry in balance.entries()):
            balance.cancel(self._entry(nonce))

    def _entry(self, nonce: str) -> str:
        return f"market {self.market} bid {nonce}"

    def _ask(self, terms: Terms, reserve: int, epsilon: str) -> Ask:
        from decimal import Decimal

        from kantor.bids.priors import Priors

        priors = Priors.of(terms.rule.prior_distribution(), 1)
        low, high = (float(end) for end in priors.distinct[0].support())
        if not low <= reserve <= high:
            raise InputError(
                f"a price of {terms.money.show(reserve)} cannot win: this market holds prices from "
                f"{terms.money.show(int(low))} to {terms.money.show(int(min(high, 1e15)))} possible",
                remedy="Ask for a price between the two, or do not bid.",
                value=reserve,
            )
        if not terms.privacy.epsilon_low <= Decimal(epsilon) <= terms.privacy.epsilon_high:
            raise InputError(
                f"epsilon {epsilon} is outside the market's limits",
                remedy=f"Choose from {terms.privacy.epsilon_low} to {terms.privacy.epsilon_high}.",
                value=epsilon,
            )
        return Ask(reserve=reserve, epsilon=epsilon)

    def market_key(self, about: dict[str, Any]) -> MarketKey:
        """The market's key, if all its trustees have signed it."""
        known = Terms.model_validate(about["terms"]).trustees.sealing(self.market)
        key = key_on(self.client.board(self.market), known)
        if key is None or about["market_key"] is None or key.as_dict() != about["market_key"]:
            raise EvidenceError(
                "the market's key is not the one that its trustees have signed",
                remedy="If bidding has not begun, wait. Otherwise do not bid, and tell the trustees.",
            )
        return key

    def withdraw(self) -> dict[str, Any]:
        """Take the standing bid back; it stays sealed for ever."""
        bids = self.notes.known.get("bids", [])
        if not bids:
            raise InputError("there is no bid to withdraw", remedy="See: kantor owner status")
        nonce = bids[-1]["said"]["nonce"]
        said = Withdrawal(market=self.market, owner=self.name, nonce=nonce).plain()
        receipt = self.client.withdraw(self.market, said, self.signer.sign("withdrawal", said), key=f"withdraw-{nonce}")
        self._check_receipt(receipt, nonce=nonce)
        self.notes.keep(withdrawals=[*self.notes.known.get("withdrawals", []), receipt])
        self._give_back(nonce)
        return receipt

    # ---- delivering

    def deliver(self) -> dict[str, Any]:
        """Charge epsilon, add noise, sign and send. Sent again, it is the same noise and costs nothing."""
        self.check()
        own = self.result()
        if not own.get("bought"):
            raise InputError("nothing of yours was bought", remedy="There is nothing to deliver.")
        terms, bid = self.terms(), self.notes.known["bids"][-1]
        asked = promised(terms, bid["ask"]["epsilon"])
        noised = self.home.balance.release(
            self.fitting_data(terms),
            asked.mechanism,
            key=self._entry(bid["said"]["nonce"]),
            purpose=terms.title,
            bounds=(asked.low, asked.high),
            epsilon=asked.epsilon,
            delta=asked.delta,
        )
        text, content = values_text(noised.values)
        said = Delivery(
            market=self.market,
            owner=self.name,
            values=hashlib.sha256(content).hexdigest(),
            manifest=as_text(noised.promise.as_dict()),
        ).plain()
        receipt = self.client.deliver(
            self.market, said, self.signer.sign("delivery", said), text, key=f"deliver-{self.market}-{self.name}"
        )
        self._check_receipt(receipt)
        self.notes.keep(delivery=receipt)
        return receipt

    # ---- afterwards

    def result(self) -> dict[str, Any]:
        """What became of this owner's bid, as the server has signed it; empty before the clearing."""
        own = self.client.result(self.market)["own"] or {}
        if "signature" not in own:
            return dict(own)
        names = ("market", "root", "owner", "excluded", "bought", "payment", "epsilon", "distance", "noise")
        said = {name: own[name] for name in names}
        check_signature(self._server(), "result", said, own["signature"])
        if own["owner"] != self.name:
            raise EvidenceError("this is another owner's result", remedy="Tell the operator.")
        return dict(own)

    def check(self) -> list[str]:
        """Whether the market has kept its word to this owner: what was checked, or an error that says what is wrong."""
        found = []
        story = read_log(self.client.log(self.market), self.market)
        found.append(f"the log is whole: {len(story.events)} events, each following from those before it")
        for receipt in self._receipts():
            event = story.events[receipt["seq"] - 1] if receipt["seq"] <= len(story.events) else None
            if event is None or event.hash != receipt["log"]:
                raise EvidenceError(
                    f"event {receipt['seq']} of the log is not the one that your receipt quotes",
                    remedy="The log was changed after the receipt was signed. Keep the receipt, and show it.",
                )
        found.append(f"all {len(self._receipts())} receipts are in it, as they were signed")
        if not story.all("closed"):
            return found
        root = story.check_root()
        found.append("the root that was published is that of the bids in the log")
        mine = next((leaf for leaf in story.standing if leaf["owner"] == self.name), None)
        self._check_counted(mine)
        if mine is not None:
            proof = self.client.inclusion(self.market)
            if proof["leaf"] != mine["bid"]:
                raise EvidenceError("another bid counts than yours", remedy="Show your receipt.")
            check_inclusion(root, mine["bid"], proof["index"], proof["size"], proof["proof"])
            found.append("your bid counts: it is under that root")
        own = self.result()
        if own.get("bought"):
            asked = self.notes.known["bids"][-1]["ask"]["reserve"]
            if own["payment"] < asked:
                raise EvidenceError(
                    f"you are to be paid {own['payment']}, less than the {asked} that you asked for",
                    remedy="Do not deliver. Show your receipt and the signed result to an auditor.",
                )
            found.append("you are paid at least what you asked for")
        return found

    def _check_counted(self, leaf: dict[str, Any] | None) -> None:
        bids, withdrawn = self.notes.known.get("bids", []), self.notes.known.get("withdrawals", [])
        taken_back = {receipt["nonce"] for receipt in withdrawn}
        last = bids[-1] if bids else None
        due = None if last is None or last["said"]["nonce"] in taken_back else bid_digest(last["said"])
        if (None if leaf is None else leaf["bid"]) != due:
            raise EvidenceError(
                "the bid that counts is not the last one that you have a receipt for",
                remedy="Show your receipts to an auditor.",
            )

    def _receipts(self) -> list[dict[str, Any]]:
        known = self.notes.known
        found = [bid["receipt"] for bid in known.get("bids", [])] + known.get("withdrawals", [])
        return found + ([known["delivery"]] if "delivery" in known else [])

    def _check_receipt(self, receipt: dict[str, Any], **expected: str) -> None:
        said = {name: value for name, value in receipt.items() if name not in ("signature", "server")}
        check_signature(self._server(), "receipt", said, receipt["signature"])
        for name, value in {"market": self.market, "owner": self.name, **expected}.items():
            if said.get(name) != value:
                raise EvidenceError(f"the receipt is for another {name}", remedy="Send it again; tell the operator.")

    def _server(self) -> str:
        known = self.notes.known.get("server_key")
        if known is None:
            raise InputError("you have not enrolled in this market", remedy="Enrol first: kantor owner enrol")
        return str(known)

    # ---- all of it

    def finish(self) -> None:
        """After the market: what was set aside and not needed is free again."""
        own = self.result()
        for bid in self.notes.known.get("bids", []):
            if not own.get("bought"):
                self._give_back(bid["said"]["nonce"])

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
