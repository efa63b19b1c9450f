"""What trustees say to each other in a ceremony, and how everybody can read it afterwards.

Messages lie with the market, which is not trusted: each is signed by its trustee and names the terms. In the first
round a trustee says its commitments, with a proof that it knows the secret behind the first one (so nobody can choose a
contribution that cancels another's). In the second it says what it saw in the first, and posts a share to every other.
All of it can be public. Whoever has it can compute the market key, and check every signature and proof.

Blame is put where it can be proved: a message that a trustee has signed and that is wrong is its fault; a message
without its signature may be anybody's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from kantor.errors import EvidenceError, PartyError
from kantor.evidence.canonical import digest
from kantor.evidence.signing import Signer, is_signed
from kantor.sealing.forms import read_bytes, read_list, read_record
from kantor.sealing.group import BASE, Point, Scalar, add, read_point
from kantor.sealing.keys import MarketKey
from kantor.sealing.posting import POSTED
from kantor.sealing.proofs import check, prove
from kantor.sealing.terms import Terms

__all__ = ["COMMITMENTS", "SHARES", "know", "market_key", "read_commitments", "read_shares", "seen", "signed"]

COMMITMENTS, SHARES = "ceremony commitments", "ceremony shares"
_KNOWLEDGE = "ceremony knowledge"
_AGAIN = "There is no key. Begin another ceremony, with another trustee in its place if need be."
_UNSIGNED = "There is no key yet. Get its message again; if it stays away, begin another ceremony without that trustee."


def signed(signer: Signer, kind: str, record: dict[str, Any]) -> dict[str, Any]:
    """A message: the record, with the signature of its trustee beside."""
    return {**record, "signature": signer.sign(kind, record)}


def know(terms: Terms, place: int, secret: Scalar, image: Point) -> dict[str, str]:
    """A trustee's proof that it knows the secret that it contributes."""
    return prove(_KNOWLEDGE, secret, (BASE,), (image,), _bound(terms, place))


def seen(messages: Sequence[Any]) -> str:
    """The digest of a round's messages, which the next round refers to."""
    return digest(COMMITMENTS, list(messages))


def read_commitments(terms: Terms, messages: Sequence[Any]) -> list[tuple[Point, ...]]:
    """Each trustee's commitments, from the first round's messages in the trustees' order; all of it checked."""
    fields: Mapping[str, type] = {"commitments": list, "proof": dict}
    return [
        _commitments(terms, place, message)
        for place, message in enumerate(_read_round(terms, COMMITMENTS, messages, fields), 1)
    ]


def read_shares(terms: Terms, before: Sequence[Any], messages: Sequence[Any]) -> list[list[Any]]:
    """What each trustee posts to each (nothing to itself), from the second round's messages; `before`: the first's."""
    posted = _read_round(terms, SHARES, messages, {"seen": str, "shares": list})
    for place, message in enumerate(posted, 1):
        if message["seen"] != seen(before):
            raise PartyError(
                f"{terms.named(place)} saw other commitments than these",
                remedy=f"Somebody, or the market, showed different messages to different trustees. {_AGAIN}",
            )
        try:
            _check_posted(terms, place, message["shares"])
        except EvidenceError as fault:
            raise _wrong(terms, place, fault) from fault
    return [message["shares"] for message in posted]


def market_key(terms: Terms, commitments: Sequence[Any], shares: Sequence[Any]) -> MarketKey:
    """The key that a ceremony makes, from its messages; the shares themselves only their recipients can check."""
    each = read_commitments(terms, commitments)
    read_shares(terms, commitments, shares)
    whole = {"terms": terms.as_dict(), "commitments": list(commitments), "shares": list(shares)}
    total = tuple(reduce(add, column).hex() for column in zip(*each, strict=True))
    return MarketKey(terms.market, terms.digest, digest("ceremony", whole), total, len(terms.trustees))


def _bound(terms: Terms, place: int) -> dict[str, Any]:
    return {"terms": terms.digest, "trustee": place}


def _commitments(terms: Terms, place: int, message: Mapping[str, Any]) -> tuple[Point, ...]:
    try:
        written = read_list(message["commitments"], "the list of commitments", terms.threshold)
        points = tuple(read_point(point, "a commitment") for point in written)
        check(_KNOWLEDGE, (BASE,), points[:1], _bound(terms, place), message["proof"])
    except EvidenceError as fault:
        raise _wrong(terms, place, fault) from fault
    return points


def _check_posted(terms: Terms, place: int, shares: list[Any]) -> None:
    for other, posted in enumerate(read_list(shares, "the list of shares", len(terms.trustees)), 1):
        if other != place:
            read_bytes(posted, f"the share for {terms.named(other)}", POSTED)
        elif posted is not None:
            raise EvidenceError("a share is posted to its own dealer", remedy=_AGAIN)


def _read_round(terms: Terms, kind: str, messages: Sequence[Any], fields: Mapping[str, type]) -> list[dict[str, Any]]:
    found = read_list(messages, "the list of messages", len(terms.trustees))
    return [_read(terms, place, kind, message, fields) for place, message in enumerate(found, 1)]


def _read(terms: Terms, place: int, kind: str, message: Any, fields: Mapping[str, type]) -> dict[str, Any]:
    content = dict(message) if isinstance(message, Mapping) else {}
    signature = content.pop("signature", "")
    if not is_signed(terms.trustees[place - 1].signing, kind, content, signature):
        raise PartyError(f"the message in the name of {terms.named(place)} is not signed by it", remedy=_UNSIGNED)
    if content.get("terms") != terms.digest:
        raise PartyError(f"the message of {terms.named(place)} is from another ceremony", remedy=_UNSIGNED)
    try:
        record = read_record(content, "a message", terms=str, trustee=int, **fields)
    except EvidenceError as fault:
        raise _wrong(terms, place, fault) from fault
    if record["trustee"] != place:
        raise PartyError(f"{terms.named(place)} calls itself {record['trustee']}", remedy=_AGAIN, party=place)
    return record


def _wrong(terms: Terms, place: int, fault: EvidenceError) -> PartyError:
    return PartyError(f"{terms.named(place)} has signed a wrong message: {fault.problem}", remedy=_AGAIN, party=place)
