"""A market's public key, and the shares of its secret.

The key is written as the sum of all trustees' commitments, C_0 to C_(t-1): C_0 is the point that bids are sealed to, t
of them are the threshold, and trustee i's verification point (its share in the exponent) is the sum of i^k C_k. So the
parts of a key cannot contradict each other. It also names the terms that it was made under and the digest of all
messages that made it.

A key is worth nothing by itself: a market could make one alone. It counts if *every* trustee of the published terms has
signed it, since each signs only a key that holds its own contribution and whose shares it has checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kantor.errors import EvidenceError
from kantor.evidence.canonical import digest
from kantor.evidence.signing import is_signed
from kantor.sealing.forms import read_bytes, read_list, read_record
from kantor.sealing.group import IDENTITY, Point, Scalar, read_point, read_scalar, times_base
from kantor.sealing.polynomials import value_in_exponent
from kantor.sealing.terms import MOST, Terms

__all__ = ["KIND", "KeyShare", "MarketKey", "check_market_key"]

KIND = "market key"


@dataclass(frozen=True)
class MarketKey:
    """What bids are sealed to: the market, the digests of its terms and of the ceremony, commitments as hexadecimal."""

    market: str
    terms: str
    transcript: str
    commitments: tuple[str, ...]
    trustees: int

    def __post_init__(self) -> None:
        read_bytes(self.terms, "the digest of the terms", 32)
        read_bytes(self.transcript, "the digest of the ceremony", 32)
        if not 1 <= len(self.commitments) <= self.trustees <= MOST:
            raise EvidenceError(
                f"a market key of {len(self.commitments)} commitments for {self.trustees} trustees is none",
                remedy="Do not seal to it. Get the key again from the market.",
            )
        if IDENTITY in self.verifying:
            raise EvidenceError("a share of this market key is zero", remedy="Do not seal to it; make another key.")

    @classmethod
    def read(cls, plain: Any) -> MarketKey:
        """From plain data; its points are checked, its signatures are not (`check_market_key`)."""
        fields = read_record(
            plain, "a market key", market=str, terms=str, transcript=str, commitments=list, trustees=int
        )
        return cls(**{**fields, "commitments": tuple(fields["commitments"])})

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "market": self.market,
            "terms": self.terms,
            "transcript": self.transcript,
            "commitments": list(self.commitments),
            "trustees": self.trustees,
        }

    @property
    def threshold(self) -> int:
        """How many trustees open a bid."""
        return len(self.commitments)

    @cached_property
    def digest(self) -> str:
        """What envelopes and openings are bound to."""
        return digest(KIND, self.as_dict())

    @property
    def point(self) -> Point:
        """The group key, which bids are sealed to."""
        return self._points[0]

    @cached_property
    def verifying(self) -> tuple[Point, ...]:
        """Each trustee's verification point, in their order."""
        return tuple(value_in_exponent(self._points, place) for place in range(1, self.trustees + 1))

    @cached_property
    def _points(self) -> tuple[Point, ...]:
        return tuple(read_point(point, "a commitment of the market key") for point in self.commitments)


@dataclass(frozen=True)
class KeyShare:
    """A trustee's share of a market's secret. Keep it in a file that `write_secret` makes."""

    key: str
    trustee: int
    secret: str = field(repr=False)

    @classmethod
    def read(cls, plain: Any) -> KeyShare:
        """From plain data."""
        return cls(**read_record(plain, "a key share", key=str, trustee=int, secret=str))

    def as_dict(self) -> dict[str, Any]:
        """As plain data, the secret included."""
        return {"key": self.key, "trustee": self.trustee, "secret": self.secret}

    def scalar_for(self, key: MarketKey) -> Scalar:
        """The secret, if this is a share of that key."""
        secret = read_scalar(self.secret, "the secret of a key share")
        known = 1 <= self.trustee <= key.trustees and times_base(secret) == key.verifying[self.trustee - 1]
        if self.key != key.digest or not known:
            raise EvidenceError(
                f"this share of trustee {self.trustee} belongs to another key than market {key.market}'s",
                remedy="Use the share that the ceremony for this market's key has made.",
            )
        return secret


def check_market_key(key: MarketKey, signatures: Sequence[str], terms: Terms) -> None:
    """An error unless the key was made under these terms and all their trustees have signed it (in their order)."""
    made_for = (key.market, key.terms, key.threshold, key.trustees)
    if made_for != (terms.market, terms.digest, terms.threshold, len(terms.trustees)):
        raise EvidenceError(
            f"this key was not made under the terms of market {terms.market}",
            remedy="Do not seal to it. Compare the terms that you have with those that the market has published.",
        )
    found = read_list(signatures, "the list of trustees' signatures", len(terms.trustees))
    for place, (trustee, signature) in enumerate(zip(terms.trustees, found, strict=True), 1):
        if not is_signed(trustee.signing, KIND, key.as_dict(), signature):
            raise EvidenceError(
                f"{terms.named(place)} has not signed this market key",
                remedy="Do not seal to it: a key counts only if all trustees have signed it.",
            )
