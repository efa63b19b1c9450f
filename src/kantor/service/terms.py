"""A market's terms: everything that is fixed, published and the same for all before anybody takes part.

A buyer writes them, `open` freezes them, and their digest stands in every enrolment, bid and receipt. Numbers that are
not whole are decimal texts ("0.95"), so that the terms have one written form and no reader rounds them differently.
Prices, budgets and priors are in minor units of the currency (cents).
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, model_validator

from kantor.delivery.money import Currency
from kantor.evidence.canonical import digest
from kantor.sealing.terms import Terms as SealingTerms
from kantor.sealing.terms import Trustee
from kantor.service.beliefs import check_prior

__all__ = [
    "Data",
    "Delivery",
    "Instant",
    "Privacy",
    "Rule",
    "Schedule",
    "Terms",
    "TrusteeEntry",
    "Trustees",
    "Valuation",
    "instant",
]


def instant(moment: datetime) -> str:
    """A moment as text in UTC: it sorts as it reads."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _aware(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("give a time with its zone, such as 2026-12-01T12:00:00Z")
    return moment.astimezone(UTC)


def _finite(value: Decimal) -> Decimal:
    if not value.is_finite():
        raise ValueError("give a finite number")
    return value


Instant: TypeAlias = Annotated[datetime, AfterValidator(_aware), PlainSerializer(instant, return_type=str)]
Number: TypeAlias = Annotated[
    Decimal,
    Field(max_digits=30, decimal_places=15),
    AfterValidator(_finite),
    PlainSerializer(lambda value: f"{value.normalize():f}", return_type=str),
]
Amount: TypeAlias = Annotated[int, Field(ge=0, le=10**15)]


def _printable(text: str) -> str:
    if any(not (letter.isprintable() or letter in "\n\t") for letter in text):
        raise ValueError("write plain text, without control characters")
    return text


Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=4000), AfterValidator(_printable)]
Line: TypeAlias = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_printable)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Rule(_Part):
    """Whom to buy from, and what to pay."""

    mechanism: Literal["exogenous", "endogenous", "joint"] = Field(
        description="exogenous: the best data for a budget. endogenous: the best data that beat a reference loss. "
        "joint: the least sum of loss and payments."
    )
    limit: Amount = Field(description="The budget, or the reference loss, in minor units.")
    lipschitz: Number = Field(
        default=Decimal(1), gt=0, description="K: what a unit of distance costs the buyer, in minor units."
    )
    feasibility: Literal["pointwise", "interim"] = "pointwise"
    payments: Literal["threshold", "clock", "virtual"] = Field(
        default="clock",
        description="clock: never over budget. threshold: the highest price at which a winner would still have been "
        "bought; the deposit has to cover the worst case. virtual: as the paper prints it, not truthful.",
    )
    confidence: Number = Field(default=Decimal("0.95"), ge=0, lt=1)
    population: Literal["finite", "infinite"] = "finite"
    population_size: int | None = Field(
        default=None, ge=1, le=10**9, description="How many owners define the target; those valued unless given."
    )
    prior: Annotated[Line, AfterValidator(check_prior)] = Field(
        description="What is believed of owners' prices beforehand, in minor units: uniform:0:500 for 0 to 5.00."
    )

    @model_validator(mode="after")
    def _sound(self) -> Rule:
        self.prior_distribution()
        if self.mechanism == "joint" and self.feasibility == "interim":
            raise ValueError("joint has no interim budget: leave feasibility out")
        if self.payments == "virtual" and self.feasibility == "interim":
            raise ValueError("payments as printed have no upper limit with an interim budget: choose another")
        if self.mechanism == "exogenous" and self.lipschitz != 1:
            raise ValueError("exogenous has no task: leave lipschitz out")
        return self

    def prior_distribution(self) -> Any:
        """The prior, as `kantor.Bids` takes it."""
        from kantor.bids.notation import parse_prior
        from kantor.bids.priors import Priors

        found = parse_prior(self.prior)
        Priors.of(found, 1)
        return found


class Valuation(_Part):
    """How distances come about, and who learns what by it."""

    way: Literal["private", "public", "declared"] = Field(
        description="private: computed by three parties, nobody sees the target or another's data. public: the target "
        "is published and owners compute their own. declared: owners state a distance, which nobody can check."
    )
    method: dict[str, str | int] = Field(
        default_factory=dict, description="private: the method and its parameters, as `kantor party` takes them."
    )
    target: tuple[Number, ...] = Field(default=(), max_length=20_000, description="public: the target's samples.")
    roster: str | None = Field(
        default=None, max_length=64, description="private: the digest of the parties' roster; filled in when opened."
    )

    @model_validator(mode="after")
    def _whole(self) -> Valuation:
        if (self.way == "private") != bool(self.method):
            raise ValueError("give a method for private valuation, and for no other")
        if (self.way == "public") != bool(self.target):
            raise ValueError("give the target's samples for public valuation, and for no other")
        if self.way == "private":
            self.method_object()
        return self

    def method_object(self) -> Any:
        """The method that the parties run."""
        from kantor.private.methods import method_from

        texts = {"method", "family", "aggregate", "reveal"}
        plain = {
            name: float(value) if isinstance(value, str) and name not in texts else value
            for name, value in self.method.items()
        }
        return method_from(plain)


class Data(_Part):
    """What an owner's series has to be."""

    what: Text = Field(description="In words: which quantity, in which unit, over which time.")
    records: int = Field(ge=1, le=1_000_000, description="How many values each owner's series has.")
    low: Number = Field(description="No value is below this.")
    high: Number = Field(description="No value is above this.")

    @model_validator(mode="after")
    def _ordered(self) -> Data:
        if self.low >= self.high:
            raise ValueError("low has to be below high")
        return self


class Privacy(_Part):
    """The noise that winners add before anything leaves their machine."""

    noise: Literal["laplace", "gaussian"] = "laplace"
    unit: Literal["record", "series"] | Annotated[int, Field(ge=1)] = Field(
        default="record", description="Whose secret is kept: any one value, the whole series, or so many values."
    )
    epsilon_low: Number = Field(default=Decimal("0.1"), gt=0)
    epsilon_high: Number = Field(default=Decimal(10), gt=0, description="Owners choose between the two.")
    delta: Number | None = Field(default=None, gt=0, lt=1)

    @model_validator(mode="after")
    def _sound(self) -> Privacy:
        if (self.noise == "gaussian") != (self.delta is not None):
            raise ValueError("give delta for gaussian noise, and for no other")
        if self.epsilon_low > self.epsilon_high:
            raise ValueError("epsilon_low has to be at most epsilon_high")
        return self


class TrusteeEntry(_Part):
    """One who keeps a part of the market's key."""

    name: Line
    signing: str = Field(pattern="^[0-9a-f]{64}$", description="Its public keys, as `kantor trustee init` prints them.")
    receiving: str = Field(pattern="^[0-9a-f]{64}$")


class Trustees(_Part):
    """Who can open bids together."""

    threshold: int = Field(default=2, ge=1, le=10)
    members: tuple[TrusteeEntry, ...] = Field(min_length=1, max_length=10)

    @model_validator(mode="after")
    def _enough(self) -> Trustees:
        if self.threshold > len(self.members):
            raise ValueError("more trustees are needed to open bids than there are")
        if len({member.signing for member in self.members}) < len(self.members):
            raise ValueError("two trustees have one key")
        return self

    def sealing(self, market: str) -> SealingTerms:
        """The same, as the making of a market's key takes it."""
        known = tuple(Trustee(member.name, member.signing, member.receiving) for member in self.members)
        return SealingTerms(market, known, self.threshold)


class Schedule(_Part):
    """When what ends, by the server's clock."""

    enrol_until: Instant
    bid_until: Instant
    deliver_within: int = Field(default=7 * 86400, ge=1, le=366 * 86400, description="Seconds after the clearing.")
    dispute_within: int = Field(default=3 * 86400, ge=0, le=366 * 86400, description="Seconds after the deliveries.")
    early: bool = Field(default=False, description="Whether a stage ends as soon as there is nobody left to wait for.")

    @model_validator(mode="after")
    def _ordered(self) -> Schedule:
        if self.enrol_until >= self.bid_until:
            raise ValueError("enrolment has to end before bidding does")
        return self


class Delivery(_Part):
    """What the buyer receives."""

    aggregate: Literal["euclidean", "mixture", "barycenter"] = "mixture"
    individual: bool = Field(default=False, description="Whether the buyer also gets each winner's noised series.")
    doubt_rate: Number = Field(
        default=Decimal("0.0001"), gt=0, lt=1, description="How often an honest delivery may be doubted by chance."
    )


class Terms(_Part):
    """A market's parameters."""

    title: Line
    purpose: Annotated[str, Field(max_length=4000), AfterValidator(_printable)] = ""
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")] = "EUR"
    digits: int = Field(default=2, ge=0, le=6)
    rule: Rule
    valuation: Valuation
    data: Data
    privacy: Privacy = Privacy()
    trustees: Trustees
    schedule: Schedule
    delivery: Delivery = Delivery()
    least_owners: int = Field(default=2, ge=1, le=10**6, description="With fewer the market is cancelled.")
    most_owners: int = Field(default=10_000, ge=1, le=10**6)

    @model_validator(mode="after")
    def _consistent(self) -> Terms:
        if self.least_owners > self.most_owners:
            raise ValueError("least_owners has to be at most most_owners")
        unit = self.privacy.unit
        if isinstance(unit, int) and unit > self.data.records:
            raise ValueError("the unit of privacy is longer than a series")
        return self

    @property
    def money(self) -> Currency:
        """The currency of all amounts."""
        return Currency(self.currency, self.digits)

    @cached_property
    def plain(self) -> dict[str, Any]:
        """The terms as they are signed and hashed."""
        return self.model_dump(mode="json")

    @cached_property
    def digest(self) -> str:
        """What stands for these terms in every signed statement."""
        return digest("terms", self.plain)
