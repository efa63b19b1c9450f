"""Ironing: the convex hull that makes any prior as good as a regular one (Myerson, 1981, section 6).

Buying from the share q of owners who ask least costs R(q) = q F^-1(q) in expectation, since all of them are paid the
price of the last. The virtual cost is what one more of them adds,

    R'(q) = theta + F(theta)/f(theta) = psi(theta)     at     q = F(theta),

so psi rises everywhere, and the prior is *regular*, exactly where R is convex. Where it is not, no rule that buys more
at lower prices can do better than R's lower convex hull: along a straight piece of the hull owners are all bought or
all left, and each counts with the piece's slope. The slope of the hull is the ironed virtual cost. It has the same
mean as psi over each straight piece, which is why expected payments are not touched by ironing.

A jump of F^-1, where the prior has a gap, makes R jump upwards; the hull passes below it, and the gap is ironed too.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kantor.owners.distributions import Vector

__all__ = ["Interval", "falls", "ironed_intervals", "lower_hull"]

_SAME = 1e-8  # relative: a fall smaller than this is rounding in somebody's F or f
_TAIL = 1e-9  # levels closer to 1 than this are too coarse as floats to show which way R bends
_ZOOM = 33
_ROUNDS = 12
_TURNS = 6


class Interval(NamedTuple):
    """Prices in (low, high] that all count with one virtual cost."""

    low: float
    high: float
    cost: float


def falls(costs: Vector) -> bool:
    """Whether virtual costs at rising prices fall anywhere."""
    highest = np.maximum.accumulate(costs)
    return bool(np.any(costs[1:] < highest[:-1] * (1.0 - _SAME)))


def lower_hull(x: Vector, y: Vector) -> npt.NDArray[np.int64]:
    """The places of the corners of the lower convex hull; x rises strictly (Andrew's monotone chain)."""
    xs, ys = x.tolist(), y.tolist()
    corners: list[int] = []
    for k in range(len(xs)):
        while len(corners) > 1:
            i, j = corners[-2:]
            if (ys[j] - ys[i]) * (xs[k] - xs[i]) < (ys[k] - ys[i]) * (xs[j] - xs[i]):
                break
            corners.pop()
        corners.append(k)
    return np.array(corners, dtype=np.int64)


def ironed_intervals(
    cdf: Callable[[Vector], Vector], raw: Callable[[Vector], Vector], prices: Vector
) -> tuple[Interval, ...]:
    """Where the hull of q F^-1(q) leaves the curve, searched on these prices and then narrowed down."""
    levels, first = np.unique(cdf(prices), return_index=True)
    held = (levels < 1.0 - _TAIL) | (levels == 1.0)
    levels, thetas = levels[held], prices[first][held]
    intervals = []
    for a, b in pairwise(lower_hull(levels, levels * thetas)):
        slope = _slope(levels[a], thetas[a], levels[b], thetas[b])
        rounding = 1e-15 * thetas[b] / (levels[b] - levels[a])
        if b - a > 1 and np.any(np.abs(raw(thetas[a + 1 : b]) - slope) > _SAME * slope + rounding):
            intervals.append(_narrowed(cdf, thetas, int(a), int(b)))
    return tuple(_apart(intervals))


def _slope(q: Vector, low: Vector, p: Vector, high: Vector) -> Vector:
    """The slope of the chord of R between two levels."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return (p * high - q * low) / (p - q)


def _narrowed(cdf: Callable[[Vector], Vector], prices: Vector, a: int, b: int) -> Interval:
    """The hull's straight piece between two prices known to one step of the grid.

    All of R lies above the piece. So seen from its upper end it is the steepest chord to the left, seen from its lower
    end the flattest to the right: each end is chosen in turn, among ever closer prices.
    """
    low, high = float(prices[a]), float(prices[b])

    def falling(lows: Vector) -> Vector:
        return -_slope(cdf(lows), lows, cdf(np.array([high])), np.array([high]))

    def rising(highs: Vector) -> Vector:
        return _slope(cdf(np.array([low])), np.array([low]), cdf(highs), highs)

    for _ in range(_TURNS):
        low = _least(falling, low, *_span(prices, low, a))
        high = _least(rising, high, *_span(prices, high, b))
    ends = np.array([low, high])
    p, q = cdf(ends)
    return Interval(low, high, float(_slope(p, ends[0], q, ends[1])))


def _span(prices: Vector, now: float, place: int) -> tuple[float, float]:
    """The neighbourhood of a price: as far as the grid's steps there."""
    below, above = float(prices[max(place - 1, 0)]), float(prices[min(place + 1, prices.size - 1)])
    return max(float(prices[0]), now - (above - below)), min(float(prices[-1]), now + (above - below))


def _least(slopes: Callable[[Vector], Vector], best: float, below: float, above: float) -> float:
    """The price with the least slope, by looking at fewer and closer ones."""
    for _ in range(_ROUNDS):
        prices = np.append(np.linspace(below, above, _ZOOM), best)
        found = slopes(prices)
        best = float(prices[np.argmin(np.where(np.isfinite(found), found, np.inf))])
        step = (above - below) / (_ZOOM - 1)
        below, above = max(below, best - step), min(above, best + step)
    return best


def _apart(intervals: list[Interval]) -> list[Interval]:
    """Neighbours that were narrowed on their own, made to meet where they would overlap, with rising costs."""
    rising: list[Interval] = []
    for interval in intervals:
        last = rising[-1] if rising else None
        if last is not None and interval.low < last.high:
            interval = interval._replace(low=last.high, cost=max(interval.cost, last.cost))
        rising.append(interval)
    return rising
