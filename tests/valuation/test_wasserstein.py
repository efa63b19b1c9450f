"""W on the line: every way of computing it agrees, and it obeys its laws."""

import tracemalloc

import numpy as np
import pytest
import scipy.stats as st
from hypothesis import given
from hypothesis import strategies as hs

import kantor as kt
from kantor.errors import InputError
from kantor.owners.samples import Sample
from kantor.valuation.coalitions import coalitions
from kantor.valuation.wasserstein import DistributionTarget, SampleTarget, _area_between

numbers = hs.floats(-1e6, 1e6).map(lambda v: round(v, 3))
samples = hs.lists(numbers, min_size=1, max_size=12)
coarse = hs.lists(hs.integers(-3, 3).map(float), min_size=1, max_size=8)  # many ties
weights = hs.integers(0, 4).map(float)


def by_areas(x, y, p=None, q=None):
    """The area between the distribution functions, from scratch."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    p = np.full(x.size, 1 / x.size) if p is None else np.asarray(p, float) / np.sum(p)
    q = np.full(y.size, 1 / y.size) if q is None else np.asarray(q, float) / np.sum(q)
    points = np.unique(np.concatenate([x, y]))
    gaps = [abs(p[x <= t].sum() - q[y <= t].sum()) for t in points[:-1]]
    return float(np.sum(gaps * np.diff(points)))


def test_hand_solved():
    assert kt.wasserstein([0, 1, 3], [5, 6, 8]) == 5.0
    assert kt.wasserstein([0], [0, 0, 3]) == 1.0
    assert kt.wasserstein([0, 1], [0, 1], [3, 1], [1, 1]) == 0.25
    assert kt.wasserstein([0, 10], [0, 10], None, [1, 0]) == 5.0


@given(samples, samples)
def test_agrees_with_areas_and_scipy(x, y):
    assert kt.wasserstein(x, y) == pytest.approx(by_areas(x, y), rel=1e-9, abs=1e-6)
    assert kt.wasserstein(x, y) == pytest.approx(st.wasserstein_distance(x, y), rel=1e-9, abs=1e-6)


@given(hs.data(), coarse, coarse)
def test_weights_and_ties(data, x, y):
    p = data.draw(hs.lists(weights, min_size=len(x), max_size=len(x)).filter(any))
    q = data.draw(hs.lists(weights, min_size=len(y), max_size=len(y)).filter(any))
    for left, right in ((p, q), (p, None), (None, q), (None, None)):
        assert kt.wasserstein(x, y, left, right) == pytest.approx(by_areas(x, y, left, right), abs=1e-12)


@given(samples, samples, samples)
def test_metric_axioms(x, y, z):
    xy, yx = kt.wasserstein(x, y), kt.wasserstein(y, x)
    assert xy >= 0
    assert xy == pytest.approx(yx, rel=1e-9, abs=1e-9)
    assert kt.wasserstein(x, x) == 0
    assert xy <= kt.wasserstein(x, z) + kt.wasserstein(z, y) + 1e-6
    if sorted(x) != sorted(y) and len(x) == len(y):
        assert xy > 0


@given(samples, samples, numbers, hs.floats(-100, 100))
def test_translation_and_scaling(x, y, shift, factor):
    x, y = np.array(x), np.array(y)
    base = kt.wasserstein(x, y)
    assert kt.wasserstein(x + shift, y + shift) == pytest.approx(base, rel=1e-9, abs=1e-8)
    assert kt.wasserstein(factor * x, factor * y) == pytest.approx(abs(factor) * base, rel=1e-9, abs=1e-6)
    assert kt.wasserstein(x, x + shift) == pytest.approx(abs(shift), rel=1e-9, abs=1e-9)


@given(hs.data(), coarse)
def test_a_weighted_sample_is_a_repeated_one(data, x):
    counts = data.draw(hs.lists(hs.integers(0, 4), min_size=len(x), max_size=len(x)).filter(any))
    other = data.draw(samples)
    repeated = np.repeat(x, counts)
    assert kt.wasserstein(x, other, counts) == pytest.approx(kt.wasserstein(repeated, other), rel=1e-9, abs=1e-9)


@given(samples, hs.lists(hs.lists(numbers, min_size=5, max_size=5), min_size=1, max_size=4))
def test_one_target_many_owners(y, rows):
    target = SampleTarget(Sample(np.array(y)))
    one_by_one = [by_areas(row, y) for row in rows]
    assert target.distances(np.array(rows)) == pytest.approx(one_by_one, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_precision_far_from_zero_and_with_an_outlier(offset):
    rng = np.random.default_rng(1)
    y = np.append(rng.normal(size=4000), 1e12) + offset
    x = np.append(y[:-1] + 0.5, y[-1])
    # Everything but the outlier is moved by one half; 1e12 costs no more than its own rounding.
    assert kt.wasserstein(x, y) == pytest.approx(0.5 * 4000 / 4001, rel=1e-6)


def test_far_apart_samples_are_refused():
    with pytest.raises(InputError, match="larger units"), np.errstate(over="ignore"):
        kt.wasserstein([-1.7e308], [1.7e308])


FAMILIES = ["norm", "uniform", "expon", "logistic", "laplace", "gumbel_r", "gumbel_l", "rayleigh", "halfnorm"]
PAIRS = [
    (0, 1, 1, 1),
    (0, 1, 0.3, 2),
    (5, 3, -2, 1),
    (0, 1, 0, 4),
    (1, 1, 1, 1 + 1e-6),
    (-7, 0.01, -7.001, 2),
    (3, 2, 3, 2),
]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("pair", PAIRS)
def test_closed_forms_against_quadrature(name, pair):
    a, b = getattr(st, name)(*pair[:2]), getattr(st, name)(*pair[2:])
    assert kt.wasserstein(a, b) == pytest.approx(_area_between(a, b), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
def test_closed_forms_against_samples(name):
    a, b = getattr(st, name)(1, 2), getattr(st, name)(-0.5, 1)
    levels = (np.arange(200_000) + 0.5) / 200_000
    assert kt.wasserstein(a, b) == pytest.approx(kt.wasserstein(a.ppf(levels), b.ppf(levels)), rel=1e-4)


def test_the_folded_normal_of_the_case_study():
    # |a - c| and |b - d| are the mean and standard deviation of a folded normal, and W is its mean.
    mean = st.foldnorm(0.7 / 1.3, scale=1.3).mean()
    assert kt.wasserstein(st.norm(0.7, 1.3), st.norm(0, 2.6)) == pytest.approx(mean, rel=1e-12)


@given(hs.sampled_from(FAMILIES), hs.floats(-20, 20), hs.floats(0.01, 9), hs.floats(-20, 20), hs.floats(0.01, 9))
def test_closed_forms_agree_with_samples(name, a, b, c, d):
    """The quantiles of 20,000 equal levels stand for each distribution: what they miss is a share of the scales."""
    levels = (np.arange(20_000) + 0.5) / 20_000
    x = getattr(st, name)(a, b)
    for scale in (d, b):  # equal scales have a branch of their own
        y = getattr(st, name)(c, scale)
        exact = kt.wasserstein(x, y)
        assert kt.wasserstein(x.ppf(levels), y.ppf(levels)) == pytest.approx(exact, abs=4e-4 * (b + d))
        assert kt.wasserstein(x.ppf(levels), y) == pytest.approx(exact, abs=4e-4 * (b + d))


@given(hs.sampled_from(FAMILIES), *[hs.tuples(hs.floats(-20, 20), hs.floats(0.01, 9))] * 3, hs.floats(0.01, 100))
def test_closed_forms_obey_the_triangle_inequality_and_scale(name, one, other, third, factor):
    x, y, z = (getattr(st, name)(*pair) for pair in (one, other, third))
    assert kt.wasserstein(x, y) <= kt.wasserstein(x, z) + kt.wasserstein(z, y) + 1e-9
    wider = [getattr(st, name)(factor * a, factor * b) for a, b in (one, other)]
    assert kt.wasserstein(*wider) == pytest.approx(factor * kt.wasserstein(x, y), rel=1e-9, abs=1e-9)


@given(hs.sampled_from(FAMILIES), numbers, hs.floats(1e-3, 1e3), numbers, hs.floats(1e-3, 1e3))
def test_closed_forms_obey_the_laws(name, a, b, c, d):
    make = getattr(st, name)
    x, y = make(a, b), make(c, d)
    assert kt.wasserstein(x, y) == pytest.approx(kt.wasserstein(y, x), rel=1e-12)
    assert kt.wasserstein(x, x) == 0
    assert kt.wasserstein(x, y) >= abs(float(x.mean()) - float(y.mean())) * (1 - 1e-12)
    moved = kt.wasserstein(make(a + 1, b), make(c + 1, d))
    assert moved == pytest.approx(kt.wasserstein(x, y), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (st.t(3), st.t(3, loc=2.5), 2.5),  # any family shifts by the difference of locations
        (st.gamma(2), st.gamma(2, scale=3), 4.0),  # ordered: the difference of means
        (st.beta(0.5, 0.5), st.uniform(2, 1), 2.0),
        (st.poisson(3), st.poisson(4), 1.0),
        (st.expon(0, 1), st.uniform(-1, 1), 1.5),
    ],
)
def test_other_distributions(x, y, expected):
    assert kt.wasserstein(x, y) == pytest.approx(expected, rel=1e-9)
    assert kt.wasserstein(y, x) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("x", "y"), [(st.norm(1, 2), st.laplace()), (st.lognorm(0.7), st.gamma(2.3)), (st.t(2.5), st.norm())]
)
def test_quadrature_against_quantiles(x, y):
    levels = (np.arange(400_000) + 0.5) / 400_000
    assert kt.wasserstein(x, y) == pytest.approx(np.abs(x.ppf(levels) - y.ppf(levels)).mean(), rel=2e-3)


def test_infinite_means():
    assert kt.wasserstein(st.cauchy(0, 1), st.cauchy(2, 1)) == 2
    assert kt.wasserstein(st.cauchy(0, 1), st.cauchy(0, 2)) == np.inf
    assert kt.wasserstein(st.cauchy(), st.norm()) == np.inf
    assert kt.wasserstein([1.0, 2.0], st.cauchy()) == np.inf
    with pytest.raises(InputError, match="finite mean"):
        kt.wasserstein(st.cauchy(), st.pareto(0.5))


ANY_DISTRIBUTION = [st.norm(3, 2), st.expon(-1, 2), st.laplace(1, 0.1), st.gamma(2.3), st.uniform(-1, 5), st.t(3)]


@pytest.mark.parametrize("distribution", ANY_DISTRIBUTION)
def test_sample_against_distribution(distribution):
    quantiles = distribution.ppf((np.arange(1_000_000) + 0.5) / 1_000_000)
    for count in (1, 2, 50):
        x = np.random.default_rng(count).normal(1, 2, count)
        expected = kt.wasserstein(x, quantiles)
        assert kt.wasserstein(x, distribution) == pytest.approx(expected, rel=2e-4, abs=1e-5)
        assert kt.wasserstein(distribution, x) == kt.wasserstein(x, distribution)


@given(coarse.flatmap(lambda x: hs.tuples(hs.just(x), hs.lists(hs.integers(1, 4), min_size=len(x), max_size=len(x)))))
def test_weighted_sample_against_distribution(case):
    x, counts = case
    for distribution in (st.norm(1, 2), st.gamma(2.0)):
        repeated = kt.wasserstein(np.repeat(x, counts), distribution)
        assert kt.wasserstein(x, distribution, counts) == pytest.approx(repeated, rel=1e-9)


def test_closed_form_and_quadrature_agree_for_samples():
    x = np.random.default_rng(0).normal(size=30)
    ready = DistributionTarget(st.logistic(0.3, 0.8))
    closed = ready.distance(Sample(x))
    ready._standard = None
    assert closed == pytest.approx(ready.distance(Sample(x)), rel=1e-10)


@given(hs.floats(0.05, 20), hs.sampled_from(["laplace", "gaussian"]), samples, samples)
def test_noise_moves_a_sample_by_at_most_its_own_distance(epsilon, mechanism, x, y):
    # Noise as eight equally likely values, so that the sum is exact: W(X + noise, Y) <= W(X, Y) + E|noise|.
    delta = {"gaussian": 1e-5, "laplace": None}[mechanism]
    scale = kt.noise_distance(mechanism, sensitivity=1.0, epsilon=epsilon, delta=delta)
    base = {"laplace": st.laplace, "gaussian": st.norm}[mechanism]
    noise = scale * base.ppf((np.arange(8) + 0.5) / 8)
    noisy = np.add.outer(np.array(x), noise).ravel()
    assert kt.wasserstein(noisy, y) <= kt.wasserstein(x, y) + np.abs(noise).mean() + 1e-6


def test_clouds_of_points():
    square = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
    assert kt.wasserstein(square, square + [3, 4]) == pytest.approx(5)
    assert kt.wasserstein(square[:, :1], square[:, :1] + 2) == pytest.approx(2)
    assert kt.wasserstein(square, square[:2], None, [1, 0]) == pytest.approx((0 + 1 + 1 + np.sqrt(2)) / 4)


def test_sliced_distance_is_below_and_repeatable():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(60, 3)), rng.normal(size=(40, 3)) + [1, 0, 0]
    sliced = kt.sliced_wasserstein(x, y)
    assert 0 < sliced <= kt.wasserstein(x, y)
    assert sliced == kt.sliced_wasserstein(x, y)
    assert sliced != kt.sliced_wasserstein(x, y, seed=1)
    # On the line every direction is the line itself.
    assert kt.sliced_wasserstein(x[:, 0], y[:, 0]) == pytest.approx(kt.wasserstein(x[:, 0], y[:, 0]))


def test_clouds_without_pot(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ot", None)
    with pytest.raises(kt.errors.MissingExtraError, match=r"kantor\[multivariate\]"):
        kt.wasserstein(np.zeros((2, 2)), np.ones((2, 2)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [1]), "no samples"),
        (([1, np.nan], [1]), "sample 1 .* is nan"),
        (([1], [np.inf]), "sample 0 .* is inf"),
        ((["a"], [1]), "not numbers"),
        (([1 + 1j], [1]), "not numbers"),
        ((3, [1]), "neither a sample nor a distribution"),
        (("12", [1]), "neither a sample nor a distribution"),
        ((np.zeros((2, 2, 2)), np.zeros((2, 2, 2))), "one dimension"),
        ((np.zeros((2, 2)), np.zeros((2, 3))), "same columns"),
        (([1, 2], [1], [1]), "2 samples and weights"),
        (([1, 2], [1], [1, -1]), "weight 1 .* is -1"),
        (([1, 2], [1], [0, 0]), "not all zero"),
        ((st.norm(), [1], [1]), "weights were given for a distribution"),
        ((st.norm(0, -1), st.norm(0, 1)), "positive scale"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(InputError, match=message):
        kt.wasserstein(*arguments)


def test_agrees_with_the_published_distances(published):
    """All 255 coalitions of all ten trials, each given as a distribution."""
    column = list(published["metrics"]).index("W")
    members = coalitions(8)
    for trial in range(10):
        location, scale = published["location"][trial], published["scale"][trial]
        target = st.norm(location.mean(), np.sqrt((scale**2).sum()) / 8)
        owners = [st.norm(location[m].mean(), np.sqrt((scale[m] ** 2).sum()) / m.sum()) for m in members]
        assert kt.distances(owners, target) == pytest.approx(published["loss"][trial, column], abs=1e-9)
        one_by_one = [kt.wasserstein(owner, target) for owner in owners[trial::10]]
        assert one_by_one == pytest.approx(published["loss"][trial, column, trial::10], abs=1e-9)


def test_memory_stays_within_a_few_blocks():
    rows = np.random.default_rng(0).normal(size=(4000, 500))  # 16 MB
    target = np.random.default_rng(1).normal(size=1000)
    kt.distances(rows[:10], target)
    tracemalloc.start()
    kt.distances(rows, target)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12e6  # blocks of 2 MB, and what is computed on them
