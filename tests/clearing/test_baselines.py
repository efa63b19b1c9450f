"""The baselines: markets solved by hand, other ways to the same answers, and lies that do not pay."""

from __future__ import annotations

import json
from math import inf
from typing import Any

import numpy as np
import pytest
import scipy

from kantor.bids.bids import Bids
from kantor.clearing import baselines
from kantor.clearing.baselines import central, ptas, ptas_prices, random, random_mean, shapley, smq, smq_offers
from kantor.clearing.clear import clear_by
from kantor.clearing.mechanisms import Endogenous, Exogenous, Joint, Mechanism
from kantor.clearing.outcome import Clearing
from kantor.errors import InputError
from kantor.valuation.coalitions import members
from kantor.valuation.hoeffding import hoeffding_bound

# Two owners who ask 0.2 and 0.4, uniform priors: psi = 0.4 and 0.8. Alone they are worth 3 and 2, together 1.
TWO = Bids(distance=[3.0, 2.0], reserve=[0.2, 0.4], owner=["anna", "ben"])
WORTH = [inf, 3.0, 2.0, 1.0]


def chosen(outcome: Clearing) -> list[int]:
    return np.flatnonzero(outcome.selected).tolist()


def market(seed: int, count: int = 5, prior: Any = None) -> Bids:
    rng = np.random.default_rng(seed)
    return Bids(distance=rng.uniform(0.2, 3, count), reserve=rng.uniform(0, 1, count), prior=prior)


# ---- central --------------------------------------------------------------------------------------------------------

# Costs psi: 0.4, 0.8, both 1.2. Value + cost: 3.4, 2.8, 2.2.
CENTRAL: list[tuple[Mechanism, Any, list[int], float, float]] = [
    (Exogenous(budget=0.3), "virtual", [], inf, inf),
    (Exogenous(budget=0.8), "virtual", [1], 2.0, 2.0),
    (Exogenous(budget=1.2), "virtual", [0, 1], 1.0, 1.0),
    (Exogenous(budget=0.6), "reserve", [0, 1], 1.0, 1.0),
    (Endogenous(reference_loss=2.1), "virtual", [], 2.1, 2.1),
    (Endogenous(reference_loss=2.5), "virtual", [0, 1], 1.0, 1.0),
    (Endogenous(reference_loss=1.6), "reserve", [0, 1], 1.0, 1.0),
    (Joint(reference_loss=2.2), "virtual", [], 2.2, 2.2),  # a tie: nothing wins
    (Joint(reference_loss=2.5), "virtual", [0, 1], 1.0, 2.2),
    (Joint(reference_loss=2.5), "reserve", [0, 1], 1.0, 1.6),
    # K = 0.1: 0.3 + 0.4, 0.2 + 0.8, 0.1 + 1.2.
    (Joint(reference_loss=2.5, lipschitz=0.1), "virtual", [0], 0.3, 0.7),
]


@pytest.mark.parametrize(("mechanism", "cost", "who", "bound", "objective"), CENTRAL)
def test_central_by_hand(mechanism: Mechanism, cost: Any, who: list[int], bound: float, objective: float) -> None:
    outcome = central(TWO, WORTH, mechanism, cost)
    assert chosen(outcome) == who
    assert outcome.bound == pytest.approx(bound)
    assert outcome.objective == pytest.approx(objective)
    assert outcome.gap == 0
    prices = TWO.virtual if cost == "virtual" else TWO.reserve
    np.testing.assert_array_equal(outcome.payments, np.where(outcome.selected, prices, 0))


@pytest.mark.parametrize(
    "mechanism", [Exogenous(budget=2.0), Endogenous(reference_loss=3.0), Joint(reference_loss=3.0)]
)
def test_central_is_the_best_of_all(mechanism: Mechanism) -> None:
    for seed in range(20):
        bids = market(seed)
        values = np.random.default_rng(seed).uniform(0, 3, 32)
        scores = {}
        for mask in range(1, 32):
            row = members(mask, 5)
            value, spend = values[mask], float(bids.virtual[row].sum())
            used = {"exogenous": spend, "endogenous": value + spend, "joint": -inf}[mechanism.kind]
            if used <= mechanism.limit:
                scores[mask] = value + spend if mechanism.kind == "joint" else value
        best = min(scores.values(), default=inf)
        outcome = central(bids, values, mechanism)
        assert outcome.objective == pytest.approx(min(best, inf if mechanism.kind == "exogenous" else mechanism.limit))


def test_central_breaks_ties_by_cost_and_then_by_order() -> None:
    bids = Bids(distance=[1.0, 1.0, 1.0], reserve=[0.3, 0.2, 0.2])
    assert chosen(central(bids, [inf] + [1.0] * 7, Exogenous(budget=9))) == [1]


def test_central_takes_a_function_and_leaves_infinite_values_alone() -> None:
    def value(rows: Any) -> Any:
        return np.where(rows[:, 0], inf, 2.0)

    assert chosen(central(TWO, value, Joint(reference_loss=9.0, lipschitz=0.0))) == [1]


# ---- random ---------------------------------------------------------------------------------------------------------


# Prices 0.2 and 0.4: a budget of 0.4 fits either owner (values 3 and 2), 0.6 both together too.
@pytest.mark.parametrize(("budget", "mean"), [(0.1, inf), (0.2, 3.0), (0.4, 2.5), (0.6, 2.0)])
def test_the_mean_of_what_fits(budget: float, mean: float) -> None:
    assert random_mean(TWO, WORTH, budget) == mean
    assert random(TWO, budget, WORTH).objective == mean


def test_draws_fit_the_budget_and_are_equally_likely() -> None:
    draws = [random(TWO, 0.4, WORTH, seed=seed) for seed in range(400)]
    assert all(draw.spend <= 0.4 and chosen(draw) in ([0], [1]) for draw in draws)
    assert 150 < sum(chosen(draw) == [0] for draw in draws) < 250
    assert {draw.bound for draw in draws} == {2.0, 3.0}
    assert chosen(random(TWO, 0.1)) == []


# ---- single-minded query --------------------------------------------------------------------------------------------


# 1/d = 1 and 1/2, so the offers are m/2 and m/4; they cost m^2/4 + m^2/16, which is 5/16 for m = 1. With a budget of
# 1.25 the first is capped at 1, which leaves 1/4 for the second: x = 1/2. A budget of 2 buys everybody's highest price.
@pytest.mark.parametrize(
    ("budget", "offers"),
    [(5 / 16, [0.5, 0.25]), (1.25, [1.0, 0.5]), (2.0, [1.0, 1.0]), (9.0, [1.0, 1.0]), (0.0, [0, 0])],
)
def test_offers_by_hand(budget: float, offers: list[float]) -> None:
    bids = Bids(distance=[1.0, 2.0], reserve=[0.5, 0.3])
    np.testing.assert_allclose(smq_offers(bids, budget), offers, atol=1e-12)


def test_who_takes_the_offer_is_bought_and_paid_the_offer() -> None:
    outcome = smq(Bids(distance=[1.0, 2.0], reserve=[0.45, 0.3]), 5 / 16, WORTH)
    assert chosen(outcome) == [0]
    np.testing.assert_allclose(outcome.payments, [0.5, 0.0])
    assert outcome.bound == 3.0
    assert outcome.truthful


PRIORS = [
    scipy.stats.uniform(0, 1),
    scipy.stats.uniform(0.5, 1),
    scipy.stats.expon(0, 0.7),
    scipy.stats.gamma(2.0, scale=0.4),
    scipy.stats.powerlaw(2.0, 0, 2),
]


@pytest.mark.parametrize("budget", [0.05, 0.4, 1.5, 4.0])
def test_offers_against_a_general_optimiser(budget: float) -> None:
    """SLSQP on the chances u = F(x): minimise -sum u/d with sum u F^-1(u) <= B, which is convex."""
    distance = np.array([1.0, 0.4, 2.0, 0.7, 1.2])
    bids = Bids(distance=distance, reserve=[0.1, 0.6, 0.1, 0.1, 0.1], prior=PRIORS)
    offers = smq_offers(bids, budget)
    chances = np.where(np.isfinite(offers), bids.priors.cdf(np.where(np.isfinite(offers), offers, 0)), 0)
    spend = float(np.where(chances > 0, offers, 0) @ chances)

    def cost(u: Any) -> float:
        return float(sum(x * prior.ppf(x) for x, prior in zip(u, PRIORS, strict=True)))

    best = scipy.optimize.minimize(
        lambda u: -(u / distance).sum(),
        np.full(5, 0.02),
        jac=lambda u: -1 / distance,
        bounds=[(0, 1 - 1e-9)] * 5,
        constraints={"type": "ineq", "fun": lambda u: budget - cost(u)},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert spend <= budget * (1 + 1e-9)
    assert spend == pytest.approx(budget, rel=1e-6)
    assert (chances / distance).sum() == pytest.approx(-best.fun, rel=1e-5)


# u F^-1(u) = 1.5 u - 0.5 is linear from u = 1/2 on, so psi is 1.5 from 0.5 to 1. A budget of 0.5 is spent at u = 2/3,
# which is the offer 0.75, strictly inside: no multiplier gives it.
def test_offers_inside_a_piece_where_virtual_costs_stand_still() -> None:
    bids = Bids(distance=[1.0], reserve=[0.7], prior=Flat(a=0.0, b=1.0)())
    np.testing.assert_allclose(smq_offers(bids, 0.5), [0.75], rtol=1e-9)


class Flat(scipy.stats.rv_continuous):
    """Uniform up to 0.5; from there to 1, F = 1/(2 (1.5 - x))."""

    def _pdf(self, x: Any) -> Any:
        return np.where(x < 0.5, 1.0, 0.5 / (1.5 - x) ** 2)

    def _cdf(self, x: Any) -> Any:
        return np.where(x < 0.5, x, 0.5 / (1.5 - np.minimum(x, 1)))

    def _ppf(self, q: Any) -> Any:
        return np.where(q < 0.5, q, 1.5 - 0.5 / np.maximum(q, 0.5))


def test_the_budget_is_kept_in_expectation() -> None:
    bids = market(4, count=8)
    offers, prices = smq_offers(bids, 1.6), bids.priors.rvs(np.random.default_rng(1), 2000)
    spends = (prices <= offers) @ offers
    assert abs(spends.mean() - 1.6) < 4 * spends.std() / np.sqrt(2000)
    other = smq(bids.replace(reserve=prices[0]), 1.6)  # what owners ask does not move the offers
    np.testing.assert_array_equal(other.payments, np.where(prices[0] <= offers, offers, 0.0))


def test_survey_answers_are_refused() -> None:
    from kantor.bids.priors import EmpiricalPrior

    bids = Bids(distance=[1.0], reserve=[1.0], prior=EmpiricalPrior([1.0, 2.0]))
    with pytest.raises(InputError, match="not convex"):
        smq(bids, 1.0)


# ---- greedy knapsack ------------------------------------------------------------------------------------------------


# g = theta d = 0.5, 0.8, 3.6; the sums of 1/d are 1, 1.5, 1.75. B = 1.3: shares 1.3, 0.867, 0.743, so two are bought
# at 0.867 for a unit of value: 0.867 and 0.433, the whole budget.
def test_greedy_by_hand_where_the_budget_sets_the_price() -> None:
    bids = Bids(distance=[1.0, 2.0, 4.0], reserve=[0.5, 0.4, 0.9])
    outcome = ptas(bids, 1.3)
    assert chosen(outcome) == [0, 1]
    np.testing.assert_allclose(outcome.payments, [1.3 / 1.5, 1.3 / 3, 0])
    assert outcome.spend == pytest.approx(1.3)


# The third asks 0.25, so g = 1.0. B = 1.6: shares 1.6, 1.067, 0.914; two are bought, at the third's 1.0.
def test_greedy_by_hand_where_the_next_owner_sets_the_price() -> None:
    outcome = ptas(Bids(distance=[1.0, 2.0, 4.0], reserve=[0.5, 0.4, 0.25]), 1.6)
    assert chosen(outcome) == [0, 1]
    np.testing.assert_allclose(outcome.payments, [1.0, 0.5, 0])


def test_greedy_buys_nothing_that_is_too_dear() -> None:
    outcome = ptas(Bids(distance=[1.0], reserve=[0.5]), 0.4, [inf, 1.0])
    assert chosen(outcome) == []
    assert outcome.bound == inf


@pytest.mark.parametrize("seed", range(20))
def test_greedy_keeps_the_budget_and_no_lie_pays(seed: int) -> None:
    bids = market(seed, prior=scipy.stats.uniform(0, 50))
    budget = float(np.random.default_rng(seed).uniform(0.3, 4))
    honest = ptas(bids, budget)
    assert honest.spend <= budget * (1 + 1e-12)
    assert (honest.payments >= bids.reserve)[honest.selected].all()
    reports = np.concatenate([np.linspace(0, 3, 31), honest.payments * (1 + 1e-9), honest.payments * (1 - 1e-9)])
    for owner in range(5):
        truth = (honest.payments - bids.reserve * honest.selected)[owner]
        for report in reports:
            lie = bids.with_report(owner, reserve=float(report))
            selected, prices = ptas_prices(lie, budget)
            assert (prices[owner] - bids.reserve[owner] if selected[owner] else 0.0) <= truth + 1e-9


# ---- Shapley --------------------------------------------------------------------------------------------------------


# A reference of 4 saves 1, 2 and 3: additive, so each is owed its own. With the buyer, without whom nothing is saved,
# it is half of that: an owner adds its own exactly when the buyer came before it. The buyer keeps 1.5.
def test_shapley_by_hand() -> None:
    np.testing.assert_allclose(shapley(TWO, WORTH, 4.0).payments, [1.0, 2.0])
    np.testing.assert_allclose(shapley(TWO, WORTH, 4.0, buyer=True).payments, [0.5, 1.0])
    np.testing.assert_allclose(shapley(TWO, WORTH, 4.0, budget=9.0).payments, [3.0, 6.0])
    outcome = shapley(TWO, WORTH, 4.0)
    assert chosen(outcome) == [0, 1]
    assert outcome.bound == 1.0


def test_the_owners_and_the_buyer_share_what_is_saved() -> None:
    bids = market(1, count=4)
    values = np.random.default_rng(1).uniform(0, 2, 16)
    assert shapley(bids, values, 2.0).spend == pytest.approx(2.0 - values[-1])
    assert shapley(bids, values, 2.0, buyer=True).spend < 2.0 - values[-1]


def test_a_budget_cannot_be_divided_by_nothing() -> None:
    with pytest.raises(InputError, match="sum to"):
        shapley(TWO, [0.0, 1.0, 1.0, 1.0], 1.0, budget=3.0)


# ---- all of them ----------------------------------------------------------------------------------------------------

ALL = {
    "central": lambda bids: central(bids, WORTH, Joint(reference_loss=3.0)),
    "random": lambda bids: random(bids, 0.6, WORTH, seed=3),
    "smq": lambda bids: smq(bids, 0.6),
    "ptas": lambda bids: ptas(bids, 0.6),
    "shapley": lambda bids: shapley(bids, WORTH, 4.0),
}


@pytest.mark.parametrize("name", ALL)
def test_every_outcome_is_a_clearing_that_can_be_run_again(name: str) -> None:
    outcome = ALL[name](TWO)
    assert isinstance(outcome, Clearing)
    plain = json.loads(outcome.to_json())
    assert plain["mechanism"] == name
    assert len(plain["owners"]) == 2
    assert outcome.to_frame().height == 2
    again = clear_by(outcome.rules, TWO)
    np.testing.assert_array_equal(again.payments, outcome.payments)
    assert np.isnan(again.critical[~again.selected]).all()
    assert repr(outcome)


def test_what_is_bought_has_the_bound_of_its_distances_where_no_values_are_given() -> None:
    assert smq(TWO, 0.6).bound == 0.0  # both of two, which is the whole population
    for outcome in (ptas(TWO, 0.3), random(TWO, 0.3)):
        assert outcome.bound == pytest.approx(hoeffding_bound(TWO.distance[outcome.selected], 2))


def test_any_number_of_owners_where_no_table_is_needed() -> None:
    bids = market(2, count=200)
    outcome = ptas(bids, 20.0, lambda rows: rows.sum(axis=1) / 200)
    assert outcome.bound == outcome.size / 200
    assert smq(bids, 20.0, lambda rows: rows.sum(axis=1)).size > 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: central(TWO, [1.0, 2.0], Exogenous(budget=1)), r"shape \(2,\), and 2 owners form 4"),
        (lambda: central(TWO, [0, 1, float("nan"), 1], Exogenous(budget=1)), r"owners at \[1\].*nan"),
        (lambda: central(TWO, WORTH, Exogenous(budget=1, feasibility="interim")), "in expectation"),
        (lambda: central(TWO, WORTH, Exogenous(budget=1), "price"), "cost 'price' is not known"),
        (lambda: random(TWO, -1.0), "budget is -1"),
        (lambda: smq(TWO, inf), "budget is inf"),
        (lambda: ptas(Bids(distance=[1.0, 0.0], reserve=[0, 0]), 1.0), "distance is 0"),
        (lambda: smq(Bids(distance=[1.0, 0.0], reserve=[0, 0]), 1.0), "distance is 0"),
        (lambda: random(market(0, count=21), 1.0), "21 owners"),
    ],
)
def test_what_cannot_be_used_is_refused(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_the_names_are_the_designs() -> None:
    assert {"central", "random", "smq", "ptas", "shapley"} <= set(baselines.__all__)
