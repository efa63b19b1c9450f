"""Where an owner stands in a market, and what to do next: one line for each market, in the owner's words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from kantor.service.agent.moments import short
from kantor.service.agent.owner import OwnerAgent
from kantor.service.agent.receipts import standing_bid
from kantor.service.client import ServiceError
from kantor.service.terms import Terms

__all__ = ["Standing", "enrolled", "standing"]

_WAIT = "nothing: wait"


@dataclass(frozen=True)
class Standing:
    """One owner in one market."""

    market: str
    title: str
    state: str
    until: str | None
    """When the state ends at the latest, as the server writes it."""
    bid: str
    result: str
    next: str

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def enrolled(agent: OwnerAgent) -> dict[str, Any] | None:
    """An owner's place in the market, or None if it has not enrolled."""
    try:
        return agent.client.enrolment(agent.market)
    except ServiceError as fault:
        if fault.kind == "missing":
            return None
        raise


def standing(agent: OwnerAgent) -> Standing:
    """Where an owner stands."""
    about = agent.about()
    terms, place = Terms.model_validate(about["terms"]), enrolled(agent)
    own = agent.result() if place is not None and about["state"] in ("cleared", "delivering", "settled") else {}
    return Standing(
        agent.market,
        terms.title,
        about["state"],
        _until(about),
        _bid(agent, terms),
        _result(terms, about, place, own),
        _next(agent, about, place, own),
    )


def _until(about: dict[str, Any]) -> str | None:
    ends = {"enrolling": "enrol_until", "bidding": "bid_until", "delivering": "settle_at"}
    if about["state"] == "delivering" and about["settle_at"] is None:
        return str(about["deliver_until"])
    name = ends.get(about["state"])
    return None if name is None else str(about[name])


def _bid(agent: OwnerAgent, terms: Terms) -> str:
    known = agent.notes.known
    bid = standing_bid(known)
    if bid is None:
        return "withdrawn" if known.get("withdrawals") else ""
    if bid["ask"] is None:
        return "sealed"
    return f"{terms.money.show(bid['ask']['reserve'])}, epsilon {bid['ask']['epsilon']}"


def _result(terms: Terms, about: dict[str, Any], place: dict[str, Any] | None, own: dict[str, Any]) -> str:
    if place is None:
        return ""
    if place["excluded"] is not None:
        return f"left out: {place['excluded']}"
    if own.get("bought"):
        money = terms.money.show(own["payment"])
        settled = about["state"] == "settled"
        return f"paid {money}" if own["paid"] else "bought, not paid" if settled else f"bought for {money}"
    return "" if own.get("bought") is None and about["state"] != "settled" else "not bought"


def _next(agent: OwnerAgent, about: dict[str, Any], place: dict[str, Any] | None, own: dict[str, Any]) -> str:
    state = about["state"]
    if place is None:
        return f"kantor owner inspect {agent.market}" if state == "enrolling" else "nothing: you do not take part"
    steps: dict[str, Callable[[], str]] = {
        "enrolling": lambda: _while_enrolling(agent),
        "bidding": lambda: _while_bidding(agent, place),
        "closed": lambda: f"{_WAIT} for the clearing",
        "cleared": lambda: f"{_WAIT} for delivery to begin",
        "delivering": lambda: _while_delivering(agent, about, own),
        "settled": lambda: f"kantor owner check {agent.market}",
        "cancelled": lambda: "nothing: it was called off",
    }
    return steps[state]()


def _while_enrolling(agent: OwnerAgent) -> str:
    known = agent.notes.known
    if agent.terms().valuation.way != "private" or "shares" in known:
        return f"{_WAIT} for bidding to begin"
    if agent.client.invitation(agent.market)["ready"]:
        return f"kantor owner enrol {agent.market}  (sends your shares)"
    return f"{_WAIT} until the parties ask for shares"


def _while_bidding(agent: OwnerAgent, place: dict[str, Any]) -> str:
    if place["excluded"] is not None:
        return "nothing: you were left out"
    if standing_bid(agent.notes.known) is None:
        return f"kantor owner bid {agent.market} --price PRICE --epsilon EPSILON"
    return f"{_WAIT} for bidding to end"


def _while_delivering(agent: OwnerAgent, about: dict[str, Any], own: dict[str, Any]) -> str:
    if not own.get("bought"):
        return "nothing: what you set aside is free again"
    if not own["delivered"]:
        late = about["now"] >= about["deliver_until"]
        return "nothing: the time for delivery is over" if late else f"kantor owner deliver {agent.market}"
    if any(doubt["decision"] is None for doubt in own["doubts"]):
        return "nothing: the operator decides on a doubt"
    return f"{_WAIT} for payment" + ("" if about["settle_at"] is None else f", {short(about['settle_at'])}")
