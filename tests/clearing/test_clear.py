"""kantor.clear as a user calls it: hand-solved markets, laws, and mistakes."""

from math import inf

import numpy as np
import pytest
import scipy.stats

import kantor as kt
from kantor.errors import InputError
from markets import CONFIDENCE, MARKETS


def cleared(market, **options):
    return kt.clear(
        market.bids,
        market.mechanism,
        confidence=CONFIDENCE,
        population=market.population,
        population_size=market.population_size,
        **options,
    )


@pytest.mark.parametrize("solver", ["exact", "enumerate"])
@pytest.mark.parametrize("market", MARKETS, ids=lambda m: m.name)
def test_hand_solved_markets(market, solver):
    c = cleared(market, solver=solver)
    assert np.flatnonzero(c.selected).tolist() == market.bought
    assert c.bound == pytest.approx(market.bound, abs=1e-12)
    assert c.objective == pytest.approx(market.objective, abs=1e-12)
    assert c.gap == 0
    assert c.truthful
    for owner, payment in market.paid.items():
        assert c.payments[owner] == pytest.approx(payment, abs=1e-9)
    assert c.spend == pytest.approx(sum(c.payments))
    assert np.all(c.payments[~c.selected] == 0)


def random_bids(rng, count, top=0.3):
    return kt.Bids(
        distance=rng.uniform(0.3, 3, count), reserve=top * rng.random(count), prior=scipy.stats.uniform(0, top)
    )


MECHANISMS = [
    kt.Joint(reference_loss=2.0),
    kt.Exogenous(budget=0.5),
    kt.Endogenous(reference_loss=1.6),
    kt.Exogenous(budget=0.5, feasibility="interim"),
    kt.Endogenous(reference_loss=1.6, feasibility="interim"),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m.kind}-{m.feasibility}")
@pytest.mark.parametrize("payments", ["threshold", "clock"])
def test_no_price_is_better_than_the_true_one(mechanism, payments):
    rng = np.random.default_rng(3)
    tried = 0
    for _ in range(3):
        bids = random_bids(rng, 6)
        honest = kt.clear(bids, mechanism, payments=payments)
        for place in range(6):
            truth = float(bids.reserve[place])
            utility = honest.payments[place] - truth if honest.selected[place] else 0.0
            assert utility >= -1e-12
            for report in [0.0, 0.3, truth * 0.9, min(truth * 1.1, 0.3), *(0.3 * rng.random(3))]:
                other = kt.clear(bids.with_report(place, reserve=report), mechanism, payments=payments)
                gained = (other.payments[place] - truth if other.selected[place] else 0.0) - utility
                assert gained <= 1e-9
                tried += 1
    assert tried > 100


@pytest.mark.parametrize("mechanism", MECHANISMS[:3], ids=lambda m: m.kind)
def test_virtual_payments_are_worth_lying_to(mechanism):
    """The rule as printed is caught by the same search that finds nothing against thresholds."""
    rng = np.random.default_rng(4)
    gains = []
    for _ in range(6):
        bids = random_bids(rng, 6)
        honest = kt.clear(bids, mechanism, payments="virtual")
        for place in np.flatnonzero(honest.selected):
            truth = float(bids.reserve[place])
            for report in np.linspace(truth, 0.3, 8):
                other = kt.clear(bids.with_report(int(place), reserve=float(report)), mechanism, payments="virtual")
                gains.append(other.payments[place] - honest.payments[place] if other.selected[place] else 0.0)
    assert max(gains) > 1e-3


@pytest.mark.parametrize("mechanism", MECHANISMS[:3], ids=lambda m: m.kind)
def test_the_clock_is_never_over_budget(mechanism):
    rng = np.random.default_rng(5)
    bought = 0
    for _ in range(60):
        bids = random_bids(rng, int(rng.integers(1, 30)))
        c = kt.clear(bids, mechanism, payments="clock")
        used = c.spend if mechanism.kind == "exogenous" else c.spend + c.bound * (c.size > 0)
        assert used <= mechanism.limit
        assert np.all(c.payments[c.selected] >= bids.reserve[c.selected])
        bought += c.size
    assert bought > 60


def test_the_order_of_rows_never_matters():
    rng = np.random.default_rng(6)
    for count, mechanism in zip((40, 40, 40, 10, 10), MECHANISMS, strict=True):
        bids, order = random_bids(rng, count), rng.permutation(count)
        c, other = kt.clear(bids, mechanism), kt.clear(bids.take(order), mechanism)
        assert other.selected.tolist() == c.selected[order].tolist()
        assert other.payments.tolist() == c.payments[order].tolist()
        assert (other.objective, other.spend) == (c.objective, c.spend)


def test_population_size_counts_those_who_did_not_bid():
    bids = kt.Bids(distance=np.full(30, 1.0), reserve=np.zeros(30))
    assert kt.clear(bids, kt.Joint(reference_loss=5.0)).bound == 0
    c = kt.clear(bids, kt.Joint(reference_loss=5.0), population_size=40)
    assert c.selected.all()
    assert c.bound == pytest.approx(kt.hoeffding_bound(np.ones(30), 40))
    assert c.bound > 0


def test_interim_spend_meets_the_budget_in_expectation():
    rng = np.random.default_rng(7)
    base, mechanism = random_bids(rng, 8), kt.Exogenous(budget=0.8, feasibility="interim")
    from kantor.clearing.interim import multiplier
    from kantor.clearing.optimal import pose

    rules = kt.clear(base, mechanism).rules
    mu = multiplier(base, pose(base, rules))
    other = base.replace(reserve=0.3 * rng.random(8))
    assert mu == multiplier(other, pose(other, rules))
    spends = [
        kt.clear(base.replace(reserve=0.3 * rng.random(8)), mechanism, payments="virtual").spend for _ in range(3)
    ]
    assert np.ptp(spends) > 0


def test_an_interim_budget_that_a_few_draws_find_too_small():
    """A first look at few draws may see no price of money that is enough; all of them decide."""
    bids = kt.Bids(distance=[1.3734451, 0.92125868, 1.4373407, 1.41153927], reserve=[0.1, 0.4, 0.5, 0.3])
    c = kt.clear(bids, kt.Exogenous(budget=0.4, feasibility="interim"))
    assert c.selected.tolist() == [True, False, False, False]


def test_json_and_frame():
    import json

    rng = np.random.default_rng(8)
    c = kt.clear(random_bids(rng, 5), kt.Exogenous(budget=0.0))
    plain = json.loads(c.to_json())
    assert plain["bound"] is None
    assert plain["objective"] is None
    assert c.bound == c.objective == inf
    assert [row["owner"] for row in plain["owners"]] == list(c.bids.owner)
    assert c.to_frame().columns == ["owner", "selected", "payment", "distance", "reserve", "virtual"]
    assert "0 of 5 owners" in repr(c)
    assert "<table" in c._repr_html_()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b: kt.clear([1, 2], kt.Joint(reference_loss=1)), "bids are list"),
        (lambda b: kt.clear(b, "joint"), "mechanism is 'joint'"),
        (lambda b: kt.clear(b, kt.Joint(reference_loss=1), population_size=2), "population_size is 2"),
        (lambda b: kt.clear(b, kt.Joint(reference_loss=1), payments="free"), "payments 'free'"),
        (lambda b: kt.clear(b, kt.Joint(reference_loss=1), solver="magic"), "solver 'magic'"),
        (lambda b: kt.clear(b, kt.Joint(reference_loss=1), confidence=1.0), "confidence"),
        (lambda b: kt.clear(b, kt.Joint(reference_loss=1), population="huge"), "population"),
        (lambda b: kt.Joint(reference_loss=-1), "reference_loss is -1"),
        (lambda b: kt.Exogenous(budget=float("nan")), "budget is nan"),
        (lambda b: kt.Exogenous(budget=1, feasibility="always"), "feasibility 'always'"),
        (lambda b: kt.Endogenous(reference_loss="much"), "reference_loss is much"),
    ],
)
def test_mistakes_are_named(call, message):
    bids = kt.Bids(distance=[1.0, 2.0, 3.0], reserve=[0.1, 0.2, 0.3])
    with pytest.raises(InputError, match=message):
        call(bids)


def test_edges_that_once_failed():
    """A clock's sum to the last bit, distances that cannot be squared, an interim budget in the paper's program."""
    bids = kt.Bids(distance=[0.3, 0.1, 1.2], reserve=[0.2, 0.4, 0.05])
    assert kt.clear(bids, kt.Joint(reference_loss=2), payments="clock").spend <= 2
    with pytest.raises(InputError, match="1e\\+160"):
        kt.Bids(distance=[1e160, 1.0], reserve=[0.1, 0.2])
    interim = kt.Exogenous(budget=1.5, feasibility="interim")
    printed, exact = kt.clear(bids, interim, solver="misocp"), kt.clear(bids, interim)
    assert printed.selected.tolist() == exact.selected.tolist()
    nothing = kt.clear(bids, kt.Exogenous(budget=0.01), payments="clock")
    assert (nothing.size, nothing.gap) == (0, inf)
    assert "not proved" in str(nothing)
    assert not kt.clear(bids, kt.Exogenous(budget=0.01), payments="virtual").truthful
    with pytest.raises(ValueError, match="read-only"):
        exact.payments[0] = 5.0
    with pytest.raises(InputError, match="exact:zzz"):
        kt.clear(bids, kt.Joint(reference_loss=2), solver="exact:zzz")


def test_clocks_of_priors_whose_density_overflows_at_the_edge():
    with pytest.warns(kt.bids.priors.IroningWarning):
        bids = kt.Bids(distance=[1, 2.0], reserve=[0, 1.0], prior=scipy.stats.beta(0.5, 0.5))
    assert kt.clear(bids, kt.Joint(reference_loss=5), payments="clock").size == 2
