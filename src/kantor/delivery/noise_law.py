"""What is known of the noise that a promise names: its law, and nothing of the data under it.

All tests on a delivery rest on this law. Two properties are used again and again. The density is log-concave, so that
moving the data up moves the noised value up in the strongest sense (the ratio of the chances of two cells changes one
way only). And it is symmetric, so that no data make the noised values lie closer together than the noise alone does.

Noise is drawn on a lattice of 2^-60 of its scale; the law here is the continuous one. The two differ by less than
2^-58 in the probability of any event about one value, which no test can see.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from math import exp, inf, log, pi, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy

from kantor.errors import InputError
from kantor.owners.distributions import Vector
from kantor.owners.release import Promise

__all__ = ["Gaussian", "Laplace", "Noise", "Setting", "noise_of", "setting_of"]

_FINE = 2.0**-20


@dataclass(frozen=True)
class Noise:
    """Symmetric, log-concave noise. Methods whose argument is z count in scales, the others in the data's units."""

    scale: float

    size: ClassVar[float]
    """E|z|."""
    variance: ClassVar[float]
    """E z^2."""
    gap: ClassVar[float]
    """E|z - z'| of two independent draws."""
    peak: ClassVar[float]
    """The largest density of z."""
    area: ClassVar[float]
    """The integral of F (1 - F)."""
    limit: ClassVar[float]
    """E exp(s z) is finite for s below this."""

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return self.scale * sqrt(self.variance)

    @property
    def distance(self) -> float:
        """E|noise|, which is W(noise, nothing)."""
        return self.scale * self.size

    def beyond(self, t: Any) -> Vector:
        """P(noise > t)."""
        return self._beyond(np.asarray(t, dtype=float) / self.scale)

    def reach(self, chance: float) -> float:
        """The t with P(noise > t) = chance."""
        return self.scale * self._reach(chance)

    def within(self, low: Any, high: Any) -> Vector:
        """P(low < noise <= high), with all its digits in both tails."""
        a, b = np.asarray(low, dtype=float) / self.scale, np.asarray(high, dtype=float) / self.scale
        above, below = self._beyond(a) - self._beyond(b), self._beyond(-b) - self._beyond(-a)
        return np.where(a >= 0, above, np.where(b <= 0, below, 1 - self._beyond(b) - self._beyond(-a)))

    def wave(self, frequency: Any) -> Vector:
        """E cos(frequency * noise): how much of a wave of this frequency the noise leaves."""
        return self._wave(np.asarray(frequency, dtype=float) * self.scale)

    def under(self, t: Any) -> Vector:
        """E max(t - noise, 0), the integral of the distribution function up to t."""
        return self.scale * self._under(np.asarray(t, dtype=float) / self.scale)

    @abstractmethod
    def _beyond(self, z: Vector) -> Vector: ...

    @abstractmethod
    def _reach(self, chance: float) -> float: ...

    @abstractmethod
    def _wave(self, z: Vector) -> Vector: ...

    @abstractmethod
    def _under(self, z: Vector) -> Vector: ...

    @abstractmethod
    def growth(self, s: Vector) -> Vector:
        """The logarithm of E exp(s z)."""

    @abstractmethod
    def shrinking(self, s: Vector) -> Vector:
        """The logarithm of E exp(-s |z - z'|)."""

    @abstractmethod
    def roots(self, z: float) -> float:
        """The integral of sqrt(F (1 - F)) from z up."""


class Laplace(Noise):
    """Density exp(-|z|)/2."""

    size, variance, gap, peak, area, limit = 1.0, 2.0, 1.5, 0.5, 0.75, 1.0

    def _beyond(self, z: Vector) -> Vector:
        tail = 0.5 * np.exp(-np.abs(z))
        return np.where(z > 0, tail, 1 - tail)

    def _reach(self, chance: float) -> float:
        return -log(2 * chance) if chance < 0.5 else log(2 * (1 - chance))

    def _wave(self, z: Vector) -> Vector:
        return 1 / (1 + z * z)

    def _under(self, z: Vector) -> Vector:
        return np.maximum(z, 0.0) + 0.5 * np.exp(-np.abs(z))

    def growth(self, s: Vector) -> Vector:
        """The difference of two exponentials: (1 - s^2)^-1."""
        return -np.log1p(-s * s)

    def shrinking(self, s: Vector) -> Vector:
        """|z - z'| has density (1 + u) exp(-u)/2."""
        return np.log1p(s / 2) - 2 * np.log1p(s)

    def roots(self, z: float) -> float:
        """In closed form, by p = 1 - F(z)."""
        p = 0.5 * exp(-z)
        return sqrt(p * (1 - p)) + float(np.arcsin(sqrt(p)))


class Gaussian(Noise):
    """The standard normal density."""

    size, variance, gap, peak = sqrt(2 / pi), 1.0, 2 / sqrt(pi), 1 / sqrt(2 * pi)
    area, limit = 1 / sqrt(pi), inf

    def _beyond(self, z: Vector) -> Vector:
        return np.asarray(scipy.special.ndtr(-z), dtype=float)

    def _reach(self, chance: float) -> float:
        return -float(scipy.special.ndtri(chance))

    def _wave(self, z: Vector) -> Vector:
        return np.asarray(np.exp(-0.5 * z * z), dtype=float)

    def _under(self, z: Vector) -> Vector:
        return np.asarray(z * scipy.special.ndtr(z) + self.peak * np.exp(-0.5 * z * z), dtype=float)

    def growth(self, s: Vector) -> Vector:
        """The logarithm of exp(s^2/2)."""
        return 0.5 * s * s

    def shrinking(self, s: Vector) -> Vector:
        """|z - z'| is half-normal: exp(s^2) erfc(s)."""
        return np.asarray(np.log(scipy.special.erfcx(s)), dtype=float)

    def roots(self, z: float) -> float:
        """By quadrature."""
        return _gaussian_roots(z)


@lru_cache(maxsize=64)
def _gaussian_roots(z: float) -> float:
    def root(t: float) -> float:
        return sqrt(float(scipy.special.ndtr(t) * scipy.special.ndtr(-t)))

    return float(scipy.integrate.quad(root, z, z + 40)[0])


class Setting(NamedTuple):
    """What is public about a delivery: between which limits the data lie, and what was added to them."""

    low: float
    high: float
    noise: Noise

    @property
    def width(self) -> float:
        """From the lower limit to the upper one."""
        return self.high - self.low


def noise_of(promise: Promise) -> Noise:
    """The law of the noise on each value."""
    return Laplace(promise.scale) if promise.mechanism == "laplace" else Gaussian(promise.scale)


def setting_of(promise: Promise) -> Setting:
    """The setting of a delivery; refused where floats near the bounds are too coarse to hold the noise."""
    coarse = float(np.spacing(max(abs(promise.low), abs(promise.high))))
    if coarse > _FINE * promise.scale:
        raise InputError(
            f"noise of scale {promise.scale:.3g} on values as large as {max(abs(promise.low), abs(promise.high)):.3g} "
            "is lost in rounding, so it cannot be tested",
            remedy="Measure from a point nearer to the data, so that the bounds are closer to 0.",
            value=promise.scale,
        )
    return Setting(promise.low, promise.high, noise_of(promise))
