"""`kantor owner enrol`, `bid`, `withdraw`, `deliver`: the steps of an owner, each shown before it is taken."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kantor.commands.options import Json
from kantor.commands.owner.asking import Yes, confirm
from kantor.commands.owner.looking import known_distance, show_leaving
from kantor.commands.owner.reaching import HOME, HomeFolder, MarketId, agent_at
from kantor.commands.owner.showing import show_next
from kantor.errors import InputError
from kantor.terminal import Progress, print_json, say

if TYPE_CHECKING:
    from kantor.service.agent.owner import OwnerAgent
    from kantor.service.terms import Terms

__all__ = ["bid", "deliver", "enrol", "withdraw"]

_EVERY = 1.0


def enrol(
    market: MarketId,
    distance: Annotated[
        str | None, typer.Option(help="How far your data lie from the target, where the terms let owners say so.")
    ] = None,
    wait: Annotated[
        bool,
        typer.Option("--wait", help="With private valuation: wait until the parties ask for shares, and send them."),
    ] = False,
    yes: Yes = False,
    home: HomeFolder = HOME,
    as_json: Json = False,
) -> None:
    """Take part in a market. Once more, it sends the shares of your data that a private valuation waits for.

    Example: kantor owner enrol 9f2c5a1b7d3e4f60
    """
    from kantor.service.agent.fitting import terms_of
    from kantor.service.agent.standing import enrolled

    with agent_at(home, market) as agent:
        about = agent.about()
        terms, place = terms_of(about), enrolled(agent)
        if place is None:
            _still_open(about)
            _before_enrolling(agent, terms, distance, yes, quiet=as_json)
        place = _joined(agent, terms, place, distance)
        private = terms.valuation.way == "private"
        sent = private and _shares(agent, wait, quiet=as_json)
        if as_json:
            print_json({**place, "shares_sent": sent if private else None})
            return
        say(f"You are enrolled as {place['owner']}.")
        if private:
            _say_shares(agent, sent)
        else:
            show_next("Next, when bidding begins", f"kantor owner bid {market} --price PRICE --epsilon EPSILON")


def _joined(agent: OwnerAgent, terms: Terms, place: dict[str, Any] | None, distance: str | None) -> dict[str, Any]:
    """The own place, after enrolling if that has not been done, or if this home has forgotten it."""
    if place is None or agent.notes.known.get("enrolment") is None:
        known = None if place is None or terms.valuation.way != "declared" else place["distance"]
        agent.enrol(distance if known is None else known)
    return agent.client.enrolment(agent.market)


def _still_open(about: dict[str, Any]) -> None:
    if about["state"] != "enrolling" or about["now"] >= about["enrol_until"]:
        raise InputError(
            f"enrolment in this market is over (it is {about['state']})",
            remedy="Nothing was sent. See which markets are open: kantor owner status",
            value=about["id"],
        )


def _before_enrolling(agent: OwnerAgent, terms: Terms, distance: str | None, yes: bool, quiet: bool) -> None:
    from kantor.service.agent.fitting import check_unit, distance_of

    check_unit(agent.home, terms)
    stated = distance_of(terms, agent.fitting_data(terms), distance)
    if not quiet:
        show_leaving(terms, stated)
    confirm(f"Enrol in “{terms.title}”?", yes)


def _shares(agent: OwnerAgent, wait: bool, quiet: bool) -> bool:
    with Progress("Waiting until the parties ask for shares", quiet=quiet):
        while agent.about()["state"] == "enrolling" and not agent.send_shares() and wait:
            time.sleep(_EVERY)
    return "shares" in agent.notes.known


def _say_shares(agent: OwnerAgent, sent: bool) -> None:
    from kantor.service.agent.moments import when

    about = agent.about()
    if sent:
        say("The three parties have their shares of your data. When all have theirs, bidding begins.")
    elif about["state"] == "enrolling":
        show_next(
            f"When enrolment is over ({when(about['enrol_until'], about['now'])}), three parties ask for shares of "
            "your data, for an hour at the most. Send them then by",
            f"kantor owner enrol {agent.market}",
        )
        show_next(
            "Or leave it, and all that follows, to a command that waits",
            f"kantor owner run {agent.market} --price PRICE --epsilon EPSILON",
        )


def bid(
    market: MarketId,
    price: Annotated[str, typer.Option(help="The least you want to be paid, such as 1.25.")],
    epsilon: Annotated[str, typer.Option(help="How much privacy you give up if you are bought: less is more noise.")],
    yes: Yes = False,
    home: HomeFolder = HOME,
    as_json: Json = False,
) -> None:
    """Seal a price and send it. A later bid replaces the one before; nobody can read either until bidding is over.

    Example: kantor owner bid 9f2c5a1b7d3e4f60 --price 1.25 --epsilon 2
    """
    from kantor.service.agent.bidding import need_bidding
    from kantor.service.agent.fitting import ask_of, terms_of

    with agent_at(home, market) as agent:
        about = agent.about()
        terms = terms_of(about)
        ask = ask_of(terms, terms.money.parse(price, argument="--price"), epsilon)
        need_bidding(about)
        _before_bidding(agent, terms, ask.epsilon, quiet=as_json)
        confirm(f"Bid {terms.money.show(ask.reserve)} at epsilon {ask.epsilon} in “{terms.title}”?", yes)
        receipt = agent.bid(ask.reserve, ask.epsilon)
        _show_receipt(receipt, as_json, f"Your bid is in, sealed: bid {receipt['number']}")
        if not as_json:
            say("It can be replaced or withdrawn until bidding ends. To see how it stands: kantor owner status")


def _before_bidding(agent: OwnerAgent, terms: Terms, epsilon: str, quiet: bool) -> None:
    from kantor.service.agent.outlook import check_affordable, outlook
    from kantor.service.agent.plain_words import truth_is_best

    with Progress("Looking at your balance", quiet=quiet):
        seen = outlook(terms, agent.home, agent.market, epsilon)
        distance = known_distance(agent, terms)
    check_affordable(agent, seen)
    if quiet:
        return
    if not truth_is_best(terms):
        say("In this market your payment is worked out from your own price: see kantor owner inspect.", stderr=True)
    far = "" if distance is None else f", and makes your distance {float(seen.total(distance) or 0):.4g}"
    say(f"Epsilon {epsilon} adds noise of standard deviation {seen.deviation:.4g} to each value{far}.", stderr=True)
    say(f"It is set aside now. If you are bought it is spent, and {seen.left:.6g} is left.", stderr=True)


def withdraw(market: MarketId, yes: Yes = False, home: HomeFolder = HOME, as_json: Json = False) -> None:
    """Take your bid back. It stays sealed for ever, and you may bid again until bidding ends.

    Example: kantor owner withdraw 9f2c5a1b7d3e4f60
    """
    with agent_at(home, market) as agent:
        terms, bid = agent.terms(), agent.standing_bid()
        if bid is None:
            raise InputError("there is no bid to withdraw", remedy="See: kantor owner status", value=market)
        number, ask = bid["receipt"]["number"], bid["ask"]
        price = "" if ask is None else f", {terms.money.show(ask['reserve'])} at epsilon {ask['epsilon']},"
        confirm(f"Take bid {number}{price} in “{terms.title}” back?", yes)
        receipt = agent.withdraw()
        _show_receipt(receipt, as_json, f"Bid {receipt['number']} is withdrawn")
        if not as_json:
            say("What it had set aside of your balance is free again.")


def deliver(market: MarketId, yes: Yes = False, home: HomeFolder = HOME, as_json: Json = False) -> None:
    """Send your noised data, if they were bought. The privacy that this costs is charged first, and for good.

    Example: kantor owner deliver 9f2c5a1b7d3e4f60
    """
    with agent_at(home, market) as agent:
        about, own = agent.about(), agent.result()
        if about["state"] in ("enrolling", "bidding", "closed"):
            raise InputError(
                f"the market is {about['state']}: nothing is bought yet",
                remedy="See: kantor owner status",
                value=market,
            )
        if not own.get("bought"):
            raise InputError("nothing of yours was bought", remedy="There is nothing to deliver.", value=market)
        again = bool(own["delivered"])
        if not again:
            _before_delivering(agent, own, quiet=as_json)
            confirm("Add the noise and send the values?", yes)
        receipt = agent.deliver()
        text = "You had delivered already; the receipt is the same" if again else "Delivered"
        _show_receipt(receipt, as_json, text)
        if not as_json:
            say("Payment follows if nobody objects. See: kantor owner status")


def _before_delivering(agent: OwnerAgent, own: dict[str, Any], quiet: bool) -> None:
    from kantor.service.agent.outlook import outlook

    if quiet:
        return
    terms = agent.terms()
    with Progress("Looking at your balance"):
        seen = outlook(terms, agent.home, agent.market, own["epsilon"])
    say(f"Your data are bought for {terms.money.show(own['payment'])}.", stderr=True)
    left = "" if seen.left is None else f", and {seen.left:.6g} is left"
    say(
        f"What leaves: {terms.data.records:,} values, each with noise of standard deviation {seen.deviation:.4g}. "
        f"Epsilon {own['epsilon']} is charged for good{left}.",
        stderr=True,
    )


def _show_receipt(receipt: dict[str, Any], as_json: bool, text: str) -> None:
    from kantor.service.agent.moments import moment

    if as_json:
        print_json(receipt)
        return
    at = moment(receipt["at"]).astimezone()
    say(f"{text}, {at:%d %b %Y %H:%M:%S} {at:%Z}. Receipt: event {receipt['seq']} of the log, signed by the market.")
