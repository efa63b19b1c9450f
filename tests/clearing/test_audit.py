"""The audit finds what is wrong, whatever it is called, and finds nothing where nobody can gain."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.stats

import kantor as kt
from kantor.errors import InputError
from markets import CONFIDENCE, MARKETS

CENT = 0.01
DESIGNS = [
    kt.Joint(reference_loss=2.0),
    kt.Exogenous(budget=0.5),
    kt.Endogenous(reference_loss=1.6),
    kt.Exogenous(budget=0.8, feasibility="interim"),
    kt.Endogenous(reference_loss=1.6, feasibility="interim"),
]
every_design = pytest.mark.parametrize("mechanism", DESIGNS, ids=lambda m: f"{m.kind}-{m.feasibility}")


def market(seed: int = 0, count: int = 6, top: float = 0.3) -> kt.Bids:
    rng = np.random.default_rng(seed)
    distance, reserve = rng.uniform(0.3, 3, count), top * rng.random(count)
    return kt.Bids(distance=distance, reserve=reserve, prior=scipy.stats.uniform(0, top))


def promise(found: kt.Audit, name: str) -> bool:
    return {promise.name: promise.kept for promise in found.promises}[name]


@pytest.mark.parametrize("solved", MARKETS, ids=lambda m: m.name)
def test_hand_solved_markets_keep_every_promise(solved):
    rules = {"confidence": CONFIDENCE, "population": solved.population, "population_size": solved.population_size}
    found = kt.audit(solved.bids, kt.clear(solved.bids, solved.mechanism, **rules), draws=30, reports=6)
    assert found.passed, str(found)
    assert found.max_gain.gain <= found.tolerance


@every_design
@pytest.mark.parametrize("payments", ["threshold", "clock"])
def test_truthful_payments_pass(mechanism, payments):
    bids = market(count=4)
    found = kt.audit(bids, kt.clear(bids, mechanism, payments=payments), draws=40, reports=6)
    assert found.passed, str(found)
    assert found.tried > 4 * 10
    assert found.audited == bids.owner


@pytest.mark.parametrize("mechanism", DESIGNS[:3], ids=lambda m: m.kind)
def test_virtual_payments_are_found_out(mechanism):
    bids = market()
    c = kt.clear(bids, mechanism, payments="virtual")
    found = kt.audit(bids, c, draws=0)
    assert not found.incentive_compatible
    worst = found.deviations[0]
    place = bids.place(worst.owner)
    again = kt.clear(bids.with_report(place, reserve=worst.report), mechanism, payments="virtual")
    gain = again.payments[place] - bids.reserve[place] * again.selected[place]
    gain -= c.payments[place] - bids.reserve[place] * c.selected[place]
    assert gain == pytest.approx(worst.gain)
    assert found.to_frame().row(0) == tuple(worst)


def test_virtual_payments_pass_where_nobody_can_gain():
    """One owner is bought whatever it asks for, and its virtual cost is its price at the prior's end: no lie helps."""
    sure = kt.Bids(distance=[0.0, 5.0], reserve=[1.0, 1.0], prior=scipy.stats.uniform(0, 1))
    c = kt.clear(sure, kt.Exogenous(budget=0.0), payments="virtual")
    assert kt.audit(sure, c, draws=0).incentive_compatible
    free = kt.Bids(distance=[1.0, 2.0], reserve=[0.5, 1.0], prior=scipy.stats.uniform(0, 1))
    c = kt.clear(free, kt.Joint(reference_loss=1e-6), payments="virtual")
    assert c.size == 0
    assert kt.audit(free, c, draws=0).passed


@every_design
@pytest.mark.parametrize("change", [CENT, -CENT])
def test_threshold_payments_that_are_a_cent_off_fail(mechanism, change):
    """Whether the cent was added or taken, and although they call themselves threshold payments."""
    bids = market(count=4)
    c = kt.clear(bids, mechanism)
    winner = int(np.flatnonzero(c.selected)[0])
    payments = c.payments.copy()
    payments[winner] += change
    found = kt.audit(bids, replace(c, payments=payments, critical=payments), owners=2, reports=4, draws=0)
    assert not found.passed
    assert [row.owner for row in found.mismatches] == [bids.name(winner)]


def test_the_label_of_the_payments_is_never_read():
    bids = market()
    c = kt.clear(bids, kt.Joint(reference_loss=2.0), payments="virtual")
    praised = replace(c, truthful=True)
    assert kt.audit(bids, praised, draws=0).deviations == kt.audit(bids, c, draws=0).deviations


def test_a_winner_paid_below_its_price_is_named():
    bids = market()
    c = kt.clear(bids, kt.Joint(reference_loss=2.0))
    winner = int(np.flatnonzero(c.selected)[0])
    payments = c.payments.copy()
    payments[winner] = bids.reserve[winner] - CENT
    found = kt.audit(bids, replace(c, payments=payments), draws=0)
    assert not promise(found, "individually rational")
    assert found.shortfalls[0].owner == bids.name(winner)


@dataclass(frozen=True, kw_only=True)
class DearestFirst(kt.Mechanism):
    """Not monotone: who asks for more is bought first."""

    budget: float

    def decide(self, bids: kt.Bids, rules: kt.Rules) -> kt.Decision:
        selected = np.zeros(len(bids), dtype=bool)
        selected[np.lexsort((np.array(bids.owner), -bids.reserve))[:2]] = True
        return kt.Decision(selected=selected, payments=np.where(selected, bids.reserve, 0.0), truthful=True)


@dataclass(frozen=True, kw_only=True)
class Spendthrift(kt.Mechanism):
    """Everybody at the same price, whatever the budget says."""

    budget: float
    price: float

    def decide(self, bids: kt.Bids, rules: kt.Rules) -> kt.Decision:
        return kt.Decision(selected=np.ones(len(bids), bool), payments=np.full(len(bids), self.price), truthful=True)


def test_a_mechanism_that_is_not_monotone_is_found_out():
    bids = market()
    found = kt.audit(bids, kt.clear(bids, DearestFirst(budget=1.0)), draws=0)
    assert not found.monotone
    assert not found.incentive_compatible
    assert found.reversals[0].lost_at < found.reversals[0].won_at


def test_a_budget_that_is_exceeded_on_average_is_a_broken_promise_and_once_is_not():
    bids = market()
    found = kt.audit(bids, kt.clear(bids, Spendthrift(budget=1.0, price=0.3)), draws=20)
    assert not found.budget_kept
    assert found.overrun == pytest.approx(6 * 0.3 - 1.0)
    assert found.expected_spend.mean == pytest.approx(1.8)
    over = None
    for seed in range(40):  # threshold payments exceed a budget now and then
        bids = market(seed)
        c = kt.clear(bids, kt.Exogenous(budget=0.5))
        if c.spend > 0.5 + 1e-9:
            over = kt.audit(bids, c, draws=200, reports=4)
            break
    assert over is not None
    assert over.overrun > 0
    assert over.budget_kept


def test_without_draws_the_expectation_stays_open():
    bids = market()
    found = kt.audit(bids, kt.clear(bids, Spendthrift(budget=1.0, price=0.3)), draws=0)
    assert found.budget_kept
    assert np.isnan(found.expected_spend.mean)


def test_what_no_price_protects_against_is_shown_and_breaks_nothing():
    base = market(1, 8)
    bids = kt.Bids(
        distance=base.distance, reserve=base.reserve, prior=scipy.stats.uniform(0, 0.3), epsilon=np.full(8, 1.0)
    ).with_noise("laplace", sensitivity=0.2)
    found = kt.audit(bids, kt.clear(bids, kt.Joint(reference_loss=4.0)), draws=30, reports=6, sensitivity=0.2)
    shown = {example.kind: example for example in found.unprotected}
    assert set(shown) == {"distance", "price and distance", "epsilon", "split identity"}
    assert shown["distance"].gain > 0
    assert shown["distance"].stated_bound < shown["distance"].true_bound
    assert shown["price and distance"].gain >= shown["distance"].gain - 1e-12
    assert all(example.tried > 0 for example in shown.values())
    assert found.passed


def test_only_named_owners_and_only_named_reports():
    bids = market()
    c = kt.clear(bids, kt.Joint(reference_loss=2.0))
    found = kt.audit(bids, c, owners=[bids.name(2)], reports=[0.05, 0.2], draws=0)
    assert found.audited == (bids.name(2),)
    assert 2 <= found.tried <= 40


def test_large_markets_are_sampled_half_of_them_winners():
    rng = np.random.default_rng(2)
    bids = kt.Bids(distance=rng.uniform(1, 3, 4000), reserve=rng.random(4000))
    c = kt.clear(bids, kt.Joint(reference_loss=40.0, lipschitz=50.0), payments="virtual")  # much cheaper to clear again
    assert c.size > 32
    found = kt.audit(bids, c, draws=0, reports=3)
    assert 8 <= len(found.audited) < 64
    assert sum(bool(c.selected[bids.place(name)]) for name in found.audited) == len(found.audited) // 2


def test_an_outcome_for_programs():
    bids = market()
    found = kt.audit(bids, kt.clear(bids, kt.Joint(reference_loss=2.0), payments="virtual"), draws=20)
    plain = json.loads(found.to_json())
    assert plain["passed"] is False
    assert plain["deviations"][0]["owner"] == found.deviations[0].owner
    assert {row["name"] for row in plain["promises"]} == {promise.name for promise in found.promises}
    assert "broken" in repr(found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draws": 1}, "draws is 1"),
        ({"confidence": 1.0}, "confidence is 1.0"),
        ({"owners": 0}, "0 owners"),
        ({"owners": ["nobody"]}, "nobody"),
        ({"owners": []}, "no owner"),
        ({"reports": []}, "reports"),
        ({"reports": 1}, "reports is 1"),
    ],
)
def test_mistakes_are_named(options, message):
    bids = market()
    with pytest.raises(InputError, match=message):
        kt.audit(bids, kt.clear(bids, kt.Joint(reference_loss=2.0)), **options)


def test_other_bids_are_refused():
    bids = market()
    c = kt.clear(bids, kt.Joint(reference_loss=2.0))
    with pytest.raises(InputError, match="not those that were cleared"):
        kt.audit(market(1), c)
    with pytest.raises(InputError, match="the clearing is dict"):
        kt.audit(bids, {})


@pytest.mark.parametrize("change", [{"bound": 0.001}, {"objective": 0.01}, {"lower_bound": 99.0}])
def test_a_clearing_that_praises_itself_is_found_out(change):
    bids = market()
    c = kt.clear(bids, kt.Joint(reference_loss=2.0))
    found = kt.audit(bids, replace(c, **change), draws=0, owners=1, reports=2)
    assert not found.reproducible
    assert "stated" in str(found)
