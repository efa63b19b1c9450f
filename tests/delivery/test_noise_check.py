"""Tests on the noise: what they rest on holds for all data, and planted faults are found and told."""

import numpy as np
import pytest
import scipy.stats as st
from hypothesis import given
from hypothesis import strategies as hs

from kantor.delivery import noise_check
from kantor.delivery.noise_check import beyond, excess, halves, neighbours, noise_tests, shape_of_excess, steps, waves
from kantor.delivery.noise_law import Gaussian, Laplace, Setting

NOISES = [Laplace, Gaussian]
TINY = 1e-6


def drawn(noise, size, seed=0, times=1.0):
    rng = np.random.default_rng(seed)
    return times * (rng.laplace if isinstance(noise, Laplace) else rng.normal)(0, noise.scale, size)


def setting(kind=Laplace, scale=1.0, low=0.0, high=1.0):
    return Setting(low, high, kind(scale))


@given(hs.sampled_from(NOISES), hs.floats(0.02, 10), hs.floats(0, 1))
def test_of_two_cells_the_share_lies_between_those_of_the_bounds(kind, scale, x):
    """The likelihood ratio is monotone, so x on a bound is the worst case of every pair of cells."""
    one = setting(kind, scale)
    edges = noise_check._edges(one)
    low, here, high = (one.noise.within(edges[:-1] - at, edges[1:] - at) for at in (0.0, x, 1.0))
    known = (here[:-1] + here[1:]) > 1e-250
    share, most, least = (noise_check._share(m[:-1], m[1:])[known] for m in (here, low, high))
    assert (share <= most * (1 + 1e-9)).all()
    assert ((1 - share) <= noise_check._share(high[1:], high[:-1])[known] * (1 + 1e-9)).all()
    assert (least <= 1).all()


@given(hs.sampled_from(NOISES), hs.floats(0.02, 10), hs.floats(0, 1), hs.floats(0, 5))
def test_no_data_within_the_bounds_go_beyond_them_more_often(kind, scale, x, margin):
    noise = kind(scale)
    t = margin * scale
    chance = noise.beyond(1 - x + t) + noise.beyond(x + t)
    assert chance <= (noise.beyond(t) + noise.beyond(t + 1)) * (1 + 1e-12)


@given(hs.floats(0.02, 10), hs.floats(0, 1), hs.floats(0, 5))
def test_laplace_noise_beyond_the_bounds_has_one_law_for_all_data(scale, x, z):
    noise = Laplace(scale)
    assert noise.beyond(1 - x + z * scale) / noise.beyond(1 - x) == pytest.approx(np.exp(-z))


@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize(
    "data", [lambda m: np.full(m, 0.5), lambda m: np.arange(m) % 2, lambda m: np.linspace(0, 1, m)]
)
def test_each_test_doubts_honest_noise_no_more_often_than_stated(kind, data):
    """500 deliveries at a rate of 0.2 for each test: more than this would be seen once in a million."""
    one = setting(kind, 0.4)
    most = st.binom.isf(1e-6, 500, 0.2)
    for test in noise_tests(one):
        doubts = sum(test(data(80) + drawn(one.noise, 80, seed), one, 0.2).doubt for seed in range(500))
        assert doubts <= most, test


def test_the_exact_test_is_as_sharp_as_stated():
    """A test that never doubts would pass the one above: the excess doubts one honest delivery in five at 0.2."""
    one = setting()
    doubts = sum(excess(0.5 + drawn(one.noise, 80, seed), one, 0.2).doubt for seed in range(1200))
    assert st.binom.isf(1 - 1e-6, 1200, 0.2) <= doubts <= st.binom.isf(1e-6, 1200, 0.2)


@pytest.mark.parametrize("kind", NOISES)
def test_faults_are_found_by_the_tests_made_for_them(kind):
    one, x = setting(kind), np.full(3000, 0.5)
    names = {
        0.0: [neighbours, halves, waves, steps],
        0.5: [neighbours, halves, waves, steps],
        2.0: [beyond, steps],
    }
    for times, tests in names.items():
        values = x + drawn(one.noise, 3000, times=times)
        for test in tests:
            assert test(values, one, TINY).doubt, (times, test)
    for test in noise_tests(one):
        assert not test(x + drawn(one.noise, 3000), one, TINY).doubt


def test_laplace_excess_shows_too_much_too_little_and_another_kind():
    one = setting()
    for times in (0.5, 2.0):
        values = drawn(one.noise, 3000, times=times)
        assert excess(values, one, TINY).doubt
        assert shape_of_excess(values, one, TINY).doubt
    assert shape_of_excess(np.random.default_rng(0).normal(0, 2**0.5, 6000), one, TINY).doubt


def test_laplace_noise_in_place_of_gaussian_shows_in_the_waves():
    one = setting(Gaussian)
    assert waves(np.random.default_rng(0).laplace(0.5, 2**-0.5, 6000), one, TINY).doubt


def test_a_smooth_series_hides_less_from_its_neighbours():
    """Half the noise on a wave much larger than the noise: neighbours show it, values half a series apart do not."""
    one = setting(scale=0.1)
    values = 0.5 + 0.5 * np.sin(np.arange(4000) / 300) + drawn(one.noise, 4000, times=0.5)
    assert neighbours(values, one, TINY).doubt
    assert not halves(values, one, TINY).doubt


def test_double_noise_may_look_like_honest_noise_on_other_data():
    """Twice the Laplace noise is the promised one on data that are spread out, x or x + 2z with chance 3/4: inside wide
    bounds no test can tell, whatever it does."""
    one = setting(scale=1.0, low=-60.0, high=60.0)
    rng = np.random.default_rng(1)
    spread = np.where(rng.random(5000) < 0.75, 2 * rng.laplace(size=5000), 0.0)
    honest, doubled = spread + rng.laplace(size=5000), 2 * rng.laplace(size=5000)
    assert st.ks_2samp(honest, doubled).pvalue > 1e-3
    assert not any(test(doubled, one, TINY).doubt for test in noise_tests(one))


@pytest.mark.parametrize("kind", NOISES)
def test_one_value_can_be_tested(kind):
    for value in (0.5, -3.0, 1e6):
        found = [test(np.array([value]), setting(kind), TINY) for test in noise_tests(setting(kind))]
        assert all(np.isfinite([f.statistic, f.threshold]).all() for f in found)
    assert beyond(np.array([1e6]), setting(kind), TINY).doubt
    assert excess(np.array([1e6]), setting(), TINY).doubt


@pytest.mark.parametrize("kind", NOISES)
def test_one_value_too_far_is_enough(kind):
    one = setting(kind)
    values = 0.5 + drawn(one.noise, 1000)
    values[7] = 60.0
    assert beyond(values, one, 1e-5).doubt
    assert "at most 0 there" in beyond(values, one, 1e-5).sentence


@pytest.mark.parametrize("kind", NOISES)
def test_sentences_carry_their_numbers(kind):
    one = setting(kind)
    values = 0.5 + drawn(one.noise, 500, times=3.0)
    told = beyond(values, one, 1e-4)
    assert f"{told.statistic:.0f} of 500 values" in told.sentence
    assert f"at most {told.threshold:.0f} there" in told.sentence
    assert all(test(values, one, 1e-4).sentence.endswith(".") for test in noise_tests(one))


@pytest.mark.parametrize("width", [1e-6, 1.0, 50.0, 1e5])
@pytest.mark.parametrize("kind", NOISES)
def test_any_proportion_of_bounds_and_noise(kind, width):
    one = setting(kind, high=width)
    values = width / 2 + drawn(one.noise, 300)
    assert not any(test(values, one, TINY).doubt for test in noise_tests(one))
    edges = noise_check._edges(one)
    assert edges.size <= 131
    assert (np.diff(edges) > 0).all()
