"""The inequalities under the checks, against numbers worked out by quadrature: each must hold, and be of some use."""

import numpy as np
import pytest
import scipy.stats as st
from hypothesis import given
from hypothesis import strategies as hs

from kantor.delivery.deviations import Part, least_gaps, sampling_distance, stray, stray_of_waves
from kantor.delivery.noise_law import Gaussian, Laplace, Setting, setting_of
from kantor.errors import InputError
from kantor.owners.release import promise

NOISES = [(Laplace(1.0), st.laplace()), (Gaussian(1.0), st.norm())]
Z = np.linspace(-40, 40, 160_001)
STEP = Z[1] - Z[0]


@pytest.mark.parametrize(("noise", "law"), NOISES)
def test_constants_of_the_laws(noise, law):
    density, below = law.pdf(Z), law.cdf(Z)
    assert noise.size == pytest.approx((np.abs(Z) * density).sum() * STEP, rel=1e-6)
    assert noise.variance == pytest.approx((Z**2 * density).sum() * STEP, rel=1e-6)
    assert noise.peak == pytest.approx(density.max(), rel=1e-9)
    assert noise.area == pytest.approx((below * (1 - below)).sum() * STEP, rel=1e-6)
    assert noise.gap == pytest.approx(2 * noise.area, rel=1e-12)  # Gini's mean difference
    for z in (0.0, 1.0, 3.0):
        assert noise.roots(z) == pytest.approx(np.sqrt(below * law.sf(Z))[z <= Z].sum() * STEP, rel=1e-3)
        assert noise.under(z) == pytest.approx(below[z >= Z].sum() * STEP, rel=1e-3)
        assert noise.wave(z) == pytest.approx((np.cos(z * Z) * density).sum() * STEP, abs=1e-6)
    for chance in (0.9, 0.3, 1e-9):
        assert noise.beyond(noise.reach(chance)) == pytest.approx(chance)
    assert noise.beyond(2.0) == pytest.approx(law.sf(2.0))
    assert noise.growth(np.array(0.3)) == pytest.approx(np.log((np.exp(0.3 * Z) * density).sum() * STEP), rel=1e-6)


@pytest.mark.parametrize(("noise", "law"), NOISES)
def test_cells_keep_their_digits_in_both_tails(noise, law):
    for low, high in [(-31.0, -30.0), (-1.0, 2.0), (30.0, 31.0)]:
        tail = law.sf(abs(30.0)) - law.sf(31.0)
        expected = tail if abs(low) > 5 else law.cdf(high) - law.cdf(low)
        assert noise.within(low, high) == pytest.approx(expected, rel=1e-12)
    assert noise.within(-np.inf, 0.0) == pytest.approx(0.5)


@given(hs.lists(hs.floats(-1, 1), min_size=1, max_size=8), hs.floats(0.05, 0.95), hs.sampled_from(NOISES))
def test_no_function_of_slope_one_strays_further_than_the_noise(slopes, s, which):
    """E exp(s (f - E f)) <= E exp(s z): what `stray` rests on, for functions of slopes between -1 and 1."""
    noise, law = which
    knots = np.linspace(-4, 4, len(slopes) + 1)
    f = np.interp(Z, knots, np.concatenate([[0.0], np.cumsum(slopes) * np.diff(knots)]))
    f += slopes[0] * np.minimum(Z - knots[0], 0) + slopes[-1] * np.maximum(Z - knots[-1], 0)
    weights = law.pdf(Z) * STEP
    weights /= weights.sum()
    mean = (weights * f).sum()
    assert np.log((weights * np.exp(s * (f - mean))).sum()) <= noise.growth(np.array(s)) + 1e-6


def test_stray_has_the_closed_form_for_gaussian_noise_and_is_near_the_truth_for_a_single_laplace():
    assert stray([Part(Gaussian(2.0), 50)], 1e-4) == pytest.approx(2 * np.sqrt(2 * np.log(1e4) / 50), rel=1e-3)
    assert st.laplace.isf(1e-4) < stray([Part(Laplace(1.0), 1)], 1e-4) < 1.5 * st.laplace.isf(1e-4)


@pytest.mark.parametrize("values", [1, 10, 1000, 10**6])
def test_stray_of_laplace_noise_is_that_of_gamma_differences_and_little_more(values):
    """P(the mean of Laplace noise > t), by quadrature over two Gammas, is below alpha and not far below."""
    t = stray([Part(Laplace(1.0), values)], 1e-4)
    u = np.linspace(max(0, values - 20 * np.sqrt(values)), values + 20 * np.sqrt(values) + 60, 40_001)
    weights = st.gamma(values).pdf(u) * (u[1] - u[0])
    tail = (weights * st.gamma(values).sf(u + t * values)).sum()
    assert 1e-6 < tail < 1e-4


def test_stray_of_several_parts_lies_between_the_largest_and_the_sum():
    parts = [Part(Laplace(1.0), 100), Part(Gaussian(3.0), 50, 0.5), Part(Laplace(2.0), 10, 0.5)]
    alone = [stray([part], 1e-3) for part in parts]
    assert max(alone) < stray(parts, 1e-3) < sum(alone)


@given(
    hs.lists(hs.floats(0, 1), min_size=1, max_size=6), hs.floats(0.02, 5), hs.sampled_from(NOISES), hs.integers(1, 500)
)  # fmt: skip
def test_the_sampling_distance_is_at_least_that_of_any_data(data, scale, which, values):
    """Against the integral of sqrt(mean F (1 - F) / m) itself, for data at these points in equal parts."""
    noise = type(which[0])(scale)
    t = np.linspace(-15 * scale, 1 + 15 * scale, 20_001)
    tails = noise.beyond(t[None, :] - np.array(data)[:, None])
    exact = np.sqrt((tails * (1 - tails)).mean(axis=0) / values).sum() * (t[1] - t[0])
    bound = sampling_distance(noise, values, 1.0)
    assert exact <= bound * (1 + 1e-6)
    widest = sampling_distance(noise, values, 1e-9)
    assert bound >= widest * (1 - 1e-9)


def test_the_sampling_distance_is_not_wasteful():
    t = np.linspace(-20, 30, 50_001)
    tails = Laplace(1.0).beyond(t[None, :] - np.linspace(0, 10, 41)[:, None])
    exact = np.sqrt((tails * (1 - tails)).mean(axis=0)).sum() * (t[1] - t[0])
    assert sampling_distance(Laplace(1.0), 1, 10.0) < 1.25 * exact


@given(hs.floats(-5, 5), hs.floats(0.01, 5), hs.sampled_from(NOISES))
def test_no_data_bring_two_values_closer_than_noise_does(shift, s, which):
    """Anderson: E exp(-s |shift + z - z'|) is largest at shift 0, where it is `shrinking`."""
    noise, law = which
    t = Z[::20]
    density = np.convolve(law.pdf(t), law.pdf(t), mode="same") * (t[1] - t[0]) ** 2
    value = np.log((np.exp(-s * np.abs(shift + t)) * density).sum())
    assert value <= noise.shrinking(np.array(s)) + 1e-3


@pytest.mark.parametrize(("noise", "law"), NOISES)
@pytest.mark.parametrize("pairs", [3, 30, 300])
def test_gaps_are_seldom_below_the_least(noise, law, pairs):
    rng = np.random.default_rng(pairs)
    gaps = np.abs(np.diff(law.rvs((4000, pairs, 2), random_state=rng), axis=2)).mean(axis=(1, 2))
    for alpha in (0.3, 0.05, 0.01):
        low = int((gaps < least_gaps(noise, pairs, alpha)).sum())
        assert low <= st.binom.isf(1e-6, 4000, alpha)
    assert least_gaps(noise, 300, 0.01) > 0.75 * noise.gap


@pytest.mark.parametrize(("noise", "law"), NOISES)
def test_waves_seldom_stray_further(noise, law):
    rng, frequencies = np.random.default_rng(3), np.array([0.3, 1.0, 2.5])
    for values in (5, 200):
        drawn = law.rvs((3000, values), random_state=rng)
        found = np.array([np.exp(1j * f * drawn).mean(axis=1) for f in frequencies]).T
        far = np.abs(found / noise.wave(frequencies) - 1)
        for alpha in (0.5, 0.1):
            beyond = (far > stray_of_waves([Part(noise, values)], frequencies, alpha)).sum(axis=0)
            assert (beyond <= st.binom.isf(1e-6, 3000, alpha)).all()


def test_noise_that_floats_cannot_hold_is_not_tested():
    made = promise("laplace", 10, bounds=(1e12, 1e12 + 1), unit="record", epsilon=1e6)
    with pytest.raises(InputError, match="lost in rounding"):
        setting_of(made)
    assert setting_of(promise("laplace", 10, bounds=(2, 5), unit="record", epsilon=1)).width == 3.0
    assert Setting(0.0, 2.0, Laplace(1.0)).width == 2.0
