"""Rechecks pass what is right and find every fault that is planted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_whole import KINDS, SEEDS, Posted, tied, unproved, whole_market

import kantor as kt
from kantor.clearing.interim import multiplier
from kantor.clearing.optimal import pose
from kantor.clearing.recheck import Recheck, recheck
from kantor.clearing.whole import whole_payments
from kantor.errors import InputError

QUICK = [(kind, "pointwise", "threshold") for kind in KINDS]
RULES = [
    *QUICK,
    *[(kind, "interim", "threshold") for kind in ("exogenous", "endogenous")],
    *[(kind, "pointwise", "virtual") for kind in KINDS],
    *[(kind, "pointwise", "clock") for kind in KINDS],
]
PARTS = [pytest.param(*rules, marks=() if rules in QUICK else pytest.mark.slow) for rules in RULES]
FAULTS = ["one more", "one less", "a loser is paid", "swapped", "left out", "one too many", "others"]


def cleared(seed: int, kind: str, feasibility: str, payments: str) -> kt.Clearing:
    return whole_market(seed, kind, feasibility, 7 if feasibility == "pointwise" else 5).clear(payments=payments)


def checked(c: kt.Clearing, selected: np.ndarray | None = None, paid: np.ndarray | None = None, **how) -> Recheck:
    """What is stated, or what it was changed to."""
    chosen = c.selected if selected is None else selected
    return recheck(c.bids, c.rules, chosen, whole_payments(c) if paid is None else paid, **how)


def names(found: Recheck) -> set[str]:
    return {fault.name for fault in found.faults}


@pytest.mark.parametrize(("kind", "feasibility", "payments"), PARTS)
@given(seed=SEEDS)
def test_what_is_right_passes(kind, feasibility, payments, seed):
    found = checked(cleared(seed, kind, feasibility, payments))
    assert found.passed, str(found)


def planted(c: kt.Clearing, fault: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray] | None:
    """The outcome with a fault in it; None where there is nobody to whom it could happen."""
    selected, paid = c.selected.copy(), whole_payments(c)
    winners, losers = np.flatnonzero(selected), np.flatnonzero(~selected)
    if fault == "others":
        selected = rng.random(selected.size) < 0.5
        return None if np.array_equal(selected, c.selected) else (selected, _enough(c, selected, paid))
    needed = {"a loser is paid": losers.size, "one too many": losers.size, "swapped": min(winners.size, losers.size)}
    if not needed.get(fault, winners.size):
        return None
    winner = int(rng.choice(winners)) if winners.size else -1
    loser = int(rng.choice(losers)) if losers.size else -1
    changes = {"one more": (winner, 1), "one less": (winner, -1), "a loser is paid": (loser, 1)}
    if fault in changes:
        place, change = changes[fault]
        paid[place] += change
        return selected, paid
    if fault in ("swapped", "left out"):
        selected[winner] = False
    if fault in ("swapped", "one too many"):
        selected[loser] = True
    return selected, _enough(c, selected, paid)


def _enough(c: kt.Clearing, selected: np.ndarray, paid: np.ndarray) -> np.ndarray:
    """Payments that nobody could find too low."""
    return np.where(selected, np.maximum(paid, c.bids.reserve), 0).astype(np.int64)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("kind", "feasibility", "payments"), PARTS)
@settings(max_examples=20)
@given(seed=SEEDS, choice=st.integers(0, 1000))
def test_every_planted_fault_is_found(kind, feasibility, payments, fault, seed, choice):
    c = cleared(seed, kind, feasibility, payments)
    outcome = planted(c, fault, np.random.default_rng(choice))
    assume(outcome is not None and not rounding_decides(c, outcome[0]))
    assert not checked(c, *outcome).passed


def rounding_decides(c: kt.Clearing, selected: np.ndarray) -> bool:
    """Whether another coalition is worse by less than 1e-9, or an offer is within 1e-6 of a whole number, not exactly.

    Prices of money are found by a search that often ends where two coalitions nearly tie, and some offers end there.
    """
    if c.rules.payments == "clock":
        off = np.abs(c.payments - np.rint(c.payments)) / np.maximum(1.0, c.payments)
        return bool(np.any((off > 1e-10) & (off <= 1e-6)))
    if c.rules.mechanism.feasibility != "interim" or not selected.any() or not c.size:
        return False
    mu = multiplier(c.bids, pose(c.bids, c.rules))
    stated, right = (
        c.rules.loss(c.bids.distance[chosen]) + mu * float(c.bids.virtual[chosen].sum())
        for chosen in (selected, c.selected)
    )
    return bool(1e-14 * right < stated - right <= 1e-9 * max(1.0, right, c.rules.mechanism.limit))


# ---- by hand ---------------------------------------------------------------------------------------------------------


def plain(count: int = 6, **prices) -> kt.Bids:
    rng = np.random.default_rng(count)
    reserve = rng.integers(1, 21, count).astype(float)
    return kt.Bids(
        **{"distance": rng.uniform(1, 3, count), "reserve": reserve, "prior": scipy.stats.uniform(0, 20), **prices}
    )


def test_each_fault_is_named():
    c = kt.clear(plain(), kt.Exogenous(budget=35.0), population="infinite")
    paid, place = whole_payments(c), int(np.flatnonzero(c.selected)[0])
    everybody = np.ones(6, dtype=bool)
    assert names(checked(c, everybody, np.full(6, 20))) == {"allowed", "best", "tie rule", "payments"}
    nobody = np.zeros(6, dtype=bool)
    assert names(checked(c, nobody, np.zeros(6, dtype=int))) == {"best", "tie rule", "payments"}
    assert names(checked(c, nobody, paid)) == {"best", "tie rule", "payments", "losers"}
    change = np.arange(6) == place
    assert names(checked(c, paid=paid + change)) == {"payments"}
    assert names(checked(c, paid=paid - change)) == {"payments"}
    assert names(checked(c, paid=np.where(change, 0, paid))) == {"payments", "reserve prices"}


def test_it_says_what_it_found():
    c = kt.clear(plain(owner=list("abcdef")), kt.Exogenous(budget=35.0), population="infinite")
    paid, place = whole_payments(c), int(np.flatnonzero(c.selected)[0])
    change = np.arange(6) == place
    name = c.bids.name(place)
    said = str(checked(c, paid=paid + change))
    assert f"Owner '{name}' is paid {paid[place] + 1} and would not be bought at it." in said
    said = str(checked(c, paid=paid - change))
    assert f"Owner '{name}' is paid {paid[place] - 1} and would be bought at {paid[place]} too." in said
    found = checked(c)
    assert found.passed
    assert found.as_dict()["passed"] is True
    assert {check["name"] for check in found.as_dict()["checks"]} >= {"allowed", "best", "payments"}
    assert "WRONG" not in str(found)


def test_nobody_is_bought_whose_virtual_cost_is_infinite():
    bids = kt.Bids(distance=[1.0, 1.0], reserve=[3.0, 9.0], prior=kt.EmpiricalPrior([3.0, 6.0]))
    c = kt.clear(bids, kt.Joint(reference_loss=1000.0, lipschitz=100.0))
    assert c.selected.tolist() == [True, False]
    assert "allowed" in names(checked(c, np.array([True, True]), np.array([6, 9])))


@pytest.mark.parametrize("owner", [["a", "b"], ["b", "a"]])
def test_an_exact_tie_goes_by_the_rule(owner):
    """Both cost the same at a price of 5: one more, or one less, is another outcome though the objectives agree."""
    c = tied(owner)
    paid = whole_payments(c)
    assert checked(c).passed
    for change in (-1, 1):
        assert names(checked(c, paid=paid + change * c.selected)) == {"payments"}


def test_of_two_alike_the_first_by_name_is_bought():
    bids = kt.Bids(distance=[1.0, 1.0], reserve=[5.0, 5.0], prior=scipy.stats.uniform(0, 20), owner=["a", "b"])
    c = kt.clear(bids, kt.Exogenous(budget=11.0), population="infinite")
    assert c.selected.tolist() == [True, False]
    assert "tie rule" in names(checked(c, c.selected[::-1], whole_payments(c)[::-1]))


@pytest.mark.parametrize(("apart", "right"), [(2e-11, 5), (-2e-11, 4)])
def test_where_rounding_decides_either_answer_is_accepted(apart, right):
    """The second lies a little further, or nearer: at a price of 5 the first is better by that much, or worse."""
    bids = kt.Bids(distance=[1.0, 1.0 + apart], reserve=[3.0, 5.0], prior=scipy.stats.uniform(0, 20))
    c = kt.clear(bids, kt.Joint(reference_loss=12.0), population="infinite", confidence=0.5)
    assert whole_payments(c).tolist() == [right, 0]
    passed = [price for price in range(3, 9) if checked(c, paid=np.array([price, 0])).passed]
    assert passed == [4, 5]


def test_a_coalition_as_good_to_the_tolerance_is_accepted_and_a_worse_one_is_not():
    for apart, accepted in ((1e-10, True), (1e-8, False)):
        bids = kt.Bids(distance=[1.0, 1.0 + apart], reserve=[5.0, 5.0], prior=scipy.stats.uniform(0, 20))
        c = kt.clear(bids, kt.Exogenous(budget=11.0), population="infinite", confidence=0.5)
        assert c.selected.tolist() == [True, False]
        assert checked(c, c.selected[::-1], whole_payments(c)[::-1]).passed is accepted


def test_where_money_is_nearly_free_a_unit_still_counts():
    """The limit of 300 is met by all, so that money counts a billionth: 1e-9 of the limit would be 300 units."""
    c = cleared(120, "endogenous", "interim", "threshold")
    assert multiplier(c.bids, pose(c.bids, c.rules)) < 1e-8
    paid = whole_payments(c)
    assert checked(c).passed
    assert names(checked(c, paid=paid - c.selected)) == {"payments"}


def test_a_clock_is_held_to_its_limit_exactly():
    bids = kt.Bids(distance=np.ones(5), reserve=[1.0, 2.0, 3.0, 4.0, 5.0], prior=scipy.stats.uniform(0, 50))
    c = kt.clear(bids, kt.Exogenous(budget=100.0), payments="clock")
    assert checked(c).passed
    assert names(checked(c, paid=np.array([20, 20, 20, 20, 21]))) == {"payments", "limit"}
    others = np.array([True, True, True, True, False])
    assert names(checked(c, others, np.array([20, 20, 20, 20, 0]))) == {"winners"}


def test_an_allocation_that_was_not_proved_needs_its_gap_stated():
    c = unproved()
    assert c.gap > 0
    assert checked(c, nodes=0, gap=c.gap).passed
    assert "best" in names(checked(c, nodes=0))
    paid = whole_payments(c) + (np.arange(60) == np.flatnonzero(c.selected)[0])
    assert names(checked(c, paid=paid, nodes=0, gap=c.gap)) == {"payments"}


def test_what_no_proof_decides_is_said(monkeypatch):
    c = kt.clear(plain(), kt.Exogenous(budget=35.0), population="infinite")
    calls = []

    def undecided(problem, nodes):
        calls.append(nodes)
        found = kt.clearing.budgeted.solve_exogenous(problem, nodes)
        return found if len(calls) == 1 else replace(found, lower_bound=found.objective - 1)

    monkeypatch.setitem(kt.clearing.recheck._SOLVERS, "exogenous", undecided)
    found = checked(c)
    assert found.passed
    assert "without a proof" in str(found)


def test_who_bids_alone():
    bids = kt.Bids(distance=[1.0], reserve=[3.0], prior=scipy.stats.uniform(0, 20))
    for mechanism in (kt.Joint(reference_loss=30.0), kt.Exogenous(budget=25.0), kt.Endogenous(reference_loss=21.0)):
        c = kt.clear(bids, mechanism, population="infinite")
        paid = whole_payments(c)
        assert c.selected.tolist() == [True]
        assert checked(c).passed
        for change in (-1, 1):
            assert names(checked(c, paid=paid + change)) == {"payments"}


def test_a_mechanism_of_ones_own_is_asked_again():
    c = kt.clear(plain(), Posted(price=7.5))
    assert checked(c).passed
    paid = whole_payments(c)
    assert names(checked(c, paid=paid + c.selected)) == {"payments"}
    assert "winners" in names(checked(c, ~c.selected, np.where(c.selected, 0, 20)))


def test_joint_markets_of_more_owners_are_looked_at_where_it_matters():
    rng = np.random.default_rng(1)
    reserve = rng.integers(1, 201, 300).astype(float)
    bids = kt.Bids(distance=rng.uniform(1, 3, 300), reserve=reserve, prior=scipy.stats.uniform(0, 200))
    c = kt.clear(bids, kt.Joint(reference_loss=1e5, lipschitz=3000.0))
    paid, place = whole_payments(c), int(np.flatnonzero(c.selected)[2])
    assert "0 were tried" in str(checked(c))
    for change in (-1, 1):
        assert names(checked(c, paid=paid + change * (np.arange(300) == place))) == {"payments"}


@pytest.mark.parametrize(
    ("selected", "paid", "said"),
    [
        (np.ones(5, dtype=bool), np.zeros(6, dtype=int), "selected has shape"),
        (np.ones(6), np.zeros(6, dtype=int), "selected holds float64"),
        (np.ones(6, dtype=bool), np.zeros(6), "payments_whole holds float64"),
    ],
)
def test_what_cannot_be_read_is_refused(selected, paid, said):
    c = kt.clear(plain(), kt.Exogenous(budget=35.0))
    with pytest.raises(InputError, match=said):
        checked(c, selected, paid)
