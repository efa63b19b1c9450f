"""Whole payments: every winner's is found again by asking one unit more, and one more, until it is not bought."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import kantor as kt
from kantor.clearing.clear import clear_by
from kantor.clearing.clock import clock_weight
from kantor.clearing.optimal import pose
from kantor.clearing.reading import clearing_from_json
from kantor.clearing.whole import excess, floors, open_prices, whole_payments
from kantor.errors import InputError

SEEDS = st.integers(0, 2**32 - 1)
KINDS = ["joint", "exogenous", "endogenous"]
DESIGNS = [
    *[(kind, "pointwise") for kind in KINDS],
    *[pytest.param(kind, "interim", marks=pytest.mark.slow) for kind in KINDS[1:]],
]


# ---- markets in whole prices, on grids so coarse that ties are the rule ---------------------------------------------


@dataclass(frozen=True)
class Market:
    """Bids and how they are cleared."""

    bids: kt.Bids
    mechanism: Any
    options: dict[str, Any]

    def clear(self, **more: Any) -> kt.Clearing:
        return kt.clear(self.bids, self.mechanism, **self.options, **more)

    def asking(self, place: int, price: int) -> Market:
        return replace(self, bids=self.bids.with_report(place, reserve=float(price)))


def prior(rng: np.random.Generator, kind: int) -> Any:
    """Several with whole ends, some without, and one without an end; all allow prices from 1 to 19 or 20."""
    answers = rng.integers(1, 21, int(rng.integers(1, 12))).tolist()
    halves = (rng.integers(2, 42, 8) / 2).tolist()
    kinds = [
        lambda: scipy.stats.uniform(0, 20),
        lambda: kt.EmpiricalPrior([*answers, 20]),
        lambda: scipy.stats.truncexpon(2.0, 0, 10),
        lambda: scipy.stats.uniform(0, 20.5),
        lambda: kt.EmpiricalPrior([*halves, 20]),
        lambda: scipy.stats.expon(0, 8),
        lambda: scipy.stats.uniform(1, 19),
    ]
    return kinds[kind]()


def whole_market(seed: int, kind: str, feasibility: Any = "pointwise", most: int = 7) -> Market:
    """Up to `most` owners at prices from 1 to 20 and at few distances; a limit that often binds."""
    rng = np.random.default_rng([seed, len(kind), len(feasibility)])
    count, grid = int(rng.integers(1, most + 1)), [0.0, 1.0, 1.0, 1.5, 2.0, 3.0]
    distance = rng.choice(grid, count) if rng.random() < 0.7 else rng.uniform(0.5, 3, count).round(1)
    which = int(rng.integers(0, 8))
    beliefs = prior(rng, which) if which < 7 else [prior(rng, int(rng.integers(0, 3))) for _ in range(count)]
    reserve = rng.integers(1, 21, count).astype(float)
    bids = kt.Bids(distance=distance, reserve=reserve, prior=beliefs)
    options = {
        "population": str(rng.choice(["finite", "infinite"])),
        "population_size": count + int(rng.integers(0, 3)),
        "confidence": float(rng.choice([0.95, 0.5])),
    }
    everything = float(bids.virtual[np.isfinite(bids.virtual)].sum())
    if kind == "exogenous":
        budget = float(round(everything * float(rng.choice([1.0, 0.5, rng.random()]))))
        return Market(bids, kt.Exogenous(budget=budget, feasibility=feasibility), options)
    reference, lipschitz = float(rng.choice([10, 20, 40, 100, 300])), float(rng.choice([1, 5, 20, 50]))
    if kind == "joint":
        return Market(bids, kt.Joint(reference_loss=reference, lipschitz=lipschitz), options)
    asked = kt.Endogenous(reference_loss=reference, lipschitz=lipschitz, feasibility=feasibility)
    return Market(bids, asked, options)


def scanned(c: kt.Clearing) -> np.ndarray:
    """Each winner's highest whole price at which it is bought, from its own upwards."""
    rules = replace(c.rules, payments="virtual") if c.rules.payments == "threshold" else c.rules
    found = np.zeros(len(c.bids), dtype=np.int64)
    for place in np.flatnonzero(c.selected).tolist():
        price, end = int(c.bids.reserve[place]), float(c.bids.priors.upper[place])
        while price + 1 <= end and clear_by(rules, c.bids.with_report(place, reserve=price + 1.0)).selected[place]:
            price += 1
        found[place] = price
    return found


# ---- thresholds ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "feasibility"), DESIGNS)
@given(seed=SEEDS)
def test_winners_are_paid_the_highest_whole_price_at_which_they_are_bought(kind, feasibility, seed):
    c = whole_market(seed, kind, feasibility, 7 if feasibility == "pointwise" else 5).clear()
    paid = whole_payments(c)
    assert paid.dtype == np.int64
    assert paid.tolist() == scanned(c).tolist()


def test_the_floor_alone_would_often_be_wrong():
    """Or the test above could not tell: where the tie at a whole price is lost, one less is paid."""
    cleared = [whole_market(seed, KINDS[seed % 3]).clear() for seed in range(150)]
    lost = sum(int((np.floor(c.payments) > whole_payments(c)).sum()) for c in cleared)
    assert lost >= 5


@pytest.mark.parametrize("kind", KINDS)
@given(seed=SEEDS)
def test_a_rounding_of_the_threshold_makes_no_difference(kind, seed):
    c = whole_market(seed, kind).clear()
    for part in (1 - 1e-13, 1 + 1e-13):
        moved = replace(c, critical=np.maximum(part * c.critical, c.bids.reserve), payments=part * c.payments)
        assert whole_payments(moved).tolist() == whole_payments(c).tolist()


def gain(market: Market, place: int, payments: str) -> int:
    """The most that an owner gains by any other whole report, whatever its true price is; all others report theirs."""
    priors = market.bids.priors
    low, high = int(np.ceil(priors.lower[place])), int(min(np.floor(priors.upper[place]), 22))
    outcome = {}
    for price in range(low, high + 1):
        c = market.asking(place, price).clear(payments=payments)
        outcome[price] = int(whole_payments(c)[place]), bool(c.selected[place])

    def utility(report: int, truth: int) -> int:
        paid, sold = outcome[report]
        return paid - truth * sold

    prices = range(low, high + 1)
    assert all(utility(truth, truth) >= 0 for truth in prices)
    return max(utility(report, truth) - utility(truth, truth) for report in prices for truth in prices)


@pytest.mark.parametrize(("kind", "feasibility"), DESIGNS)
@given(seed=SEEDS)
def test_nobody_gains_by_another_whole_report(kind, feasibility, seed):
    market = whole_market(seed, kind, feasibility, 4)
    assert gain(market, seed % len(market.bids), "threshold") == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(seed=SEEDS)
def test_nobody_gains_from_a_clock_either(kind, seed):
    market = whole_market(seed, kind, most=4)
    assert gain(market, seed % len(market.bids), "clock") == 0


def test_virtual_costs_are_not_truthful_whole_either():
    """The law has to be able to fail."""
    markets = [whole_market(seed, "joint", most=4) for seed in range(40)]
    assert max(gain(market, 0, "virtual") for market in markets) > 0


def tied(owner: list[str]) -> kt.Clearing:
    """Prices 3 and 5 at one distance; psi is 6 and 10, and the budget of 11 buys one of them: the first.

    Its threshold is 5, where it costs what the other costs. The tie goes by name.
    """
    bids = kt.Bids(distance=[1.0, 1.0], reserve=[3.0, 5.0], prior=scipy.stats.uniform(0, 20), owner=owner)
    return kt.clear(bids, kt.Exogenous(budget=11.0), population="infinite")


@pytest.mark.parametrize(("owner", "paid"), [(["a", "b"], 5), (["b", "a"], 4)])
def test_a_tie_at_a_whole_price_goes_by_name(owner, paid):
    c = tied(owner)
    assert c.payments.tolist() == pytest.approx([5.0, 0.0])
    assert whole_payments(c).tolist() == [paid, 0]


def test_a_budget_met_to_the_unit_is_met():
    bids = kt.Bids(distance=[1.0], reserve=[3.0], prior=scipy.stats.uniform(0, 20))
    for budget, paid in ((20.0, 10), (21.0, 10), (19.0, 9), (60.0, 20)):
        assert whole_payments(kt.clear(bids, kt.Exogenous(budget=budget))).tolist() == [paid]


def test_a_flat_is_left_as_a_whole_where_the_tie_is_lost():
    """Answers 4, 8, 12 count 4, 12, 20. Both owners are at 8's step when the first asks for 5 to 8."""
    prior = kt.EmpiricalPrior([4.0, 8.0, 12.0])
    for owner, paid in ((["a", "b"], 8), (["b", "a"], 4)):
        bids = kt.Bids(distance=[1.0, 1.0], reserve=[2.0, 7.0], prior=prior, owner=owner)
        c = kt.clear(bids, kt.Exogenous(budget=13.0), population="infinite")
        assert whole_payments(c).tolist() == [paid, 0] == scanned(c).tolist()


def test_a_price_never_passes_the_end_of_the_prior():
    bids = kt.Bids(distance=[1.0, 1.0], reserve=[3.0, 4.0], prior=scipy.stats.uniform(0, 20.5))
    c = kt.clear(bids, kt.Joint(reference_loss=1e6, lipschitz=1e4))
    assert c.payments.tolist() == [20.5, 20.5]
    assert whole_payments(c).tolist() == [20, 20]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_large_coarse_markets_are_priced_like_small_ones(seed):
    """Joint prices of more than 128 owners come from one search."""
    rng = np.random.default_rng(seed)
    answers = rng.integers(1, 41, 12).tolist()
    prior = [scipy.stats.uniform(0, 40), kt.EmpiricalPrior([*answers, 40])][seed % 2]
    reserve = rng.integers(1, 41, 250).astype(float)
    bids = kt.Bids(distance=rng.choice([1.0, 1.5, 2.0, 3.0], 250), reserve=reserve, prior=prior)
    c = kt.clear(bids, kt.Joint(reference_loss=1e5, lipschitz=float(rng.choice([100, 1000]))))
    paid = whole_payments(c)
    assert c.size > 3
    for place in np.flatnonzero(c.selected)[:15].tolist():
        for price, expected in ((int(paid[place]), True), (int(paid[place]) + 1, False)):
            if price <= bids.priors.upper[place]:
                other = clear_by(replace(c.rules, payments="virtual"), bids.with_report(place, reserve=float(price)))
                assert bool(other.selected[place]) is expected


def unproved() -> kt.Clearing:
    rng = np.random.default_rng(3)
    reserve = rng.integers(1, 21, 60).astype(float)
    bids = kt.Bids(distance=rng.uniform(1, 3, 60), reserve=reserve, prior=scipy.stats.uniform(0, 20))
    return kt.clear(bids, kt.Exogenous(budget=334.0), work_limit=0)


def test_of_an_unproved_allocation_the_floor_is_taken_and_nothing_cleared(monkeypatch):
    c = unproved()
    reserve = c.bids.reserve
    assert c.gap > 0
    _, lows, highs = open_prices(c)
    assert np.any(lows < highs)
    monkeypatch.setattr("kantor.clearing.whole.clear_by", None)
    paid = whole_payments(c)
    assert np.all(paid >= c.selected * reserve)
    assert np.all(np.abs(paid - c.payments) <= 1)


def test_a_clearing_read_back_is_paid_alike():
    c = whole_market(12, "joint").clear()
    assert c.size
    again = clearing_from_json(c.to_json(), c.bids)
    assert whole_payments(again).tolist() == whole_payments(c).tolist()


def test_nothing_bought_is_nothing_paid():
    bids = kt.Bids(distance=[1.0, 2.0], reserve=[3.0, 4.0], prior=scipy.stats.uniform(0, 20))
    for mechanism in (kt.Exogenous(budget=0.0), kt.Exogenous(budget=0.0, feasibility="interim")):
        assert whole_payments(kt.clear(bids, mechanism)).tolist() == [0, 0]


# ---- clocks, virtual costs, and mechanisms of one's own ------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@given(seed=SEEDS)
def test_a_clock_pays_the_floors_of_its_offers_and_keeps_its_limit(kind, seed):
    c = whole_market(seed, kind).clear(payments="clock")
    paid = whole_payments(c)
    assert np.all(paid >= c.bids.reserve * c.selected)
    assert np.all(np.abs(paid - np.floor(c.payments)) <= (np.ceil(c.payments) - c.payments <= 1e-7))
    assert excess(c.bids, c.rules, c.selected, paid) <= 0
    loss = 0 if kind == "exogenous" or not c.size else Fraction(c.bound)
    assert loss + int(paid.sum()) <= Fraction(c.rules.mechanism.limit)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(seed=SEEDS)
def test_a_clock_pays_the_highest_whole_price_at_which_an_owner_stands(kind, seed):
    """Or one more, where the offer is a whole number less a rounding."""
    c = whole_market(seed, kind, most=5).clear(payments="clock")
    paid, highest = whole_payments(c), scanned(c)
    near = c.selected & (np.abs(c.payments - np.rint(c.payments)) <= 1e-7)
    assert np.all(paid - highest <= near)
    assert np.all(paid >= highest)


def test_a_clock_shares_a_budget_to_the_last_unit_and_never_beyond():
    """Five alike share 100: each is offered 20 less a rounding. Of a little less than 100 nobody can have 20."""
    bids = kt.Bids(distance=np.ones(5), reserve=[1.0, 2.0, 3.0, 4.0, 5.0], prior=scipy.stats.uniform(0, 50))
    for budget, each in ((100.0, 20), (100 - 1e-8, 19)):
        c = kt.clear(bids, kt.Exogenous(budget=budget), payments="clock")
        assert clock_weight(bids, pose(bids, c.rules)) > 0
        assert c.payments.tolist() == pytest.approx([20.0] * 5)
        assert whole_payments(c).tolist() == [each] * 5


def test_a_clock_does_not_pass_the_end_of_a_prior_that_is_all_but_whole():
    bids = kt.Bids(distance=[1.0], reserve=[3.0], prior=scipy.stats.uniform(0, 20 - 1e-10))
    c = kt.clear(bids, kt.Exogenous(budget=100.0), payments="clock")
    assert whole_payments(c).tolist() == [19]


@given(seed=SEEDS)
def test_virtual_costs_are_rounded_down(seed):
    c = whole_market(seed, "joint").clear(payments="virtual")
    paid = whole_payments(c)
    assert np.all(paid[~c.selected] == 0)
    assert np.all(paid >= c.bids.reserve * c.selected)
    assert np.all((c.payments - paid < 1) & (paid - c.payments <= 1e-7))


@dataclass(frozen=True, kw_only=True)
class Posted(kt.Mechanism):
    """Everybody who asks for no more than the price gets it."""

    price: float

    def decide(self, bids: kt.Bids, rules: kt.Rules) -> kt.Decision:
        selected = bids.reserve <= self.price
        return kt.Decision(selected=selected, payments=np.where(selected, self.price, 0.0))


def test_what_a_mechanism_of_ones_own_pays_is_rounded_down():
    bids = kt.Bids(distance=[1.0, 2.0, 1.0], reserve=[3.0, 4.0, 5.0], prior=scipy.stats.uniform(0, 20))
    assert whole_payments(kt.clear(bids, Posted(price=4.9))).tolist() == [4, 4, 0]
    assert whole_payments(kt.clear(bids, Posted(price=3 * 1.1))).tolist() == [3, 0, 0]
    assert floors(np.array([2.9999999999999996, 2.9, 0.0])).tolist() == [3, 2, 0]


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("price", [2.5, 2.0**53])
def test_prices_that_are_not_whole_are_refused_with_their_owner(price):
    bids = kt.Bids(distance=[1.0, 1.0], reserve=[1.0, price], prior=scipy.stats.expon(0, 1e16), owner=["anna", "ben"])
    c = kt.clear(bids, kt.Joint(reference_loss=1.0))
    with pytest.raises(InputError, match=r"'ben'.*minor units"):
        whole_payments(c)


def test_payments_too_large_to_be_whole_are_refused():
    bids = kt.Bids(distance=[1.0], reserve=[1.0], prior=scipy.stats.uniform(0, 20))
    with pytest.raises(InputError, match="too large"):
        whole_payments(kt.clear(bids, Posted(price=1e17)))
