"""What the tests share: markets with keys, ways to change written records, points that are none."""

from copy import deepcopy
from functools import lru_cache

from hypothesis import strategies as st
from nacl import bindings

from kantor.sealing.ceremony import Ceremony
from kantor.sealing.envelope import seal
from kantor.sealing.group import BASE, Point
from kantor.sealing.identity import TrusteeIdentity
from kantor.sealing.terms import Terms

ORDER_8 = [
    bytes.fromhex(text)
    for text in (
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    )
]
PRIME = 2**255 - 19
ORDER_4 = [bytes(32), bytes(31) + b"\x80"]
ORDER_2 = [(PRIME - 1).to_bytes(32, "little")]
UNIT = [(1).to_bytes(32, "little")]
TORSION = ORDER_8 + ORDER_4 + ORDER_2


def _elsewhere():
    """Written in another way than the canonical one, or no points of the curve at all."""
    high = 1 << 255
    again = [
        number.to_bytes(32, "little") for number in (PRIME, PRIME + 1, high + 1, high + PRIME - 1, high + PRIME + 1)
    ]
    off = next(y.to_bytes(32, "little") for y in range(2, 100) if not _on_curve(y))
    return [*again, off, b"\xff" * 32]


def _on_curve(y):
    u, v = y * y - 1, -121665 * pow(121666, -1, PRIME) * y * y + 1
    square = u * pow(v, -1, PRIME) % PRIME
    return pow(square, (PRIME - 1) // 2, PRIME) in (0, 1)


OUTSIDE = [bindings.crypto_core_ed25519_add(BASE, each) for each in TORSION]  # of order 2 L, 4 L and 8 L
NO_POINTS = UNIT + TORSION + OUTSIDE + _elsewhere()


def shifted(point, by=TORSION[0]):
    """A point plus another, whatever group they are in."""
    return Point(bindings.crypto_core_ed25519_add(point, by))


@lru_cache
def identities(number):
    """So many trustees."""
    return tuple(TrusteeIdentity.new() for _ in range(number))


@lru_cache
def terms_of(threshold=2, number=3, market="market 1"):
    """The terms of a market with these trustees."""
    people = tuple(identity.public(f"trustee {place}") for place, identity in enumerate(identities(number), 1))
    return Terms(market, people, threshold)


def begin(terms):
    """All trustees' ceremonies, begun."""
    return [Ceremony.begin(identity, terms, lambda _: None) for identity in identities(len(terms.trustees))]


def messages_of(threshold=2, number=3, market="market 1"):
    """A ceremony that went well: everybody's ceremonies, and the messages of both rounds. One for each size."""
    return _messages(threshold, number, market)


@lru_cache
def _messages(threshold, number, market):
    everybody = begin(terms_of(threshold, number, market))
    commitments = [each.commit() for each in everybody]
    shares = [each.deal(commitments) for each in everybody]
    for each in everybody:
        each.finish(shares)
    return everybody, commitments, shares


def key_of(threshold=2, number=3, market="market 1"):
    """The key of such a market."""
    return messages_of(threshold, number, market)[0][0].key


def shares_of(threshold=2, number=3, market="market 1"):
    """The trustees' shares of it."""
    return [each.share for each in messages_of(threshold, number, market)[0]]


def context(number, market="market 1"):
    """What a bid is sealed as."""
    return {"market": market, "owner": f"owner {number}", "nonce": number}


@lru_cache
def sealed_set(size=3, threshold=2, number=3, market="market 1"):
    """Envelopes with their contexts; message k is "bid k"."""
    key = key_of(threshold, number, market)
    return tuple((seal(key, f"bid {k}".encode(), context(k, market)), context(k, market)) for k in range(size))


def leaves(plain, path=()):
    """Where something is written in a record."""
    if isinstance(plain, dict):
        return [found for name in sorted(plain) for found in leaves(plain[name], (*path, name))]
    if isinstance(plain, list):
        return [found for place, part in enumerate(plain) for found in leaves(part, (*path, place))]
    return [] if plain is None else [path]


@st.composite
def changed(draw, plain):
    """A record with one bit of one of its leaves changed."""
    found = deepcopy(plain)
    *way, last = draw(st.sampled_from(leaves(plain)))
    inner = found
    for step in way:
        inner = inner[step]
    if isinstance(inner[last], int):
        inner[last] ^= 1 << draw(st.integers(0, 3))
    else:
        text = bytearray(inner[last].encode())
        text[draw(st.integers(0, len(text) - 1))] ^= 1 << draw(st.integers(0, 6))
        inner[last] = text.decode()
    return found
