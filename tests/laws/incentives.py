"""Nobody gains by another price, and a clock never spends more than there is."""

from __future__ import annotations

import numpy as np

import kantor as kt
from laws import Clear, Law, Tally
from laws.markets import KINDS, PLAIN, POPULATIONS, Market, a_market

GAIN = 1e-9
DESIGNS = [(kind, "pointwise") for kind in KINDS] + [(kind, "interim") for kind in KINDS[1:]]
CENT = 0.01


def truth_is_best(payments: str, kind: str, feasibility: str) -> Law:
    """A law for one mechanism and one way of paying."""

    def check(seed: int, clear: Clear) -> Tally:
        rng, tally = np.random.default_rng([3, seed, KINDS.index(kind), len(feasibility), len(payments)]), Tally()
        population = POPULATIONS[seed % 2]
        market = a_market(rng, kind, population, most=8, shapes=(*PLAIN, "rising", "falling"), feasibility=feasibility)
        honest = market.clear(clear, payments=payments)
        for place in range(len(market.bids)):
            _try_lies(market, honest, place, rng, clear, payments, tally, f"seed {seed}, {market}")
        tally.count("markets")
        return tally

    name = f"truthful {payments} {kind}" + (" interim" if feasibility == "interim" else "")
    claim = f"no owner gains more than 1e-9 by another price: {kind}, {feasibility}, {payments} payments"
    return Law(name, claim, check, "deviations", 100_000, 20)


def _try_lies(
    market: Market,
    honest: kt.Clearing,
    place: int,
    rng: np.random.Generator,
    clear: Clear,
    payments: str,
    tally: Tally,
    where: str,
) -> None:
    truth = float(market.bids.reserve[place])
    utility = float(honest.payments[place]) - truth * bool(honest.selected[place])
    tally.expect(utility >= -1e-12 * market.unit, f"{where}: owner {place} is paid {utility} more than it asked for")
    for report in _lies(market, honest, place, rng, clear, payments):
        other = market.asking(place, report).clear(clear, payments=payments)
        gained = float(other.payments[place]) - truth * bool(other.selected[place]) - utility
        tally.count("deviations")
        tally.count("that change who is bought", bool(np.any(other.selected != honest.selected)))
        told = f"{where}: owner {place} gains {gained!r} by asking for {report!r}, its price being {truth!r}"
        tally.expect(tally.see(gained) <= GAIN, told)


def _lies(
    market: Market, honest: kt.Clearing, place: int, rng: np.random.Generator, clear: Clear, payments: str
) -> list[float]:
    """Quantiles, prices near the truth, near what others are paid, and on both sides of what it is paid itself."""
    priors, truth = market.bids.priors, float(market.bids.reserve[place])
    low, high = float(priors.lower[place]), float(priors.highest[place])
    drawn = np.asarray(priors.prior(place).ppf(rng.random(5)), dtype=float).tolist()
    near = [truth * (1 - 10 ** rng.uniform(-9, -1)), truth * (1 + 10 ** rng.uniform(-9, 0)), low, high]
    switch = float(market.asking(place, low).clear(clear, payments=payments).payments[place])
    paid = honest.payments[honest.selected]
    others = [float(rng.choice(paid))] if paid.size else []
    edges = [point * (1 + sign * 10 ** rng.uniform(-9, -2)) for point in (switch, *others) for sign in (-1, 1)]
    lies = {report for report in (*drawn, *near, switch, *edges) if low <= report <= high and np.isfinite(report)}
    return sorted(lies - {truth})


def clock_keeps_the_budget(seed: int, clear: Clear) -> Tally:
    """One market of up to 30 owners; loss counts where there is a reference loss."""
    rng, tally = np.random.default_rng([4, seed]), Tally()
    kind = KINDS[seed % 3]
    market = a_market(rng, kind, POPULATIONS[seed // 3 % 2], most=30)
    outcome = market.clear(clear, payments="clock")
    used = outcome.spend + (0.0 if kind == "exogenous" or not outcome.size else outcome.bound)
    limit = market.mechanism.limit
    over = used - limit
    tally.count("clearings")
    tally.count("bought something", outcome.size > 0)
    tally.expect(over <= 0, f"seed {seed}, {market}: {used!r} of {limit!r} is used")
    tally.see(over / max(1.0, limit))
    tally.expect(
        bool(np.all(outcome.payments >= market.bids.reserve * outcome.selected)),
        f"seed {seed}, {market}: a winner is paid less than it asked for",
    )
    return tally


TRUTHFUL = [truth_is_best("threshold", *design) for design in DESIGNS] + [
    truth_is_best("clock", kind, "pointwise")  # a clock knows one kind of budget
    for kind in KINDS
]
CLOCK = Law(
    "clock budget",
    "a clock's payments, and the loss where it counts, are never over budget: up to 30 owners",
    clock_keeps_the_budget,
    "clearings",
    100_000,
    500,
)
