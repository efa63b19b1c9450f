"""Integrals of functions of distributions, to about twelve digits, where there is no closed form.

The difficulty is never the smooth part but where it lies: a distribution may live on a thousandth of the axis or
stretch over ten decades. So the axis is cut at quantiles of every distribution concerned, close together towards both
tails; between two cuts all functions involved are smooth, and Gauss-Legendre panels that are halved until two orders
agree do the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kantor.owners.distributions import Distribution, Vector, bisect

__all__ = ["breakpoints", "integrate", "quietly", "refine", "sign_changes"]

quietly = np.errstate(all="ignore")
"""For functions that evaluate distributions far outside their bulk, where over- and underflow are right answers."""

_FINE = np.polynomial.legendre.leggauss(16)
_COARSE = np.polynomial.legendre.leggauss(11)
_CORE = np.linspace(0.03, 0.5, 12)
_DECADES = 10.0 ** -np.concatenate([np.arange(2, 11), np.arange(12, 21, 2), np.arange(25, 301, 5)])

_MOST_PANELS = 1 << 16
_AT_ONCE = 1 << 14


@quietly
def breakpoints(*distributions: Distribution, reach: float = 1e-16) -> Vector:
    """Finite quantiles of all the distributions in rising order, dense towards both tails, with finite ends.

    reach: the least tail probability. 1e-16 is enough for what is bounded (probabilities); an integral over lengths,
    where a heavy tail counts, wants 1e-300.
    """
    levels = np.append(_DECADES[reach * 0.99 <= _DECADES], _CORE)
    cuts = [
        cut
        for distribution in distributions
        for cut in (distribution.ppf(levels), distribution.isf(levels), distribution.support())
    ]
    points = np.unique(np.concatenate([np.asarray(cut, dtype=float) for cut in cuts]))
    return points[np.isfinite(points)]


def refine(edges: Vector, parts: int) -> Vector:
    """Each panel cut into equal parts."""
    steps = np.arange(parts) / parts
    inner = edges[:-1, None] + (edges[1:] - edges[:-1])[:, None] * steps
    return np.unique(np.append(inner.ravel(), edges[-1]))


def sign_changes(function: Callable[[Any], Any], grid: Vector) -> Vector:
    """Where a function changes sign between neighbouring points of the grid."""
    values = np.asarray(function(grid), dtype=float)
    places = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)
    if places.size == 0:
        return np.empty(0)
    rising = -np.sign(values[places])  # a jump, as of a density at the edge of its support, is found like a root
    return bisect(lambda t: rising * np.asarray(function(t)), np.zeros(places.size), grid[places], grid[places + 1])


def integrate(function: Callable[[Vector], Any], edges: Vector, tolerance: float = 1e-13) -> float:
    """The integral from the first edge to the last, panel by panel, halving those where two rules differ.

    Where rounding keeps the rules apart (next to a pole away from 0 the function is as rough as the floats are), the
    halving ends with `_MOST_PANELS` open panels, or twice those it began with; the finer rule then stands.
    """
    total, size = 0.0, 0.0
    low, high = edges[:-1], edges[1:]
    most = max(_MOST_PANELS, 2 * low.size)
    while low.size:
        fine, coarse = _both_rules(function, low, high)
        known = np.isfinite(fine)
        size = max(size, abs(total) + float(np.abs(fine[known]).sum()))
        middle = low + 0.5 * (high - low)
        unsettled = known & (np.abs(fine - coarse) > tolerance * max(size, 1e-300))
        unsettled &= (middle > low) & (middle < high)
        if 2 * np.count_nonzero(unsettled) > most:
            unsettled[:] = False
        total += float(fine[~unsettled].sum())
        if not np.isfinite(total):
            return total
        halves = low[unsettled], middle[unsettled], high[unsettled]
        low, high = np.concatenate(halves[:2]), np.concatenate(halves[1:])
    return total


def _both_rules(function: Callable[[Vector], Any], low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """Every panel's integral by the finer and by the coarser rule, so many panels at a time that memory stays small."""
    starts = range(0, low.size, _AT_ONCE)
    parts = [
        [_gauss(function, low[i : i + _AT_ONCE], high[i : i + _AT_ONCE], rule) for i in starts]
        for rule in (_FINE, _COARSE)
    ]
    return np.concatenate(parts[0]), np.concatenate(parts[1])


def _gauss(function: Callable[[Vector], Any], low: Vector, high: Vector, rule: Any) -> Vector:
    nodes, weights = rule
    half = 0.5 * (high - low)
    points = (low + half)[:, None] + half[:, None] * nodes
    values = np.asarray(function(points.ravel()), dtype=float).reshape(points.shape)
    # In panels of a few floats a node may be rounded onto the edge, where a density may have its pole.
    edge = (points <= low[:, None]) | (points >= high[:, None])
    values = np.where(edge & ~np.isfinite(values), 0.0, values)
    result: Vector = half * (values @ weights)
    return result
