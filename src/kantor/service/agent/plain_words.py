"""A market's terms in plain words, for somebody who decides whether to take part in it.

Nothing is said here that the terms do not fix, and everything that they fix and an owner should know is said: what is
bought and by what rule, whether honesty pays, when what ends, who sees what, what leaves the machine and what does not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kantor.service.agent.fitting import hides
from kantor.service.agent.moments import clock_line, span, when
from kantor.service.terms import Terms

__all__ = ["Section", "leaving", "never_leaving", "truth_is_best", "words_of"]


class Section(NamedTuple):
    """A heading, and lines under it: sentences, or pairs of a label and what belongs to it."""

    title: str
    lines: list[str | tuple[str, str]]


def words_of(terms: Terms, about: dict[str, Any]) -> list[Section]:
    """The terms, section by section. about: the market as the server tells it."""
    return [
        Section("What is bought", _bought(terms)),
        Section("What an owner is paid", _paid(terms)),
        Section("When", _when(terms, about)),
        Section("Who sees what", _seen(terms)),
    ]


def truth_is_best(terms: Terms) -> bool:
    """Whether nobody gains by asking for another price than the least it would accept."""
    return terms.rule.payments != "virtual"


def _bought(terms: Terms) -> list[str | tuple[str, str]]:
    data, rule, limit = terms.data, terms.rule, terms.money.show(terms.rule.limit)
    what = data.what.rstrip(".")
    lines: list[str | tuple[str, str]] = [
        f"From each owner {data.records:,} values, none below {data.low} or above {data.high}: {what}."
    ]
    if terms.purpose:
        lines.append(f"The buyer's purpose, in its own words: {terms.purpose}")
    rules = {
        "exogenous": f"It buys the best data that {limit} can pay for.",
        "endogenous": f"It buys if data and payments together are better than buying nothing, which costs it {limit}.",
        "joint": f"It buys so that its loss and its payments together are least; buying nothing would cost it {limit}.",
    }
    together = {
        "mixture": "the winners' noised values put together, each winner counting alike",
        "euclidean": "the mean of the winners' noised series, value by value",
        "barycenter": "the winners' noised values averaged by rank, from the smallest to the largest",
    }[terms.delivery.aggregate]
    single = "and each winner's own noised series." if terms.delivery.individual else "and no winner's own series."
    lines += [
        rules[rule.mechanism],
        f"It gets {together}, {single}",
        f"From {terms.least_owners:,} to {terms.most_owners:,} owners take part; with fewer the market is called off.",
    ]
    return lines


_PAID = {
    "clock": "Offers fall step by step, by rules that were fixed before anybody bid. Who asks for more than its offer "
    "leaves; who is still there when the money suffices is paid its offer.",
    "threshold": "A winner is paid the highest price at which it would still have been bought.",
    "virtual": "A winner's payment is worked out from its own price by a formula.",
}
_HONEST = (
    "Ask for the least that you would really accept: that is best for you here, whatever others do. Your price decides "
    "whether you are bought, not what you are paid, and you are never paid less than it. Asking for more can only lose "
    "you the sale; asking for less can only sell below what you want."
)
_STRATEGIC = (
    "Asking for the least that you would accept is NOT best here: asking for more often pays more, and may lose you "
    "the sale. How much more to ask is for you to judge."
)


def _paid(terms: Terms) -> list[str | tuple[str, str]]:
    return [_PAID[terms.rule.payments], _HONEST if truth_is_best(terms) else _STRATEGIC]


def _when(terms: Terms, about: dict[str, Any]) -> list[str | tuple[str, str]]:
    schedule, now = terms.schedule, about["now"]
    lines: list[str | tuple[str, str]] = [
        ("Enrolment ends", when(about["enrol_until"], now)),
        ("Bidding ends", when(about["bid_until"], now)),
    ]
    if about["deliver_until"] is None:
        lines.append(("Delivery", f"within {span(schedule.deliver_within)} of the clearing"))
    else:
        lines.append(("Delivery ends", when(about["deliver_until"], now)))
    if about["settle_at"] is None:
        lines.append(("Payment", f"{span(schedule.dispute_within)} after delivery, unless somebody objects"))
    else:
        lines.append(("Payment", when(about["settle_at"], now)))
    if schedule.early:
        lines.append("A stage ends sooner when there is nobody left to wait for.")
    lines.append(clock_line(now))
    return lines


def _seen(terms: Terms) -> list[str | tuple[str, str]]:
    trustees = terms.trustees
    names = ", ".join(member.name for member in trustees.members)
    count = len(trustees.members)
    opened = (
        f"{trustees.threshold} of {count} trustees open it together ({names})"
        if count > 1
        else f"one trustee opens it ({names})"
    )
    return [
        ("Your distance", _distance(terms)),
        (
            "Your price",
            f"nobody, the market neither, until bidding is over. Then {opened}, and the market clears with it. After "
            "that an auditor may see it: to that you consent by enrolling. The buyer and other owners never do.",
        ),
        ("Your payment", "the buyer and the operator, if you win."),
        (
            "Your name",
            "another one in every market, made from a key. The operator alone knows the account behind it. Whoever "
            "takes part in the market sees which names enrolled, bid, were bought and delivered.",
        ),
    ]


def _distance(terms: Terms) -> str:
    way = terms.valuation.way
    if way == "private":
        return (
            "the market, and nobody else. Three parties compute it on shares of the data: one of them alone learns "
            "nothing, two together could put your data together. Nobody sees the target."
        )
    if way == "public":
        return "the market. Your machine computes it from the target, which is published with the terms."
    return "the market. You state it yourself, and nobody can check it."


def leaving(terms: Terms, distance: str | None = None) -> list[tuple[str, str]]:
    """What leaves the owner's machine, step by step. distance: what the enrolment says, if that is known."""
    enrolling = "a new public key, and a salted hash of your data, which tells nothing about them"
    if terms.valuation.way == "public":
        enrolling += f"; your distance from the target{'' if distance is None else f', {distance}'}"
    elif terms.valuation.way == "declared":
        enrolling += f"; the distance that you state{'' if distance is None else f', {distance}'}"
    found = [("When you enrol", enrolling)]
    if terms.valuation.way == "private":
        found.append(("To be valued", "three shares of your data, one for each party; each alone is random numbers"))
    noise = {"laplace": "Laplace", "gaussian": "Gaussian"}[terms.privacy.noise]
    return [
        *found,
        ("When you bid", "your price and your epsilon, sealed"),
        ("If you are bought", f"your values with {noise} noise that hides {hides(terms.privacy.unit)}"),
    ]


def never_leaving() -> list[str]:
    """What stays."""
    return ["your data as they are", "your keys", "your price before bidding is over", "your epsilon balance"]
