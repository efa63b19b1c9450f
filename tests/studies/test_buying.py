"""Purchases by tables against the market itself, trial by trial."""

import numpy as np
import pytest
import scipy

import kantor as kt
from kantor.studies.buying import KINDS, bounds, buy, endogenous, exogenous, joint
from kantor.studies.prices import correlated_prices
from kantor.valuation.coalitions import table_order

TRIALS = range(0, 50, 7)


@pytest.fixture(scope="module", params=["FIN", "INF"])
def market(case, request):
    values = case.values()
    prices = np.array([correlated_prices(row, 0.0, 1345) for row in values.alone("W")])
    loss = bounds(values.population, values.alone("W"), KINDS[request.param])
    return request.param, values, prices, loss, 2 * values.population.total(prices)


def cleared(market, trial, mechanism):
    name, values, prices, _, _ = market
    bids = kt.Bids(distance=values.alone("W")[trial], reserve=prices[trial], prior=scipy.stats.uniform(0, 1))
    return kt.clear(bids, mechanism, population=KINDS[name], payments="virtual")


def members_of(market, chosen):
    people = market[1].population
    return people.members[chosen] if chosen >= 0 else np.zeros(people.owners, dtype=bool)


@pytest.mark.parametrize("kind", ["exogenous", "endogenous", "joint"])
def test_tables_buy_what_clearing_buys(market, kind):
    _, values, _, loss, spend = market
    limits = values.reference["MAE"]
    bought = {
        "exogenous": lambda: exogenous(loss, spend, limits[:, None]),
        "endogenous": lambda: endogenous(loss, spend, limits),
        "joint": lambda: joint(loss, spend, limits),
    }[kind]()
    for trial in TRIALS:
        limit = float(limits[trial])
        rule = kt.Exogenous(budget=limit) if kind == "exogenous" else {
            "endogenous": kt.Endogenous, "joint": kt.Joint
        }[kind](reference_loss=limit)  # fmt: skip
        assert cleared(market, trial, rule).selected.tolist() == members_of(market, bought[trial]).tolist()


def test_central_is_the_baseline(market):
    _, values, prices, _, spend = market
    true, limits = values.of("W"), values.reference["MAE"]
    bought = joint(true, spend, limits)
    cost = buy(true + spend, bought, limits)
    for trial in TRIALS:
        worth = np.full(256, np.inf)
        worth[table_order(8)] = true[trial]
        bids = kt.Bids(distance=values.alone("W")[trial], reserve=prices[trial])
        found = kt.baselines.central(bids, worth, kt.Joint(reference_loss=float(limits[trial])))
        assert found.selected.tolist() == members_of(market, bought[trial]).tolist()
        assert found.objective == pytest.approx(cost[trial], rel=1e-12)


def test_prices_that_are_not_numbers_buy_nothing(market):
    _, _, _, loss, spend = market
    assert (exogenous(loss, spend * np.nan, 1.0) == -1).all()
