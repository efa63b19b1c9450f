"""A group in which multiplying is easy and dividing is not.

All of sealing happens in one group: the points of the curve edwards25519 whose order is the prime L (about 2^252). A
*scalar* s is a whole number modulo L; a *point* P can be taken s times, and nobody knows how to find s from P and sP.
Scalars and points are 32 bytes each, and libsodium does the arithmetic, in constant time.

The curve has 8 L points, so most of what decodes to a point is outside the group: P plus a point of order 2, 4 or 8.
Such points would let a stranger learn a secret modulo 8, or make two different records mean the same. So every point
from outside is checked before it is used: canonical form, on the curve, in the group, not the identity. `read_point`
checks by itself; `times` checks whatever it multiplies, so that a point which is multiplied anyway may be read by
`read_unchecked`, at half the price. libsodium before December 2025 took P plus the point of order 2 for a good one
(CVE-2025-69277); a library that still does is refused.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NewType

from kantor.errors import EvidenceError, MissingExtraError
from kantor.evidence.canonical import tagged
from kantor.sealing.forms import read_bytes

__all__ = [
    "BASE",
    "IDENTITY",
    "ORDER",
    "SIZE",
    "ZERO",
    "Point",
    "Scalar",
    "add",
    "hash_bytes",
    "hash_to_scalar",
    "plus",
    "product",
    "random_scalar",
    "read_point",
    "read_scalar",
    "read_unchecked",
    "scalar",
    "subtract",
    "times",
    "times_base",
    "weighted_sum",
]

Scalar = NewType("Scalar", bytes)
Point = NewType("Point", bytes)

ORDER = 2**252 + 27742317777372353535851937790883648493
SIZE = 32
ZERO = Scalar(bytes(SIZE))
IDENTITY = Point(bytes([1]) + bytes(SIZE - 1))
BASE = Point(bytes([0x58]) + bytes([0x66]) * (SIZE - 1))
_OUTSIDE = bytes([0x95]) + bytes([0x99]) * (SIZE - 1)  # the base plus the point of order 2: order 2 L


def scalar(number: int) -> Scalar:
    """A public whole number as a scalar."""
    return Scalar((number % ORDER).to_bytes(SIZE, "little"))


def random_scalar() -> Scalar:
    """A secret one, uniform but for 2^-250."""
    return _reduce(secrets.token_bytes(64))


def hash_to_scalar(kind: str, record: Any) -> Scalar:
    """SHA-512 of a record of this kind, modulo L. The kind keeps the uses of the hash apart."""
    return hash_bytes(tagged(kind, record))


def hash_bytes(content: bytes) -> Scalar:
    """SHA-512 of bytes, modulo L."""
    return _reduce(hashlib.sha512(content).digest())


def _reduce(wide: bytes) -> Scalar:
    return Scalar(_sodium().crypto_core_ed25519_scalar_reduce(wide))


def plus(one: Scalar, other: Scalar) -> Scalar:
    """The sum of two scalars."""
    return Scalar(_sodium().crypto_core_ed25519_scalar_add(one, other))


def product(one: Scalar, other: Scalar) -> Scalar:
    """The product of two scalars."""
    return Scalar(_sodium().crypto_core_ed25519_scalar_mul(one, other))


def times_base(factor: Scalar) -> Point:
    """The base point, `factor` times."""
    return IDENTITY if factor == ZERO else Point(_sodium().crypto_scalarmult_ed25519_base_noclamp(factor))


def times(factor: Scalar, point: Point) -> Point:
    """A point, `factor` times; an error if the point is not one of the group, or the identity."""
    if factor == ZERO:
        return IDENTITY
    if point == BASE:
        return times_base(factor)
    try:
        return Point(_sodium().crypto_scalarmult_ed25519_noclamp(factor, point))
    except RuntimeError as fault:
        raise _not_in_group("the point", point) from fault


def add(one: Point, other: Point) -> Point:
    """The sum of two points, which must be checked ones."""
    return Point(_sodium().crypto_core_ed25519_add(one, other))


def subtract(one: Point, other: Point) -> Point:
    """The difference of two points, which must be checked ones."""
    return Point(_sodium().crypto_core_ed25519_sub(one, other))


def weighted_sum(weights: Iterable[Scalar], points: Iterable[Point]) -> Point:
    """The sum of points, each taken as often as its weight says; checks every point, as `times` does."""
    total = IDENTITY
    for weight, point in zip(weights, points, strict=True):
        total = add(total, times(weight, point))
    return total


def read_point(text: Any, what: str) -> Point:
    """A point of the group that a stranger wrote; never the identity."""
    point = read_unchecked(text, what)
    if not _sodium().crypto_core_ed25519_is_valid_point(point):
        raise _not_in_group(what, point)
    return point


def read_unchecked(text: Any, what: str) -> Point:
    """32 bytes that are going to be multiplied (`times` checks them then), or only hashed."""
    return Point(read_bytes(text, what, SIZE))


def read_scalar(text: Any, what: str) -> Scalar:
    """A scalar that a stranger wrote, in its one form: below L."""
    content = read_bytes(text, what, SIZE)
    if int.from_bytes(content, "little") >= ORDER:
        raise EvidenceError(f"{what} is not below the order of the group", remedy="Do not rely on what it is part of.")
    return Scalar(content)


def _not_in_group(what: str, point: Point) -> EvidenceError:
    return EvidenceError(
        f"{what} {point.hex()[:16]}... is not a point of the group",
        remedy="It was changed, or written to deceive. Do not rely on what it is part of.",
    )


@lru_cache(maxsize=1)
def _sodium() -> Any:
    try:
        from nacl import bindings
    except ImportError as missing:
        raise MissingExtraError("Sealing bids", "PyNaCl", "market") from missing
    if not bindings.has_crypto_core_ed25519 or bindings.crypto_core_ed25519_is_valid_point(_OUTSIDE):
        raise MissingExtraError("Sealing bids", "PyNaCl 1.6.2 or later, with the whole of libsodium", "market")
    return bindings
