"""What travels, with examples: requests as they are checked, answers as they are described."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from kantor.service.http.plain import LongText, Plain, PlainBid, PlainDelivery, Text
from kantor.service.statements import Enrolment, Withdrawal

__all__ = [
    "AccountIn",
    "AccountOut",
    "BidIn",
    "BidOut",
    "CancelIn",
    "ClosedOut",
    "DecisionIn",
    "DeliveryIn",
    "DepositIn",
    "DepositOut",
    "DisputeIn",
    "DoubtOut",
    "EnrolmentIn",
    "EnrolmentOut",
    "EventOut",
    "Inclusion",
    "Invitation",
    "MarketBrief",
    "MarketOut",
    "Me",
    "MessageIn",
    "Page",
    "Posted",
    "PurchaseOut",
    "Receipt",
    "ResultOut",
    "Revoked",
    "TokenIn",
    "TokenOut",
    "TokenSeen",
    "WithdrawalIn",
]

T = TypeVar("T")
_SIGNATURE = Field(pattern="^[0-9a-f]{128}$", description="Ed25519, by the owner's key, in hexadecimal.")
_Id: TypeAlias = Annotated[str, StringConstraints(max_length=40, pattern="^[0-9a-f]+$")]


_HEX64 = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
_SIGNED = "00" * 64
_OWNER = {"market": "9f2c5a1b7d3e4f60", "owner": "5e884898da28047151d0"}


class _In(BaseModel):
    """What comes in: nothing that is not named here."""

    model_config = ConfigDict(extra="forbid")


def _like(**example: Any) -> ConfigDict:
    """What comes in, and how it looks."""
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [example]})


Scope: TypeAlias = Literal[
    "read", "accounts", "deposits", "doubts", "cancel", "buy", "purchase", "dispute", "enrol", "bid", "deliver",
    "audit", "trustee",
]  # fmt: skip


class AccountIn(_In):
    """A new account."""

    name: Text = Field(min_length=1, examples=["Household 17"])
    role: Literal["operator", "buyer", "owner", "auditor", "trustee"] = Field(examples=["owner"])


class AccountOut(BaseModel):
    """An account."""

    id: str
    name: str
    role: str
    created_at: str
    created_by: str | None


class TokenIn(_In):
    """A new token for an account."""

    account: _Id = Field(examples=["6a1f0c9d2b7e4a535e10"])
    label: Text = Field(default="", examples=["the agent at home"])
    scopes: list[Scope] | None = Field(
        default=None, min_length=1, max_length=20, description="All of the role's unless given.", examples=[["read"]]
    )
    market: _Id | None = Field(default=None, description="For this market alone.")
    expires_in: int | None = Field(
        default=None, strict=True, ge=1, le=10 * 366 * 86400, description="Seconds.", examples=[86400]
    )


class TokenSeen(BaseModel):
    """A token, without its text."""

    id: str
    account: str
    scopes: str
    market: str | None
    label: str
    created_at: str
    expires_at: str | None
    revoked_at: str | None = None


class TokenOut(TokenSeen):
    """A new token. Its text is told to whoever makes it, and never again after this request."""

    token: str


class Me(BaseModel):
    """Who asks."""

    account: str
    role: str
    scopes: list[str]
    market: str | None


class MarketBrief(BaseModel):
    """A market in a list."""

    id: str
    title: str
    state: str
    created_at: str
    enrol_until: str
    bid_until: str


class MarketOut(MarketBrief):
    """A market."""

    terms: dict[str, Any]
    terms_digest: str
    server_key: str
    now: str = Field(description="The server's clock.")
    log: dict[str, Any]
    root: str | None
    market_key: dict[str, Any] | None
    owners: int
    bids: int
    deliver_until: str | None
    settle_at: str | None
    funds: dict[str, Any] | None = None
    trouble: str | None = None


class Page(BaseModel, Generic[T]):
    """A part of a list. next: what to send as `after` for the following part."""

    items: list[T]
    next: str | None


class DepositIn(_In):
    """What a buyer has paid in."""

    amount: int = Field(strict=True, ge=1, le=10**15, description="In minor units.", examples=[50000])
    reference: Text = Field(default="", examples=["transfer 2026-11-20"])


class DepositOut(BaseModel):
    """A deposit; it counts when the operator has confirmed it."""

    id: str
    market: str
    amount: int
    reference: str
    announced_at: str
    confirmed_at: str | None


class CancelIn(_In):
    """Why a market is called off."""

    reason: LongText = Field(min_length=1, max_length=500, examples=["The study is called off."])


class EnrolmentIn(_In):
    """An owner joins."""

    model_config = _like(
        enrolment={
            "market": _OWNER["market"],
            "terms": _HEX64,
            "key": _HEX64,
            "commitment": _HEX64,
            "distance": "1.250000",
            "consent": True,
        },
        signature=_SIGNED,
    )

    enrolment: Enrolment
    signature: str = _SIGNATURE


class EnrolmentOut(BaseModel):
    """An owner's place in a market."""

    market: str
    owner: str
    key: str
    commitment: str
    at: str
    distance: str | None
    excluded: str | None


class Invitation(BaseModel):
    """What an owner needs to send its shares to the parties; empty until they wait for it."""

    ready: bool
    roster: dict[str, Any] | None = None
    session: str | None = None
    name: str | None = None
    token: str | None = None


class BidIn(_In):
    """A sealed bid."""

    model_config = _like(
        bid={
            **_OWNER,
            "terms": _HEX64,
            "key": _HEX64,
            "nonce": _HEX64[:32],
            "envelope": {
                "point": _HEX64,
                "second": _HEX64,
                "sealed": "00" * 272,
                "proof": {"challenge": _HEX64, "response": _HEX64},
            },
        },
        signature=_SIGNED,
    )

    bid: PlainBid
    signature: str = _SIGNATURE


class WithdrawalIn(_In):
    """A bid is taken back."""

    model_config = _like(withdrawal={**_OWNER, "nonce": _HEX64[:32]}, signature=_SIGNED)

    withdrawal: Withdrawal
    signature: str = _SIGNATURE


class Receipt(BaseModel):
    """What the server signed: that this was done, and where it stands in the log."""

    what: Literal["bid", "withdrawn", "delivered"]
    market: str
    owner: str
    number: int | None = None
    nonce: str | None = None
    bid: str | None = None
    delivery: str | None = None
    at: str
    seq: int
    log: str
    signature: str
    server: str


class BidOut(BaseModel):
    """One of the caller's own bids."""

    number: int
    state: Literal["standing", "replaced", "withdrawn"]
    nonce: str
    at: str
    receipt: Receipt


class Inclusion(BaseModel):
    """That a bid is under the root of those that count."""

    root: str
    index: int
    size: int
    leaf: str
    proof: list[str]


class MessageIn(_In):
    """A trustee's message for a round."""

    message: Plain = Field(examples=[{"signature": "00" * 64}])


class Posted(BaseModel):
    """A trustee's message is on the board."""

    market: str
    round: str
    trustee: int


class Revoked(BaseModel):
    """A token is worth nothing any more."""

    id: str
    revoked: Literal[True]


class EventOut(BaseModel):
    """An event of a market's log. Its hash covers everything here and the hash before it."""

    market: str
    seq: int
    at: str
    kind: str
    actor: str
    body: dict[str, Any]
    previous: str
    hash: str


class ResultOut(BaseModel):
    """What came out: what everybody may know, and what the caller may know besides."""

    market: str
    state: str
    cleared: bool
    public: dict[str, Any] | None
    own: dict[str, Any] | None = Field(default=None, description="An owner's own result, signed by the server.")
    winners: list[dict[str, Any]] | None = Field(default=None, description="Whom to pay what (the buyer, operator).")
    balances: dict[str, int] | None = Field(default=None, description="The market's accounts (the buyer, operator).")


class PurchaseOut(BaseModel):
    """What was bought: values as base64 of little-endian float64; all is null if nothing was."""

    market: str
    manifest: dict[str, Any] | None
    values: str | None
    weights: str | None
    series: dict[str, str] | None


class ClosedOut(BaseModel):
    """The bids under the root, sealed, each as its owner signed it."""

    market: str
    root: str
    bids: list[dict[str, Any]]


class DeliveryIn(_In):
    """A winner's noised values."""

    model_config = _like(
        delivery={**_OWNER, "values": _HEX64, "manifest": {"mechanism": "laplace", "epsilon": "10.0", "records": 2}},
        signature=_SIGNED,
        values="AAAAAAAAFEAAAAAAAAAYQA==",
    )

    delivery: PlainDelivery
    signature: str = _SIGNATURE
    values: str = Field(max_length=12_000_000, description="Base64 of little-endian float64.")


class DisputeIn(_In):
    """Somebody objects."""

    owner: str = Field(
        default="",
        pattern="^([0-9a-f]{20})?$",
        description="Whose delivery; an owner leaves it out.",
        examples=["5e884898da28047151d0"],
    )
    text: LongText = Field(min_length=1, examples=["These are last year's data."])


class DecisionIn(_In):
    """The operator decides on a doubt."""

    decision: Literal["pay", "refuse"] = Field(examples=["pay"])
    reason: LongText = Field(min_length=1, examples=["The buyer compared with another year."])


class DoubtOut(BaseModel):
    """A doubt or a dispute."""

    id: str
    market: str
    owner: str
    raised_by: str
    text: str
    at: str
    decision: str | None = None
    reason: str | None = None
    decided_by: str | None = None
    decided_at: str | None = None
