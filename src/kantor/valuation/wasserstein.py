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

from typing import Any

import numpy as np

from kantor.errors import InputError, MissingExtraError
from kantor.owners.distributions import Distribution, Family, Vector, family, is_distribution
from kantor.owners.samples import Sample, as_numbers, as_weights, sample_or_distribution
from kantor.valuation.families import Standard, family_distance, standard
from kantor.valuation.quadrature import breakpoints, integrate, quietly, refine, sign_changes

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
    if _is_cloud(x) or _is_cloud(y):
        return _clouds(x, y, x_weights, y_weights)
    left, right = sample_or_distribution(x, x_weights, "x"), sample_or_distribution(y, y_weights, "y")
    if isinstance(left, Sample) and isinstance(right, Sample):
        return _two_samples(left, right)
    if isinstance(left, Sample):
        return distance_target(right).distance(left)
    if isinstance(right, Sample):
        return distance_target(left).distance(right)
    return _two_distributions(left, right)


def _is_cloud(thing: Any) -> bool:
    return not isinstance(thing, Sample) and not is_distribution(thing) and np.ndim(thing) == 2


def distance_target(target: Sample | Distribution) -> SampleTarget | DistributionTarget:
    """A target made ready for many comparisons."""
    return SampleTarget(target) if isinstance(target, Sample) else DistributionTarget(target)


def _two_samples(left: Sample, right: Sample) -> float:
    if left.weights is None and right.weights is None and left.values.size == right.values.size:
        gaps = np.sort(left.values)
        with np.errstate(over="ignore"):
            gaps -= np.sort(right.values)
            distance = np.abs(gaps, out=gaps).mean()
        return float(_within_range(distance))
    if left.values.size <= right.values.size:
        return SampleTarget(right).distance(left)
    return SampleTarget(left).distance(right)


def _within_range(distances: Any) -> Any:
    """The distances, unless differences or sums of the samples left the range of a float."""
    if not np.isfinite(distances).all():
        raise InputError(
            "the samples are so far apart that their distance exceeds the largest float",
            remedy="Use larger units, so that values stay below 1e300.",
        )
    return distances


class SampleTarget:
    """A sample to which many others are compared: sorted once, with prefix sums.

    Numbers are centred on the median before they are summed, and summed outwards from it, so that neither a large
    common offset nor an outlier in one tail costs digits elsewhere.
    """

    @quietly
    def __init__(self, sample: Sample) -> None:
        ordered, levels = sample.ordered()
        middle = ordered.size // 2
        self.centre = float(ordered[middle])
        self._points = ordered - self.centre
        self._plain = sample.weights is None
        self._levels = np.concatenate([[0.0], levels])
        mass = self._points / ordered.size if sample.weights is None else self._points * np.diff(self._levels)
        self._sums = np.concatenate([-np.cumsum(mass[:middle][::-1])[::-1], [0.0], np.cumsum(mass[middle:])])
        self._grids: dict[int, tuple[Vector, Vector, Vector, Vector, Vector]] = {}

    @quietly
    def distance(self, sample: Sample) -> float:
        """W of one sample."""
        if sample.weights is None:
            return float(self.distances(sample.values[None, :])[0])
        ordered, levels = sample.ordered()
        edges = np.concatenate([[0.0], levels])
        return float(_within_range(self._sum_blocks(ordered[None, :] - self.centre, *self._blocks(edges)))[0])

    @quietly
    def distances(self, block: Vector) -> Vector:
        """W of each row of a 2-D block, without weights."""
        m = block.shape[1]
        ordered = np.sort(block, axis=1)
        ordered -= self.centre
        if self._plain and m == self._points.size:
            ordered -= self._points
            return np.asarray(_within_range(np.abs(ordered, out=ordered).mean(axis=1)), dtype=float)
        if m not in self._grids:
            if len(self._grids) > 64:
                self._grids.clear()
            self._grids[m] = self._blocks(np.arange(m + 1) / m)
        return np.asarray(_within_range(self._sum_blocks(ordered, *self._grids[m])), dtype=float)

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
            level = self._levels[place]  # inside the block, because x lies strictly between its two ends
            before = self._sums[place] - np.interp(low[blocks], self._levels, self._sums)
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

    def distance(self, sample: Sample) -> float:
        """W of one sample."""
        if sample.weights is None:
            return float(self.distances(sample.values[None, :])[0])
        ordered, levels = sample.ordered()
        inner = levels[:-1]
        return self._row(ordered, inner, np.asarray(self.distribution.ppf(inner), dtype=float))

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


@quietly
def _area_against_sample(distribution: Distribution, ordered: Vector, levels: Vector, quantiles: Vector) -> float:
    if not _has_mean(distribution):
        return float("inf")
    edges = np.unique(
        np.concatenate([breakpoints(distribution, reach=1e-300), ordered, quantiles[np.isfinite(quantiles)]])
    )
    steps = np.concatenate([[0.0], levels, [1.0]])

    def gap(x: Vector) -> Vector:
        p = steps[np.searchsorted(ordered, x, side="right")]
        return np.abs(np.where(p > 0.5, (1 - p) - distribution.sf(x), distribution.cdf(x) - p))

    return integrate(gap, edges)


def _has_mean(distribution: Distribution) -> bool:
    return bool(np.isfinite(distribution.mean()))


@quietly
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


@quietly
def _area_between(x: Distribution, y: Distribution) -> float:
    middle = float(x.ppf(0.5))

    def difference(t: Any) -> Any:
        return np.where(np.asarray(t) > middle, y.sf(t) - x.sf(t), x.cdf(t) - y.cdf(t))

    edges = breakpoints(x, y, reach=1e-300)
    edges = np.unique(np.concatenate([edges, sign_changes(difference, refine(edges, 4))]))
    return integrate(lambda t: np.abs(difference(t)), edges)


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
        raise InputError(f"{projections} projections were asked for", remedy="Ask for at least one.", value=projections)
    first, second = _two_clouds(x, y)
    directions = np.random.default_rng(seed).standard_normal((first.shape[1], projections))
    directions /= np.linalg.norm(directions, axis=0)
    return float(np.mean([wasserstein(first @ d, second @ d) for d in directions.T]))
