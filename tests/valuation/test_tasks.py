"""Tasks against the paper's published losses, against hand-made cases, and against what is proved about them."""

from __future__ import annotations

import itertools
import pickle
from math import inf
from pathlib import Path

import numpy as np
import pytest
import scipy
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kantor.errors import InputError
from kantor.owners.distributions import Mixture, QuantileAverage
from kantor.owners.samples import Sample
from kantor.valuation import tasks
from kantor.valuation.expectations import variance
from kantor.valuation.wasserstein import wasserstein

DATA = Path(__file__).parents[1] / "data" / "gaussian_valuation.npz"
PAPERS = {
    "MAE": tasks.median,
    "RMSE": tasks.mean,
    "NV": tasks.newsvendor(),
    **{f"MPL{level}": tasks.quantile(level / 100) for level in range(90, 0, -10)},
}
DECIDING = [tasks.quantile(0.5), tasks.quantile(0.9), tasks.newsvendor(), tasks.estimate, tasks.mean_square(40.0)]
PROVED = [*DECIDING, tasks.median, tasks.newsvendor(price=0.5, cost=1.0, shortage=4.0, salvage=-1.0)]

numbers = st.floats(-20, 20, allow_nan=False).map(lambda v: round(v, 6))
samples = st.lists(numbers, min_size=1, max_size=12)
locations = st.floats(-5, 5)
scales = st.floats(0.1, 4)


def normal(location: float, scale: float):
    return scipy.stats.norm(location, scale)


@pytest.fixture(scope="module")
def published():
    """Means and scales of the 255 coalitions of ten trials, and the published losses by metric."""
    with np.load(DATA) as file:
        location, scale, loss, names = (file[key] for key in ("location", "scale", "loss", "metrics"))
    coalitions = [c for size in range(1, 9) for c in itertools.combinations(range(8), size)]
    member = np.array([[owner in c for c in coalitions] for owner in range(8)], dtype=float)
    size = member.sum(axis=0)
    means, spreads = location @ member / size, np.sqrt(scale**2 @ member) / size
    return means, spreads, {str(name): loss[:, k] for k, name in enumerate(names)}


@pytest.mark.parametrize("name", PAPERS)
def test_losses_of_normals_are_the_published_ones(published, name):
    means, spreads, loss = published
    ours = PAPERS[name].of_normals(means, spreads, means[:, -1:], spreads[:, -1:])
    assert ours.shape == (10, 255)
    np.testing.assert_allclose(ours, loss[name], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", PAPERS)
def test_loss_and_closed_form_agree(published, name):
    means, spreads, loss = published
    for place in (0, 100, 254):
        x, y = normal(means[4, place], spreads[4, place]), normal(means[4, -1], spreads[4, -1])
        assert PAPERS[name].loss(x, y) == pytest.approx(loss[name][4, place], abs=1e-12)
        delta = loss[name][4, place] - loss[name][4, -1]
        assert PAPERS[name].excess(x, y) == pytest.approx(delta, abs=1e-12)


def test_published_rmse_breaks_its_constant_and_the_others_keep_theirs(published):
    _, _, loss = published
    distance = loss["W"][:, :-1]
    for name, task in PAPERS.items():
        ratio = np.abs(loss[name] - loss[name][:, -1:])[:, :-1] / distance
        assert (ratio.max() <= task.lipschitz) == (name != "RMSE")
        assert ratio.max() <= task.guarantee
    assert np.abs(loss["RMSE"] - loss["RMSE"][:, -1:])[:, :-1].max() > 0


# By hand


def test_losses_by_hand():
    x, y = [0.0, 4.0], [1.0, 2.0, 3.0]
    assert tasks.median.loss(x, y) == pytest.approx(2.0)
    assert tasks.mean.loss(x, y) == pytest.approx(np.sqrt(14 / 3))
    assert tasks.estimate.loss(x, y) == pytest.approx(np.sqrt(2 / 3))
    assert tasks.quantile(0.25).loss(x, y) == pytest.approx(0.25 * 2)
    assert tasks.quantile(0.75).loss(x, y) == pytest.approx(0.25 * 2)
    assert tasks.mean_square(4.0).loss([0.0], y) == pytest.approx(14 / 3)


def test_newsvendor_is_minus_the_profit():
    price, cost, shortage, salvage = 0.10, 0.06, 0.16, 0.03
    demand, order = np.array([3.0, 8.0, 5.0]), 5.0
    profit = price * demand - cost * order - shortage * np.maximum(demand - order, 0)
    profit += salvage * np.maximum(order - demand, 0)
    task = tasks.newsvendor()
    np.testing.assert_allclose(task.pay(order, demand), -profit)
    assert task.decide([1.0, 2.0, 5.0, 9.0]) == 9.0  # tau = 10/13 lies above 3/4
    assert task.loss([5.0], demand) == pytest.approx(-profit.mean())


def test_constants_of_the_newsvendor():
    task = tasks.newsvendor()
    assert task.lipschitz == pytest.approx(0.13)
    assert task.guarantee == pytest.approx(0.13)
    assert task.lipschitz_in_data == pytest.approx(0.07)
    assert task.lipschitz_in_decision == pytest.approx(0.10)


@pytest.mark.parametrize(("tau", "expected"), [(0.07, 7.0), (0.29, 29.0), (0.5, 50.0), (0.501, 51.0), (0.999, 100.0)])
def test_a_samples_quantile_is_the_inverse_of_its_distribution_function(tau, expected):
    data = np.random.default_rng(0).permutation(np.arange(1.0, 101.0))
    assert tasks.quantile(tau).decide(data) == expected


def test_quantiles_of_weighted_samples_survive_rounding():
    for size in range(2, 40):
        points, weights = np.arange(1.0, size + 1), np.ones(size)
        found = [tasks.quantile(k / size).decide(points, weights) for k in range(1, size)]
        assert found == list(range(1, size))


def test_weights_count():
    repeated, points, weights = [1.0, 1.0, 1.0, 4.0], [1.0, 4.0], [3.0, 1.0]
    y, y_points, y_weights = [0.0, 2.0, 2.0], [2.0, 7.0, 0.0], [2.0, 0.0, 1.0]
    for task in PROVED:
        one = task.loss(repeated, y)
        assert task.loss(points, y_points, weights, y_weights) == pytest.approx(one, abs=1e-12)
    discrete = scipy.stats.binom(5, 0.3)
    atoms, mass = np.arange(6.0), discrete.pmf(np.arange(6))
    assert tasks.median.loss(discrete, y) == pytest.approx(tasks.median.loss(atoms, y, x_weights=mass))
    assert tasks.median.loss(Sample(np.array(points), np.array([0.75, 0.25])), y) == pytest.approx(
        tasks.median.loss(repeated, y)
    )


def test_mean_absolute_error_of_large_samples_is_cheap_and_exact():
    rng = np.random.default_rng(1)
    x, y = rng.normal(0, 1, 100_000), rng.normal(1, 2, 100_000) + 1e6
    few = np.mean([np.abs(point - y).mean() for point in x[:50]])
    assert tasks.median.loss(x[:50], y) == pytest.approx(few, rel=1e-13)
    exact = tasks.median.loss(normal(0, 1), normal(1e6 + 1, 2))
    assert tasks.median.loss(x, y) == pytest.approx(exact, abs=0.05)


def test_a_common_offset_costs_no_digits():
    x, y = np.random.default_rng(2).integers(-50, 50, (2, 1000)).astype(float)
    near = np.abs(x[:, None] - y).mean()
    assert tasks.median.loss(x, y) == pytest.approx(near, rel=1e-13)
    assert tasks.median.loss(x + 2.0**40, y + 2.0**40) == pytest.approx(near, rel=1e-13)


# Closed forms, quadrature and samples must agree

PAIRS = [
    (scipy.stats.norm(1, 2), scipy.stats.expon(0, 1.5)),
    (scipy.stats.gamma(2.5), scipy.stats.norm(3, 1)),
    (scipy.stats.uniform(0, 4), scipy.stats.laplace(1, 0.5)),
    (scipy.stats.lognorm(0.6), scipy.stats.t(9, 1, 2)),
    (Mixture([scipy.stats.norm(0, 1), scipy.stats.norm(5, 0.1)], [0.3, 0.7]), scipy.stats.gumbel_r(1, 1)),
    (scipy.stats.gamma(2.5), scipy.stats.t(9, 1, 2)),
    pytest.param(
        scipy.stats.expon(),
        QuantileAverage([scipy.stats.norm(0, 1), scipy.stats.expon()]),
        marks=pytest.mark.slow,
    ),
]


def levels(distribution, size: int = 4000):
    """A sample that stands for a distribution as well as `size` points can."""
    return distribution.ppf((np.arange(size) + 0.5) / size)


@pytest.mark.parametrize(("x", "y"), PAIRS)
@pytest.mark.parametrize("task", [tasks.median, tasks.mean, *DECIDING[:4]], ids=lambda task: task.name)
def test_distributions_agree_with_fine_samples(task, x, y):
    exact = task.loss(x, y)
    tolerance = 0.02 if task is tasks.mean or task is tasks.estimate else 0.004
    assert task.loss(levels(x), levels(y)) == pytest.approx(exact, abs=tolerance)
    assert task.loss(levels(x), y) == pytest.approx(exact, abs=tolerance)
    assert task.loss(x, levels(y)) == pytest.approx(exact, abs=tolerance)


def test_the_variance_of_a_mixture_is_that_within_and_between_its_parts():
    mixture = Mixture([normal(0, 1), normal(5, 0.1), Mixture([scipy.stats.gamma(3), normal(-2, 2)])], [0.2, 0.6, 0.2])
    t, step = np.linspace(-40, 60, 200_001, retstep=True)
    expected = ((t - mixture.mean()) ** 2 * mixture.pdf(t)).sum() * step
    assert variance(mixture) == pytest.approx(expected, rel=1e-9)
    average = QuantileAverage([normal(0, 1), normal(0, 3)])
    assert variance(Mixture([average, normal(1, 1)])) == pytest.approx((4 + 1) / 2 + 0.25, rel=1e-9)


def test_mean_distance_by_quadrature_has_twelve_digits():
    x, y = scipy.stats.expon(0, 2), scipy.stats.expon(0, 3)
    assert tasks.median.loss(x, y) == pytest.approx((2**2 + 3**2) / 5, rel=1e-12)
    assert tasks.median.loss(scipy.stats.uniform(0, 1), scipy.stats.uniform(0, 1)) == pytest.approx(1 / 3, rel=1e-12)
    unnamed = Mixture([normal(1, 2)])
    assert tasks.median.loss(unnamed, normal(3, 1)) == pytest.approx(tasks.median.loss(normal(1, 2), normal(3, 1)))
    assert tasks.median.loss([0.0, 5.0], unnamed) == pytest.approx(tasks.median.loss([0.0, 5.0], normal(1, 2)))
    average = QuantileAverage([normal(0, 1), normal(2, 3)])
    assert tasks.median.loss([0.0, 5.0], average) == pytest.approx(tasks.median.loss([0.0, 5.0], normal(1, 2)))
    assert tasks.mean.loss([0.0, 5.0], unnamed) == pytest.approx(tasks.mean.loss([0.0, 5.0], normal(1, 2)))


def test_heavy_tails_are_not_cut_off():
    pareto = scipy.stats.pareto(1.5)  # E|X - X'| = 2 (E X - E min), and min has twice the exponent
    assert tasks.median.loss(pareto, pareto) == pytest.approx(2 * (3.0 - 1.5), rel=1e-11)


@settings(max_examples=40, deadline=None)
@given(a=locations, b=scales, c=locations, d=scales, tau=st.floats(0.01, 0.99))
def test_pinball_loss_of_normals_by_an_independent_integral(a, b, c, d, tau):
    task, q = tasks.quantile(tau), a + b * scipy.special.ndtri(tau)
    density = normal(c, d).pdf
    short = scipy.integrate.quad(lambda t: t * density(q + t), 0, abs(c - q) + 12 * d, points=[abs(c - q)])[0]
    over = scipy.integrate.quad(lambda t: t * density(q - t), 0, abs(c - q) + 12 * d, points=[abs(c - q)])[0]
    assert task.loss(normal(a, b), normal(c, d)) == pytest.approx(tau * short + (1 - tau) * over, rel=1e-7, abs=1e-9)


# What is proved, on random data


@settings(max_examples=150, deadline=None)
@given(x=samples, y=samples)
@example(x=[0.0], y=[0.0])
def test_guarantees_hold(x, y):
    distance = wasserstein(x, y)
    for task in PROVED:
        excess = task.excess(x, y)
        assert abs(excess) <= task.guarantee * distance + 1e-9
        assert not task.optimal or excess >= -1e-9


@settings(max_examples=100, deadline=None)
@given(x=st.lists(numbers, min_size=6, max_size=6), y=st.lists(numbers, min_size=6, max_size=6))
def test_rmse_is_lipschitz_in_the_second_wasserstein_distance(x, y):
    second = np.sqrt(np.mean((np.sort(x) - np.sort(y)) ** 2))
    assert abs(tasks.mean.excess(x, y)) <= second + 1e-9


@settings(max_examples=60, deadline=None)
@given(a=locations, b=scales, c=locations, d=scales)
def test_guarantees_hold_for_normals(a, b, c, d):
    x, y = normal(a, b), normal(c, d)
    distance = wasserstein(x, y)
    for task in PROVED:
        if task is not DECIDING[-1]:
            assert abs(task.excess(x, y)) <= task.guarantee * distance + 1e-9


@settings(max_examples=60, deadline=None)
@given(x=samples, y=samples, shift=locations, stretch=scales)
def test_shifting_and_stretching(x, y, shift, stretch):
    moved = [stretch * np.array(side) + shift for side in (x, y)]
    for task in (tasks.median, tasks.mean, tasks.estimate, tasks.quantile(0.5), tasks.newsvendor()):
        assert task.excess(*moved) == pytest.approx(stretch * task.excess(x, y), abs=1e-6)
    for task in (tasks.median, tasks.mean, tasks.quantile(0.3)):
        assert task.loss(*moved) == pytest.approx(stretch * task.loss(x, y), abs=1e-6)


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_the_papers_pinball_constant_is_too_small(tau):
    """T is 0 with a little more than tau, P with a little less: W is tiny, and the whole decision flips."""
    e, points = 1e-3, [0.0, 1.0]
    target, tipped = [tau + e, 1 - tau - e], [tau - e * e, 1 - tau + e * e]
    task = tasks.quantile(tau)
    ratio = task.excess(points, points, tipped, target) / wasserstein(points, points, tipped, target)
    assert ratio == pytest.approx(1 / (1 + e), rel=1e-6)
    assert task.lipschitz < ratio <= task.guarantee


def test_the_newsvendors_constant_cannot_be_smaller():
    task = tasks.newsvendor()
    e, points, tau = 1e-3, [0.0, 1.0], 10 / 13
    target, tipped = [tau + e, 1 - tau - e], [tau - e * e, 1 - tau + e * e]
    ratio = task.excess(points, points, tipped, target) / wasserstein(points, points, tipped, target)
    assert max(task.lipschitz_in_data, task.lipschitz_in_decision) < ratio <= task.guarantee
    assert ratio == pytest.approx(0.13, rel=2e-3)


@pytest.mark.parametrize("e", [1e-2, 1e-4, 1e-6])
def test_rmse_has_no_constant_on_bounded_data_either(e):
    excess = tasks.mean.excess([0.0, 1.0], [0.0], x_weights=[1 - e, e])
    assert excess / wasserstein([0.0, 1.0], [0.0], [1 - e, e]) == pytest.approx(e**-0.5)
    assert tasks.mean.guarantee == inf
    assert "not Lipschitz" in tasks.mean.proof
    assert abs(tasks.estimate.excess([0.0, 1.0], [0.0], x_weights=[1 - e, e])) <= e * (1 + 1e-9)


def test_mean_square_attains_its_constant_and_refuses_wider_data():
    task = tasks.mean_square(3.0)
    assert task.excess([0.0], [3.0]) == pytest.approx(task.guarantee * 3.0)
    assert task.lipschitz == 6.0
    with pytest.raises(InputError, match=r"spread over 4, .* width 3"):
        task.loss([0.0], [4.0])
    with pytest.raises(InputError, match="spread over inf"):
        task.loss([0.0], normal(0, 1))


# A task of one's own


def test_own_pinball_task_is_the_built_in_one():
    own = tasks.Task.of(
        "my pinball",
        decide=lambda x: np.quantile(x, 0.9, method="inverted_cdf"),
        loss=lambda q, y: np.where(y > q, 0.9 * (y - q), 0.1 * (q - y)),
        lipschitz=0.9,
        optimal=True,
    )
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=37), rng.exponential(size=53)
    assert own.loss(x, y) == pytest.approx(tasks.quantile(0.9).loss(x, y), abs=1e-12)
    assert own.guarantee == 1.8
    assert own.loss(x, scipy.stats.expon()) == pytest.approx(
        tasks.quantile(0.9).loss(x, scipy.stats.expon()), rel=1e-10
    )
    assert own.loss(normal(0, 1), y) == pytest.approx(tasks.quantile(0.9).loss(normal(0, 1), y), abs=1e-3)
    weights = np.arange(1.0, 38.0)
    assert own.loss(x, y, x_weights=weights) == pytest.approx(tasks.quantile(0.9).loss(x, y, weights), abs=1e-3)


def test_what_is_not_known_to_be_optimal_has_no_guarantee():
    def own(**stated):
        return tasks.Task.of("mine", decide=np.mean, loss=lambda q, y: abs(q - y), lipschitz=2.0, **stated)

    assert own().guarantee == inf
    assert own().proof.startswith("unproved")
    assert own(optimal=True).guarantee == 4.0
    assert own(guarantee=2.5).guarantee == 2.5
    assert "stated" in own(guarantee=2.5).proof


def test_own_losses_are_checked():
    def own(loss):
        return tasks.Task.of("mine", decide=np.mean, loss=loss, lipschitz=1.0)

    with pytest.raises(InputError, match=r"gave shape \(\) for data of shape \(2,\)"):
        own(lambda q, y: abs(q - y).mean()).loss([1.0, 2.0], [3.0, 4.0])
    with pytest.raises(InputError, match="not a number at y = 4"):
        own(lambda q, y: np.where(y > 3.5, np.nan, y)).loss([1.0], [3.0, 4.0])
    with pytest.raises(InputError, match="not finite"):
        own(lambda q, y: abs(q - y)).loss([1.0], scipy.stats.cauchy())
    with pytest.raises(InputError, match="loses inf under the target"):
        own(lambda q, y: np.where(y > 3.5, np.inf, y)).excess([1.0], [3.0, 4.0])
    with pytest.raises(InputError, match="at least 0"):
        tasks.Task.of("mine", decide=np.mean, loss=lambda q, y: y, lipschitz=-1.0)


def test_own_loss_with_a_heavy_but_finite_tail():
    own = tasks.Task.of("mine", decide=np.median, loss=lambda q, y: abs(q - y), lipschitz=1.0)
    pareto = scipy.stats.pareto(1.5)
    assert own.loss([0.0], pareto) == pytest.approx(3.0, rel=1e-10)
    assert own.loss([0.0], Mixture([normal(0, 1)])) == pytest.approx(np.sqrt(2 / np.pi), rel=1e-10)


# Models before the task


def test_constants_multiply_through_models():
    base = tasks.newsvendor()
    stacked = base.after(2.0).after(3.0)
    assert stacked.guarantee == pytest.approx(6 * base.guarantee)
    assert stacked.lipschitz == pytest.approx(6 * base.lipschitz)
    assert stacked.lipschitz_in_data == pytest.approx(6 * base.lipschitz_in_data)
    assert stacked.lipschitz_in_decision == base.lipschitz_in_decision
    assert tasks.mean.after(2.0).guarantee == inf
    with pytest.raises(InputError, match="model is not known"):
        stacked.loss([1.0], [2.0])
    with pytest.raises(InputError, match="positive finite"):
        base.after(0.0)


@settings(max_examples=60, deadline=None)
@given(x=samples, y=samples)
def test_stacked_tasks_keep_their_guarantee(x, y):
    task = tasks.median.after(2.0, lambda v: 2 * np.sin(v))
    assert task.loss(x, y) == pytest.approx(tasks.median.loss(2 * np.sin(x), 2 * np.sin(y)))
    assert abs(task.excess(x, y)) <= task.guarantee * wasserstein(x, y) + 1e-9


def test_stacked_tasks_take_distributions_and_decide_on_outputs():
    task = tasks.quantile(0.5).after(3.0, lambda v: 3 * v)
    assert task.decide([1.0, 2.0, 5.0]) == 6.0
    assert task.pay(6.0, [1.0]) == pytest.approx(1.5)
    assert task.loss(normal(0, 1), normal(1, 1)) == pytest.approx(
        3 * tasks.quantile(0.5).loss(normal(0, 1), normal(1, 1)), rel=1e-3
    )
    with pytest.raises(InputError, match="the model gave shape"):
        tasks.median.after(1.0, np.mean).loss([1.0, 2.0], [2.0])


# Inputs


@pytest.mark.parametrize("tau", [0.0, 1.0, -0.1, float("nan")])
def test_levels_outside_the_open_interval_are_refused(tau):
    with pytest.raises(InputError, match="strictly between 0 and 1"):
        tasks.quantile(tau)


@pytest.mark.parametrize("terms", [{"cost": 0.02}, {"cost": 0.16}, {"salvage": 0.06}, {"price": inf}])
def test_newsvendors_without_a_best_order_are_refused(terms):
    with pytest.raises(InputError, match="salvage < cost < shortage"):
        tasks.newsvendor(**terms)


@pytest.mark.parametrize("width", [0.0, -1.0, inf, float("nan")])
def test_widths_are_positive(width):
    with pytest.raises(InputError, match="positive width"):
        tasks.mean_square(width)


def test_infinite_moments_are_refused():
    with pytest.raises(InputError, match="no finite mean"):
        tasks.median.loss([1.0], scipy.stats.cauchy())
    with pytest.raises(InputError, match="no finite mean"):
        tasks.quantile(0.5).loss([1.0], scipy.stats.pareto(0.9))
    with pytest.raises(InputError, match="no finite variance"):
        tasks.mean.loss([1.0], scipy.stats.t(2))
    assert tasks.quantile(0.5).loss(scipy.stats.cauchy(1.0), [1.0, 2.0]) == pytest.approx(0.25)


def test_what_a_task_cannot_do_is_said():
    with pytest.raises(InputError, match="by drawing"):
        tasks.median.decide([1.0])
    with pytest.raises(InputError, match="no closed form"):
        tasks.mean_square(1.0).of_normals(0, 1, 0, 1)
    with pytest.raises(InputError, match="argument y"):
        tasks.median.loss([1.0], [np.nan])


def test_tasks_are_values():
    assert tasks.quantile(0.3) == tasks.quantile(0.3) != tasks.quantile(0.4)
    assert pickle.loads(pickle.dumps(tasks.newsvendor())) == tasks.newsvendor()  # noqa: S301
    with pytest.raises(AttributeError):
        tasks.median.guarantee = 0.5  # type: ignore[misc]
    np.testing.assert_allclose(tasks.median.pay(2.0, [0.0, 5.0]), [2.0, 3.0])
    for task in (tasks.mean, tasks.estimate, tasks.mean_square(9.0)):
        np.testing.assert_allclose(task.pay(2.0, [0.0, 5.0]), [4.0, 9.0])
    np.testing.assert_allclose(
        tasks.estimate.of_normals([1.0, 2.0], 1.0, 0.0, [1.0, 2.0]), np.hypot([1.0, 2.0], [1.0, 2.0])
    )
