"""From critical virtual costs to threshold prices: the highest report at which each winner would still be bought.

Where a prior's virtual costs rise without a break the price is psi^-1 of the critical cost. Survey answers and ironed
priors have *flats*, whole ranges of prices that count alike. If the critical cost lies on a flat, an owner who asks for
any price of that range ties with a rival, and by what the tie goes (less Psi, then distance, then name) it is bought
at all of them or at none: the price is the upper end of the flat or of what lies below it. Which of the two is not in
the numbers, and rounding must not choose: the owner is put there, and the market cleared.

Owners of one prior, one distance and one virtual cost differ in nothing but their names, and names decide ties in
their order; so among them the last who wins the tie is found by halving.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np

from kantor.bids.bids import Bids
from kantor.bids.order import Places
from kantor.owners.distributions import Vector

__all__ = ["threshold_prices"]


def threshold_prices(
    bids: Bids, rows: Places, costs: Vector, width: float, bought: Callable[[int, float], bool]
) -> Vector:
    """Prices of winners from their critical costs; never above the end of the prior, never below what was asked.

    rows: the winners, in canonical order. width: how far rounding may have moved a critical cost.
    bought: whether the owner of a row would be bought at a price.
    """
    prices = bids.priors.inverse(costs, rows)
    flat = bids.priors.flat[rows]
    if flat.any():
        low, high = bids.priors.inverse(costs - width, rows), bids.priors.inverse(costs + width, rows)
        with np.errstate(invalid="ignore"):
            jumps = np.flatnonzero(flat & (high - low > 4 * width))
        for alike in _groups(bids, rows, jumps, low):
            wins = _winning(alike, lambda at: bought(int(rows[at]), float(high[at])))
            prices[alike[:wins]], prices[alike[wins:]] = high[alike[:wins]], low[alike[wins:]]
    return np.maximum(prices, bids.reserve[rows])


def _groups(bids: Bids, rows: Places, jumps: Places, low: Vector) -> list[Places]:
    """The winners on a flat, those together who differ in name alone."""
    together: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for at in jumps.tolist():
        row = int(rows[at])
        same = (id(bids.priors.prior(row)), float(bids.distance[row]), float(bids.virtual[row]), float(low[at]))
        together[same].append(at)
    return [np.array(group, dtype=np.int64) for group in together.values()]


def _winning(alike: Places, wins: Callable[[int], bool]) -> int:
    """How many of them win their tie: the first ones."""
    first, last = 0, alike.size
    while first < last:
        middle = (first + last) // 2
        first, last = (middle + 1, last) if wins(int(alike[middle])) else (first, middle)
    return first
