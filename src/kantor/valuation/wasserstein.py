"""The 1-Wasserstein distance on the line, exactly.

In one dimension W has two faces (paper, section 2.1): the area between two distribution functions, and the mean
distance between quantiles of the same level,

    W(X, Y) = integral |F - G| dx = integral over u in (0, 1) of |F^-1(u) - G^-1(u)| du.

The second one gives many owners against one target their speed. Sort the target once and keep its prefix sums G(u) =
integral of the quantile function up to u. The k-th smallest of an owner's m samples is the owner's quantile on the
whole level block (k/m, (k+1)/m). If it lies outside the target's range on that block, the block contributes
|x_k - block mean of the target| / m, and these means are the same for every owner of m samples. Only where the
target crosses x_k inside the block is a search needed, and blocks are so short that this is rare. What is left is
one sort per owner and a few passes over the sorted numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy

from kantor.errors import InputError, MissingExtraError
from kantor.owners.distributions import (
    Distribution,
    Family,
    Vector,
    atoms,
    family,
    is_discrete,
    is_distribution,
)
from kantor.owners.samples import as_numbers, as_sample, as_weights, sort_sample
from kantor.valuation.families import Standard, family_distance, standard
from kantor.valuation.quadrature import breakpoints, integrate, refine, sign_changes

__all__ = ["SampleTarget", "sliced_wasserstein", "wasserstein"]


def wasserstein(x: Any, y: Any, x_weights: Any = None, y_weights: Any = None) -> float:
    """The exact 1-Wasserstein distance between two samples, two distributions, or one of each.

    x, y: 1-D numbers, or frozen scipy.stats distributions. Weights go with samples and need not sum to one.
    Two distributions of one location-scale family use its closed form; others are integrated to about 12 digits.
    Two 2-D arrays are clouds of points, a row for each point: their distance (Euclidean ground metric) comes from
    POT's exact solver, an optional extra.

    >>> wasserstein([0, 1, 3], [5, 6, 8])
    5.0
    """
    if not is_distribution(x) and not is_distribution(y) and (np.ndim(x) == 2 or np.ndim(y) == 2):
        return _clouds(x, y, x_weights, y_weights)
    left, right = _side(x, x_weights, "x"), _side(y, y_weights, "y")
    if isinstance(left, tuple):
        return _from_sample(left, right)
    if isinstance(right, tuple):
        return _from_sample(right, left)
    return _two_distributions(left, right)


def _side(thing: Any, weights: Any, argument: str) -> tuple[Vector, Vector | None] | Distribution:
    """A distribution as it is, a discrete one as its atoms, a sample as (values, weights or None)."""
    if is_distribution(thing):
        if weights is not None:
            raise InputError(
                "weights were given for a distribution",
                remedy="Weights go with samples; leave them out here.",
                argument=f"{argument}_weights",
            )
        distribution: Distribution = thing
        return atoms(distribution) if is_discrete(distribution) else distribution
    if isinstance(thing, str) or np.ndim(thing) == 0:
        raise InputError(
            f"{type(thing).__name__} {thing!r} is neither a sample nor a distribution",
            remedy="Give a list of numbers, or a frozen distribution such as scipy.stats.norm(0, 1).",
            argument=argument,
        )
    values = as_sample(thing, argument=argument)
    return values, None if weights is None else as_weights(
        weights, values.size, argument=f"{argument}_weights"
    )


def _from_sample(
    left: tuple[Vector, Vector | None], right: tuple[Vector, Vector | None] | Distribution
) -> float:
    values, weights = left
    if not isinstance(right, tuple):
        return DistributionTarget(right).distance(values, weights)
    if weights is None and right[1] is None and values.size == right[0].size:
        distance = float(np.abs(np.sort(values) - np.sort(right[0])).mean())
    elif values.size <= right[0].size:
        distance = SampleTarget(*right).distance(values, weights)
    else:
        distance = SampleTarget(values, weights).distance(*right)
    if not np.isfinite(distance):
        raise InputError(
            "the samples are so far apart that their distance exceeds the largest float",
            remedy="Use larger units, so that values stay below 1e300.",
        )
    return distance


class SampleTarget:
    """A sample to which many others are compared: sorted once, with prefix sums.

    Numbers are centred on the median before they are summed, and summed outwards from it, so that neither a large
    common offset nor an outlier in one tail costs digits elsewhere.
    """

    def __init__(self, values: Vector, weights: Vector | None = None) -> None:
        ordered, shares = sort_sample(values, weights)
        middle = ordered.size // 2
        self.centre = float(ordered[middle])
        self._points = ordered - self.centre
        self._even = weights is None
        self._levels = self._level_grid(shares)
        mass = self._points * shares
        self._sums = np.concatenate([-np.cumsum(mass[:middle][::-1])[::-1], [0.0], np.cumsum(mass[middle:])])
        self._grids: dict[int, tuple[Vector, Vector, Vector, Vector, Vector]] = {}

    def _level_grid(self, shares: Vector) -> Vector:
        if self._even:
            return np.arange(shares.size + 1) / shares.size
        levels = np.concatenate([[0.0], np.cumsum(shares)])
        levels /= levels[-1]
        return levels

    def distance(self, values: Vector, weights: Vector | None = None) -> float:
        """W of one sample."""
        if weights is None:
            return float(self.distances(values[None, :])[0])
        ordered, shares = sort_sample(values, weights)
        edges = np.concatenate([[0.0], np.cumsum(shares)])
        edges /= edges[-1]
        return float(self._sum_blocks(ordered[None, :] - self.centre, *self._blocks(edges))[0])

    def distances(self, block: Vector) -> Vector:
        """W of each row of a 2-D block, without weights."""
        m = block.shape[1]
        if m not in self._grids:
            if len(self._grids) > 64:
                self._grids.clear()
            self._grids[m] = self._blocks(np.arange(m + 1) / m)
        ordered = np.sort(block, axis=1)
        ordered -= self.centre
        return self._sum_blocks(ordered, *self._grids[m])

    def _blocks(self, edges: Vector) -> tuple[Vector, Vector, Vector, Vector, Vector]:
        """For each level block: its two edges, the target's integral over it, its least and largest quantile."""
        integral = np.interp(edges, self._levels, self._sums)
        integral[-1] = self._sums[-1]
        place = np.searchsorted(self._levels, edges[:-1], side="right") - 1
        first = self._points[np.minimum(place, self._points.size - 1)]
        place = np.searchsorted(self._levels, edges[1:], side="left") - 1
        last = self._points[np.clip(place, 0, self._points.size - 1)]
        return edges[:-1], edges[1:], np.diff(integral), first, last

    def _sum_blocks(
        self, ordered: Vector, low: Vector, high: Vector, area: Vector, first: Vector, last: Vector
    ) -> Vector:
        width = high - low
        parts = ordered * width
        parts -= area
        np.abs(parts, out=parts)
        crossed = ordered > first
        crossed &= ordered < last
        rows, blocks = np.nonzero(crossed)
        if rows.size:
            x = ordered[rows, blocks]
            place = np.searchsorted(self._points, x)
            level = np.clip(self._levels[place], low[blocks], high[blocks])
            integral = np.where(
                level == self._levels[place], self._sums[place], np.interp(level, self._levels, self._sums)
            )
            before = integral - np.interp(low[blocks], self._levels, self._sums)
            below = x * (level - low[blocks]) - before
            above = (area[blocks] - before) - x * (high[blocks] - level)
            parts[rows, blocks] = np.maximum(below, 0.0) + np.maximum(above, 0.0)
        return np.asarray(parts.sum(axis=1), dtype=float)


class DistributionTarget:
    """A distribution to which many samples are compared.

    Between two neighbouring samples the empirical F is a constant p, so |p - G| integrates to values of the
    antiderivative of G at the samples and at the p-quantile of G: exact where the family has a closed form, and
    Gauss-Legendre panels otherwise.
    """

    def __init__(self, distribution: Distribution) -> None:
        self.distribution = distribution
        self._family: Family | None = family(distribution)
        self._standard: Standard | None = standard(self._family) if self._family else None
        self._quantiles: dict[int, Vector] = {}

    def distance(self, values: Vector, weights: Vector | None = None) -> float:
        """W of one sample."""
        if weights is None:
            return float(self.distances(values[None, :])[0])
        ordered, shares = sort_sample(values, weights)
        levels = np.cumsum(shares)[:-1]
        return self._row(ordered, levels, np.asarray(self.distribution.ppf(levels), dtype=float))

    def distances(self, block: Vector) -> Vector:
        """W of each row of a 2-D block."""
        m = block.shape[1]
        if m not in self._quantiles:
            self._quantiles[m] = np.asarray(self.distribution.ppf(np.arange(1, m) / m), dtype=float)
        levels, quantiles = np.arange(1, m) / m, self._quantiles[m]
        ordered = np.sort(block, axis=1)
        if self._standard is None or self._family is None:
            return np.array([self._row(row, levels, quantiles) for row in ordered])
        return self._closed(ordered, levels, quantiles, self._family, self._standard)

    def _row(self, ordered: Vector, levels: Vector, quantiles: Vector) -> float:
        if self._standard is not None and self._family is not None:
            return float(self._closed(ordered[None, :], levels, quantiles, self._family, self._standard)[0])
        return _area_against_sample(self.distribution, ordered, levels, quantiles)

    @staticmethod
    def _closed(ordered: Vector, levels: Vector, quantiles: Vector, parts: Family, base: Standard) -> Vector:
        z = (ordered - parts.location) / parts.scale
        cut = np.clip((quantiles - parts.location) / parts.scale, z[:, :-1], z[:, 1:])
        at_z, at_cut = base.below(z), base.below(cut)
        inner = levels * (2 * cut - z[:, :-1] - z[:, 1:]) - 2 * at_cut + at_z[:, :-1] + at_z[:, 1:]
        tails = at_z[:, 0] + base.above(z[:, -1])
        return np.asarray(parts.scale * (np.maximum(inner, 0.0).sum(axis=1) + tails), dtype=float)


def _area_against_sample(
    distribution: Distribution, ordered: Vector, levels: Vector, quantiles: Vector
) -> float:
    if not _has_mean(distribution):
        return float("inf")
    edges = np.unique(np.concatenate([breakpoints(distribution), ordered, quantiles[np.isfinite(quantiles)]]))
    steps = np.concatenate([[0.0], levels, [1.0]])

    def gap(x: Vector) -> Vector:
        p = steps[np.searchsorted(ordered, x, side="right")]
        return np.abs(np.where(p > 0.5, (1 - p) - distribution.sf(x), distribution.cdf(x) - p))

    return integrate(gap, edges) + _tails(distribution, edges)


def _has_mean(distribution: Distribution) -> bool:
    return bool(np.isfinite(distribution.mean()))


def _tails(distribution: Distribution, edges: Vector) -> float:
    """The area under F below the first edge and under 1 - F above the last, where the support is unbounded."""
    low, high = distribution.support()
    area = 0.0
    if not np.isfinite(low):
        area += scipy.integrate.quad(lambda t: distribution.cdf(edges[0] - t), 0, np.inf, limit=200)[0]
    if not np.isfinite(high):
        area += scipy.integrate.quad(lambda t: distribution.sf(edges[-1] + t), 0, np.inf, limit=200)[0]
    return float(area)


def _two_distributions(x: Distribution, y: Distribution) -> float:
    one, other = family(x), family(y)
    if one and other and one[:2] == other[:2]:
        shift, stretch = one.location - other.location, one.scale - other.scale
        if stretch == 0:
            return abs(shift)
        if standard(one):
            return float(family_distance(one.name, shift, stretch))
    means = _has_mean(x), _has_mean(y)
    if not all(means):
        if any(means) or (one and other and one[:2] == other[:2]):
            return float("inf")  # one first moment is infinite, or E|a + b Z| is with b not 0
        raise InputError(
            "neither distribution has a finite mean, so their distance may be finite or not",
            remedy="Bound the data, or give two distributions of the same family and shape.",
        )
    return _area_between(x, y)


def _area_between(x: Distribution, y: Distribution) -> float:
    middle = float(x.ppf(0.5))

    def difference(t: Any) -> Any:
        return np.where(np.asarray(t) > middle, y.sf(t) - x.sf(t), x.cdf(t) - y.cdf(t))

    edges = breakpoints(x, y)
    edges = np.unique(np.concatenate([edges, sign_changes(difference, refine(edges, 4))]))
    body = integrate(lambda t: np.abs(difference(t)), edges)
    return body + sum(_outer_areas(difference, x, y, edges))


def _outer_areas(
    difference: Callable[[Any], Any], x: Distribution, y: Distribution, edges: Vector
) -> Iterator[float]:
    lows, highs = zip(x.support(), y.support(), strict=True)
    if not np.all(np.isfinite(lows)):
        yield float(scipy.integrate.quad(lambda t: abs(difference(edges[0] - t)), 0, np.inf, limit=200)[0])
    if not np.all(np.isfinite(highs)):
        yield float(scipy.integrate.quad(lambda t: abs(difference(edges[-1] + t)), 0, np.inf, limit=200)[0])


def _two_clouds(x: Any, y: Any) -> tuple[Vector, Vector]:
    clouds = []
    for argument, thing in (("x", x), ("y", y)):
        cloud = as_numbers(thing, argument=argument)
        cloud = cloud[:, None] if cloud.ndim == 1 else cloud
        if cloud.ndim != 2 or 0 in cloud.shape or not np.isfinite(cloud).all():
            raise InputError(
                f"a cloud of points is a 2-D array of finite numbers, and this has shape {cloud.shape}",
                remedy="Give a row for each point and a column for each coordinate, without missing values.",
                argument=argument,
            )
        clouds.append(cloud)
    if clouds[0].shape[1] != clouds[1].shape[1]:
        raise InputError(
            f"x has {clouds[0].shape[1]} coordinates and y has {clouds[1].shape[1]}",
            remedy="Both clouds need the same columns.",
        )
    return clouds[0], clouds[1]


def _pot(purpose: str) -> Any:
    try:
        import ot
    except ImportError as missing:
        raise MissingExtraError(purpose, "POT", "multivariate") from missing
    return ot


def _clouds(x: Any, y: Any, x_weights: Any, y_weights: Any) -> float:
    first, second = _two_clouds(x, y)
    if first.shape[1] == 1:
        return wasserstein(first[:, 0], second[:, 0], x_weights, y_weights)
    ot = _pot("The distance in more than one dimension")
    shares = [
        np.full(len(cloud), 1 / len(cloud)) if w is None else as_weights(w, len(cloud), argument=name)
        for cloud, w, name in ((first, x_weights, "x_weights"), (second, y_weights, "y_weights"))
    ]
    cost, log = ot.emd2(*shares, ot.dist(first, second, metric="euclidean"), numItermax=10_000_000, log=True)
    if log["warning"] is not None:
        raise InputError(
            f"the exact solver stopped early ({log['warning']})",
            remedy="Use fewer points, or kantor.sliced_wasserstein.",
        )
    return float(cost)


def sliced_wasserstein(x: Any, y: Any, projections: int = 200, seed: int = 0) -> float:
    """The mean W of the clouds' shadows on random lines: a cheap distance in any dimension, at most W itself.

    The directions are drawn uniformly on the sphere from `seed`, the same for every call, so that owners compare.
    """
    if projections < 1:
        raise InputError(
            f"{projections} projections were asked for", remedy="Ask for at least one.", value=projections
        )
    first, second = _two_clouds(x, y)
    directions = np.random.default_rng(seed).standard_normal((first.shape[1], projections))
    directions /= np.linalg.norm(directions, axis=0)
    return float(np.mean([wasserstein(first @ d, second @ d) for d in directions.T]))
