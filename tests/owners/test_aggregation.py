"""Three meanings of "the whole population", each checked against its definition."""

import numpy as np
import pytest
import scipy.stats as st
from hypothesis import given
from hypothesis import strategies as hs

import kantor as kt
from kantor.errors import InputError
from kantor.owners.distributions import Mixture, QuantileAverage

rows = hs.integers(1, 5).flatmap(
    lambda m: hs.lists(hs.lists(hs.integers(-5, 5).map(float), min_size=m, max_size=m), min_size=1, max_size=4)
)
ragged = hs.lists(hs.lists(hs.integers(-5, 5).map(float), min_size=1, max_size=6), min_size=1, max_size=4)


@given(rows)
def test_euclidean_is_the_mean_moment_by_moment(data):
    made = kt.aggregate(data, "euclidean")
    assert made.weights is None
    assert made.values == pytest.approx(np.mean(data, axis=0), abs=1e-12)


@given(ragged)
def test_mixture_gives_each_owner_equal_weight(data):
    made = kt.aggregate(data, "mixture")
    chances = np.full(made.values.size, 1 / made.values.size) if made.weights is None else made.weights
    for t in range(-6, 6):
        share = np.mean([np.mean(np.array(owner) <= t) for owner in data])
        assert chances[made.values <= t].sum() == pytest.approx(share, abs=1e-12)


@given(ragged)
def test_barycenter_averages_quantiles(data):
    made = kt.aggregate(data, "barycenter")
    values, levels = made.ordered()
    for u in (0.03, 0.21, 0.49, 0.77, 0.99):
        quantiles = [np.sort(owner)[int(np.ceil(u * len(owner) - 1e-9)) - 1] for owner in data]
        assert values[np.searchsorted(levels, u - 1e-9)] == pytest.approx(np.mean(quantiles), abs=1e-12)


@given(ragged)
def test_barycenter_is_the_point_of_least_total_squared_distance(data):
    """On the line the quantile average minimises the sum of squared 2-Wasserstein distances; W1 agrees for shifts."""
    made = kt.aggregate(data, "barycenter")

    def cost(values):
        levels = np.append(0.0, made.ordered()[1])
        middles = (levels[1:] + levels[:-1]) / 2
        total = 0.0
        for owner in data:
            quantiles = np.sort(owner)[np.minimum((middles * len(owner)).astype(int), len(owner) - 1)]
            total += np.diff(levels) @ (values - quantiles) ** 2
        return total

    best = made.ordered()[0]
    assert cost(best) <= cost(best + 0.1) + 1e-12
    assert cost(best) <= cost(best * 1.05) + 1e-12


def test_normals():
    owners = [st.norm(10, 1), st.norm(14, 3)]
    euclidean = kt.aggregate(owners, "euclidean")
    assert (euclidean.mean(), euclidean.std()) == pytest.approx((12, np.sqrt(10) / 2))
    barycenter = kt.aggregate(owners, "barycenter")
    assert (barycenter.mean(), barycenter.std()) == pytest.approx((12, 2))
    assert isinstance(kt.aggregate(owners, "mixture"), Mixture)
    draws = np.random.default_rng(0).normal([[10], [14]], [[1], [3]], (2, 40_000))
    assert kt.wasserstein(kt.aggregate(draws, "euclidean"), euclidean) < 0.04
    assert kt.wasserstein(kt.aggregate(draws, "barycenter"), barycenter) < 0.04
    assert kt.wasserstein(kt.aggregate(draws, "mixture"), kt.aggregate(owners, "mixture")) < 0.04


def test_other_families():
    assert isinstance(kt.aggregate([st.gamma(2), st.norm()], "barycenter"), QuantileAverage)
    assert isinstance(kt.aggregate([st.gamma(2), st.gamma(3)], "barycenter"), QuantileAverage)
    same = kt.aggregate([st.gamma(2, 1, 2), st.gamma(2, 3, 4)], "barycenter")
    assert same.ppf(0.3) == pytest.approx(st.gamma(2, 2, 3).ppf(0.3))


@pytest.mark.parametrize("how", ["euclidean", "mixture", "barycenter"])
@pytest.mark.parametrize("owner", [st.gamma(2), st.norm(1, 2)])
def test_one_owner_is_its_own_aggregate(how, owner):
    assert kt.aggregate([owner], how) is owner
    assert kt.aggregate([[1.0, 5.0]], how).values.tolist() == [1.0, 5.0]


def test_what_cannot_be_done_is_said():
    with pytest.raises(InputError, match="normal owners only"):
        kt.aggregate([st.expon(), st.expon()], "euclidean")
    with pytest.raises(InputError, match="equally many samples"):
        kt.aggregate([[1, 2], [1]], "euclidean")
    with pytest.raises(InputError, match="aggregate 'median'"):
        kt.aggregate([[1, 2], [1]], "median")
