"""How far sums of noise stray, for certain: inequalities with the constants in them.

Nothing here is an approximation for many values. Each function returns a number that is exceeded with a probability of
at most `alpha` for every number of values and whatever the data under the noise are (docs/theory/delivery-checks.md has
the proofs). Where a number is the best of several, the choice is made without looking at the delivery.

A *part* is a delivery with its share in what is looked at: the mean of one delivery is one part with share 1; the mean
of three others' means adds three parts with a third each.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, inf, log, pi, sqrt
from typing import NamedTuple

import numpy as np

from kantor.delivery.noise_law import Noise
from kantor.owners.distributions import Vector

__all__ = ["Part", "least_gaps", "sampling_distance", "stray", "stray_of_waves"]

_TILTS = np.geomspace(1 / 16, 16, 257)
_NEAR_THE_LIMIT = 1 - np.geomspace(1e-6, 0.999, 65)
_SHRINKS = np.geomspace(1e-6, 1e3, 1025)
_MARGINS = np.concatenate([[0.0], np.geomspace(0.25, 10, 24)])
_DIRECTIONS = 16


class Part(NamedTuple):
    """Noise on so many values, whose mean enters with this share."""

    noise: Noise
    values: int
    share: float = 1.0


def stray(parts: Sequence[Part], alpha: float) -> float:
    """How far a function of all values lies above its expectation, if no value moves it by more than share/values.

    Chernoff's bound, min over s of (ln(1/alpha) + sum of values psi(s share scale/values)) / s, with the noise's own
    psi: among all functions of slope 1 the straight one strays most.
    """
    need = log(1 / alpha)
    steps = np.array([part.share * part.noise.scale / part.values for part in parts])
    limit = min(part.noise.limit / step for part, step in zip(parts, steps, strict=True))
    spread = sum(part.values * part.noise.variance * step**2 for part, step in zip(parts, steps, strict=True))
    tilts = np.concatenate([sqrt(2 * need / spread) * _TILTS, limit * _NEAR_THE_LIMIT if limit < inf else []])
    tilts = tilts[tilts < limit]
    growth = sum(part.values * part.noise.growth(tilts * step) for part, step in zip(parts, steps, strict=True))
    return float(np.min((need + growth) / tilts))


def stray_of_waves(parts: Sequence[Part], frequencies: Vector, alpha: float) -> Vector:
    """How far the mean of exp(i frequency Y) lies from its expectation, at each frequency, once the noise is undone.

    Bernstein's inequality in sixteen directions of the plane, each part divided by what the noise leaves of the wave.
    One value's wave has a variance of at most (1 + wave(2 frequency))/2 in any direction.
    """
    need = log(_DIRECTIONS / alpha)
    variance, largest = np.zeros(frequencies.size), np.zeros(frequencies.size)
    for noise, count, share in parts:
        left = noise.wave(frequencies)
        step = share / (count * left)
        variance += count * step**2 * 0.5 * (1 + noise.wave(2 * frequencies))
        largest = np.maximum(largest, step * (1 + left))
    third = largest * need / 3
    found: Vector = (third + np.sqrt(third**2 + 2 * variance * need)) / cos(pi / _DIRECTIONS)
    return found


def sampling_distance(noise: Noise, count: int, width: float) -> float:
    """The most that W(the values, what they are draws of) can be expected to be, for data within bounds so wide.

    E W <= integral of sqrt(h/count), h the mean over the values of F (1 - F) of each. Up to a margin beyond the bounds
    the integral is at most the root of length times the integral of h; further out h is at most that of data on the
    bound.
    """
    z = width / noise.scale
    found = [sqrt((z + 2 * margin) * noise.area) + 2 * noise.roots(margin) for margin in _MARGINS]
    return noise.scale * min(z / 2 + 2 * noise.roots(0.0), *found) / sqrt(count)


def least_gaps(noise: Noise, pairs: int, alpha: float) -> float:
    """What the mean |Y - Y'| over disjoint pairs of values is seldom below: Chernoff's bound from below."""
    found = -(log(1 / alpha) + pairs * noise.shrinking(_SHRINKS)) / _SHRINKS
    return noise.scale * max(float(found.max()), 0.0) / pairs
