"""Families taken apart, and aggregates of distributions as distributions of their own."""

import numpy as np
import pytest
import scipy.stats as st
from hypothesis import given
from hypothesis import strategies as hs

from kantor.errors import InputError
from kantor.owners.distributions import Mixture, QuantileAverage, atoms, family, is_discrete, is_distribution

PARTS = [st.norm(0, 1), st.expon(-1, 2), st.uniform(2, 3)]
LEVELS = np.linspace(0.001, 0.999, 41)


def test_family_reads_every_way_of_freezing():
    assert family(st.norm()) == ("norm", (), 0.0, 1.0)
    assert family(st.norm(2, 3)) == family(st.norm(loc=2, scale=3)) == ("norm", (), 2.0, 3.0)
    assert family(st.gamma(2.5, scale=3)) == ("gamma", (2.5,), 0.0, 3.0)
    assert family(st.gamma(a=2.5)) == ("gamma", (2.5,), 0.0, 1.0)
    assert family(Mixture(PARTS)) is None
    assert family(st.poisson(2)) is None


@pytest.mark.parametrize("wrong", [st.norm(0, -1), st.norm(0, 0), st.norm([0, 1], 1), st.norm(np.nan, 1)])
def test_what_is_not_one_distribution_is_refused(wrong):
    with pytest.raises(InputError, match="is not one distribution"):
        family(wrong)


def test_what_counts_as_a_distribution():
    assert all(map(is_distribution, [st.norm(), st.poisson(2), Mixture(PARTS), QuantileAverage(PARTS)]))
    assert not any(map(is_distribution, [[1, 2], np.zeros(3), "norm", None, 3.0]))
    assert is_discrete(st.poisson(2))
    assert not is_discrete(st.norm())


@pytest.mark.parametrize("discrete", [st.poisson(3.5), st.randint(-2, 5), st.binom(10, 0.3, loc=2), st.bernoulli(0.2)])
def test_atoms(discrete):
    points, chances = atoms(discrete)
    assert chances.sum() == pytest.approx(1, abs=1e-14)
    assert points @ chances == pytest.approx(discrete.mean(), rel=1e-12)
    assert np.cumsum(chances) == pytest.approx(discrete.cdf(points), abs=1e-12)


@pytest.mark.parametrize(
    "made", [Mixture(PARTS), Mixture(PARTS, [1, 2, 3]), QuantileAverage(PARTS), QuantileAverage(PARTS, [5, 1, 0])]
)
def test_combined_distributions_are_consistent(made):
    x = made.ppf(LEVELS)
    assert np.all(np.diff(x) >= 0)
    assert made.cdf(x) == pytest.approx(LEVELS, abs=1e-9)
    assert made.sf(x) == pytest.approx(1 - LEVELS, abs=1e-9)
    low, high = made.support()
    assert low <= x[0]
    assert x[-1] <= high
    draws = made.rvs(50_000, random_state=3)
    assert draws.mean() == pytest.approx(made.mean(), abs=0.05)
    assert np.quantile(draws, [0.1, 0.5, 0.9]) == pytest.approx(made.ppf(np.array([0.1, 0.5, 0.9])), abs=0.12)
    # f is the slope of F, away from the kinks at the ends of the parts' supports.
    inner, step = made.ppf(np.array([0.11, 0.33, 0.71, 0.93])), 1e-6
    slope = (made.cdf(inner + step) - made.cdf(inner - step)) / (2 * step)
    assert made.pdf(inner) == pytest.approx(slope, rel=1e-3)


def test_scalars_in_scalars_out():
    for made in (Mixture(PARTS), QuantileAverage(PARTS)):
        assert np.shape(made.ppf(0.5)) == np.shape(made.cdf(0.5)) == np.shape(made.pdf(0.5)) == ()


@given(hs.floats(-50, 50), hs.floats(0.1, 10), hs.floats(-50, 50), hs.floats(0.1, 10))
def test_the_barycentre_of_a_family_is_in_it(a, b, c, d):
    made = QuantileAverage([st.logistic(a, b), st.logistic(c, d)])
    expected = st.logistic((a + c) / 2, (b + d) / 2)
    assert made.ppf(LEVELS) == pytest.approx(expected.ppf(LEVELS), rel=1e-9, abs=1e-9)
    assert made.pdf(expected.ppf(LEVELS)) == pytest.approx(expected.pdf(expected.ppf(LEVELS)), rel=1e-6)


def test_mixture_logpdf_does_not_underflow():
    assert np.isfinite(Mixture([st.norm(), st.norm(1, 1)]).logpdf(100.0))


@pytest.mark.parametrize(("parts", "weights"), [([], None), (PARTS, [1, 2]), (PARTS, [1, 2, -1]), (PARTS, [0, 0, 0])])
def test_bad_weights(parts, weights):
    with pytest.raises(InputError):
        Mixture(parts, weights)
