"""The other four distances, and the table of properties that sets Wasserstein apart (paper, Table 1)."""

import numpy as np
import pytest
import scipy.stats as st
from hypothesis import given
from hypothesis import strategies as hs
from scipy.special import rel_entr

import kantor as kt
from kantor.errors import InputError
from kantor.owners.distributions import Mixture
from kantor.valuation.coalitions import coalitions

numbers = hs.floats(-50, 50).map(lambda v: round(v, 2))
samples = hs.lists(numbers, min_size=1, max_size=10)
normals = hs.builds(st.norm, numbers, hs.floats(0.05, 20))
PAIRS = [
    (st.norm(0, 1), st.norm(1, 2)),
    (st.norm(0, 1), st.norm(0, 3)),
    (st.laplace(0, 1), st.norm(0.5, 1)),
    (st.gamma(3.0), st.gamma(2.0)),
    (st.beta(2, 3), st.beta(3, 2)),
    (st.logistic(1, 0.5), st.t(4)),
]


def on_a_fine_grid(x, y):
    """All four by brute force on half a million points."""
    low = min(x.ppf(1e-13), y.ppf(1e-13))
    high = max(x.isf(1e-13), y.isf(1e-13))
    t, step = np.linspace(low, high, 500_001, retstep=True)
    f, g = x.pdf(t), y.pdf(t)
    m = (f + g) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        js2 = 0.5 * (np.where(f > 0, f * np.log(f / m), 0) + np.where(g > 0, g * np.log(g / m), 0))
        kl = np.where(f > 0, f * (x.logpdf(t) - y.logpdf(t)), 0)
    return {
        "kl": kl.sum() * step,
        "js": np.sqrt(js2.sum() * step),
        "tv": 0.5 * np.abs(f - g).sum() * step,
        "ks": np.abs(x.cdf(t) - y.cdf(t)).max(),
    }


@pytest.mark.parametrize("pair", PAIRS)
def test_exact_values_against_a_grid(pair):
    for name, expected in on_a_fine_grid(*pair).items():
        assert getattr(kt, name)(*pair) == pytest.approx(expected, rel=2e-5), name


ROUGH = {
    "jumps at 0": (st.norm(1, 2), st.expon()),
    "jumps at both ends": (st.uniform(0.3, 0.6), st.norm()),
    "poles at both ends": (st.beta(0.5, 0.5), st.uniform(0.3, 0.6)),
    "pole against pole": (st.gamma(0.3), st.weibull_min(0.7)),
    "a needle": (st.norm(5, 1e-4), st.cauchy()),
}


def by_bins(x, y):
    """Three of them from the probabilities of 20,000 bins, which jumps and poles do not disturb."""
    levels = np.concatenate(
        [np.linspace(1e-6, 1 - 1e-6, 20_001), 10.0 ** -np.arange(6, 15), 1 - 10.0 ** -np.arange(6, 15)]
    )
    edges = np.unique(np.concatenate([x.ppf(levels), y.ppf(levels)]))
    f, g = (np.diff(np.concatenate([[0.0], part.cdf(edges), [1.0]])).clip(0) for part in (x, y))
    js2 = 0.5 * (rel_entr(f, (f + g) / 2) + rel_entr(g, (f + g) / 2)).sum()
    return {"js": np.sqrt(js2), "tv": 0.5 * np.abs(f - g).sum(), "ks": np.abs(np.cumsum(f - g)).max()}


@pytest.mark.parametrize("case", ROUGH)
def test_densities_that_jump_or_have_poles(case):
    for name, expected in by_bins(*ROUGH[case]).items():
        for x, y in (ROUGH[case], ROUGH[case][::-1]):
            assert getattr(kt, name)(x, y) == pytest.approx(expected, abs=1e-3), name


def test_closed_forms():
    assert kt.kl(st.norm(1, 2), st.norm(0, 1)) == pytest.approx(0.5 * (4 + 1 - 1) - np.log(2), rel=1e-14)
    assert kt.kl(st.expon(0, 1), st.expon(0, 3)) == pytest.approx(np.log(3) + 1 / 3 - 1, rel=1e-11)
    assert kt.kl(st.expon(), st.gamma(2.0)) == pytest.approx(np.euler_gamma, rel=1e-11)
    assert kt.kl(st.uniform(0, 1), st.uniform(0, 2)) == pytest.approx(np.log(2), rel=1e-12)
    assert kt.tv(st.uniform(0, 1), st.uniform(0.25, 1)) == pytest.approx(0.25, rel=1e-12)
    assert kt.ks(st.uniform(0, 1), st.uniform(0.25, 1)) == pytest.approx(0.25, rel=1e-12)
    # Two normals of equal scale cross once, half way.
    assert kt.tv(st.norm(0, 1), st.norm(1, 1)) == pytest.approx(2 * st.norm.cdf(0.5) - 1, rel=1e-12)
    assert kt.js(st.norm(0, 1), st.norm(1e-5, 1)) == pytest.approx(1e-5 / np.sqrt(8), rel=1e-6)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (st.norm(), st.expon()),  # support not contained
        (st.uniform(0, 2), st.uniform(0, 1)),
        (st.cauchy(), st.norm()),  # the integral diverges in the tails
        (st.t(2), st.norm()),
        (st.norm(0, 1), st.uniform(-100, 200)),
    ],
)
def test_infinite_kl_is_returned(x, y):
    assert kt.kl(x, y) == np.inf


def test_heavy_tails_that_do_converge():
    # E ln t(x)/phi(x) for three degrees of freedom, by brute force with a substitution that reaches far out.
    u = np.linspace(-40, 40, 400_001)
    x = np.sinh(u)
    f = st.t(3).pdf(x)
    expected = np.trapezoid(f * (st.t(3).logpdf(x) - st.norm.logpdf(x)) * np.cosh(u), u)
    assert kt.kl(st.t(3), st.norm()) == pytest.approx(expected, rel=1e-6)


@given(samples, samples)
def test_ks_of_samples(x, y):
    gaps = [np.mean(np.array(x) <= t) - np.mean(np.array(y) <= t) for t in [*x, *y]]
    assert kt.ks(x, y) == pytest.approx(np.abs(gaps).max(), abs=1e-12)
    assert kt.ks(x, st.norm(0, 10)) == pytest.approx(st.kstest(x, st.norm(0, 10).cdf).statistic, abs=1e-12)
    assert kt.ks(st.norm(0, 10), x) == kt.ks(x, st.norm(0, 10))


def test_ks_of_samples_with_ties_and_weights():
    assert kt.ks([1, 1, 1, 2], [1, 2, 2, 2]) == pytest.approx(0.5)
    assert kt.ks([1, 2], [1, 2], [3, 1], [1, 3]) == pytest.approx(0.5)
    assert kt.ks([0, 0], st.norm()) == pytest.approx(0.5)


@pytest.mark.parametrize("density", ["histogram", "kernel"])
@pytest.mark.parametrize("name", ["kl", "js", "tv"])
@pytest.mark.parametrize("sides", ["both", "left", "right"])
def test_estimates_approach_the_exact_value(density, name, sides):
    rng = np.random.default_rng(7)
    x, y = st.norm(0, 1), st.norm(1, 1.5)
    exact = getattr(kt, name)(x, y)
    if (density, name, sides) == ("histogram", "kl", "right"):
        exact = np.inf  # the distribution reaches beyond all the target's samples, into a bin where they have nothing
    left = x.rvs(40_000, random_state=rng) if sides != "right" else x
    right = y.rvs(40_000, random_state=rng) if sides != "left" else y
    assert getattr(kt, name)(left, right, density=density) == pytest.approx(exact, rel=0.04)


def test_histogram_by_hand():
    edges = [0, 1, 2]
    assert kt.tv([0.5, 0.6, 1.5], [0.5, 1.5, 1.6], bins=edges) == pytest.approx(1 / 3)
    assert kt.kl([0.5, 0.5, 1.5], [0.5, 1.5, 1.5], bins=edges) == pytest.approx(np.log(2) / 3)
    assert kt.kl([0.5, 3.0], [0.5, 1.5], bins=edges) == np.inf  # beyond the edges is a bin too
    assert kt.tv([0.0, 2.0], [2.0, 0.0], bins=2) == 0
    assert kt.tv([0.5, 1.5], [0.0, 1.0, 2.0], bins=2) == pytest.approx(1 / 6)  # the last bin holds both its edges
    assert kt.js([1.0] * 5, [1.0] * 3) == 0  # a constant target has one bin


def test_outliers_do_not_make_a_million_bins():
    y = np.append(np.random.default_rng(0).normal(size=1000), 1e9)
    assert kt.tv(y, y) == 0


# ---- the table of properties ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [m.name for m in kt.METRICS.values() if m.is_metric])
def test_metrics_are_metrics(name):
    distance = kt.METRICS[name].function
    rng = np.random.default_rng(11)
    for _ in range(12):
        x, y, z = (st.norm(rng.uniform(-2, 2), rng.uniform(0.3, 3)) for _ in range(3))
        assert distance(x, x) == pytest.approx(0, abs=1e-9)
        assert distance(x, y) > 0
        assert distance(x, y) == pytest.approx(distance(y, x), rel=1e-7)
        assert distance(x, y) <= distance(x, z) + distance(z, y) + 1e-9


def test_kl_is_not_a_metric():
    assert not kt.METRICS["kl"].is_metric
    x, y, z = st.norm(0, 1), st.norm(0, 2), st.norm(0, 4)
    assert kt.kl(x, y) != pytest.approx(kt.kl(y, x), rel=0.1)
    assert kt.kl(z, x) > kt.kl(z, y) + kt.kl(y, x)  # no triangle inequality


@pytest.mark.parametrize("metric", kt.METRICS.values(), ids=lambda m: m.name)
def test_saturation(metric):
    near, far = (metric.function(st.norm(0, 1), st.norm(shift, 1)) for shift in (50, 100))
    if metric.saturates:
        assert far == pytest.approx(near, rel=1e-9)
    else:
        assert far >= 1.9 * near


@pytest.mark.parametrize("metric", kt.METRICS.values(), ids=lambda m: m.name)
def test_disjoint_supports(metric):
    distributions = metric.function(st.uniform(0, 1), st.uniform(5, 1))
    data = metric.function([0.1, 0.5, 0.9], [5.1, 5.5, 5.9])
    assert np.isfinite(distributions) == np.isfinite(data) == metric.finite_on_disjoint_supports


class WithoutDensity:
    """A distribution known by its distribution function only."""

    def __init__(self, base):
        self._base = base

    def __getattr__(self, name):
        if name in ("pdf", "logpdf", "dist"):
            raise AttributeError(name)
        return getattr(self._base, name)

    def cdf(self, x):
        return self._base.cdf(x)

    def sf(self, x):
        return self._base.sf(x)

    def ppf(self, q):
        return self._base.ppf(q)

    def isf(self, q):
        return self._base.isf(q)

    def mean(self):
        return self._base.mean()

    def support(self):
        return self._base.support()

    def rvs(self, size=1, random_state=None):
        return self._base.rvs(size=size, random_state=random_state)


@pytest.mark.parametrize("metric", kt.METRICS.values(), ids=lambda m: m.name)
def test_what_it_is_computed_from(metric):
    x, y = WithoutDensity(st.norm(0, 1)), WithoutDensity(st.norm(1, 2))
    if metric.computed_from == "distribution functions":
        assert metric.function(x, y) == pytest.approx(metric.function(st.norm(0, 1), st.norm(1, 2)), rel=1e-9)
    else:
        with pytest.raises(InputError, match="no density"):
            metric.function(x, y)


@pytest.mark.parametrize("pair", PAIRS)
def test_ks_needs_no_densities(pair):
    assert kt.ks(*map(WithoutDensity, pair)) == pytest.approx(kt.ks(*pair), rel=1e-9)
    assert kt.ks(WithoutDensity(pair[0]), pair[1]) == pytest.approx(kt.ks(*pair), rel=1e-9)


@given(normals, normals)
def test_relations_between_them(x, y):
    """KS <= TV <= sqrt(KL/2), and JS^2 <= ln 2 TV."""
    ks, tv, js, kl = kt.ks(x, y), kt.tv(x, y), kt.js(x, y), kt.kl(x, y)
    assert ks <= tv + 1e-9
    assert tv <= np.sqrt(kl / 2) + 1e-9
    assert js**2 <= np.log(2) * tv + 1e-9
    assert tv <= 1
    assert js <= np.sqrt(np.log(2)) + 1e-12


def test_mixtures_are_distributions_too():
    mixture = Mixture([st.norm(-3, 1), st.norm(3, 1)])
    draws = mixture.rvs(100_000, random_state=5)
    assert kt.tv(mixture, st.norm(0, 1)) == pytest.approx(kt.tv(draws, st.norm(0, 1), bins=200), rel=0.03)
    assert kt.wasserstein(mixture, st.norm(0, 1)) == pytest.approx(kt.wasserstein(draws, st.norm(0, 1)), rel=0.01)
    assert kt.kl(mixture, mixture) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kt.kl([1, 2], [1, 2], density="spline"), "density 'spline' is not known"),
        (lambda: kt.js([1, 2], [1, 2], bins=0), "0 bins"),
        (lambda: kt.js([1, 2], [1, 2], bins="magic"), "no rule for bins is called 'magic'"),
        (lambda: kt.tv([1, 2], [1, 2], bins=[3, 1]), "rising order"),
        (lambda: kt.tv([1, 1], [1, 2], density="kernel"), "all samples equal 1"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()


# ---- the published numbers ---------------------------------------------------------------------------------------


SOME_OR_ALL = [17, pytest.param(1, marks=pytest.mark.slow)]
"""Of the 255 coalitions of each trial; `make check` looks at every 17th, from another one on in each trial."""


def pairs_of(published, trial, step):
    location, scale = published["location"][trial], published["scale"][trial]
    target = st.norm(location.mean(), np.sqrt((scale**2).sum()) / 8)
    chosen = np.arange(trial % step, 255, step)
    owners = [st.norm(location[m].mean(), np.sqrt((scale[m] ** 2).sum()) / m.sum()) for m in coalitions(8)[chosen]]
    return owners, target, chosen


@pytest.mark.parametrize(
    ("name", "published_name", "tolerance"), [("kl", "KLD", 1e-9), ("tv", "TVD", 1e-3), ("js", "JSD", 1e-3)]
)
@pytest.mark.parametrize("step", SOME_OR_ALL)
@pytest.mark.parametrize("trial", range(10))
def test_agrees_with_the_published_values(published, name, published_name, tolerance, trial, step):
    owners, target, chosen = pairs_of(published, trial, 1 if name == "kl" else step)
    column = list(published["metrics"]).index(published_name)
    ours = kt.distances(owners, target, metric=name)
    assert ours == pytest.approx(published["loss"][trial, column, chosen], abs=tolerance)


@pytest.mark.parametrize("step", SOME_OR_ALL)
@pytest.mark.parametrize("trial", range(10))
def test_agrees_with_the_published_ks_within_sampling_error(published, trial, step):
    """Published: the mean of 10 two-sample statistics of 10,000 draws each, which lies above the exact value.

    A two-sample statistic exceeds the exact one by at most the two one-sample statistics, whose mean is
    sqrt(pi/2) ln 2 / sqrt(n) each, and falls below it by sampling error only, at most 1/sqrt(2n) a repeat.
    """
    owners, target, chosen = pairs_of(published, trial, step)
    column = list(published["metrics"]).index("KS")
    excess = published["loss"][trial, column, chosen] - kt.distances(owners, target, metric="ks")
    repeat = np.sqrt(0.5 / 10_000 / 10)
    assert excess.max() <= 2 * np.sqrt(np.pi / 2) * np.log(2) / 100 + 4 * repeat
    assert excess.min() >= -4 * repeat
