"""What travels, with examples: requests as they are checked, answers as they are described."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from kantor.service.statements import Bid, Delivery, Enrolment, Withdrawal

__all__ = [
    "AccountIn",
    "AccountOut",
    "BidIn",
    "BidOut",
    "CancelIn",
    "DecisionIn",
    "DeliveryIn",
    "DepositIn",
    "DepositOut",
    "DisputeIn",
    "DoubtOut",
    "EnrolmentIn",
    "EnrolmentOut",
    "Inclusion",
    "Invitation",
    "MarketBrief",
    "MarketOut",
    "Me",
    "MessageIn",
    "Page",
    "Receipt",
    "TokenIn",
    "TokenOut",
    "WithdrawalIn",
]

_SIGNATURE = Field(pattern="^[0-9a-f]{128}$", description="Ed25519, by the owner's key, in hexadecimal.")


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid")


class AccountIn(_In):
    """A new account."""

    name: str = Field(min_length=1, max_length=200, examples=["Household 17"])
    role: Literal["operator", "buyer", "owner", "auditor", "trustee"]


class AccountOut(BaseModel):
    """An account."""

    id: str
    name: str
    role: str
    created_at: str
    created_by: str | None


class TokenIn(_In):
    """A new token for an account."""

    account: str = Field(max_length=40)
    label: str = Field(default="", max_length=200)
    scopes: list[str] | None = Field(default=None, max_length=20, description="All of the role's unless given.")
    market: str | None = Field(default=None, max_length=40, description="For this market alone.")
    expires_in: int | None = Field(default=None, ge=1, le=10 * 366 * 86400, description="Seconds.")


class TokenOut(BaseModel):
    """A token. Its text is told to whoever makes it, and never again after this request."""

    id: str
    account: str
    scopes: str
    market: str | None
    label: str
    created_at: str
    expires_at: str | None
    revoked_at: str | None = None
    token: str | None = None


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


class Page(BaseModel):
    """A part of a list. next: what to send as `after` for the following part."""

    items: list[dict[str, Any]]
    next: str | None


class DepositIn(_In):
    """What a buyer has paid in."""

    amount: int = Field(ge=1, le=10**15, description="In minor units.", examples=[50000])
    reference: str = Field(default="", max_length=200, examples=["transfer 2026-11-20"])


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

    reason: str = Field(min_length=1, max_length=500)


class EnrolmentIn(_In):
    """An owner joins."""

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

    bid: Bid
    signature: str = _SIGNATURE


class WithdrawalIn(_In):
    """A bid is taken back."""

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

    message: dict[str, Any]


class DeliveryIn(_In):
    """A winner's noised values."""

    delivery: Delivery
    signature: str = _SIGNATURE
    values: str = Field(max_length=12_000_000, description="Base64 of little-endian float64.")


class DisputeIn(_In):
    """Somebody objects."""

    owner: str = Field(default="", pattern="^([0-9a-f]{20})?$", description="Whose delivery; an owner leaves it out.")
    text: str = Field(min_length=1, max_length=2000)


class DecisionIn(_In):
    """The operator decides on a doubt."""

    decision: Literal["pay", "refuse"]
    reason: str = Field(min_length=1, max_length=2000)


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
