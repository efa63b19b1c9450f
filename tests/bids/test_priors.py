"""Virtual costs and their inverse: closed forms, numeric F/f, laws that hold for any prior, and hulls done by hand."""

import json
import warnings
from itertools import pairwise

import numpy as np
import pytest
import scipy.stats as st
from hypothesis import given
from hypothesis import strategies as hs

from kantor.bids.ironing import lower_hull
from kantor.bids.priors import (
    EmpiricalPrior,
    IroningWarning,
    Priors,
    as_prior,
    describe_prior,
    fingerprint,
    notation,
    parse_prior,
    prior_from,
    virtual_costs,
)
from kantor.errors import InputError
from kantor.owners.distributions import Mixture

REGULAR = {
    "uniform": st.uniform(0, 1),
    "uniform from 1": st.uniform(1, 3),
    "expon": st.expon(0, 2),
    "expon from 1": st.expon(1, 0.5),
    "powerlaw": st.powerlaw(2.5, 0, 4),
    "lognorm": st.lognorm(0.5, 0, 2),
    "weibull": st.weibull_min(1.7, 0, 2),
    "weibull, infinite density": st.weibull_min(0.7),
    "pareto": st.pareto(2.5, -1, 2),
    "lomax": st.lomax(2.5),
    "gamma": st.gamma(3, 0, 0.4),
    "beta": st.beta(2, 3, 0, 2),
    "truncnorm": st.truncnorm(-2, 3, loc=2),
    "invgauss": st.invgauss(0.5),
    "halfcauchy": st.halfcauchy(),
    "triang": st.triang(0.3),
}
GAP = Mixture([st.uniform(0, 1), st.uniform(2, 1)], [0.5, 0.5])
IRREGULAR = {
    "arcsine": st.arcsine(),
    "beta": st.beta(2.3, 0.6),
    "two peaks": Mixture([st.gamma(2), st.gamma(50, scale=0.2)]),
    "gap": GAP,
    "three steps": Mixture([st.uniform(0, 1), st.uniform(1, 1), st.uniform(2, 1)], [0.45, 0.1, 0.45]),
}
ALL = {**REGULAR, **{f"irregular {name}": prior for name, prior in IRREGULAR.items()}}
COSTS = {name: virtual_costs(prior) for name, prior in ALL.items()}
levels = hs.floats(1e-6, 1 - 1e-6)


@pytest.mark.parametrize("name", REGULAR)
def test_closed_forms_are_theta_plus_f_ratio(name):
    prior = REGULAR[name]
    theta = prior.ppf(np.linspace(0.001, 0.999, 500))
    expected = theta + prior.cdf(theta) / prior.pdf(theta)
    assert virtual_costs(prior).cost(theta) == pytest.approx(expected, rel=1e-9)
    assert virtual_costs(prior).ironed == ()


def test_the_families_of_the_paper_by_hand():
    assert virtual_costs(st.uniform(0, 5)).cost([0.0, 1.0, 5.0]).tolist() == [0.0, 2.0, 10.0]
    assert virtual_costs(st.uniform(1, 2)).cost([1.0, 2.0, 3.0]).tolist() == [1.0, 3.0, 5.0]  # 2 theta - 1
    assert virtual_costs(st.expon()).cost([0.0, 1.0]) == pytest.approx([0.0, np.e])  # theta + e^theta - 1
    assert virtual_costs(st.uniform(0, 5)).inverse([3.0, 20.0, -1.0]).tolist() == [1.5, 5.0, 0.0]


@pytest.mark.parametrize("name", REGULAR)
def test_edges(name):
    costs = virtual_costs(REGULAR[name])
    assert costs.cost(costs.lower) == costs.lower  # the limit of F/f is 0
    assert costs.cost(np.inf) == np.inf
    assert costs.inverse(np.inf) == costs.upper
    assert costs.inverse(costs.lower / 2) == costs.lower
    assert np.isnan(costs.inverse(np.nan))


def test_no_density_above_the_bulk_is_never_bought():
    costs = virtual_costs(st.gamma(2))
    assert st.gamma(2).pdf(800) == 0
    assert costs.cost(800.0) == np.inf
    assert costs.inverse(1e300) < 800
    assert virtual_costs(st.expon()).cost(800.0) == np.inf


@pytest.mark.parametrize("name", ALL)
@given(levels, levels)
def test_costs_rise_and_never_lie_below_the_price(name, p, q):
    low, high = ALL[name].ppf(sorted([p, q]))
    cheap, dear = COSTS[name].cost([low, high])
    assert cheap <= dear * (1 + 1e-9)
    assert cheap >= low


def test_where_the_density_jumps_costs_still_rise():
    """At 1 the two uniform densities add up, and theta + F/f would dip below the cost of every price just below."""
    costs = COSTS["irregular three steps"]
    assert costs.cost(1.0) == pytest.approx(2.0)
    assert costs.inverse(costs.cost(1.0)) == 1.0


@pytest.mark.parametrize("name", ALL)
@given(levels)
def test_inverse_is_the_highest_price_that_still_fits(name, q):
    costs = COSTS[name]
    theta = float(ALL[name].ppf(q))
    limit = float(costs.cost(theta))
    highest = float(costs.inverse(limit))
    assert highest >= theta * (1 - 1e-13)
    assert costs.cost(highest) <= limit * (1 + 1e-12)
    if highest < costs.upper:
        assert costs.cost(highest * (1 + 1e-7)) > limit


@pytest.mark.parametrize("name", REGULAR)
@pytest.mark.parametrize("level", [0.1, 0.5, 0.95])
def test_expected_virtual_cost_is_the_expected_threshold_payment(name, level):
    """E[psi(theta); theta <= t] = t F(t): who is bought below t is paid t."""
    prior = REGULAR[name]
    t = float(prior.ppf(level))
    shares = np.linspace(0, level, 20_001)
    middles = prior.ppf((shares[1:] + shares[:-1]) / 2)
    assert virtual_costs(prior).cost(middles).mean() * level == pytest.approx(t * level, rel=2e-3)


def expected_cost(prior, costs, bounds):
    """E[psi; theta within the bounds] by the midpoint rule in quantile space, piece by piece."""
    total = 0.0
    for low, high in pairwise(prior.cdf(np.array(bounds))):
        shares = np.linspace(low, high, 5_001)
        total += costs.cost(prior.ppf((shares[1:] + shares[:-1]) / 2)).mean() * (high - low)
    return total


@pytest.mark.parametrize("name", IRREGULAR)
def test_ironing_keeps_that_at_both_ends_of_each_piece(name):
    prior = IRREGULAR[name]
    costs = virtual_costs(prior)
    assert len(costs.ironed) == 1  # each of these has one fall
    pieces = [float(prior.support()[0]), *(end for piece in costs.ironed for end in piece[:2])]
    for t in pieces:
        stops = [end for piece in costs.ironed for end in piece[:2] if end < t]
        bounds = [float(prior.support()[0]), *sorted({*stops, *[s for s in (1.0, 2.0) if s < t]}), t]
        assert expected_cost(prior, costs, bounds) == pytest.approx(t * prior.cdf(t), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", IRREGULAR)
def test_an_ironed_piece_costs_the_same_throughout(name):
    costs = virtual_costs(IRREGULAR[name])
    for piece in costs.ironed:
        inner = costs.cost(np.linspace(piece.low, piece.high, 50)[1:])
        assert np.all(inner == piece.cost)
        assert costs.inverse(piece.cost) >= piece.high
        assert costs.inverse(piece.cost * (1 - 1e-6)) <= piece.low * (1 + 1e-9)


def test_a_gap_by_hand():
    """F = x/2 up to 1, then x/2 - 1/2 from 2: R = 2q^2 up to q = 1/2, then q + 2q^2, a jump of 1/2.

    From (1/2, 1/2) the tangent to the upper branch touches where (q + 2q^2 - 1/2)/(q - 1/2) = 1 + 4q, at q = 1: one
    piece, prices in (1, 3], slope 5. Before it psi = 2 theta as for a uniform prior.
    """
    costs = virtual_costs(GAP)
    (piece,) = costs.ironed
    assert piece == pytest.approx((1, 3, 5), rel=1e-7)
    assert costs.cost([0.25, 0.75, 1.5, 2.5]) == pytest.approx([0.5, 1.5, 5, 5], rel=1e-7)
    assert costs.inverse([1.0, 3.0, 4.9, 5.1]) == pytest.approx([0.5, 1, 1, 3], rel=1e-7)


def test_ironing_is_said_once_where_the_prior_is_stated():
    with pytest.warns(IroningWarning, match=r"arcsine:0.0:1.0 is not regular.* 0.6323 to 1 count alike") as caught:
        Priors.of([st.arcsine(), st.uniform(), st.arcsine()], 3)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Priors.of([*REGULAR.values(), EmpiricalPrior([1, 2, 2.1])], len(REGULAR) + 1)


def test_hull_of_answers_by_hand():
    """Answers 1, 2, 2.1, 6: R(k/4) = 0, 1/4, 1, 1.575, 6 and slopes 1, 3, 2.3, 17.7; the hull joins the second and
    third, (1.575 - 0.25)/(1/2) = 2.65."""
    prior = EmpiricalPrior([2.0, 6.0, 1.0, 2.1])
    costs = virtual_costs(prior)
    assert costs.cost([0.5, 1.0, 1.5, 2.0, 2.1, 3.0, 6.0]) == pytest.approx([0.5, 1, 2.65, 2.65, 2.65, 17.7, 17.7])
    assert costs.cost(6.1) == np.inf
    assert costs.inverse([0.5, 1.0, 2.6, 2.65 + 1e-12, 17.6, 18.0, np.inf]) == pytest.approx(
        [0.5, 1, 1, 2.1, 2.1, 6, 6]
    )
    assert [tuple(piece) for piece in costs.ironed] == [pytest.approx((2.0, 2.1, 2.65))]
    assert not costs.regular
    assert (costs.lower, costs.upper, costs.highest) == (0.0, 6.0, np.inf)


def test_a_point_mass_counts_as_its_price():
    for prior in (EmpiricalPrior([0.7]), EmpiricalPrior([0.7] * 5), parse_prior("point:0.7")):
        costs = virtual_costs(prior)
        assert costs.cost([0.0, 0.3, 0.7, 0.8]).tolist() == pytest.approx([0.0, 0.3, 0.7, np.inf])
        assert costs.inverse([0.2, 0.7, 5.0]).tolist() == [0.2, 0.7, 0.7]


@given(hs.lists(hs.integers(0, 50), min_size=1, max_size=30))
def test_answers_obey_the_same_laws(answers):
    prior = EmpiricalPrior(answers)
    costs = virtual_costs(prior)
    theta = np.sort(np.array(answers, dtype=float))
    psi = costs.cost(theta)
    assert np.all(np.diff(psi) >= 0)
    assert np.all(psi >= theta)
    highest = costs.inverse(psi)
    assert np.all(highest >= theta)
    assert costs.cost(highest) == pytest.approx(psi)
    for t in set(highest.tolist()):  # the ends of the steps
        assert psi[theta <= t].sum() == pytest.approx(t * (theta <= t).sum(), abs=1e-9)


def test_many_answers_come_near_the_distribution_they_are_from():
    answers = st.uniform(0, 1).ppf((np.arange(10_000) + 0.5) / 10_000)
    theta = np.linspace(0.05, 0.95, 19)
    assert virtual_costs(EmpiricalPrior(answers)).cost(theta) == pytest.approx(2 * theta, abs=1e-3)


@given(hs.lists(hs.floats(0, 10), min_size=2, max_size=30))
def test_the_hull_lies_below_and_bends_upwards(heights):
    x, y = np.arange(len(heights), dtype=float), np.array(heights)
    corners = lower_hull(x, y)
    assert np.all(np.interp(x, x[corners], y[corners]) <= y + 1e-9)
    assert np.all(np.diff(np.diff(y[corners]) / np.diff(x[corners])) >= -1e-9)
    assert corners[0] == 0
    assert corners[-1] == len(heights) - 1


def test_empirical_prior_is_a_distribution():
    prior = EmpiricalPrior([4, 1, 2, 2])
    assert prior.cdf([0.5, 1, 2, 3, 4]).tolist() == [0, 0.25, 0.75, 0.75, 1]
    assert prior.ppf([0, 0.25, 0.26, 0.75, 0.76, 1]).tolist() == [1, 1, 2, 2, 4, 4]
    assert prior.sf(2) == 0.25
    assert prior.isf(0.25) == 2
    assert prior.mean() == 2.25
    assert prior.support() == (1, 4)
    assert set(prior.rvs(size=200, random_state=np.random.default_rng(0)).tolist()) == {1, 2, 4}
    assert prior == EmpiricalPrior([1, 2, 2, 4])
    assert "4 answers from 1 to 4" in repr(prior)


def test_a_market_of_different_beliefs_agrees_with_each_alone():
    beliefs = [st.uniform(0, 1), st.expon(0, 2), EmpiricalPrior([0.2, 0.9]), st.uniform(0, 1), st.gamma(3)]
    priors = Priors.of(beliefs, 5)
    theta = np.array([0.4, 0.5, 0.3, 0.6, 2.0])
    alone = np.array([virtual_costs(b).cost(t) for b, t in zip(beliefs, theta, strict=True)])
    assert len(priors.distinct) == 4
    assert priors.virtual(theta).tolist() == alone.tolist()
    assert priors.virtual(np.stack([theta, theta]))[1].tolist() == alone.tolist()
    assert priors.virtual(theta[[4, 1]], np.array([4, 1])).tolist() == alone[[4, 1]].tolist()
    assert priors.inverse(alone) == pytest.approx([0.4, 0.5, 0.9, 0.6, 2.0], rel=1e-12)
    assert priors.cdf(theta) == pytest.approx([b.cdf(t) for b, t in zip(beliefs, theta, strict=True)])
    assert priors.upper.tolist() == [1, np.inf, 0.9, 1, np.inf]
    assert priors.highest.tolist() == [1, np.inf, np.inf, 1, np.inf]
    assert priors.lower.tolist() == [0] * 5
    assert priors.take(np.array([2, 0])).virtual([0.3, 0.4]).tolist() == alone[[2, 0]].tolist()
    assert [priors.prior(i) is priors.distinct[c] for i, c in enumerate(priors.codes)] == [True] * 5


def test_draws_follow_the_beliefs_and_the_seed():
    priors = Priors.of([st.uniform(0, 1), st.expon(0, 2), st.uniform(0, 1), EmpiricalPrior([3, 5])], 4)
    drawn = priors.rvs(np.random.default_rng(1), 20_000)
    assert drawn.shape == (20_000, 4)
    assert drawn.mean(axis=0) == pytest.approx([0.5, 2, 0.5, 4], rel=0.05)
    assert np.array_equal(drawn, priors.rvs(np.random.default_rng(1), 20_000))
    assert priors.rvs(np.random.default_rng(1)).shape == (4,)
    assert Priors.of("uniform:0:2", 3).rvs(np.random.default_rng(1), 2).shape == (2, 3)
    assert abs(np.corrcoef(drawn.T)[0, 2]) < 0.05


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("uniform:0:1", st.uniform(0, 1)),
        ("uniform", st.uniform(0, 1)),
        (" expon : 0 : 2 ", st.expon(0, 2)),
        ("lognorm:0.5:0:1", st.lognorm(0.5, 0, 1)),
        ("beta:2:3", st.beta(2, 3)),
        ("answers:0.5:0.2", EmpiricalPrior([0.2, 0.5])),
        ("point:0.5", EmpiricalPrior([0.5])),
        ('{"name": "uniform", "parameters": [0, 1]}', st.uniform(0, 1)),
    ],
)
def test_short_forms(text, expected):
    assert fingerprint(parse_prior(text)) == fingerprint(expected)


@pytest.mark.parametrize("name", [*REGULAR, "irregular gap", "answers"])
def test_written_and_read_back(name):
    prior = EmpiricalPrior([0.1, 0.25]) if name == "answers" else ALL[name]
    theta = prior.ppf([0.1, 0.5, 0.9])
    for again in (prior_from(json.loads(json.dumps(describe_prior(prior)))), parse_prior(notation(prior))):
        assert np.array_equal(virtual_costs(again).cost(theta), virtual_costs(prior).cost(theta))
        assert fingerprint(again) == fingerprint(prior)


def test_a_market_of_beliefs_is_written_and_read_back():
    priors = Priors.of([st.uniform(0, 1), st.expon(), st.uniform(0, 1)], 3)
    again = Priors.from_description(json.loads(json.dumps(priors.describe())))
    assert again.virtual([0.1, 0.2, 0.3]).tolist() == priors.virtual([0.1, 0.2, 0.3]).tolist()


def test_answers_from_a_file(tmp_path):
    (tmp_path / "survey.csv").write_text("price\n0.5\n0.2\n")
    assert parse_prior(f"answers:{tmp_path / 'survey.csv'}") == EmpiricalPrior([0.2, 0.5])


def test_histograms_work_and_have_a_fingerprint_but_no_name():
    prior = st.rv_histogram(np.histogram([1, 1, 2, 2, 2, 2, 7, 8, 8.0]), density=False)
    other = st.rv_histogram(np.histogram([1, 1, 2, 2, 2, 2, 7, 8, 9.0]), density=False)
    with pytest.warns(IroningWarning, match="rv_histogram is not regular"):
        assert np.all(np.diff(Priors.of(prior, 3).virtual([1.5, 2.5, 7.5])) >= 0)
    assert fingerprint(prior) != fingerprint(other)
    with pytest.raises(InputError, match="cannot be written down"):
        describe_prior(prior)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("unifrom:0:1", "prior 'unifrom' is not known.*Did you mean uniform"),
        ("poisson:3", "prior 'poisson' is not continuous"),
        ("uniform:0:1:2", "has 3 parameters.*uniform:loc:scale"),
        ("lognorm", "has 0 parameters.*lognorm:s:loc:scale"),
        ("uniform:0:x", "'x' in prior 'uniform:0:x' is not a number"),
        ("uniform:0:inf", "'inf' in prior"),
        ("uniform:0:-1", "is no distribution.*a scale is above 0"),
        ("answers", "has 0 parameters"),
        ("point:1:2", "has 2 parameters"),
        ("answers:-1:2", "an answer is -1.0"),
        ('{"name": 3', "is not valid JSON"),
        ('{"parameters": [1]}', "does not describe a prior"),
        (st.norm(0, 1), "start at -inf.*truncnorm"),
        (st.uniform(-1, 2), r"start at -1\.0"),
        (st.poisson(3), "not continuous.*EmpiricalPrior"),
        (st.uniform, "prior"),
        (st.uniform(0, [1, 2]), "is not one distribution"),
        (3.0, "float 3.0 is not a prior"),
        ([0.2, 0.3], r"there are 3 owners and 2 priors"),
        (["uniform:0:1", "uniform:0:1", "expo"], r"prior\[2\]: prior 'expo' is not known"),
    ],
)
def test_what_is_no_prior_is_refused(given, message):
    with pytest.raises(InputError, match=f"(?s){message}") as caught:
        Priors.of(given, 3)
    assert caught.value.remedy.endswith(".")


def test_where_a_prior_stands_is_told():
    with pytest.raises(InputError, match=r"bids.csv, row 7, column prior: prior 'x' is not known"):
        as_prior("x", file="bids.csv", row=7, column="prior")
