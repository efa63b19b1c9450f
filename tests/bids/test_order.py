"""The sort that every solver uses: as NumPy's stable one, on any keys."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs

from kantor.bids import order
from kantor.bids.order import by_key

ZEROS = [0.0, -0.0]
KEYS = hs.one_of(hs.sampled_from([*ZEROS, 1.0, np.inf, -np.inf, 5e-324, 1e308]), hs.floats(allow_nan=False))


def assert_stable(keys):
    places = by_key(keys)
    assert places.dtype == np.int64
    assert places.tolist() == np.argsort(keys, kind="stable").tolist()


@given(hs.lists(KEYS, max_size=40), hs.integers(1, 40))
def test_short_keys_repeated(values, times):
    assert_stable(np.tile(np.array(values, float), times))


@given(hs.integers(0, 2**32 - 1), hs.integers(512, 3000), hs.sampled_from([1, 2, 30, 1000, 10**9]))
def test_many_keys_on_a_grid(seed, count, steps):
    assert_stable(np.random.default_rng(seed).integers(-steps, steps, count) / 7)


@pytest.mark.parametrize("count", [0, 1, 511, 512, 513, 100_000])
def test_equal_keys_stay_in_place(count):
    assert by_key(np.full(count, 0.1)).tolist() == list(range(count))
    assert_stable(np.resize(ZEROS, count))


def test_a_view_with_strides_is_sorted_too():
    assert_stable(np.random.default_rng(0).integers(0, 9, 6000)[::-3].astype(float))


def test_a_planted_fault_is_caught(monkeypatch):
    """If ties were not found, NumPy's default order would remain: the comparison sees it."""
    monkeypatch.setattr(order, "_tied", lambda same: np.empty(0, dtype=np.int64))
    keys = np.random.default_rng(1).integers(0, 3, 5000).astype(float)
    assert by_key(keys).tolist() != np.argsort(keys, kind="stable").tolist()
