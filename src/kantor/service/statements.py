"""What owners sign: to join, to bid, to take a bid back, to deliver.

Each statement names the market, the owner and the terms that it is about, so it can be used nowhere else. Agent, server
and auditor read the same definitions.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from kantor.evidence.canonical import digest

__all__ = ["Ask", "Bid", "Delivery", "Enrolment", "Withdrawal", "bid_digest", "context_of", "name_of"]

_HEX64 = "^[0-9a-f]{64}$"
_OWNER = "^[0-9a-f]{20}$"
_NONCE = "^[0-9a-f]{32}$"
_DISTANCE = r"^(0|[1-9][0-9]{0,11})\.[0-9]{6}$"
_EPSILON = r"^(0|[1-9][0-9]{0,5})(\.[0-9]{1,9})?$"


class _Statement(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    def plain(self) -> dict[str, Any]:
        """As it is signed."""
        return self.model_dump(mode="json")


class Enrolment(_Statement):
    """What an owner signs to join."""

    market: str = Field(max_length=40)
    terms: str = Field(pattern=_HEX64, description="The digest of the terms that it has read.")
    key: str = Field(pattern=_HEX64, description="Its public key in this market.")
    commitment: str = Field(pattern=_HEX64, description="The salted hash of its data.")
    distance: str | None = Field(
        default=None, pattern=_DISTANCE, description="How far its data lie from the target, where it says so itself."
    )
    consent: Literal[True] = Field(description="An auditor may see this owner's bid after the clearing.")


class Bid(_Statement):
    """What an owner signs to bid: the sealed envelope, and what it is bound to."""

    market: str = Field(max_length=40)
    owner: str = Field(pattern=_OWNER)
    terms: str = Field(pattern=_HEX64)
    key: str = Field(pattern=_HEX64, description="The digest of the market's key.")
    nonce: str = Field(pattern=_NONCE)
    envelope: dict[str, Any] = Field(description="What `kantor.sealing.envelope.seal` made.", max_length=8)


class Ask(_Statement):
    """What is in an envelope: the least the owner wants to be paid, and how much noise it will add."""

    reserve: int = Field(ge=0, le=10**15, strict=True, description="In minor units.")
    epsilon: str = Field(pattern=_EPSILON)


class Withdrawal(_Statement):
    """What an owner signs to take its bid back."""

    market: str = Field(max_length=40)
    owner: str = Field(pattern=_OWNER)
    nonce: str = Field(pattern=_NONCE, description="The nonce of the bid that is withdrawn.")


class Delivery(_Statement):
    """What a winner signs: which values, and the promise that they keep."""

    market: str = Field(max_length=40)
    owner: str = Field(pattern=_OWNER)
    values: str = Field(pattern=_HEX64, description="SHA-256 of the values, as little-endian float64.")
    manifest: dict[str, str | int | None] = Field(description="The promise; numbers that are not whole as text.")


def name_of(market: str, key: str) -> str:
    """An owner's name in a market: made from the market and its key, it says nothing of the account behind it."""
    return digest("owner", {"market": market, "key": key})[:20]


def context_of(bid: dict[str, Any]) -> dict[str, str]:
    """What an envelope is bound to."""
    return {name: bid[name] for name in ("market", "owner", "terms", "key", "nonce")}


def bid_digest(bid: dict[str, Any]) -> str:
    """What stands for a bid in receipts and under the root."""
    return digest("bid", bid)
