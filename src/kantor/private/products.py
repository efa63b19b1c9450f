"""Checking products: a party that multiplies wrongly is found before anything is opened.

Party P sent z = x y + x y' + x' y + m - m' (its own components x, y; the next ones x', y'). Its two neighbours together
know all of it: V, the party before, knows x, y, m and received z; V', the party after, knows x', y', m'. So they can
check P without learning anything, if they can compute x y' + x' y from what each of them has. P helps them, before it
knows how its help will be used:

1. P deals them random factors and shares of r r' + t t' (from keys that it shares with each, and one vector that it
   sends), for every product and a few more.
2. Only then do the three toss a coin (commit, then reveal), which shuffles what was dealt.
3. The few more are opened and must be right. With the others V and V' compute, masked, shares of P's error in each
   product, and compare hashes of them: equal means that all errors are zero.

The shuffle sends slot i to a i + b modulo the number of slots, which is a prime p, with a and b from the coin. A wrong
product passes only if P's errors in dealing fall on its errors in multiplying, slot by slot. Of the p (p - 1) shuffles,
those that carry one given set of slots to another, neither empty nor all, are no more than those that keep a set in
place, a group without translations and so at most p - 1: a chance of 1/p. (All slots at once is what the opened ones
exclude.) This is repeated with other slots until the chance is below 2^-40.

It is the cut-and-choose check of Furukawa et al. (2017), one prover at a time. It tells that P is wrong, or that one of
its two checkers lies: in either case there is no result.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, isqrt, log2
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from kantor.errors import PartyError
from kantor.private.randomness import KEY, Stream, Words, derived
from kantor.private.wire import receive_words, send_words

if TYPE_CHECKING:
    from kantor.private.engine import Engine, Ring

__all__ = ["check"]

_Places: TypeAlias = npt.NDArray[np.int64]

_SECURITY = 40
_LEAST = 1 << 10


@dataclass(frozen=True)
class _Dealt:
    """Random factors and shares of r r' + t t', as one of the three knows them."""

    first: Words
    second: Words
    share: Words

    def at(self, places: _Places) -> _Dealt:
        return _Dealt(self.first[places], self.second[places], self.share[places])


def check(engine: Engine, ring: Ring) -> None:
    """Check all products of one kind that were made since the last time."""
    log = engine.products[ring.name]
    if log.count < _LEAST:
        padding = _LEAST - log.count
        engine.multiply(engine.drawn(padding), engine.drawn(padding), ring)
    x, y, z, masks = log.take()
    count = x.shape[1]
    slots = _prime_above(count)
    rounds = ceil(_SECURITY / log2(slots))
    dealt = [_deal(engine, ring, slots) for _ in range(rounds)]
    coin = _coin(engine)
    for number, both in enumerate(dealt):
        _verify(engine, ring, both, _shuffle(derived(coin, f"{ring.name} {number}"), slots), (x, y, z, masks))


def _shuffle(seed: bytes, slots: int) -> _Places:
    factor, shift = (int.from_bytes(derived(seed, part), "big") for part in ("factor", "shift"))
    return (np.arange(slots, dtype=np.int64) * (1 + factor % (slots - 1)) + shift % slots) % slots


@lru_cache(maxsize=1024)
def _prime_above(number: int) -> int:
    found = number + 1
    while any(found % divisor == 0 for divisor in range(2, isqrt(found) + 1)):
        found += 1
    return found


def _deal(engine: Engine, ring: Ring, size: int) -> tuple[_Dealt, _Dealt]:
    """Deal, as P, and take what the two neighbours deal."""
    own, following = engine.keys
    engine.made += 1
    label = f"deal {engine.made}"

    def drawn(key: bytes, what: str, vectors: int) -> Words:
        return Stream(derived(key, f"{label} {what}")).words(vectors * size).reshape(vectors, size)

    r, t, share = drawn(own, "before", 3)
    r_other, t_other = drawn(following, "after", 2)
    rest = ring.subtract(ring.add(ring.multiply(r, r_other), ring.multiply(t, t_other)), share)
    send_words(engine.wire, engine.next, "deal", rest)
    by_previous = receive_words(engine.wire, engine.previous, "deal", (size,))
    first, second, kept = drawn(following, "before", 3)
    first_after, second_after = drawn(own, "after", 2)
    return _Dealt(first, second, kept), _Dealt(first_after, second_after, by_previous)


def _coin(engine: Engine) -> bytes:
    """A coin that no party can steer: each commits itself to a number before it sees the others'."""
    nonce = secrets.token_bytes(KEY)
    others = (engine.next, engine.previous)
    for other in others:
        engine.wire.send(other, "coin, sealed", hashlib.sha256(bytes([engine.index]) + nonce).digest())
    sealed = {other: engine.wire.receive(other, "coin, sealed") for other in others}
    for other in others:
        engine.wire.send(other, "coin", nonce)
    shown = {other: engine.wire.receive(other, "coin") for other in others}
    for other in others:
        if hashlib.sha256(bytes([other]) + shown[other]).digest() != sealed[other]:
            raise _fault(other, "did not show the coin that it had committed itself to")
    shown[engine.index] = nonce
    return hashlib.sha256(b"".join(shown[party] for party in range(3))).digest()


def _verify(
    engine: Engine,
    ring: Ring,
    dealt: tuple[_Dealt, _Dealt],
    places: _Places,
    made: tuple[Words, Words, Words, Words],
) -> None:
    """Check the next party together with the one after it, and the previous one together with the one before it."""
    x, y, z, masks = made
    add, subtract, times = ring.add, ring.subtract, ring.multiply
    count, rest = x.shape[1], places.size - x.shape[1]
    before, after = dealt[0].at(places[rest:]), dealt[1].at(places[rest:])
    opened, kept = dealt[0].at(places[:rest]), dealt[1].at(places[:rest])
    shown = np.concatenate([opened.first, opened.second, opened.share])
    # As V, for P = next: x, y are P's components, in row 1. V' of that check is the party after P: the previous one.
    out = np.concatenate([subtract(x[1], before.first), subtract(y[1], before.second), shown])
    send_words(engine.wire, engine.previous, "check, before", out)
    # As V', for P = previous: row 0 holds the components after P's. V of that check is the next party.
    back = np.concatenate([subtract(y[0], after.first), subtract(x[0], after.second)])
    send_words(engine.wire, engine.next, "check, after", back)

    y_after, x_after = receive_words(engine.wire, engine.previous, "check, after", (2, count))
    got = receive_words(engine.wire, engine.next, "check, before", (2 * count + 3 * rest,))
    own = subtract(subtract(z[1], times(x[1], y[1])), masks[1])
    error = subtract(subtract(own, add(times(x[1], y_after), times(y[1], x_after))), before.share)
    x_before, y_before, showing = got[:count], got[count : 2 * count], got[2 * count :].reshape(3, rest)
    used = add(times(x_before, after.first), times(y_before, after.second))
    answer = subtract(add(used, after.share), masks[0])

    right = add(times(showing[0], kept.first), times(showing[1], kept.second))
    if not np.array_equal(right, add(showing[2], kept.share)):
        raise _fault(engine.previous, "dealt wrong factors")
    of_next, of_previous = (hashlib.sha256(errors.data).digest() for errors in (error, answer))
    engine.wire.send(engine.previous, "verdict, before", of_next)
    engine.wire.send(engine.next, "verdict, after", of_previous)
    if engine.wire.receive(engine.previous, "verdict, after") != of_next:
        raise _fault(engine.next, "multiplied wrongly")
    if engine.wire.receive(engine.next, "verdict, before") != of_previous:
        raise _fault(engine.previous, "multiplied wrongly")


def _fault(party: int, what: str) -> PartyError:
    return PartyError(
        f"party {party + 1} {what} (or one of the two that check it says so falsely)",
        remedy="There is no result. Nothing was opened; start again, with another party in its place.",
        party=party + 1,
    )
