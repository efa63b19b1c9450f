"""How much noise makes a release differentially private.

A release of numbers with sensitivity Delta (how much one record, or the owner's whole series, can move them: the
absolute change for Laplace, the Euclidean one for Gaussian) is made private by additive noise (Dwork and Roth, 2014):

- Laplace noise of scale Delta/epsilon is epsilon-private.
- Gaussian noise of standard deviation Delta sqrt(2 ln(1.25/delta))/epsilon is (epsilon, delta)-private. This
  "classical" calibration, the paper's, is proved for epsilon < 1 only, and is larger than needed.
- "analytic" calibration solves for the least sufficient standard deviation, exactly, at any epsilon (Balle and Wang,
  2018, Theorem 8): the sigma at which Phi(Delta/2 sigma - epsilon sigma/Delta) - e^epsilon Phi(-Delta/2 sigma -
  epsilon sigma/Delta) equals delta.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np
import scipy

from kantor.errors import InputError

__all__ = ["Calibration", "Mechanism", "gaussian_delta", "noise_scale"]

Mechanism: TypeAlias = Literal["laplace", "gaussian"]
Calibration: TypeAlias = Literal["classical", "analytic"]


def noise_scale(
    mechanism: Mechanism,
    *,
    sensitivity: float,
    epsilon: float,
    delta: float | None = None,
    calibration: Calibration = "classical",
) -> float:
    """The scale of the noise: Laplace's b, or the Gaussian's standard deviation."""
    if mechanism not in get_args(Mechanism):
        raise InputError(
            f"mechanism {mechanism!r} is not known", remedy='Choose "laplace" or "gaussian".', value=mechanism
        )
    if calibration not in get_args(Calibration):
        raise InputError(
            f"calibration {calibration!r} is not known", remedy='Choose "classical" or "analytic".', value=calibration
        )
    _positive("sensitivity", sensitivity)
    _positive("epsilon", epsilon)
    if mechanism == "laplace":
        if delta:
            raise InputError(
                f"delta {delta} was given for Laplace noise, which needs none",
                remedy='Leave delta out, or choose "gaussian".',
                value=delta,
            )
        return sensitivity / epsilon
    if delta is None or not 0 < delta < 1:
        raise InputError(
            f"Gaussian noise was asked for with delta {delta}",
            remedy="Give a delta between 0 and 1, much smaller than one in the number of records, for example 1e-5.",
            value=delta,
        )
    if calibration == "classical":
        return sensitivity * float(np.sqrt(2 * np.log(1.25 / delta))) / epsilon
    return sensitivity * _analytic(epsilon, delta)


def gaussian_delta(sigma: float, epsilon: float) -> float:
    """The least delta for which Gaussian noise of this sigma (sensitivity 1) is (epsilon, delta)-private."""
    a, b = 0.5 / sigma, epsilon * sigma
    return float(-np.expm1(_log_ratio(a, b, epsilon)) * scipy.special.ndtr(a - b))


def _log_ratio(a: float, b: float, epsilon: float) -> float:
    """Logarithm of e^epsilon Phi(-a - b) / Phi(a - b), at most 0: without the overflow of e^epsilon."""
    return min(float(epsilon + scipy.special.log_ndtr(-a - b) - scipy.special.log_ndtr(a - b)), 0.0)


def _analytic(epsilon: float, delta: float) -> float:
    def excess(log_sigma: float) -> float:
        return gaussian_delta(float(np.exp(log_sigma)), epsilon) - delta

    low, high = np.log(1e-3), np.log(1e3)
    while excess(low) < 0:
        low -= np.log(1e3)
    while excess(high) > 0:
        high += np.log(1e3)
    # The largest of the two ends of the last bracket, so that rounding never gives away privacy.
    sigma = float(np.exp(scipy.optimize.brentq(excess, low, high, xtol=1e-13, rtol=1e-14)))
    while gaussian_delta(sigma, epsilon) > delta:
        sigma *= 1 + 1e-13
    return sigma


def _positive(name: str, value: float) -> None:
    if not (np.ndim(value) == 0 and np.isfinite(value) and value > 0):
        raise InputError(f"{name} is {value}", remedy="Give one finite number above 0.", value=value, argument=name)
