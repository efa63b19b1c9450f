"""The 17 metrics of normal coalitions, in closed form where there is one and all trials at once.

A coalition P of normal owners is Normal(mean of alpha, sqrt(sum of beta^2)/n), the target is the same of everybody,
so a metric is a function of four numbers. The Kolmogorov-Smirnov distance is exact (the published run estimated it
from two samples of 10,000, ten times over); total variation and Jensen-Shannon are sums over 1,000 points, as
published.
"""

from __future__ import annotations

import numpy as np
import scipy

from kantor.owners.distributions import Vector
from kantor.studies.metrics import TASKS, Values
from kantor.studies.populations import Population
from kantor.valuation.families import family_distance

__all__ = ["normal_values"]

_POINTS, _TAIL, _AT_ONCE = 1000, 1e-4, 2000


def normal_values(population: Population) -> Values:
    """All metrics of all coalitions of normal owners."""
    mean, scale = population.normal_parameters()
    goal_mean, goal_scale = mean[:, -1:], scale[:, -1:]
    columns = [family_distance("norm", mean - goal_mean, scale - goal_scale)]
    columns.append(np.log(goal_scale / scale) + (scale**2 + (mean - goal_mean) ** 2) / (2 * goal_scale**2) - 0.5)
    columns.append(_kolmogorov(mean - goal_mean, scale, goal_scale + 0 * scale))
    columns += _of_densities(mean, scale)
    columns += [task.of_normals(mean, scale, goal_mean, goal_scale) + 0 * mean for task in TASKS.values()]
    return Values(population, np.stack(columns, axis=-1))


def _kolmogorov(shift: Vector, scale: Vector, goal: Vector) -> Vector:
    """The largest |F - G| of N(shift, scale^2) and N(0, goal^2): at one of the two points where the densities cross.

    There t^2 (1/goal^2 - 1/scale^2) + 2 t shift/scale^2 - shift^2/scale^2 - 2 ln(scale/goal) = 0.
    """
    squared = goal**-2 - scale**-2
    linear = shift / scale**2
    constant = -((shift / scale) ** 2) - 2 * np.log(scale / goal)
    root = np.sqrt(np.maximum(linear**2 - squared * constant, 0.0))
    larger = -(linear + np.where(linear < 0, -root, root))  # no cancellation
    with np.errstate(divide="ignore", invalid="ignore"):
        crossings = larger / squared, constant / larger
    gaps = [
        np.abs(scipy.special.ndtr((t - shift) / scale) - scipy.special.ndtr(t / goal))
        for t in (np.where(np.isfinite(c), c, shift / 2) for c in crossings)
    ]
    return np.maximum(*gaps)


def _of_densities(mean: Vector, scale: Vector) -> list[Vector]:
    """Total variation and Jensen-Shannon distance on 1,000 points between the outermost 0.0001-quantiles."""
    goal_mean, goal_scale = np.broadcast_to(mean[:, -1:], mean.shape), np.broadcast_to(scale[:, -1:], mean.shape)
    given = np.stack([mean, scale, goal_mean, goal_scale]).reshape(4, -1)
    parts = [_densities_of(given[:, start : start + _AT_ONCE]) for start in range(0, given.shape[1], _AT_ONCE)]
    return [column.reshape(mean.shape) for column in np.concatenate(parts, axis=1)]


def _densities_of(given: Vector) -> Vector:
    mean, scale, goal_mean, goal_scale = given
    reach = -scipy.special.ndtri(_TAIL)
    low = np.minimum(mean - reach * scale, goal_mean - reach * goal_scale)
    high = np.maximum(mean + reach * scale, goal_mean + reach * goal_scale)
    points = np.linspace(low, high, _POINTS)
    f, g = _density(points, mean, scale), _density(points, goal_mean, goal_scale)
    variation = 0.5 * np.abs(f - g).sum(axis=0) * (high - low) / (_POINTS - 1)
    return np.stack([variation, jensen_shannon(f, g)])


def _density(points: Vector, mean: Vector, scale: Vector) -> Vector:
    return np.exp(-0.5 * ((points - mean) / scale) ** 2) / (scale * np.sqrt(2 * np.pi))


def jensen_shannon(f: Vector, g: Vector) -> Vector:
    """The root of the divergence of two density vectors, one in each column, each normalised to sum 1."""
    p, q = f / f.sum(axis=0), g / g.sum(axis=0)
    middle = 0.5 * (p + q)
    divergence = 0.5 * (scipy.special.rel_entr(p, middle) + scipy.special.rel_entr(q, middle)).sum(axis=0)
    return np.sqrt(np.maximum(divergence, 0.0))
