"""Whether an owner's data, its balance and what it asks for fit a market's terms: seen here, before anything leaves.

Each error names the place and the value, and says what to do. What the server would refuse is refused here first, so
that a mistake costs neither privacy nor time.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from math import ceil
from typing import Any

from pydantic import ValidationError

from kantor.errors import EvidenceError, InputError
from kantor.owners.distributions import Vector
from kantor.owners.release import Unit
from kantor.service.agent.home import Home
from kantor.service.promises import fixed
from kantor.service.statements import Ask
from kantor.service.terms import Terms

__all__ = ["ask_of", "check_unit", "decimal", "distance_of", "fitting_data", "hides", "names_a_file", "terms_of"]

_MOST = 10**15
_FARTHEST = Decimal(10**12)
_DIGITS = 9
_READ: dict[str, tuple[dict[str, Any], Terms]] = {}
"""The terms that were read last: a market is asked for again and again, and a long target takes time to read."""


def terms_of(found: dict[str, Any]) -> Terms:
    """The terms of a market as the server tells it, if they are those of their digest."""
    plain, known = found["terms"], _READ.get(found["terms_digest"])
    if known is not None and known[0] == plain:
        return known[1]
    if names_a_file(str(plain.get("rule", {}).get("prior", ""))):
        raise EvidenceError("the terms' prior names a file to read on your machine", remedy="Do not take part.")
    try:
        terms = Terms.model_validate(plain)
    except ValidationError as fault:
        raise EvidenceError(
            f"the terms cannot be read ({fault.error_count()} faults)",
            remedy="The market may run another version of kantor. Ask the operator which.",
        ) from fault
    if terms.digest != found["terms_digest"]:
        raise EvidenceError("the terms are not those of their digest", remedy="Do not take part.")
    _READ.clear()
    _READ[terms.digest] = plain, terms
    return terms


def names_a_file(prior: str) -> bool:
    """Whether reading a prior would open a file: on this machine it would be another file than on the market's."""
    name, _, rest = prior.partition(":")
    return name.strip() == "answers" and not set(rest) <= set("0123456789+-.eE: ")


def fitting_data(home: Home, terms: Terms) -> Vector:
    """The data, if they are what the terms ask for."""
    series, low, high = home.series, float(terms.data.low), float(terms.data.high)
    data = series.values
    if data.size != terms.data.records:
        raise InputError(
            f"the series has {data.size:,} values, and this market asks for {terms.data.records:,}",
            remedy=f"It wants: {terms.data.what}. Give a file with that.",
            file=series.file,
            column=series.column,
        )
    outside = (data < low) | (data > high)
    if outside.any():
        first, others = int(outside.argmax()), int(outside.sum()) - 1
        more = f" (and {others:,} more)" if others else ""
        raise InputError(
            f"the value is {data[first]:g}, outside the market's limits {low:g} to {high:g}{more}",
            remedy="Check its unit. If it is right, this market does not fit these data. Nothing was sent.",
            value=float(data[first]),
            **series.place(first),
        )
    return data


def check_unit(home: Home, terms: Terms) -> None:
    """Whether the balance counts losses of what this market's noise hides."""
    counted, hidden = home.balance.unit, terms.privacy.unit
    if counted != hidden:
        raise InputError(
            f"this market's noise hides {hides(hidden)}, and your balance counts losses of {hides(counted)}",
            remedy="The two do not add up. Take part with a home that has another unit: kantor owner init --unit "
            f"{hidden} --home FOLDER",
            file=home.folder,
        )


def hides(unit: Unit) -> str:
    """Whose secret a unit of privacy keeps, in words."""
    return {"record": "any one value", "series": "the whole series"}.get(str(unit), f"any {unit} values together")


def distance_of(terms: Terms, data: Vector, stated: str | None) -> str | None:
    """What an enrolment says of the distance: nothing if it is computed privately."""
    if terms.valuation.way != "declared" and stated is not None:
        raise InputError(
            "this market does not let owners declare their distance",
            remedy="Leave --distance out.",
            value=stated,
            argument="--distance",
        )
    if terms.valuation.way == "private":
        return None
    if terms.valuation.way == "public":
        from kantor.valuation.wasserstein import wasserstein

        return fixed(wasserstein(data, [float(value) for value in terms.valuation.target]))
    if stated is None:
        raise InputError("this market lets owners declare their distance", remedy="Give one: --distance 1.25")
    distance = decimal(stated, "--distance")
    if not 0 <= distance < _FARTHEST:
        raise InputError(
            f"the distance is {stated}",
            remedy="Give a number from 0 to below 1,000,000,000,000.",
            value=stated,
            argument="--distance",
        )
    return fixed(float(distance))


def ask_of(terms: Terms, reserve: int, epsilon: str) -> Ask:
    """A price and an epsilon, if the terms allow them: what they do not allow is left out at the clearing."""
    from kantor.bids.priors import Priors

    priors = Priors.of(terms.rule.prior_distribution(), 1)
    low, high = (float(end) for end in priors.distinct[0].support())
    if not low <= reserve <= high:
        show = terms.money.show
        raise InputError(
            f"a price of {show(reserve)} cannot win: this market holds prices from {show(ceil(low))} to "
            f"{show(int(min(high, _MOST)))} possible",
            remedy="Ask for a price between the two, or do not bid.",
            value=reserve,
        )
    number = decimal(epsilon, "--epsilon")
    if not terms.privacy.epsilon_low <= number <= terms.privacy.epsilon_high:
        raise InputError(
            f"epsilon {epsilon} is outside the market's limits",
            remedy=f"Choose from {terms.privacy.epsilon_low} to {terms.privacy.epsilon_high}.",
            value=epsilon,
        )
    text = f"{number.normalize():f}"
    if len(text.partition(".")[2]) > _DIGITS:
        raise InputError(
            f"epsilon {epsilon} has more than {_DIGITS} digits after the point", remedy="Round it.", value=epsilon
        )
    return Ask(reserve=reserve, epsilon=text)


def decimal(text: str, argument: str) -> Decimal:
    """A number as it was written; an error that names the option for what is none."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        raise InputError(
            f"{text!r} is no number", remedy="Write it with a point, such as 1.25.", value=text, argument=argument
        )
    return number
