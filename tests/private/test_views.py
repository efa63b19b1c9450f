"""What one party sees has one distribution whatever the data; protocols that leak are caught by the same test."""

import numpy as np
import pytest
import scipy
from views import compare_views

from kantor.private import histogram
from kantor.private.aligned import Aligned
from kantor.private.engine import NUMBERS, Engine
from kantor.private.histogram import Histogram
from kantor.private.parameters import Parameters

LOW = [[0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.2, 0.9], [0.3, 0.3, 0.1, 0.2]]
SPREAD = [[0.1, 9.2, 3.3, 7.4], [5.1, 6.2, 8.2, 9.9], [9.3, 9.3, 0.1, 4.2]]
HISTOGRAM = Histogram(0, 10, bins=4, levels=4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "party"),
    [
        (HISTOGRAM, 0),
        (HISTOGRAM, 1),
        (HISTOGRAM, 2),
        (Aligned(0, 10, 4), 1),
        (Parameters(0, 10, 10, cells=4, aggregate="euclidean"), 2),
    ],
)
def test_no_party_sees_which_data_it_computes_on(method, party):
    found = compare_views(method, LOW, SPREAD, party)
    assert found.alike, found


SUMS = Parameters(0, 10, 10, reveal="sums")
ALIKE = [scipy.stats.norm(5, 2)] * 3
APART = [scipy.stats.norm(1, 1), scipy.stats.norm(5, 2), scipy.stats.norm(9, 3)]


@pytest.mark.slow
def test_opened_sums_show_the_sums_alone():
    """The two data sets have one sum of locations and one of scales; a third has others, and is told apart by them."""
    assert compare_views(SUMS, ALIKE, APART, 0).alike
    assert not compare_views(SUMS, ALIKE, [*APART[:2], scipy.stats.norm(8, 3)], 0).alike


class NoMasks(Engine):
    """Sends products as they are."""

    def drawn(self, count):
        return np.zeros((2, count), dtype=np.uint64)


class SameMasks(Engine):
    """Draws the masks of every product from the beginning of the key again."""

    def drawn(self, count):
        fresh = Engine.__new__(Engine)
        fresh._masks = tuple(type(stream)(key) for stream, key in zip(self._masks, self.keys, strict=True))
        return Engine.drawn(fresh, count)


def shown_signs(engine, table):
    """The short way to an absolute value: open the signs, which looks harmless."""
    flat = table.reshape(2, -1)
    signs = engine.open(histogram.negative(engine, flat))
    return np.where(signs == 1, -flat, flat).reshape(table.shape).sum(axis=2)


class Talkative(Engine):
    """Opens the target's sum to the parties on the way."""

    def settle(self):
        super().settle()
        if self.wire.index >= 0 and not getattr(self, "told", False):
            self.told = True
            self.open(self.multiply(self.seen, self.public(1, self.seen), NUMBERS))

    def multiply(self, x, y, ring=NUMBERS):
        if not hasattr(self, "seen"):
            self.seen = x.reshape(2, -1).copy()
        return super().multiply(x, y, ring)


@pytest.mark.slow
@pytest.mark.parametrize("leaking", [NoMasks, SameMasks, Talkative])
def test_leaking_engines_are_caught(leaking):
    assert not compare_views(HISTOGRAM, LOW, SPREAD, 1, runs=60, engine=leaking).alike


@pytest.mark.slow
def test_opened_signs_are_caught(monkeypatch):
    monkeypatch.setattr(histogram, "absolute_rows", shown_signs)
    assert not compare_views(HISTOGRAM, LOW, SPREAD, 1, runs=60).alike


@pytest.mark.slow
def test_one_data_set_against_itself_is_alike():
    assert compare_views(HISTOGRAM, LOW, LOW[::-1], 0, runs=60).alike
