"""Payments in whole minor units: each winner gets the highest whole price at which it would still have been bought.

Money comes in cents, and in a market that runs reports are whole too. Then truth is best on the grid of whole prices if
each winner is paid the highest of these that would still have won. Who is bought at a price is bought at any lower one,
so the whole prices that win are those up to some k, and what others report alone decides k. An owner whose true price
is at most k sells at k whatever it says up to there; one whose true price is k + 1 or more could sell at k only.

k is the floor of the threshold, with one exception: where the threshold *is* a whole number, the owner ties there with
a rival, and the tie may be lost. Then k is one less; on a flat, a range of prices that count alike, it is the last one
below the range. Floats cannot tell a whole number from one a rounding away from it. So the floor is taken where it is
the same at both ends of the rounding band around the critical cost, and elsewhere the owner is put at the whole price
and the market cleared again, by the rules, ties and all (docs/decisions/0042-whole-payments.md).

A clock's offer needs no second look. It is the highest price at which an owner stands, and the owner's own report does
not move it: the whole prices that win are those up to its floor k. Any payment from k to k + 1 is truthful then, so an
offer that misses a whole number by a rounding may count as that number. What is printed is not truthful, whole or not:
virtual costs are rounded down, and so are the payments of a mechanism of one's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import fsum, inf, sqrt
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kantor.bids.bids import Bids
from kantor.clearing.clear import clear_by
from kantor.clearing.interim import dearest, multiplier, with_multiplier
from kantor.clearing.joint_prices import critical_costs_of_joint
from kantor.clearing.mechanisms import Optimal
from kantor.clearing.optimal import pose
from kantor.clearing.outcome import Clearing, Flags, Rules
from kantor.clearing.problem import Allocation, Places
from kantor.errors import InputError
from kantor.owners.distributions import Vector
from kantor.valuation.hoeffding import coefficient

__all__ = ["Whole", "check_whole", "excess", "floors", "open_prices", "whole_payments"]

Whole: TypeAlias = npt.NDArray[np.int64]
Bought: TypeAlias = Callable[[int, int], bool]

_MOST = 2.0**53
_BAND = 1e-10
"""How far rounding may have moved a critical cost, relative to the money at stake: prices agree to eleven digits."""
_SNAP = 1e-9
"""How far below a whole number an amount still counts as that number."""


def whole_payments(clearing: Clearing) -> Whole:
    """What each owner is paid in whole units; 0 for losers.

    threshold: the highest whole price at which a winner would still have been bought, never above its prior's upper
    end. Of an unproved allocation no such price is known: the floor of what is stated, and no claim.
    clock: the floors of the offers, within the limit to the last unit. virtual, or a mechanism of one's own: the floor
    of what is stated.
    """
    bids, rules = clearing.bids, clearing.rules
    check_whole(bids)
    ours = isinstance(rules.mechanism, Optimal)
    if ours and rules.payments == "threshold" and clearing.gap == 0:
        return _thresholds(clearing)
    if ours and rules.payments == "clock":
        return _offers(clearing)
    return _whole(_not_less(floors(clearing.payments), clearing) if ours else floors(clearing.payments))


def check_whole(bids: Bids) -> None:
    """Refuse reserve prices that are not whole numbers of minor units."""
    bad = (bids.reserve != np.floor(bids.reserve)) | (bids.reserve >= _MOST)
    if bad.any():
        place = int(np.argmax(bad))
        raise InputError(
            f"reserve is {bids.reserve[place]}",
            remedy="Where money is whole, reserve prices are too: give them in minor units (cents), below 2^53.",
            value=float(bids.reserve[place]),
            argument="reserve",
            owner=repr(bids.name(place)),
        )


def floors(amounts: Vector, rounding: float = _SNAP) -> Vector:
    """Rounded down; what lies below a whole number by a rounding only is that number."""
    return np.floor(amounts + rounding * np.maximum(1.0, np.abs(amounts)))


def _whole(amounts: Vector) -> Whole:
    if not np.all(np.abs(amounts) < _MOST):
        worst = float(amounts[np.argmax(np.abs(amounts))])
        raise InputError(
            f"a payment of {worst} is too large to be whole",
            remedy="Count money in units such that no payment reaches 2^53.",
            value=worst,
        )
    return amounts.astype(np.int64)


def _not_less(amounts: Vector, clearing: Clearing) -> Vector:
    """Never below what a winner asked for; 0 for losers."""
    return np.where(clearing.selected, np.maximum(amounts, clearing.bids.reserve), 0.0)


# ---- thresholds ----------------------------------------------------------------------------------------------------


def _thresholds(clearing: Clearing) -> Whole:
    bids, rules = clearing.bids, replace(clearing.rules, payments="virtual", solver="exact")

    def bought(row: int, price: int) -> bool:
        return bool(clear_by(rules, bids.with_report(row, reserve=float(price))).selected[row])

    rows, lows, highs = open_prices(clearing)
    paid = np.zeros(len(bids), dtype=np.int64)
    paid[rows] = [
        _highest(bought, row, low, high)
        for row, low, high in zip(rows.tolist(), lows.tolist(), highs.tolist(), strict=True)
    ]
    return paid


def _highest(bought: Bought, row: int, low: int, high: int) -> int:
    """The highest whole price at which an owner is bought; it is at `low`. Ties are mostly won at the upper end."""
    if low < high and bought(row, high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if bought(row, middle) else (low, middle)
    return low


def open_prices(clearing: Clearing, band: float = _BAND) -> tuple[Places, Whole, Whole]:
    """The winners, and between which whole prices rounding leaves each one's payment open: mostly from k to k.

    At the lower one the owner is bought for sure. No price is above the prior's upper end.
    """
    bids = clearing.bids
    rows, costs, stake = _critical(clearing)
    width = band * np.maximum(stake, costs)
    with np.errstate(invalid="ignore"):
        ends = [bids.priors.inverse(level, rows) for level in (costs - width, costs + width)]
    low, high = (np.maximum(np.floor(end), bids.reserve[rows]) for end in ends)
    return rows, _whole(low), _whole(high)


def _critical(clearing: Clearing) -> tuple[Places, Vector, float]:
    """The winners' rows, their critical virtual costs, and the sum of money relative to which these are rounded.

    Where all costs come from one search they are found again, since a price at its prior's end does not tell how far
    above it the cost lies. Under a budget psi of the price stands in: no more than the cost, and the same inside.
    """
    bids, rules = clearing.bids, clearing.rules
    problem = pose(bids, rules)
    members = np.flatnonzero(clearing.selected[bids.canonical])
    rows = bids.canonical[members]
    interim = rules.mechanism.feasibility == "interim"
    if not interim and problem.kind != "joint":
        prices = np.minimum(clearing.critical[rows], bids.priors.upper[rows])
        return rows, bids.priors.virtual(prices, rows), max(1.0, problem.limit)
    mu = multiplier(bids, problem) if interim else 1.0
    if mu == inf:
        return rows[:0], np.empty(0), 1.0
    posed = with_multiplier(problem, mu) if interim else problem
    objective = posed.objective(*posed.totals(members))
    costs = critical_costs_of_joint(posed, Allocation(members, objective, objective)) / mu
    return rows, np.minimum(costs, dearest(problem) if interim else inf), max(1.0, objective / mu)


# ---- the clock -----------------------------------------------------------------------------------------------------


def _offers(clearing: Clearing) -> Whole:
    """The floors of the offers. Should taking roundings for whole numbers ever lead over the limit, it is not done."""
    bids, offers = clearing.bids, clearing.payments
    amounts = np.minimum(floors(offers), np.floor(bids.priors.upper)), np.floor(offers)
    rounded, plain = (_whole(_not_less(amount, clearing)) for amount in amounts)
    return rounded if excess(bids, clearing.rules, clearing.selected, rounded) <= 0 else plain


def excess(bids: Bids, rules: Rules, selected: Flags, paid: Whole) -> Fraction:
    """By how much whole payments, and the loss where it counts, exceed the limit: exactly."""
    counts = rules.mechanism.reference_loss is not None and bool(selected.any())
    loss = _loss(rules, bids.distance[selected]) if counts else 0.0
    return Fraction(loss) + sum(map(int, paid.tolist())) - Fraction(rules.mechanism.limit)


def _loss(rules: Rules, distances: Vector) -> float:
    """V, from a sum of squares that is exactly rounded."""
    constant = float(coefficient(distances.size, rules.population_size, rules.confidence, rules.population))
    return float(rules.mechanism.lipschitz) * constant * sqrt(fsum((distances**2).tolist()))
