"""Three parties compute on numbers that none of them knows.

Each party holds two of the three components of every number (see `kantor.private.sharing`) as an array of two rows.
Sums, and products with public numbers, need no message. For a product of two shared numbers, party j computes

    z_j = x_j y_j + x_j y_(j+1) + x_(j+1) y_j + m_j - m_(j+1),

where m_j is drawn from a key that parties j and j-1 share: the masks cancel in z_0 + z_1 + z_2 = x y, and hide z_j from
party j-1, to which it is sent (Araki et al., 2016). That one uniform number per product is all that a party ever
receives. The same holds for single bits, 64 to a word, with exclusive or for the sum and "and" for the product.

`settle` checks all products made so far (see `kantor.private.products`); nothing is opened before it has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from kantor.errors import PartyError
from kantor.private.randomness import Stream, Words, derived, fresh_key
from kantor.private.sharing import PARTIES, held_by
from kantor.private.wire import Wire, receive_words, send_words

__all__ = ["BITS", "NUMBERS", "Engine", "Products", "Ring"]

_AT_ONCE = 1 << 20
"""How many products are kept before they are checked."""


@dataclass(frozen=True)
class Ring:
    """What sum, difference and product mean: of numbers modulo 2^64, or of 64 bits at a time."""

    name: str
    add: Callable[[Words, Words], Words]
    subtract: Callable[[Words, Words], Words]
    multiply: Callable[[Words, Words], Words]


NUMBERS = Ring("numbers", np.add, np.subtract, np.multiply)
BITS = Ring("bits", np.bitwise_xor, np.bitwise_xor, np.bitwise_and)


@dataclass
class Products:
    """Products that were made and not yet checked: factors, result, and the two masks, for each."""

    parts: list[tuple[Words, Words, Words, Words]] = field(default_factory=list)
    count: int = 0

    def add(self, x: Words, y: Words, z: Words, masks: Words) -> None:
        """Remember them."""
        self.parts.append((x, y, z, masks))
        self.count += x.shape[1]

    def take(self) -> tuple[Words, Words, Words, Words]:
        """All of them as arrays of two rows, and none left."""
        x, y, z, masks = (np.concatenate(part, axis=1) for part in zip(*self.parts, strict=True))
        self.parts, self.count = [], 0
        return x, y, z, masks


class Engine:
    """One party's side of the computation."""

    def __init__(self, wire: Wire, key: bytes | None = None) -> None:
        self.wire = wire
        self.index = wire.index
        self.next, self.previous = (self.index + 1) % PARTIES, (self.index - 1) % PARTIES
        self.holds = held_by(self.index)
        own = fresh_key() if key is None else key
        wire.send(self.previous, "key", own)
        self.keys = own, wire.receive(self.next, "key")
        """The keys of the components that this party holds, each shared with the other holder."""
        self._masks = tuple(Stream(derived(each, "masks")) for each in self.keys)
        self._inputs = tuple(Stream(derived(each, "contributions")) for each in self.keys)
        self.products = {ring.name: Products() for ring in (NUMBERS, BITS)}
        self.made = 0

    def public(self, value: Words | int, like: Words) -> Words:
        """A number that everybody knows, as if shared: it is component 0."""
        rows = np.zeros_like(like)
        for row, component in enumerate(self.holds):
            if component == 0:
                rows[row] = np.asarray(value).astype(np.int64).view(np.uint64) if isinstance(value, int) else value
        return rows

    def component(self, which: int, rows: Words) -> Words:
        """One component of a shared number, shared in its turn: nobody learns more than before."""
        alone = np.zeros_like(rows)
        for row, component in enumerate(self.holds):
            if component == which:
                alone[row] = rows[row]
        return alone

    def drawn(self, count: int) -> Words:
        """Random numbers, shared, that nobody knows."""
        return np.stack([stream.words(count) for stream in self._masks])

    def multiply(self, x: Words, y: Words, ring: Ring = NUMBERS) -> Words:
        """The products, element by element, of arrays with two rows of any (equal) shape."""
        shape = x.shape
        x, y = x.reshape(2, -1), y.reshape(2, -1)
        masks = self.drawn(x.shape[1])
        both = ring.add(ring.multiply(x[0], ring.add(y[0], y[1])), ring.multiply(x[1], y[0]))
        mine = ring.add(both, ring.subtract(masks[0], masks[1]))
        label = f"product of {ring.name}"
        send_words(self.wire, self.previous, label, mine)
        theirs = receive_words(self.wire, self.next, label, mine.shape)
        z = np.stack([mine, theirs])
        self.products[ring.name].add(x, y, z, masks)
        self.made += x.shape[1]
        if self.products[ring.name].count >= _AT_ONCE:
            self.settle()
        return z.reshape(shape)

    def settle(self) -> None:
        """Check every product made since the last time; ends the computation if one is wrong."""
        from kantor.private.products import check

        for ring in (NUMBERS, BITS):
            if self.products[ring.name].count:
                check(self, ring)

    def open(self, rows: Words) -> Words:
        """Tell all three parties the numbers, after checking all that led to them."""
        self.settle()
        send_words(self.wire, self.previous, "opening", rows[1])
        send_words(self.wire, self.next, "opening", rows[0])
        missing = receive_words(self.wire, self.next, "opening", rows[0].shape)
        again = receive_words(self.wire, self.previous, "opening", rows[0].shape)
        if not np.array_equal(missing, again):
            raise PartyError(
                f"parties {self.next + 1} and {self.previous + 1} give different shares of one number",
                remedy="There is no result. One of the two is faulty; start again, with another in its place.",
            )
        return rows[0] + rows[1] + missing

    def contribute(self, numbers: Words) -> list[Words]:
        """Each party brings numbers of its own, which the two others do not learn: all three, shared.

        Party p's are r_p (drawn alike by p-1), and what is missing from r_p (sent to p+1).
        """
        draws = [stream.words(numbers.size) for stream in self._inputs]
        rest = numbers - draws[0]
        send_words(self.wire, self.next, "contribution", rest)
        given = receive_words(self.wire, self.previous, "contribution", rest.shape)
        nothing = np.zeros_like(rest)
        brought = {self.index: (draws[0], rest), self.next: (nothing, draws[1]), self.previous: (given, nothing)}
        return [np.stack(brought[party]) for party in range(PARTIES)]
