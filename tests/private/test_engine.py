"""The parties' arithmetic is exact, and every message that is not what it should be ends the computation."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs

from kantor.errors import PartyError
from kantor.private import engine as engine_module
from kantor.private import products
from kantor.private.engine import Engine
from kantor.private.histogram import Histogram
from kantor.private.parameters import root
from kantor.private.run import run_party, value_in_memory
from kantor.private.sharing import combine, expand, split
from kantor.private.signs import absolute, negative
from kantor.private.sorting import sort
from kantor.private.wire import memory_wires


def together(program, numbers, engines=(Engine, Engine, Engine), wires=None):
    """Run a program at three parties on shared numbers; what each returns."""
    joined = memory_wires(3.0) if wires is None else wires
    packed = split(numbers)

    def party(index):
        engine = engines[index](joined[index])
        return program(engine, np.stack([expand(packed[c], len(numbers)) for c in engine.holds]))

    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(party, index) for index in range(3)]
    faults = [job.exception() for job in jobs if job.exception()]
    if faults:
        raise faults[0]
    return [job.result() for job in jobs]


def opened(program, numbers):
    return combine(together(program, numbers)).view(np.int64)


whole = hs.integers(-(2**62), 2**62)


@given(hs.lists(whole, min_size=1, max_size=20))
@settings(max_examples=15)
def test_signs_and_absolute_values(numbers):
    numbers = [*numbers, 0, 1, -1, 2**62, -(2**62), -(2**63)]
    assert opened(negative, numbers).tolist() == [int(n < 0) for n in numbers]
    assert opened(absolute, numbers)[:-1].tolist() == [abs(n) for n in numbers[:-1]]


@given(hs.lists(hs.integers(-(2**61), 2**61), min_size=1, max_size=33))
@settings(max_examples=10)
def test_sorting(numbers):
    assert opened(sort, numbers).tolist() == sorted(numbers)


@given(hs.lists(hs.integers(0, 2**62 - 1), min_size=1, max_size=5))
@settings(max_examples=5)
def test_roots(numbers):
    assert opened(lambda e, x: root(e, x), numbers).tolist() == [
        int(np.floor(np.sqrt(np.longdouble(n)))) for n in numbers
    ]


def test_openings_and_contributions():
    def program(engine, x):
        brought = engine.contribute(np.array([engine.index + 1, 10], dtype=np.uint64))
        return engine.open(x + sum(brought))

    assert [r.tolist() for r in together(program, [100, 200])] == [[106, 230]] * 3


METHOD = Histogram(0, 4, bins=4, levels=3)
OWNERS = [[0.5, 1.5, 3.5], [0.5, 0.5, 0.5], [2.5, 3.5, 3.5]]


class Faulty:
    """A wire that spoils the n-th message that it sends."""

    def __init__(self, wire, place, how):
        self.wire, self.place, self.how, self.sent, self.index = wire, place, how, 0, wire.index

    def send(self, to, label, content):
        if self.sent == self.place:
            label, content = self.how(label, content)
        self.sent += 1
        self.wire.send(to, label, content)

    def give_up(self):
        self.wire.give_up()

    def receive(self, sender, label):
        return self.wire.receive(sender, label)


def flipped(label, content):
    return label, bytes([content[0] ^ 1]) + content[1:]


SPOILED = {
    "a bit is flipped": flipped,
    "rubbish": lambda label, content: (label, np.random.default_rng(0).bytes(len(content))),
    "cut short": lambda label, content: (label, content[:-1]),
    "another step": lambda label, content: (label + "?", content),
}


def messages():
    wires = memory_wires()
    return value_in_memory(METHOD, OWNERS, wires=wires).wires[0].messages_sent


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "stride"), [("a bit is flipped", 1), ("rubbish", 4), ("cut short", 7), ("another step", 7)]
)
def test_every_message_that_is_spoiled_ends_the_computation(how, stride):
    """Whichever message of whichever party: an error, and never a wrong distance.

    A flipped bit in a check can go unnoticed where it is multiplied by 0: then nothing is wrong.
    """
    count = messages()
    honest = value_in_memory(METHOD, OWNERS).distances
    assert count > 80
    noticed = 0
    for place in range(0, count, stride):
        wires = memory_wires(5.0)
        wires[place % 3] = Faulty(wires[place % 3], place, SPOILED[how])
        try:
            found = value_in_memory(METHOD, OWNERS, wires=wires)
        except PartyError as fault:
            noticed += "There is no result" in str(fault)
        else:
            assert np.array_equal(found.distances, honest)
    assert noticed >= 0.8 * count / stride


class Liar(Engine):
    """Multiplies wrongly, and consistently so: what it keeps is what it sends. As a checker of others it is honest."""

    place = 0
    calls = 0

    def multiply(self, x, y, ring=engine_module.NUMBERS):
        self.calls += 1
        if self.calls != self.place:
            return super().multiply(x, y, ring)
        wrong = x.copy()
        wrong.reshape(2, -1)[0, 0] ^= np.uint64(2**64 - 1)
        result = super().multiply(wrong, y, ring)
        log = self.products[ring.name].parts
        log[-1] = (x.reshape(2, -1), *log[-1][1:])
        return result


def lied(monkeypatch, checked, place):
    shares = [split(METHOD.encode(data)) for data in OWNERS]
    wires = memory_wires(20.0)
    if not checked:
        monkeypatch.setattr(Engine, "settle", lambda self: None)
    Liar.place = place

    def party(index):
        engine = (Liar if index == 1 else Engine)(wires[index])
        rows = np.array([[expand(share[c], METHOD.size) for share in shares] for c in engine.holds])
        try:
            return run_party(engine, METHOD, rows, rows[:, :0])
        except PartyError:
            wires[index].give_up()
            raise

    with ThreadPoolExecutor(3) as pool:
        return [pool.submit(party, index) for index in range(3)]


@pytest.mark.parametrize("place", [1, 13, 20, 23])  # of bits and of numbers, in both of the method's stages
def test_a_consistent_liar_is_caught_before_anything_is_opened(monkeypatch, place):
    faults = [job.exception() for job in lied(monkeypatch, checked=True, place=place)]
    named = [str(fault) for fault in faults if fault is not None]
    assert sum("party 2 multiplied wrongly" in text for text in named) == 2


def test_the_same_liar_gets_a_wrong_distance_through_where_products_are_not_checked(monkeypatch):
    """So the test above has power."""
    honest = value_in_memory(METHOD, OWNERS).distances
    jobs = lied(monkeypatch, checked=False, place=21)  # the last product of an absolute value
    totals = combine([job.result().totals for job in jobs]).view(np.int64)
    assert not np.array_equal(METHOD.decode(totals, 3, {}), honest)


def test_results_whose_copies_differ_are_refused():
    rows = together(lambda engine, x: x, [5, 6])
    assert combine(rows).tolist() == [5, 6]
    rows[1] = rows[1] + np.uint64(1)
    with pytest.raises(PartyError, match="give different shares of one result"):
        combine(rows)


def test_no_set_of_slots_is_carried_to_another_by_more_than_one_shuffle_in_p():
    """The argument in `kantor.private.products`, by enumeration of all sets of slots and all shuffles modulo 7."""
    p = 7
    shuffles = [[(a * i + b) % p for i in range(p)] for a in range(1, p) for b in range(p)]
    assert len(shuffles) == p * (p - 1)
    sets = [frozenset(i for i in range(p) if mask >> i & 1) for mask in range(1, 2**p - 1)]
    carried = Counter((start, frozenset(shuffle[i] for i in start)) for shuffle in shuffles for start in sets)
    assert max(carried.values()) == p - 1


def test_shuffles_are_those():
    places = products._shuffle(b"a coin", 101)
    assert sorted(places.tolist()) == list(range(101))
    assert len(set(np.diff(places) % 101)) == 1
    assert [products._prime_above(n) for n in (1, 2, 3, 10, 1024)] == [2, 3, 5, 11, 1031]
