"""Who the trustees of a market are, and how many of them it takes.

A market's published terms fix its trustees before anything is sealed: for each a name, a key that it signs with
(Ed25519) and a key that it receives shares with (X25519). Everything in a ceremony is bound to the digest of these
terms. So whoever knows the terms knows whose signatures a market key must carry, and the market itself can put nobody
in a trustee's place. Trustees are counted from 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kantor.errors import InputError
from kantor.evidence.canonical import digest
from kantor.sealing.forms import read_bytes, read_record

__all__ = ["MOST", "Terms", "Trustee"]

MOST = 100


@dataclass(frozen=True)
class Trustee:
    """A trustee as everybody knows it: keys in hexadecimal."""

    name: str
    signing: str
    receiving: str

    def as_dict(self) -> dict[str, str]:
        """As plain data."""
        return {"name": self.name, "signing": self.signing, "receiving": self.receiving}


@dataclass(frozen=True)
class Terms:
    """A market (its id), its trustees in order, and how many of them open a bid."""

    market: str
    trustees: tuple[Trustee, ...]
    threshold: int = 2

    def __post_init__(self) -> None:
        count = len(self.trustees)
        if not 1 <= self.threshold <= count <= MOST:
            raise InputError(
                f"{self.threshold} of {count} trustees is no threshold",
                remedy=f"Name 1 to {MOST} trustees, and a threshold from 1 to their number; 2 of 3 is usual.",
                value=self.threshold,
                argument="threshold",
            )
        for what in ("name", "signing", "receiving"):
            if len({getattr(trustee, what) for trustee in self.trustees}) < count:
                raise InputError(
                    f"two trustees have the same {what}" + (" key" if what != "name" else ""),
                    remedy="One person in two places is one trustee less. Name each once.",
                    argument="trustees",
                )
        for trustee in self.trustees:
            read_bytes(trustee.signing, f"the signing key of trustee {trustee.name}", 32)
            read_bytes(trustee.receiving, f"the receiving key of trustee {trustee.name}", 32)

    @classmethod
    def read(cls, plain: Any) -> Terms:
        """From plain data."""
        fields = read_record(plain, "the terms", market=str, threshold=int, trustees=list)
        people = [read_record(each, "a trustee", name=str, signing=str, receiving=str) for each in fields["trustees"]]
        return cls(fields["market"], tuple(Trustee(**each) for each in people), fields["threshold"])

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "market": self.market,
            "threshold": self.threshold,
            "trustees": [trustee.as_dict() for trustee in self.trustees],
        }

    @cached_property
    def digest(self) -> str:
        """What everything in a ceremony is bound to."""
        return digest("sealing terms", self.as_dict())

    def place(self, signing: str, receiving: str) -> int:
        """The number of the trustee with these keys."""
        for place, trustee in enumerate(self.trustees, 1):
            if (trustee.signing, trustee.receiving) == (signing, receiving):
                return place
        raise InputError(
            f"no trustee of market {self.market} has the signing key {signing[:16]}... and this receiving key",
            remedy="Use the folder that holds this trustee's keys, and the terms that the market has published.",
        )

    def named(self, place: int) -> str:
        """For messages: the number and the name."""
        return f"trustee {place} ({self.trustees[place - 1].name})"
