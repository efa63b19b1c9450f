"""Sealing a bid, so that only the trustees can have it opened, and only as the bid that it is.

An envelope for the market key Y holds R = rB for a fresh secret r, the bid locked with a key derived from rY, and a
proof that whoever sealed it knows r. The trustees' secret is x with Y = xB; so D = xR equals rY, and D for this one R
opens this one envelope, without anybody showing x.

The proof is what makes sealed bids independent of each other. Without it, somebody could take R from an envelope, put
it into one of their own, and have the trustees compute the D that opens both. The proof covers the market key, the
ciphertext and the *context*: whose bid it is, in which market, under which number. So anybody can check an envelope
before it is opened, and nobody can move it to another owner, bid or market. That is the scheme TDH2 of Shoup and
Gennaro (2002), with an authenticated cipher in place of their mask: R' = rB', to a second base whose logarithm nobody
knows, is part of the proof, and with it they show that chosen ciphertexts do not help.

Bids are padded to a multiple of 256 bytes: prices of any length look alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kantor.errors import EvidenceError, InputError
from kantor.evidence.canonical import tagged
from kantor.sealing.forms import read_bytes, read_record
from kantor.sealing.group import BASE, Point, random_scalar, read_unchecked, times, times_base
from kantor.sealing.keys import MarketKey
from kantor.sealing.locking import TAG, lock, unlock
from kantor.sealing.proofs import check, prove

__all__ = ["BLOCK", "LARGEST", "SECOND", "check_envelope", "envelope_point", "open_envelope", "seal"]

BLOCK = 256
LARGEST = 64 * BLOCK - 1
# Where Elligator takes SHA-256("kantor 1 second base").
SECOND = Point(bytes.fromhex("57e1218b8a6f8104a2a60d0126cd2e8b5587d8ab0d9fe3c738797f80d69f1735"))
_PROOF = "envelope"
_END = b"\x80"


@dataclass(frozen=True)
class _Envelope:
    """An envelope whose form is right."""

    point: Point
    second: Point
    sealed: bytes
    proof: dict[str, Any]


def seal(key: MarketKey, message: bytes, context: Mapping[str, Any]) -> dict[str, Any]:
    """An envelope, as plain data. Two envelopes of one message have nothing in common."""
    secret = random_scalar()
    points = times_base(secret), times(secret, SECOND)
    sealed = lock(times(secret, key.point), _about(key, points[0], context), _padded(message))
    proof = prove(_PROOF, secret, (BASE, SECOND), points, _statement(key, context, sealed))
    return {"point": points[0].hex(), "second": points[1].hex(), "sealed": sealed.hex(), "proof": proof}


def check_envelope(key: MarketKey, envelope: Any, context: Mapping[str, Any]) -> None:
    """An error unless whoever sealed this envelope sealed it to this key and for this context."""
    parts = _read(envelope)
    statement = _statement(key, context, parts.sealed)
    try:
        check(_PROOF, (BASE, SECOND), (parts.point, parts.second), statement, parts.proof)
    except EvidenceError as fault:
        raise EvidenceError(
            f"this envelope was not sealed as what it is handed in for ({fault.problem})",
            remedy="Refuse it. Its owner can seal the bid again, to this market's key and in its own name.",
        ) from fault


def open_envelope(key: MarketKey, envelope: Any, context: Mapping[str, Any], point: str) -> bytes:
    """The message, by the shared point that `combine` gives for a checked envelope."""
    parts = _read(envelope)
    shared = read_unchecked(point, "a shared point")
    try:
        return _unpadded(unlock(shared, _about(key, parts.point, context), parts.sealed))
    except EvidenceError as fault:
        raise EvidenceError(
            f"the envelope holds no bid ({fault.problem})",
            remedy="If the trustees' partials check, its owner sealed something else than a bid: it counts as none.",
        ) from fault


def envelope_point(envelope: Any) -> Point:
    """R, unchecked: what trustees multiply, after `check_envelope`."""
    return _read(envelope).point


def _read(envelope: Any) -> _Envelope:
    fields = read_record(envelope, "an envelope", point=str, second=str, sealed=str, proof=dict)
    sealed = read_bytes(fields["sealed"], "the ciphertext of an envelope")
    blocks, rest = divmod(len(sealed) - TAG, BLOCK)
    if rest or not 1 <= blocks <= (LARGEST + 1) // BLOCK:
        raise EvidenceError(
            f"the ciphertext of an envelope has {len(sealed)} bytes, which no bid has", remedy="Refuse the envelope."
        )
    first, second = (read_unchecked(fields[name], f"the {name} of an envelope") for name in ("point", "second"))
    return _Envelope(first, second, sealed, fields["proof"])


def _about(key: MarketKey, point: Point, context: Mapping[str, Any]) -> bytes:
    return tagged("sealed bid", {"key": key.digest, "point": point.hex(), "context": dict(context)})


def _statement(key: MarketKey, context: Mapping[str, Any], sealed: bytes) -> dict[str, Any]:
    return {"key": key.digest, "context": dict(context), "sealed": sealed.hex()}


def _padded(message: bytes) -> bytes:
    """The message, a mark, and zeros up to a whole number of blocks."""
    if len(message) > LARGEST:
        raise InputError(
            f"the bid has {len(message)} bytes, more than {LARGEST}", remedy="Write it shorter.", argument="message"
        )
    return message + _END + bytes(-(len(message) + 1) % BLOCK)


def _unpadded(padded: bytes) -> bytes:
    message, mark, _ = padded.rpartition(_END)
    if not mark or message + _END + bytes(-(len(message) + 1) % BLOCK) != padded:
        raise EvidenceError("its padding is wrong", remedy="It was not sealed by this program.")
    return message
