"""Making a market's key among its trustees, so that nobody ever has the secret.

Each trustee shares a secret of its own (`polynomials.py`); the market's secret is the sum of all, and exists nowhere.
This is Pedersen's key generation (1991) with a proof of knowledge added, as in FROST (Komlo and Goldberg, 2020):

1. `commit`: a trustee says its commitments. Wait for everybody's.
2. `deal`: it checks them and posts a share to every other trustee. Wait for everybody's.
3. `finish`: it checks the shares that it was dealt. Their sum is its share of the market's secret.
4. `sign`: it signs the market key, whose digest of the ceremony covers all messages. The key counts once all have
   signed: then all have seen the same messages, and each has shares that fit.

Any fault ends the ceremony and names the trustee, as far as it can be told; there is no key then, and another ceremony
has to be begun. A trustee may be killed at any time. All that it says follows from a seed and from the messages that it
has accepted; both are handed to `store` before anything that depends on them leaves the trustee. A trustee that comes
back repeats itself to the byte, and never answers twice to different messages.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from copy import deepcopy
from functools import cached_property, reduce
from pathlib import Path
from typing import Any, TypeAlias

from kantor.errors import EvidenceError, InputError, PartyError
from kantor.evidence.canonical import digest
from kantor.sealing.forms import read_bytes, read_record
from kantor.sealing.group import Scalar, hash_to_scalar, plus, times_base
from kantor.sealing.identity import TrusteeIdentity
from kantor.sealing.keys import KIND, KeyShare, MarketKey
from kantor.sealing.polynomials import value_at, value_in_exponent
from kantor.sealing.posting import post, receive
from kantor.sealing.storing import Store, in_file, read_file
from kantor.sealing.terms import Terms
from kantor.sealing.transcript import (
    COMMITMENTS,
    SHARES,
    know,
    market_key,
    read_commitments,
    read_shares,
    seen,
    signed,
)

__all__ = ["Ceremony"]

Message: TypeAlias = dict[str, Any]

_SEED = 32


class Ceremony:
    """A ceremony, as one trustee goes through it."""

    def __init__(self, identity: TrusteeIdentity, terms: Terms, seed: bytes, store: Store) -> None:
        self.terms = terms
        self.place = identity.place(terms)
        self._identity, self._seed, self._store = identity, seed, store
        self._state: dict[str, Any] = {"terms": terms.as_dict(), "seed": seed.hex(), "commitments": [], "shares": []}
        self._result: tuple[MarketKey, KeyShare] | None = None

    @classmethod
    def begin(cls, identity: TrusteeIdentity, terms: Terms, store: Store) -> Ceremony:
        """A fresh ceremony. `store` keeps the state that it is given, which is secret, and returns when it is kept."""
        ceremony = cls(identity, terms, secrets.token_bytes(_SEED), store)
        store(ceremony.dump())
        return ceremony

    @classmethod
    def load(cls, identity: TrusteeIdentity, plain: Any, store: Store) -> Ceremony:
        """A ceremony again, from what was last stored."""
        state = read_record(plain, "the state of a ceremony", terms=dict, seed=str, commitments=list, shares=list)
        seed = read_bytes(state["seed"], "the seed of a ceremony", _SEED)
        ceremony = cls(identity, Terms.read(state["terms"]), seed, lambda _: None)
        if state["commitments"]:
            ceremony.deal(state["commitments"])
        if state["shares"]:
            ceremony.finish(state["shares"])
        ceremony._store = store
        return ceremony

    @classmethod
    def at(cls, file: Path, identity: TrusteeIdentity, terms: Terms) -> Ceremony:
        """The ceremony that a file keeps; begun on first use."""
        if not file.exists():
            return cls.begin(identity, terms, in_file(file))
        ceremony = cls.load(identity, read_file(file), in_file(file))
        if ceremony.terms != terms:
            raise InputError(
                "this file keeps a ceremony under other terms",
                remedy="Keep every ceremony in a file of its own.",
                file=file,
            )
        return ceremony

    def dump(self) -> dict[str, Any]:
        """All that there is to keep, as plain data. Secret."""
        return deepcopy(self._state)

    def commit(self) -> Message:
        """The first message: this trustee's commitments."""
        points = [times_base(coefficient) for coefficient in self._polynomial]
        proof = know(self.terms, self.place, self._polynomial[0], points[0])
        return self._signed(COMMITMENTS, commitments=[point.hex() for point in points], proof=proof)

    def deal(self, messages: Sequence[Message]) -> Message:
        """The second message, after everybody's first ones (in the trustees' order): a share for each."""
        read_commitments(self.terms, messages)
        self._check_own(messages, self.commit())
        if self._commitments != list(messages):
            _refuse_change(self._commitments)
            self._keep(commitments=messages)
        return self._dealt()

    def finish(self, messages: Sequence[Message]) -> KeyShare:
        """The share of the market's secret that this trustee gets, after everybody's second messages."""
        if not self._commitments:
            raise InputError("this trustee has not dealt yet", remedy="Call deal with the first messages.")
        if self._result is None or self._shares != list(messages):
            _refuse_change(self._shares)
            posted = read_shares(self.terms, self._commitments, messages)
            self._check_own(messages, self._dealt())
            key = market_key(self.terms, self._commitments, messages)
            share = KeyShare(key.digest, self.place, reduce(plus, self._received(posted)).hex())
            self._keep(shares=messages)
            self._result = key, share
        return self.share

    @property
    def key(self) -> MarketKey:
        """The market key, after `finish`."""
        return self._finished()[0]

    @property
    def share(self) -> KeyShare:
        """The share again, after `finish`."""
        return self._finished()[1]

    def sign(self) -> str:
        """The signature of this trustee on the market key."""
        return self._identity.signer.sign(KIND, self.key.as_dict())

    def _finished(self) -> tuple[MarketKey, KeyShare]:
        if self._result is None:
            raise InputError("this ceremony is not finished", remedy="Call finish with the second messages.")
        return self._result

    @property
    def _commitments(self) -> list[Message]:
        return self._state["commitments"]

    @property
    def _shares(self) -> list[Message]:
        return self._state["shares"]

    def _keep(self, **accepted: Sequence[Message]) -> None:
        """Messages are accepted once they are stored, not before."""
        state = {**self._state, **{name: deepcopy(list(messages)) for name, messages in accepted.items()}}
        self._store(deepcopy(state))
        self._state = state

    @cached_property
    def _polynomial(self) -> list[Scalar]:
        return [hash_to_scalar("ceremony coefficient", self._derived(power)) for power in range(self.terms.threshold)]

    def _derived(self, number: int) -> dict[str, Any]:
        return {"seed": self._seed.hex(), "terms": self.terms.digest, "trustee": self.place, "number": number}

    def _dealt(self) -> Message:
        saw = seen(self._commitments)
        return self._signed(SHARES, seen=saw, shares=[self._posted(other) for other in self._places()])

    def _posted(self, other: int) -> str | None:
        if other == self.place:
            return None
        ephemeral = bytes.fromhex(digest("ceremony ephemeral", self._derived(other)))
        receiving = self.terms.trustees[other - 1].receiving
        try:
            return post(value_at(self._polynomial, other), ephemeral, receiving, self._about(self.place, other))
        except EvidenceError as fault:
            raise PartyError(
                f"nothing can be sent to {self.terms.named(other)}: {fault.problem}",
                remedy="There is no key. Publish other terms, with a proper receiving key for that trustee.",
                party=other,
            ) from fault

    def _received(self, posted: Sequence[Sequence[Any]]) -> list[Scalar]:
        known = read_commitments(self.terms, self._commitments)
        shares = []
        for dealer in self._places():
            share = self._opened(dealer, posted[dealer - 1][self.place - 1])
            if times_base(share) != value_in_exponent(known[dealer - 1], self.place):
                raise self._dealt_wrongly(dealer, "does not fit its commitments")
            shares.append(share)
        return shares

    def _opened(self, dealer: int, posted: str) -> Scalar:
        if dealer == self.place:
            return value_at(self._polynomial, self.place)
        try:
            return receive(self._identity, posted, self._about(dealer, self.place))
        except EvidenceError as fault:
            raise self._dealt_wrongly(dealer, f"cannot be read: {fault.problem}") from fault

    def _dealt_wrongly(self, dealer: int, how: str) -> PartyError:
        return PartyError(
            f"the share that {self.terms.named(dealer)} dealt to {self.terms.named(self.place)} {how} "
            "(or its recipient says so falsely)",
            remedy="There is no key. Begin another ceremony, with another trustee in its place if need be.",
            party=dealer,
        )

    def _about(self, dealer: int, recipient: int) -> dict[str, Any]:
        saw = seen(self._commitments)
        return {"terms": self.terms.digest, "dealer": dealer, "recipient": recipient, "seen": saw}

    def _signed(self, kind: str, **content: Any) -> Message:
        record = {"terms": self.terms.digest, "trustee": self.place, **content}
        return signed(self._identity.signer, kind, record)

    def _check_own(self, messages: Sequence[Message], own: Message) -> None:
        if messages[self.place - 1] != own:
            raise PartyError(
                f"{self.terms.named(self.place)} has signed another message than this one, in the same ceremony",
                remedy="It was begun twice, and one seed is lost. Begin another ceremony, under another market id.",
                party=self.place,
            )

    def _places(self) -> range:
        return range(1, len(self.terms.trustees) + 1)


def _refuse_change(before: Sequence[Message]) -> None:
    if before:
        raise PartyError(
            "the market shows other messages now than before",
            remedy="Somebody signed two messages for one round. There is no key; begin another ceremony.",
        )
