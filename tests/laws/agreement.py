"""The exact solvers against all coalitions one by one, and against the paper's program in another solver."""

from __future__ import annotations

from itertools import product
from math import inf
from typing import Any

import numpy as np

import kantor as kt
from kantor.clearing.clock import clock_weight
from kantor.clearing.optimal import pose
from laws import Clear, Law, Tally
from laws.markets import KINDS, PLAIN, POPULATIONS, Market, a_market

TOLERANCE = 1e-9
GREATEST = float(np.finfo(float).max)
OF_THE_SOLVER = 1e-5  # SCIP meets constraints to 1e-6, which moves objectives of this size by about as much


def same(left: float, right: float, unit: float) -> bool:
    """Whether two sums of money agree to the tolerance that solvers are held to."""
    return left == right or abs(left - right) <= TOLERANCE * max(unit, abs(left) if left < inf else 0.0)


def against_enumeration(seed: int, clear: Clear) -> Tally:
    """Every mechanism and population, one of them by the clock too; with every twentieth seed an interim budget."""
    rng, tally = np.random.default_rng([1, seed]), Tally()
    tally.count("markets")
    for number, (kind, population) in enumerate(product(KINDS, POPULATIONS)):
        market = a_market(rng, kind, population)
        _against_all(market, clear, tally, f"seed {seed}")
        if seed % 6 == number:
            _against_slow_clock(market, market.clear(clear, payments="clock"), tally, f"seed {seed}, {market}, clock")
    if seed % 20 == 0:
        interim = a_market(rng, KINDS[1 + seed // 20 % 2], POPULATIONS[seed // 40 % 2], feasibility="interim")
        _against_all(interim, clear, tally, f"seed {seed}")
    return tally


def _against_all(market: Market, clear: Clear, tally: Tally, where: str) -> None:
    for payments in ("threshold", "virtual"):
        ours, listed = market.clear(clear, payments=payments), market.clear(solver="enumerate", payments=payments)
        _compare(market, ours, listed, tally, f"{where}, {market}, {payments}")


def _compare(market: Market, ours: kt.Clearing, listed: kt.Clearing, tally: Tally, where: str) -> None:
    tally.count("clearings")
    tally.count("bought some but not all", 0 < ours.size < len(market.bids))
    unit = max(market.unit, ours.bound if ours.bound < inf else 0.0)
    objectives = f"{where}: objective {ours.objective!r}, and {listed.objective!r} by enumeration"
    tally.expect(same(ours.objective, listed.objective, unit), objectives)
    tally.expect(ours.gap == 0, f"{where}: gap {ours.gap}")
    alike = bool(np.array_equal(ours.selected, listed.selected))
    tally.expect(alike, f"{where}: bought {ours.selected.astype(int)}, and {listed.selected.astype(int)} listed")
    if alike:
        away = float(np.abs(ours.payments - listed.payments).max())
        tally.see(away / max(unit, float(listed.payments.max())))
        told = f"{where}: payments {ours.payments.tolist()}, and {listed.payments.tolist()} by enumeration"
        tally.expect(away <= TOLERANCE * max(unit, float(listed.payments.max())), told)
    bound = market.mechanism.nothing
    if ours.size:
        bound = market.mechanism.lipschitz * kt.hoeffding_bound(
            market.bids.distance[ours.selected], market.population_size, market.confidence, market.population
        )
    tally.expect(same(ours.bound, bound, unit), f"{where}: bound {ours.bound}, and {bound} by Theorem 2")


def _against_slow_clock(market: Market, ours: kt.Clearing, tally: Tally, where: str) -> None:
    """The clock as it is described, every group of owners in turn from the largest, one offer at a time."""
    tally.count("clocks")
    selected, offers = _slow_clock(market, ours)
    told = f"{where}: {ours.payments.tolist()}, and the clock described pays {offers.tolist()}"
    if bool(np.any(ours.selected != selected)):
        loss = 0.0 if market.mechanism.kind == "exogenous" else ours.rules.loss(market.bids.distance[selected])
        if abs(loss + float(offers.sum()) - market.mechanism.limit) <= 1e-12 * market.unit:
            tally.count("clocks that rounding decides")
            return
    close = np.allclose(ours.payments, offers, rtol=1e-9, atol=TOLERANCE * market.unit)
    tally.expect(bool(np.array_equal(ours.selected, selected)) and close, told)


def _slow_clock(market: Market, ours: kt.Clearing) -> tuple[np.ndarray, np.ndarray]:
    bids = market.bids
    mu = clock_weight(bids, pose(bids, ours.rules))
    keys = bids.distance**2 + mu * bids.virtual
    nobody = np.zeros(len(bids), dtype=bool)
    tops: list[Any] = sorted(set(keys[np.isfinite(keys)].tolist()))

    def standing_offers(standing: np.ndarray, z: float) -> np.ndarray:
        return np.where(standing, np.maximum(_offers(bids, mu, z), bids.reserve), 0.0)

    def fits(standing: np.ndarray, z: float) -> bool:
        loss = 0.0 if market.mechanism.kind == "exogenous" else ours.rules.loss(bids.distance[standing])
        return loss + float(standing_offers(standing, z).sum()) <= market.mechanism.limit

    for last, above in zip(tops[::-1], [inf, *tops[:0:-1]], strict=True):
        standing = keys <= last
        if fits(standing, last):
            if above == inf and fits(standing, inf):
                return standing, standing_offers(standing, inf)
            low, high = last, above if above < inf else max(2 * last, 1.0)
            while above == inf and high < GREATEST and fits(standing, high):
                high = min(2 * high, GREATEST)
            if fits(standing, np.nextafter(high, 0)):
                return standing, standing_offers(standing, np.nextafter(high, 0))
            while low < (middle := low + 0.5 * (high - low)) < high:
                low, high = (middle, high) if fits(standing, middle) else (low, middle)
            return standing, standing_offers(standing, low)
    return nobody, np.zeros(len(bids))


def _offers(bids: kt.Bids, mu: float, z: float) -> np.ndarray:
    """psi_i^-1((z - a_i) / mu); for a survey the dearest answer that would stand, to the last bit."""
    offers = bids.priors.inverse((z - bids.distance**2) / mu)
    for i in range(len(bids)):
        prior = bids.priors.prior(i)
        if isinstance(prior, kt.EmpiricalPrior):
            answers = np.array(prior.answers)
            stands = bids.distance[i] ** 2 + mu * bids.priors.costs(i).cost(answers) <= z
            offers[i] = answers[stands].max() if stands.any() else offers[i]
    return offers


def against_misocp(seed: int, clear: Clear) -> Tally:
    """The paper's program for one mechanism and population, 4 to 14 owners."""
    rng, tally = np.random.default_rng([2, seed]), Tally()
    kind, population = KINDS[seed % 3], POPULATIONS[seed // 3 % 2]
    market = a_market(rng, kind, population, least=4, most=14, shapes=PLAIN)
    ours = market.clear(clear, payments="virtual")
    printed = market.clear(solver="misocp", payments="virtual")
    tally.count("markets")
    tally.count("bought some but not all", 0 < ours.size < len(market.bids))
    if printed.objective < inf and ours.objective < inf:
        tally.see(abs(ours.objective - printed.objective) / max(market.unit, abs(ours.objective)))
    told = f"seed {seed}, {market}: objective {ours.objective!r}, and {printed.objective!r} by the MISOCP"
    close = ours.objective == printed.objective or (
        abs(ours.objective - printed.objective) <= OF_THE_SOLVER * max(market.unit, abs(ours.objective))
    )
    tally.expect(close, told)
    return tally


def half_is_mixed(tally: Tally) -> list[str]:
    """At least half of the purchases are neither nothing nor everything."""
    mixed, markets = tally.counts["bought some but not all"], tally.counts["markets"]
    return [] if 2 * mixed >= markets else [f"only {mixed} of {markets} purchases are neither nothing nor everything"]


ENUMERATION = Law(
    "enumeration",
    "the exact solvers, their payments and the clock agree with listing all coalitions, up to 12 owners",
    against_enumeration,
    "markets",
    10_000,
    50,
)
MISOCP = Law(
    "misocp",
    "the exact solvers agree with the paper's program in SCIP, 4 to 14 owners",
    against_misocp,
    "markets",
    200,
    5,
    half_is_mixed,
)
