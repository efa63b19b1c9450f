"""An owner's part in a market without anybody at the keyboard: enrol, be valued, bid, deliver, check, end.

What to do next follows from the market's state and from the notes, never from what this process remembers. So it can be
stopped anywhere and started again, and a server that is away for a while only makes it wait. It bids once for each
order: a bid that somebody has replaced or withdrawn since is left as it is.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kantor.errors import InputError, PartyError
from kantor.service.agent.fitting import ask_of, check_unit, distance_of, terms_of
from kantor.service.agent.moments import moment, when
from kantor.service.agent.outlook import check_affordable, outlook
from kantor.service.agent.owner import OwnerAgent
from kantor.service.agent.receipts import standing_bid
from kantor.service.agent.standing import enrolled
from kantor.service.client import ServiceError
from kantor.service.statements import Ask
from kantor.service.terms import Terms

__all__ = ["Ending", "Errand", "Orders"]

_LOOKS = 60
_REQUESTS = 500
"""What all owners of a market together may ask a second."""
_LEAST, _MOST = 0.5, 30.0


@dataclass(frozen=True)
class Orders:
    """What an owner wants: the least price, as it is written, and the epsilon that it gives up for it."""

    price: str
    epsilon: str
    distance: str | None = None


@dataclass(frozen=True)
class Ending:
    """How it ended. `well`: nothing is left to be done or asked."""

    outcome: str
    text: str
    well: bool = True


class Errand:
    """One owner's part in one market. say: is told each step, by name and in words."""

    def __init__(
        self, agent: OwnerAgent, orders: Orders, say: Callable[[str, str], None], every: float | None = None
    ) -> None:
        self.agent, self.orders, self.say, self.every = agent, orders, say, every
        self._told: set[str] = set()
        self._ready = self._enrolled = False
        self._waited = ""

    def run(self) -> Ending:
        """Until the market is over for this owner."""
        pause = _LEAST
        while True:
            try:
                about = self.agent.about()
                ending = self._step(about)
                pause, self._waited = self._pause(about), ""
            except (ServiceError, PartyError) as fault:
                if not _passing(fault):
                    raise
                self._wait(str(fault))
                ending, pause = None, min(2 * pause, _MOST)
            if ending is not None:
                return ending
            time.sleep(pause * random.uniform(0.8, 1.2))  # noqa: S311  only spreads requests

    def _step(self, about: dict[str, Any]) -> Ending | None:
        terms = terms_of(about)
        if not self._ready:
            self._check_orders(terms)
            self._ready = True
        if about["state"] == "cancelled":
            return self._cancelled()
        if about["state"] == "enrolling":
            self._enrolling(terms, about)
            return None
        place = enrolled(self.agent)
        if place is None:
            raise InputError(
                f"you are not enrolled, and enrolment is over: the market is {about['state']}",
                remedy="See which markets are open: kantor owner status",
                value=self.agent.market,
            )
        if about["state"] == "bidding" and place["excluded"] is None:
            self._bidding(terms, about)
            return None
        if self.agent.standing_bid() is None:
            return self._without_bid(place)
        return self._after(terms, about)

    def _check_orders(self, terms: Terms) -> None:
        """Everything that can be known to be wrong, before anything is said to anybody."""
        ask, agent = self._ask(terms), self.agent
        data = agent.fitting_data(terms)
        if agent.notes.known.get("enrolment") is None:
            check_unit(agent.home, terms)
            distance_of(terms, data, self.orders.distance)
            check_affordable(agent, outlook(terms, agent.home, agent.market, ask.epsilon))

    def _ask(self, terms: Terms) -> Ask:
        return ask_of(terms, terms.money.parse(self.orders.price, argument="--price"), self.orders.epsilon)

    def _enrolling(self, terms: Terms, about: dict[str, Any]) -> None:
        agent = self.agent
        if not self._enrolled:
            place = agent.enrol(self.orders.distance)
            self._enrolled = True
            self._tell(
                "enrolled", f"Enrolled as {place['owner']}. Enrolment ends {when(about['enrol_until'], about['now'])}."
            )
        if terms.valuation.way == "private":
            before = agent.notes.known.get("shares")
            if agent.send_shares() and agent.notes.known["shares"] != before:
                self.say("valued", "Three parties have shares of the data, one each, to compute its distance.")

    def _bidding(self, terms: Terms, about: dict[str, Any]) -> None:
        ask, agent = self._ask(terms), self.agent
        known = agent.notes.known
        if known.get("ordered") != ask.plain():
            last = standing_bid(known)
            same = last is not None and last["ask"] == ask.plain()
            receipt = last["receipt"] if same and last is not None else agent.bid(ask.reserve, ask.epsilon)
            agent.notes.keep(ordered=ask.plain())
            self._tell(
                "bid",
                f"Bid {terms.money.show(ask.reserve)} at epsilon {ask.epsilon}, sealed; the receipt is event "
                f"{receipt['seq']} of the log. Bidding ends {when(about['bid_until'], about['now'])}.",
            )
        elif standing_bid(known) is None:
            self._tell("withdrawn", "The bid was withdrawn, and is not made again. Waiting for the end.")

    def _without_bid(self, place: dict[str, Any]) -> Ending:
        self.agent.check()
        self.agent.finish()
        if place["excluded"] is not None:
            return Ending("left out", f"Left out of this market: {place['excluded']}.", well=False)
        return Ending("no bid", "No bid of yours counts in this market: there is nothing more to do.")

    def _after(self, terms: Terms, about: dict[str, Any]) -> Ending | None:
        """Bidding is over."""
        if about["state"] not in ("delivering", "settled"):
            self._tell("closed", f"Bidding is over. {about['bids']} bids count; they are being opened and cleared.")
            return None
        own = self.agent.result()
        if not own.get("bought"):
            checked = self.agent.check()
            self.agent.finish()
            return Ending("not bought", f"Not bought. What was set aside is free again. {_checked(checked)}")
        if about["state"] == "settled":
            return self._settled(terms, own)
        if not own["delivered"] and about["now"] < about["deliver_until"]:
            self._deliver(terms, own)
        elif own["delivered"]:
            self._wait_for_payment(about, own)
        return None

    def _deliver(self, terms: Terms, own: dict[str, Any]) -> None:
        self._tell("bought", f"Bought for {terms.money.show(own['payment'])}. Adding the noise.")
        receipt = self.agent.deliver()
        left = self.agent.home.balance.left()
        self._tell(
            "delivered",
            f"Delivered: {terms.data.records:,} noised values; the receipt is event {receipt['seq']}. Epsilon "
            f"{own['epsilon']} is charged, {left:.6g} is left.",
        )

    def _wait_for_payment(self, about: dict[str, Any], own: dict[str, Any]) -> None:
        if any(doubt["decision"] is None for doubt in own["doubts"]):
            self._tell("doubted", "There is a doubt about the delivery. The operator decides; payment waits.")
        elif about["settle_at"] is not None:
            self._tell("payment", f"Payment, if nobody objects: {when(about['settle_at'], about['now'])}.")

    def _settled(self, terms: Terms, own: dict[str, Any]) -> Ending:
        checked = self.agent.check()
        self.agent.finish()
        if own["paid"]:
            return Ending("paid", f"Paid {terms.money.show(own['paid'])}. {_checked(checked)}")
        if not own["delivered"]:
            return Ending("missed", "Bought, and not delivered in time: nothing is paid, nothing was sent.", well=False)
        reasons = [doubt["reason"] for doubt in own["doubts"] if doubt["decision"] == "refuse"]
        return Ending("refused", f"Not paid. The operator's reason: {'; '.join(reasons)}", well=False)

    def _cancelled(self) -> Ending:
        log = self.agent.client.log(self.agent.market)
        reason = "".join(event["body"]["reason"] for event in log if event["kind"] == "cancelled")
        self.agent.finish()
        return Ending("cancelled", f"The market was called off: {reason}. What was set aside is free again.")

    def _tell(self, step: str, text: str) -> None:
        """Say of each step once that it is done."""
        if step not in self._told:
            self._told.add(step)
            self.say(step, text)

    def _wait(self, why: str) -> None:
        """Say why nothing goes on, once as long as it lasts."""
        if why != self._waited:
            self._waited = why
            self.say("waiting", f"{why} Trying again.")

    def _pause(self, about: dict[str, Any]) -> float:
        """How long to look away: short near the end of a stage, long where many owners look."""
        if self.every is not None:
            return self.every
        terms = terms_of(about)
        least = min(max(about["owners"] / _REQUESTS, _LEAST), _MOST)
        end = {"enrolling": "enrol_until", "bidding": "bid_until", "delivering": "settle_at"}.get(about["state"])
        until = None if end is None else about[end]
        if until is None or terms.schedule.early:
            return least
        left = (moment(until) - moment(about["now"])).total_seconds()
        return min(max(left / _LOOKS, least), _MOST)


def _passing(fault: ServiceError | PartyError) -> bool:
    """Whether waiting helps."""
    return isinstance(fault, PartyError) or fault.status in (0, 429) or fault.status >= 500


def _checked(found: list[str]) -> str:
    return f"The market kept its word in all {len(found)} points that were checked."
