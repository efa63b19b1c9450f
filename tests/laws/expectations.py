"""What holds on average over the priors: the cost of two payment rules, and what an interim budget spends and buys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import hypot, inf, sqrt

import numpy as np

import kantor as kt
from kantor.clearing.interim import multiplier
from kantor.clearing.optimal import pose
from laws import Clear, Law, Tally
from laws.markets import KINDS, POPULATIONS, Market, a_market

DRAWS = 300
LEAST = 0.003
"""The error of a mean is taken to be at least this part of it: some markets buy more once in a thousand draws."""
SIGMAS = 4.5
"""How far a mean of many may lie from what it should be; chance alone does that once in 150,000 times."""


def redrawn(market: Market, rng: np.random.Generator, draws: int) -> Iterator[Market]:
    """The same owners at other prices from their priors."""
    for prices in market.bids.priors.rvs(rng, draws):
        yield replace(market, bids=market.bids.replace(reserve=prices))


def same_cost(seed: int, clear: Clear) -> Tally:
    """Threshold and virtual payments of one market, over many draws of its prices (Myerson's lemma)."""
    rng, tally = np.random.default_rng([5, seed]), Tally()
    kind, population = KINDS[seed % 3], POPULATIONS[seed // 3 % 2]
    market = a_market(rng, kind, population, most=6, shapes=("random", "heavy"), bounded=True)
    differences, spends = [], []
    for drawn in redrawn(market, rng, DRAWS):
        threshold = drawn.clear(clear, payments="threshold").spend
        spends.append(drawn.clear(clear, payments="virtual").spend)
        differences.append(threshold - spends[-1])
    tally.count("markets")
    tally.count("clearings", DRAWS)
    scale = float(np.mean(spends))
    if scale > 0:
        tally.sums["z"] += float(np.mean(differences)) / max(float(np.std(differences)) / sqrt(DRAWS), 1e-9 * scale)
        tally.sums["relative difference"] += float(np.mean(differences)) / scale
        tally.count("markets that buy")
    return tally


def means_agree(tally: Tally) -> list[str]:
    """The mean of the markets' z-scores is that of chance."""
    markets = tally.counts["markets that buy"]
    z = tally.sums["z"] / sqrt(max(markets, 1))
    mean = tally.sums["relative difference"] / max(markets, 1)
    return [] if abs(z) <= SIGMAS else [f"threshold payments cost {mean:+.4%} more than virtual ones, z = {z:.1f}"]


def interim_budget(seed: int, clear: Clear) -> Tally:
    """One market with an interim budget: what it uses on average, and what it buys against a pointwise budget."""
    rng, tally = np.random.default_rng([6, seed]), Tally()
    kind, population = KINDS[1 + seed % 2], POPULATIONS[seed // 2 % 2]
    market = a_market(rng, kind, population, least=4, most=8, shapes=("random", "heavy"), feasibility="interim")
    if isinstance(market.mechanism, kt.Exogenous):  # enough for one owner whatever it asks for, so that V is finite
        top = market.bids.priors.virtual(market.bids.priors.upper)
        top = np.where(np.isfinite(top), top, market.bids.priors.virtual(market.bids.priors.quantile(0.9)))
        budget = float(top.min()) * float(rng.uniform(1.0, 1.8))
        market = replace(market, mechanism=replace(market.mechanism, budget=budget))
    pointwise = replace(market, mechanism=replace(market.mechanism, feasibility="pointwise"))
    used, worse = [], []
    for drawn in redrawn(market, rng, DRAWS):
        interim = drawn.clear(clear, payments="threshold")  # costs the same on average, and its tails are lighter
        strict = replace(drawn, mechanism=pointwise.mechanism).clear(payments="virtual")
        used.append(interim.spend + (interim.bound if kind == "endogenous" else 0.0))
        worse.append(interim.bound - strict.bound if interim.bound < inf else (0.0 if strict.bound == inf else inf))
    _expect_budget(market, np.array(used), tally)
    values = np.array(worse)
    tally.count("markets")
    tally.count("clearings", DRAWS)
    comparable = bool(np.all(values > -inf))
    tally.count("markets of finite value", comparable)
    if comparable:
        error = max(float(values.std()) / sqrt(DRAWS), 1e-9 * market.unit)
        told = f"seed {seed}, {market}: V is {values.mean():.3g} worse than pointwise, {error:.1g} standard error"
        tally.expect(float(values.mean()) <= SIGMAS * error, told)
        tally.sums["better by"] -= float(values.mean()) / market.unit
    return tally


def _expect_budget(market: Market, used: np.ndarray, tally: Tally) -> None:
    """Above the limit by chance only; the z-scores of markets whose budget binds are kept for the judge."""
    limit = market.mechanism.limit
    error = hypot(float(used.std()) / sqrt(used.size), LEAST * limit)
    z = float(used.mean() - limit) / max(error, 1e-12)
    tally.see(z)
    tally.expect(z <= SIGMAS, f"{market}: {used.mean():.6g} of {limit:.6g} is used on average, z = {z:.1f}")
    mu = multiplier(market.bids, pose(market.bids, market.clear(payments="virtual").rules))
    if 1e-6 < mu < inf:
        tally.count("markets whose budget binds")
        tally.sums["z"] += z


def budgets_met(tally: Tally) -> list[str]:
    """Where budgets bind they are met: neither exceeded nor left, on the whole."""
    markets = tally.counts["markets whose budget binds"]
    z = tally.sums["z"] / sqrt(max(markets, 1))
    return [] if abs(z) <= SIGMAS else [f"expected use differs from the budgets that bind, z = {z:.1f} of {markets}"]


SAME_COST = Law(
    "same cost",
    "threshold and virtual payments cost the same on average over the priors",
    same_cost,
    "markets",
    500,
    5,
    means_agree,
)
INTERIM = Law(
    "interim budget",
    "an interim budget is met on average over the priors, and its purchases are no worse than pointwise ones",
    interim_budget,
    "markets",
    400,
    5,
    budgets_met,
)
