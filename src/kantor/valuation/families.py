"""Closed forms inside a location-scale family.

For X = a + b Z and Y = c + d Z the quantile functions are a + b q and c + d q with the same q = quantile of Z, so

    W(X, Y) = E|(a - c) + (b - d) Z|,

one expectation over the standard variable Z (Chhachhi and Teng, section 2.5; for normals it is the mean of a folded
normal). Writing t = -(a - c)/(b - d), it is |b - d| E|Z - t|: all that a family has to supply is its mean absolute
deviation about a point, E|Z - t|. From the same function follow both partial expectations,

    E(Z - t)+ = (E|Z - t| + E Z - t) / 2,      E(t - Z)+ = (E|Z - t| - E Z + t) / 2,

which give the exact distance between a sample and a distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from kantor.owners.distributions import Family, Vector

__all__ = ["CLOSED_FORMS", "Standard", "family_distance"]


@dataclass(frozen=True)
class Standard:
    """A standard variable Z: E|Z - t| as a vectorised function of t, and E Z."""

    deviation: Callable[[Any], Any]
    mean: float

    def below(self, t: Any) -> Any:
        """E(t - Z)+, the integral of F up to t."""
        return np.maximum(0.5 * (self.deviation(t) - self.mean + t), 0.0)

    def above(self, t: Any) -> Any:
        """E(Z - t)+, the integral of 1 - F from t on."""
        return np.maximum(0.5 * (self.deviation(t) + self.mean - t), 0.0)


def _normal(t: Any) -> Any:
    return np.sqrt(2 / np.pi) * np.exp(-0.5 * t * t) + t * scipy.special.erf(t / np.sqrt(2))


def _uniform(t: Any) -> Any:
    inside = 0.5 * (t * t + (1 - t) * (1 - t))
    return np.where((t > 0) & (t < 1), inside, np.abs(t - 0.5))


def _exponential(t: Any) -> Any:
    # t - 1 + 2 exp(-t) on the support, with expm1 so that nothing cancels near t = 0.
    return np.where(t > 0, 1 + t + 2 * np.expm1(-np.maximum(t, 0.0)), 1 - t)


def _logistic(t: Any) -> Any:
    return np.abs(t) + 2 * np.log1p(np.exp(-np.abs(t)))


def _laplace(t: Any) -> Any:
    return np.abs(t) + np.exp(-np.abs(t))


def _gumbel(t: Any) -> Any:
    # The integral of F(z) = exp(-exp(-z)) up to t is E1(exp(-t)); beyond t = 30 it is t - gamma to the last bit.
    near = np.minimum(t, 30.0)
    with np.errstate(over="ignore"):
        integral = scipy.special.exp1(np.exp(-near)) + (t - near)
    return np.euler_gamma - t + 2 * integral


def _rayleigh(t: Any) -> Any:
    mean = np.sqrt(np.pi / 2)
    tail = np.sqrt(2 * np.pi) * scipy.special.ndtr(-np.maximum(t, 0.0)) - np.minimum(t, 0.0)
    return t - mean + 2 * tail


def _half_normal(t: Any) -> Any:
    mean = np.sqrt(2 / np.pi)
    up = np.maximum(t, 0.0)
    tail = 2 * (np.exp(-0.5 * up * up) / np.sqrt(2 * np.pi) - up * scipy.special.ndtr(-up))
    return np.where(t > 0, t - mean + 2 * tail, mean - t)


CLOSED_FORMS: dict[str, Standard] = {
    "norm": Standard(_normal, 0.0),
    "uniform": Standard(_uniform, 0.5),
    "expon": Standard(_exponential, 1.0),
    "logistic": Standard(_logistic, 0.0),
    "laplace": Standard(_laplace, 0.0),
    "gumbel_r": Standard(_gumbel, float(np.euler_gamma)),
    "gumbel_l": Standard(lambda t: _gumbel(-t), -float(np.euler_gamma)),
    "rayleigh": Standard(_rayleigh, float(np.sqrt(np.pi / 2))),
    "halfnorm": Standard(_half_normal, float(np.sqrt(2 / np.pi))),
}
"""E|Z - t| by scipy.stats name."""


def family_distance(name: str, location: Any, scale: Any) -> Vector:
    """W = E|location + scale Z|: arguments are the differences of locations and of scales, as arrays or numbers.

    Where the scale difference is so small that t leaves the range of a float, W is the difference of locations.
    """
    gap = np.asarray(location, dtype=float)
    stretch = np.asarray(scale, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        t = -gap / stretch
        usable = np.abs(t) < 1e15
        distance = np.abs(stretch) * CLOSED_FORMS[name].deviation(np.where(usable, t, 0.0))
    shift = np.abs(gap + stretch * CLOSED_FORMS[name].mean)
    return np.where(usable, distance, shift)


def standard(parts: Family) -> Standard | None:
    """The closed form of a family, if it has one."""
    return None if parts.shape else CLOSED_FORMS.get(parts.name)
