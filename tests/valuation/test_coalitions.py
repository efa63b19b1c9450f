"""Coalitions in both orders, and their distances: against the published values and against one distance at a time.

`gaussian_valuation.npz` is the project's copy of the published losses of ten trials of eight normal owners: 17
metrics, W the first, for the 255 coalitions.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from kantor.errors import InputError
from kantor.owners.distributions import QuantileAverage
from kantor.valuation import coalitions as module
from kantor.valuation.coalitions import (
    coalition_distances,
    coalition_sizes,
    coalitions,
    mean_by_size,
    members,
    subset_sums,
    table_order,
)
from kantor.valuation.wasserstein import wasserstein

DATA = Path(__file__).parents[1] / "data"
AGGREGATES = ["euclidean", "mixture", "barycenter"]
SAMPLES = np.random.default_rng(7).normal([[0], [1], [5], [-2]], [[1], [3], [0.5], [2]], (4, 30)).round(2)


def normals(count: int, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    draws = zip(rng.uniform(10, 16, count), rng.uniform(1, 3, count), strict=True)
    return [scipy.stats.norm(a, b) for a, b in draws]


def combined(rows: Any, aggregate: str) -> Any:
    if aggregate == "mixture":
        return np.concatenate(rows)
    return np.mean(rows if aggregate == "euclidean" else np.sort(rows, axis=1), axis=0)


def test_the_table_goes_by_size_then_lexicographically() -> None:
    listed = [np.flatnonzero(row).tolist() for row in coalitions(3)]
    assert listed == [[0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]]
    listed = [tuple(np.flatnonzero(row)) for row in coalitions(8)]
    assert listed == [c for n in range(1, 9) for c in combinations(range(8), n)]


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=8))
def test_subset_sums_are_sums_over_members(values: list[int]) -> None:
    rows = members(np.arange(1 << len(values)), len(values))
    assert subset_sums(values).tolist() == (rows @ np.array(values)).tolist()
    assert coalition_sizes(len(values)).tolist() == rows.sum(axis=1).tolist()


def test_table_and_bitmasks_name_the_same_coalitions() -> None:
    sums = subset_sums(np.array([1, 10, 100, 1000]))
    assert sums[table_order(4)].tolist() == (coalitions(4) @ np.array([1, 10, 100, 1000])).tolist()


def test_means_by_size() -> None:
    assert mean_by_size(np.array([99.0, 1.0, 3.0, 7.0])).tolist() == [2.0, 7.0]


def test_published_distances_of_normal_owners() -> None:
    published = np.load(DATA / "gaussian_valuation.npz")
    assert published["metrics"][0] == "W"
    for trial in range(10):
        draws = zip(published["location"][trial], published["scale"][trial], strict=True)
        w = coalition_distances([scipy.stats.norm(a, b) for a, b in draws])
        assert w[table_order(8)] == pytest.approx(published["loss"][trial, 0], abs=1e-9)


def test_normals_one_at_a_time() -> None:
    owners = normals(5)
    spread = np.array([o.std() for o in owners])
    mean = np.array([o.mean() for o in owners])
    target = scipy.stats.norm(mean.mean(), np.sqrt((spread**2).sum()) / 5)
    elsewhere = scipy.stats.norm(3, 2)
    aggregates = [scipy.stats.norm(mean[p].mean(), np.sqrt((spread[p] ** 2).sum()) / p.sum()) for p in coalitions(5)]
    own, other = coalition_distances(owners), coalition_distances(owners, elsewhere)
    assert own[table_order(5)] == pytest.approx([wasserstein(a, target) for a in aggregates], abs=1e-13)
    assert other[table_order(5)] == pytest.approx([wasserstein(a, elsewhere) for a in aggregates], rel=1e-12)


@pytest.mark.slow
def test_barycenters_of_exponentials_stay_exponential() -> None:
    owners = [scipy.stats.expon(a, b) for a, b in ((0, 1), (2, 3))]
    w = coalition_distances(owners, aggregate="barycenter")[table_order(2)]
    target = QuantileAverage(owners)
    one = [wasserstein(QuantileAverage([owners[i] for i in np.flatnonzero(p)]), target) for p in coalitions(2)]
    assert w == pytest.approx(one, abs=1e-9)


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize(
    "target",
    [None, np.linspace(-3, 4, 30), np.linspace(-3, 4, 17), scipy.stats.logistic(1, 2)],
    ids=["own", "as many samples", "fewer samples", "distribution"],
)
def test_samples_one_at_a_time(aggregate: Any, target: Any) -> None:
    goal = combined(SAMPLES, aggregate) if target is None else target
    one = [wasserstein(combined(SAMPLES[row], aggregate), goal) for row in coalitions(4)]
    every = coalition_distances(SAMPLES, target, aggregate)
    assert every[0] == np.inf
    assert every[table_order(4)] == pytest.approx(one, abs=1e-12)
    assert coalition_distances(list(SAMPLES), target, aggregate, coalitions(4)) == pytest.approx(one, abs=1e-12)


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_the_grand_coalition_is_the_target(aggregate: Any) -> None:
    assert coalition_distances(SAMPLES + 1e6, aggregate=aggregate)[-1] == pytest.approx(0, abs=1e-12)
    assert coalition_distances(SAMPLES, aggregate=aggregate)[1:-1].min() > 0.01


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_a_common_offset_costs_no_digits(aggregate: Any) -> None:
    moved = coalition_distances(np.round(SAMPLES * 128) / 128 + 2**30, aggregate=aggregate)[1:]
    assert moved == pytest.approx(
        coalition_distances(np.round(SAMPLES * 128) / 128, aggregate=aggregate)[1:], abs=1e-12
    )


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_small_blocks_change_nothing(aggregate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = coalition_distances(SAMPLES, aggregate=aggregate)
    monkeypatch.setattr(module, "_BLOCK", 100)
    assert coalition_distances(SAMPLES, aggregate=aggregate) == pytest.approx(at_once, abs=1e-13)


def test_chosen_rows_agree_with_all_and_empty_ones_are_infinitely_far() -> None:
    owners = normals(6)
    rows = members(np.arange(64), 6)
    chosen = coalition_distances(owners, coalitions=rows)
    assert chosen[0] == np.inf
    assert chosen[1:] == pytest.approx(coalition_distances(owners)[1:], abs=1e-13)


def test_twenty_owners() -> None:
    owners = normals(20)
    w = coalition_distances(owners)
    assert w.size == 2**20
    assert w[-1] == pytest.approx(0, abs=1e-12)
    few = np.random.default_rng(1).integers(1, 2**20, 50)
    assert w[few] == pytest.approx(coalition_distances(owners, coalitions=members(few, 20)), abs=1e-12)


def test_more_owners_are_valued_row_by_row() -> None:
    owners = normals(30)
    with pytest.raises(InputError, match="all coalitions of 30 owners"):
        coalition_distances(owners)
    assert coalition_distances(owners, coalitions=np.ones((1, 30), dtype=bool)) == pytest.approx([0], abs=1e-12)


@pytest.mark.parametrize(
    ("owners", "options", "says"),
    [
        ([[1.0, 2.0], [1.0]], {}, "owner 0 has 2 samples and owner 1 has 1"),
        ([scipy.stats.norm(), [1.0]], {}, "distributions"),
        ([scipy.stats.norm(), scipy.stats.expon()], {}, "no closed form"),
        ([scipy.stats.expon()], {}, "euclidean aggregate of these distributions"),
        ([scipy.stats.norm()], {"aggregate": "mixture"}, "mixture aggregate of these distributions"),
        ([scipy.stats.norm()], {"target": [1.0, 2.0]}, "the target is not one"),
        ([scipy.stats.norm()], {"target": scipy.stats.expon()}, "the target is not one"),
        ([[1.0]], {"aggregate": "median"}, "aggregate 'median'"),
        ([[1.0]], {"target": scipy.stats.poisson(3)}, "discrete"),
        ([[1.0]], {"coalitions": [[1]]}, "int64 values"),
        ([[1.0]], {"coalitions": [[True, False]]}, r"shape \(1, 2\)"),
        ([[1.0, np.nan]], {}, "nan"),
        (3, {}, "int"),
    ],
)
def test_what_is_refused_and_how(owners: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says) as failure:
        coalition_distances(owners, **options)
    assert failure.value.remedy


@pytest.mark.parametrize("count", [0, 21])
def test_the_table_ends_at_twenty(count: int) -> None:
    with pytest.raises(InputError, match=f"all coalitions of {count} owners"):
        coalitions(count)
