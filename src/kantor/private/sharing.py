"""Splitting numbers among three parties so that one of them alone learns nothing.

A whole number x, modulo 2^64, becomes three components that add up to it, x = x_0 + x_1 + x_2, of which any two are
uniform and independent of x. Party j is given components j and j+1 (counted round), so that each component is with two
parties: one party alone sees nothing, and no party can change a component unnoticed, because another has it too. This
is replicated secret sharing (Ito, Saito and Nishizeki, 1987).

Two of the three components can be drawn from a seed, so that an owner sends seeds instead of them. Real numbers enter
as multiples of a step ("fixed point").
"""

from __future__ import annotations

from collections.abc import Sequence
from secrets import token_bytes

import numpy as np

from kantor.errors import PartyError
from kantor.owners.distributions import Vector
from kantor.private.randomness import KEY, Stream, Words, fresh_key

__all__ = ["PARTIES", "combine", "expand", "fixed_point", "held_by", "split"]

PARTIES = 3
_SEED, _WORDS = b"s", b"w"


def held_by(party: int) -> tuple[int, int]:
    """The components that a party holds."""
    return party, (party + 1) % PARTIES


def split(numbers: Sequence[int] | Vector | Words) -> tuple[bytes, bytes, bytes]:
    """The three components of a vector of whole numbers, packed: two as seeds if there are many numbers."""
    whole = np.asarray(numbers).astype(np.int64).view(np.uint64)
    if 8 * whole.size <= KEY:  # seeds would be longer than what they stand for
        first, second = np.frombuffer(token_bytes(16 * whole.size), dtype="<u8").reshape(2, -1)
        return _packed(first), _packed(second), _packed(whole - first - second)
    seeds = fresh_key(), fresh_key()
    last = whole - Stream(seeds[0]).words(whole.size) - Stream(seeds[1]).words(whole.size)
    return _SEED + seeds[0], _SEED + seeds[1], _packed(last)


def _packed(words: Words) -> bytes:
    return _WORDS + words.astype("<u8").tobytes()


def expand(packed: bytes, size: int) -> Words:
    """A component as words; `ValueError` for what is none."""
    kind, content = packed[:1], packed[1:]
    if kind == _SEED and len(content) == KEY:
        return Stream(content).words(size)
    if kind == _WORDS and len(content) == 8 * size:
        return np.frombuffer(content, dtype="<u8").astype(np.uint64, copy=False)
    raise ValueError(f"{len(packed)} bytes are no share of {size} numbers")


def combine(rows: Sequence[Words]) -> Words:
    """The numbers, from what the three parties hold (two rows each); refused where two copies of a component differ."""
    for party in range(PARTIES):
        other = (party + 1) % PARTIES
        if rows[party].shape != rows[other].shape or not np.array_equal(rows[party][1], rows[other][0]):
            raise PartyError(
                f"parties {party + 1} and {other + 1} give different shares of one result",
                remedy="There is no result. One of the two is faulty; start again, with another party in its place.",
            )
    return rows[0][0] + rows[1][0] + rows[2][0]


def fixed_point(values: Vector, bits: int) -> Vector:
    """Whole multiples of 2^-bits, the nearest ones."""
    return np.rint(np.ldexp(values, bits))
