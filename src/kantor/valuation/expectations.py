"""Expectations of functions of samples and of distributions, and the few statistics that tasks are made of.

For a sample an expectation is a weighted mean. For a distribution it is an integral over quantile levels, from both
tails inwards, because that is where the probability is known to lie; where a tail of probability 1e-16 outweighs all
the rest, the expectation is taken to be infinite and refused.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any, TypeAlias

import numpy as np

from kantor.errors import InputError
from kantor.owners.distributions import Distribution, Mixture, Vector, family
from kantor.owners.samples import Sample, sample_or_distribution
from kantor.valuation.families import standard
from kantor.valuation.quadrature import breakpoints, integrate

__all__ = [
    "GRID",
    "Side",
    "average",
    "ends",
    "expectation",
    "mean_distance",
    "mean_of",
    "normal_pair",
    "plain_numbers",
    "quantile_of",
    "sides",
    "variance",
]

Side: TypeAlias = Sample | Distribution

GRID = 10_000
"""How many quantiles, at levels (k + 1/2) / GRID, stand for a distribution where only plain numbers will do."""

_DECADES = np.array([0.0, 1e-16, 1e-12, 1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 1e-2])
_LEVELS = np.concatenate([_DECADES, np.linspace(0.03, 0.5, 12)])


def sides(x: Any, y: Any, x_weights: Any, y_weights: Any) -> tuple[Side, Side]:
    """Both sides of a comparison, read as samples or distributions."""
    return sample_or_distribution(x, x_weights, "x"), sample_or_distribution(y, y_weights, "y")


def average(values: Any, weights: Vector | None) -> float:
    """The mean of some values, weighted where weights are given."""
    return float(np.mean(values) if weights is None else np.dot(weights, values))


def ends(side: Side) -> tuple[float, float]:
    """The least and the largest value that can occur."""
    if isinstance(side, Sample):
        return float(side.values.min()), float(side.values.max())
    low, high = side.support()
    return float(low), float(high)


def mean_of(side: Side) -> float:
    """The expectation; an infinite one is refused."""
    if isinstance(side, Sample):
        return average(side.values, side.weights)
    centre = float(side.mean())
    if not isfinite(centre):
        raise InputError(
            "the distribution has no finite mean, so neither has the loss",
            remedy="Bound the data, or choose a task with a bounded loss.",
            value=centre,
        )
    return centre


def variance(side: Side) -> float:
    """The variance; an infinite one is refused."""
    centre = mean_of(side)
    if isinstance(side, Sample):
        return average(np.square(side.values - centre), side.weights)
    if isinstance(side, Mixture):  # within the parts, and between them
        within = [variance(part) + (mean_of(part) - centre) ** 2 for part in side.parts]
        return average(np.array(within), side.weights)
    ready = getattr(side, "var", None)
    spread = expectation(lambda t: np.square(t - centre), side) if ready is None else float(ready())
    if not isfinite(spread):
        raise InputError(
            "the distribution has no finite variance, so neither has the loss",
            remedy="Bound the data, or use the median task.",
            value=spread,
        )
    return spread


def quantile_of(side: Side, tau: float) -> float:
    """The least point with F >= tau, up to rounding of n tau."""
    if not isinstance(side, Sample):
        return float(side.ppf(tau))
    points, levels = side.ordered()
    return float(points[min(int(np.searchsorted(levels, tau * (1 - 1e-13))), points.size - 1)])


def plain_numbers(side: Side) -> Vector:
    """Equally weighted numbers for this side: its samples, or its mid-quantiles."""
    if isinstance(side, Sample) and side.weights is None:
        return side.values
    levels = (np.arange(GRID) + 0.5) / GRID
    if isinstance(side, Sample):
        points, shares = side.ordered()
        return points[np.minimum(np.searchsorted(shares, levels), points.size - 1)]
    return np.asarray(side.ppf(levels), dtype=float)


def expectation(function: Callable[[Vector], Any], side: Side) -> float:
    """E function(Y): a mean for samples; for distributions an integral over quantiles, from both tails inwards."""
    if isinstance(side, Sample):
        return average(function(side.values), side.weights)
    return sum(_half(function, quantile) for quantile in (side.ppf, side.isf))


def _half(function: Callable[[Vector], Any], quantiles: Callable[[Any], Any]) -> float:
    def bills(u: Vector) -> Any:
        return function(np.asarray(quantiles(u), dtype=float))

    with np.errstate(over="ignore"):
        tail, body = integrate(bills, _LEVELS[:2]), integrate(bills, _LEVELS[1:])
    if not abs(tail) <= abs(body) + 1e-12:  # a tail of probability 1e-16 that outweighs all the rest has no end
        raise InputError(
            "the expected loss is not finite, as far as can be seen",
            remedy="Bound the data, or choose a task with a bounded loss.",
            value=tail + body,
        )
    return tail + body


def normal_pair(x: Side, y: Side) -> tuple[float, float, float, float] | None:
    """Means and standard deviations of both sides, None where one is not normal."""
    parts = [None if isinstance(side, Sample) else family(side) for side in (x, y)]
    if any(part is None or part.name != "norm" for part in parts):
        return None
    one, other = (part for part in parts if part is not None)
    return one.location, one.scale, other.location, other.scale


def mean_distance(x: Side, y: Side) -> float:
    """E|X - Y| for independent X and Y, in O(n log n) for samples."""
    if isinstance(x, Sample) and isinstance(y, Sample):
        return _mean_distance_of_samples(x, y)
    mean_of(x), mean_of(y)
    for one, other in ((x, y), (y, x)):
        deviation = _deviation(other)
        if deviation:
            return expectation(deviation, one)
    return _crossing_area(x, y) if not isinstance(y, Sample) else _crossing_area(y, x)


def _deviation(side: Side) -> Callable[[Vector], Any] | None:
    """E|Y - t| as a function of t, where it has a closed form."""
    parts = None if isinstance(side, Sample) else family(side)
    base = standard(parts) if parts else None
    if parts is None or base is None:
        return None
    location, scale, deviation = parts.location, parts.scale, base.deviation
    return lambda t: scale * deviation((t - location) / scale)


def _mean_distance_of_samples(x: Sample, y: Sample) -> float:
    """E|x - Y| = (2 F(x) - 1) x + E Y - 2 E[Y; Y <= x], from prefix sums of the sorted sample Y, about its median."""
    points, levels = y.ordered()
    centre = points[points.size // 2]
    points = points - centre
    shares = np.diff(levels, prepend=0.0)
    below = np.append(0.0, np.cumsum(shares * points))
    at = x.values - centre
    place = np.searchsorted(points, at, side="right")
    distances = (2 * np.append(0.0, levels)[place] - 1) * at + below[-1] - 2 * below[place]
    return average(np.maximum(distances, 0.0), x.weights)


def _crossing_area(x: Side, y: Side) -> float:
    """E|X - Y| as the integral of F(1 - G) + G(1 - F): the chance that t lies between X and Y."""
    (f_below, f_above), (g_below, g_above) = _tails_of(x), _tails_of(y)
    cuts = [side.values if isinstance(side, Sample) else breakpoints(side, reach=1e-300) for side in (x, y)]
    edges = np.unique(np.concatenate(cuts))
    with np.errstate(over="ignore"):
        return integrate(lambda t: f_below(t) * g_above(t) + g_below(t) * f_above(t), edges)


def _tails_of(side: Side) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """F and 1 - F."""
    if not isinstance(side, Sample):
        return side.cdf, side.sf
    points, levels = side.ordered()
    steps = np.append(0.0, levels)

    def below(t: Any) -> Any:
        return steps[np.searchsorted(points, t, side="right")]

    return below, lambda t: 1 - below(t)
