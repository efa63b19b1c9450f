"""Signs and absolute values of shared numbers.

The sign of x = x_0 + x_1 + x_2 (modulo 2^64) is the top bit of the sum. Each component is known to two parties, so its
bits are shared as they stand, without a message. A carry-save step turns three addends into two, and a Kogge-Stone
adder finds the carry into the top bit in six rounds, for all 64 bits of a word at once. The top bit, again known in
three components, becomes a number by b = b_0 + b_1 - 2 b_0 b_1, once more with b_2. Then |x| = x - 2 b x.

All of it is exact for -2^63 <= x < 2^63, and what each party receives is uniform.
"""

from __future__ import annotations

import numpy as np

from kantor.private.engine import BITS, Engine
from kantor.private.randomness import Words

__all__ = ["absolute", "by_pieces", "negative"]

_TOP = np.uint64(63)
_ONE = np.uint64(1)
_PIECE = 1 << 16


def negative(engine: Engine, x: Words) -> Words:
    """1 where x < 0, else 0, shared."""
    bits = _top_bit(engine, x)
    first, second, third = (engine.component(which, bits) for which in range(3))
    pair = first + second - 2 * engine.multiply(first, second)
    return pair + third - 2 * engine.multiply(pair, third)


def absolute(engine: Engine, x: Words) -> Words:
    """|x|, shared."""
    return x - 2 * engine.multiply(negative(engine, x), x)


def by_pieces(rows: Words) -> list[slice]:
    """Cuts a table of shared numbers (2, owners, columns) into slices of owners that fit the memory."""
    step = max(1, _PIECE // max(1, int(np.prod(rows.shape[2:]))))
    return [slice(start, start + step) for start in range(0, rows.shape[1], step)]


def _top_bit(engine: Engine, x: Words) -> Words:
    """The top bit of the sum of the components, as a bit shared by exclusive or, in the lowest place."""
    last = engine.component(2, x)
    others = engine.component(0, x) ^ last, engine.component(1, x) ^ last
    partial = x  # bits without carries: x_0 ^ x_1 ^ x_2, component by component
    carried = (engine.multiply(*others, BITS) ^ last) << _ONE  # majority of the three, one place up
    spread = partial ^ carried
    made, passed = engine.multiply(partial, carried, BITS), spread
    for distance in (1, 2, 4, 8, 16):
        shift = np.uint64(distance)
        both = np.concatenate([made << shift, passed << shift], axis=1)
        step, passed = np.split(engine.multiply(np.concatenate([passed, passed], axis=1), both, BITS), 2, axis=1)
        made = made ^ step
    made = made ^ engine.multiply(passed, made << np.uint64(32), BITS)
    return (spread >> _TOP) ^ ((made >> np.uint64(62)) & _ONE)
