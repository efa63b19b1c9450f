"""The Hoeffding bound: hand-solved values, limits, all sizes and coalitions at once, and the published curves.

`published_curves.json` is the project's copy of the published figures' data; the curves used here are those of
Figure 6 (average over 50 trials of eight normal owners, confidence 0.95).
"""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kantor.errors import InputError
from kantor.valuation.coalitions import coalition_distances, coalitions, mean_by_size, table_order
from kantor.valuation.hoeffding import (
    coalition_bounds,
    coefficient,
    confidence_factor,
    confidence_of,
    hoeffding_bound,
    mean_bounds,
    nearest_bounds,
)

DATA = Path(__file__).parents[1] / "data"
distances = st.lists(st.floats(0, 1e6), min_size=1, max_size=7)


def test_two_owners_of_eight_by_hand() -> None:
    root = np.sqrt(np.log(2 / 0.05) / 2) * np.sqrt(1 + 4) / 2
    assert hoeffding_bound([1, 2], 8) == pytest.approx(root * np.sqrt(6 / 7), rel=1e-14)
    assert hoeffding_bound([1, 2], 8, correction="theorem") == pytest.approx(root * np.sqrt(6 / 8), rel=1e-14)
    assert hoeffding_bound([1, 2], 8, population="infinite") == pytest.approx(root, rel=1e-14)
    assert hoeffding_bound([1, 2], population="infinite") == pytest.approx(root, rel=1e-14)


def test_no_confidence_leaves_the_logarithm_of_two() -> None:
    assert hoeffding_bound([3], 5, confidence=0) == pytest.approx(3 * np.sqrt(np.log(2) / 2), rel=1e-14)


@pytest.mark.parametrize("correction", ["program", "theorem"])
@pytest.mark.parametrize("size", [1, 3])
def test_the_whole_finite_population_is_the_target(size: int, correction: str) -> None:
    assert hoeffding_bound([2.0] * size, size, correction=correction) == 0  # type: ignore[arg-type]
    assert hoeffding_bound([2.0] * size, size, population="infinite") > 0


@pytest.mark.parametrize("population", ["finite", "infinite"])
def test_no_owners_are_infinitely_far(population: str) -> None:
    assert hoeffding_bound([], 8, population=population) == np.inf  # type: ignore[arg-type]
    assert coefficient([0], 8, population=population)[0] == np.inf  # type: ignore[arg-type]


def test_zero_distances_give_zero() -> None:
    assert hoeffding_bound([0, 0], 8) == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([1.0], 8, 1.0), "confidence of 1.0"),
        (([1.0], 8, -0.1), "confidence of -0.1"),
        (([1.0], 8, float("nan")), "confidence of nan"),
        (([1.0, 1.0, 1.0], 2), "population of 2 cannot hold a coalition of 3"),
        (([], 0), "population of 0"),
        (([1.0], 2.5), "population of 2.5"),
        (([1.0],), "without its size"),
        (([1.0, -2.0], 8), r"distance 1 \(counted from 0\) is -2.0"),
        (([float("nan"), 1.0], 8), r"distance 0 \(counted from 0\) is nan"),
        (([[1.0]], 8), "one dimension"),
        ((["far"], 8), "not numbers"),
        (([1.0], 8, 0.9, "endless"), "'endless'"),
        (([1.0], 8, 0.9, "finite", "none"), "'none'"),
    ],
)
def test_what_is_refused_and_how(arguments: tuple[object, ...], says: str) -> None:
    with pytest.raises(InputError, match=says) as failure:
        hoeffding_bound(*arguments)  # type: ignore[arg-type]
    assert failure.value.remedy


@pytest.mark.parametrize("n", [-1, 1.5, float("nan")])
def test_a_coalition_has_a_whole_number_of_owners(n: float) -> None:
    with pytest.raises(InputError, match="is not one"):
        coefficient(n, 8)


@given(distances, st.randoms())
def test_the_order_of_owners_never_matters(values: list[float], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert hoeffding_bound(shuffled, 9) == hoeffding_bound(values, 9)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_squares_neither_overflow_nor_vanish(unit: float) -> None:
    assert hoeffding_bound([3 * unit, 4 * unit], 8) == pytest.approx(unit * hoeffding_bound([3, 4], 8), rel=1e-13)
    assert nearest_bounds([3 * unit, 4 * unit], 8) == pytest.approx(unit * nearest_bounds([3, 4], 8), rel=1e-13)
    assert coalition_bounds([3 * unit], 8)[1] == pytest.approx(unit * hoeffding_bound([3], 8), rel=1e-13)


@given(distances, st.sampled_from(["finite", "infinite"]), st.sampled_from(["program", "theorem"]))
def test_all_at_once_agrees_with_one_at_a_time(values: list[float], population: str, correction: str) -> None:
    options = (0.8, population, correction)
    count, whole = len(values), len(values) + 2
    one = [hoeffding_bound(np.array(values)[row], whole, *options) for row in coalitions(count)]  # type: ignore[arg-type]
    every = coalition_bounds(values, whole, *options)  # type: ignore[arg-type]
    assert every[0] == np.inf
    assert every[table_order(count)] == pytest.approx(one, rel=1e-12)
    sizes = coalitions(count).sum(axis=1)
    of_size = [np.array(one)[sizes == n] for n in range(1, count + 1)]
    assert nearest_bounds(values, whole, *options) == pytest.approx([b.min() for b in of_size], rel=1e-12)  # type: ignore[arg-type]
    assert mean_bounds(values, whole, *options) == pytest.approx([b.mean() for b in of_size], rel=1e-12)  # type: ignore[arg-type]


def test_without_a_size_the_owners_are_the_population() -> None:
    assert nearest_bounds([1, 2])[1] == 0
    assert coalition_bounds([1, 2])[3] == 0
    assert mean_bounds([1, 2])[1] == 0
    with pytest.raises(InputError, match="population of 0"):
        nearest_bounds([1, 2], 0)


@given(st.floats(0, 0.999), st.floats(0, 0.999))
def test_more_confidence_means_a_larger_bound(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert hoeffding_bound([1, 2], 8, low) <= hoeffding_bound([1, 2], 8, high)


@given(st.floats(0, 4.3))
def test_the_confidence_of_a_factor_is_the_least_that_reaches_it(factor: float) -> None:
    confidence = confidence_of(factor)
    assert confidence_factor(confidence) >= factor
    if confidence > 0:
        assert confidence_factor(confidence - 1e-9 * max(1e-6, 1 - confidence) - 2e-16) <= factor + 1e-9


def test_factors_that_no_float_reaches_need_certainty() -> None:
    assert confidence_of(5.0) == 1.0
    assert confidence_of(0.0) == 0.0


def test_a_near_certain_confidence_keeps_its_digits() -> None:
    # 1 - delta = 2^-40 exactly, so ln(2/(1 - delta)) = 41 ln 2.
    assert confidence_factor(1 - 2.0**-40) == pytest.approx(np.sqrt(41 * np.log(2) / 2), rel=1e-15)


def test_published_averages_over_fifty_trials() -> None:
    """Figure 6: W, INF and FIN by coalition size."""
    figure = json.loads((DATA / "published_curves.json").read_text())["hoef_bound_avg_st_norm_N_d_8_N_r_50"]
    curves = {curve["label"]: curve["y"] for curve in figure["curves"]}
    actual, infinite, finite = np.zeros(8), np.zeros(8), np.zeros(8)
    for owners in _trials():
        w = coalition_distances(owners)
        alone = w[1 << np.arange(8)]
        actual += mean_by_size(w) / 50
        infinite += mean_bounds(alone, population="infinite") / 50
        finite += mean_bounds(alone) / 50
    assert actual == pytest.approx(curves["W"], abs=1e-4)
    assert infinite == pytest.approx(curves["W INF"], abs=1e-4)
    assert finite == pytest.approx(curves["W FIN"], abs=1e-4)


def _trials() -> list[list[object]]:
    import scipy

    random = np.random.RandomState(1345)
    location, scale = random.uniform(10, 16, (50, 8)), random.uniform(1, 3, (50, 8))
    return [[scipy.stats.norm(a, b) for a, b in zip(x, y, strict=True)] for x, y in zip(location, scale, strict=True)]


def test_nearest_owners_have_the_least_bound_of_their_size() -> None:
    values = [3.0, 1.0, 2.0, 5.0]
    best = [min(hoeffding_bound(p, 6) for p in combinations(values, n)) for n in range(1, 5)]
    assert nearest_bounds(values, 6) == pytest.approx(best, rel=1e-14)
