"""The 17 metrics of uniform and exponential coalitions, from samples.

Each owner draws 10,000 numbers once a trial, and a coalition is the sample-wise mean of its members' draws. (The
published run redraws its owners for every coalition; the difference is sampling error.) Everything follows from two
sorted samples: W is the mean gap between them, Kolmogorov-Smirnov the largest difference in ranks, and expected
absolute differences come from prefix sums.

Kullback-Leibler, total variation and Jensen-Shannon need densities, which are estimated with Gaussian kernels (Scott's
rule) on a grid of width 1, as published. Far from a narrow target its estimated density is 0 in a float, and
Kullback-Leibler is infinite: that is kept as infinity, for the figures to count and leave out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from kantor.owners.distributions import Vector
from kantor.studies.metrics import METRICS, TASKS, Values
from kantor.studies.normal_values import jensen_shannon
from kantor.studies.populations import FAMILIES, Family, Population

__all__ = ["DRAWS", "sampled_values", "trial_values"]

DRAWS = 10_000
_BINS, _TAIL = 400, 1e-4


def sampled_values(population: Population, family: Family, seed: int, first: int = 0) -> Values:
    """All metrics of all coalitions. first: the number of the first trial, where only a part of them is valued."""
    rows = [trial_values(population, family, seed, trial, first + trial) for trial in range(population.trials)]
    return Values(population, np.stack(rows))


def trial_values(population: Population, family: Family, seed: int, trial: int, number: int) -> Vector:
    """One trial: a row for each coalition, a column for each metric."""
    rng = np.random.default_rng([seed, FAMILIES.index(family), number])
    shape = population.owners, DRAWS
    unit = rng.random(shape) if family == "uniform" else rng.standard_exponential(shape)
    owners = population.location[trial][:, None] + population.scale[trial][:, None] * unit
    together = (population.members / population.sizes[:, None]) @ owners
    together.sort(axis=1)
    target = Sorted(together[-1])
    columns = np.array([target.compared_with(row) for row in together])
    order = ["W", "KS", "MAE", "RMSE"]
    named: dict[str, Any] = dict(zip(order, columns.T, strict=True))
    named |= dict(zip(("KLD", "TVD", "JSD"), _of_estimated_densities(together), strict=True))
    named |= {name: target.bill(together, TASKS[name]) for name in TASKS if name not in order}
    return np.column_stack([named[name] for name in METRICS])


class Sorted:
    """The target's sample in order, with its prefix sums."""

    def __init__(self, values: Vector) -> None:
        self.values = values
        self._centre = float(values.mean())
        self._sums = np.append(0.0, np.cumsum(values - self._centre))
        self._steps = np.arange(values.size)
        self.variance = float(values.var())

    def compared_with(self, other: Vector) -> tuple[float, float, float, float]:
        """W, KS, MAE and RMSE of another sample of the same size, in order."""
        place = np.searchsorted(self.values, other, side="right")
        before = np.searchsorted(self.values, other, side="left")
        apart = max((self._steps + 1 - place).max(), (before - self._steps).max()) / other.size
        shift = float(other.mean()) - self._centre
        rmse = float(np.sqrt(shift**2 + other.var() + self.variance))
        return float(np.abs(other - self.values).mean()), float(apart), self._absolute(other, place), rmse

    def _absolute(self, points: Vector, place: Any) -> float:
        return float(self.distance_from(points, place).mean())

    def distance_from(self, points: Vector, place: Any) -> Vector:
        """E|Y - q| for points q: (2 F(q) - 1) q - 2 E[Y; Y <= q], about the mean."""
        size = self.values.size
        return (2 * place / size - 1) * (points - self._centre) - 2 * self._sums[place] / size

    def bill(self, together: Vector, task: Any) -> Vector:
        """What the tau-quantile of every sample costs under the target (the pinball tasks)."""
        q = together[:, int(np.ceil(task.tau * together.shape[1] - 1e-9)) - 1]
        distance = self.distance_from(q, np.searchsorted(self.values, q, side="right"))
        gap = self._centre - q
        return np.asarray(task.factor * (0.5 * distance + (task.tau - 0.5) * gap) - task.margin * self._centre)


def _of_estimated_densities(together: Vector) -> tuple[Vector, Vector, Vector]:
    """KLD, TVD and JSD of every row against the last, from kernel density estimates at points 1 apart.

    The points run from the smaller 0.0001-quantile of the two to the larger 0.9999-quantile.
    """
    places = np.array([_TAIL, 1 - _TAIL]) * (together.shape[1] - 1)
    low, high = together[:, np.round(places).astype(int)].T
    low, high = np.minimum(low, low[-1]), np.maximum(high, high[-1])
    points = low + np.arange(np.floor((high - low).max()) + 1.0)[:, None]
    target = _KernelDensity(together[-1])
    own = [_KernelDensity(row)(column) for row, column in zip(together, points.T, strict=True)]
    inside = points <= high
    f, g = np.where(inside, np.array(own).T, 0.0), np.where(inside, target(points.ravel()).reshape(points.shape), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        p, q = f / f.sum(axis=0), g / g.sum(axis=0)
        apart = jensen_shannon(f, g)
    return scipy.special.rel_entr(p, q).sum(axis=0), 0.5 * np.abs(f - g).sum(axis=0), apart


class _KernelDensity:
    """A Gaussian kernel estimate by Scott's rule, the sample gathered in 400 narrow bins first."""

    def __init__(self, ordered: Vector) -> None:
        edges = np.linspace(ordered[0], ordered[-1], _BINS + 1)
        self._counts = np.diff(np.searchsorted(ordered, edges[1:-1]), prepend=0, append=ordered.size)
        self._width = float(ordered.std(ddof=1)) * ordered.size**-0.2
        self._middle = 0.5 * (edges[1:] + edges[:-1])
        self._whole = ordered.size * self._width * np.sqrt(2 * np.pi)

    def __call__(self, points: Vector) -> Vector:
        with np.errstate(under="ignore"):
            kernels = np.exp(-0.5 * ((points[:, None] - self._middle) / self._width) ** 2)
            return np.asarray(kernels @ self._counts / self._whole)
