"""What privacy noise costs in distance (paper, section 2.3).

Adding independent noise moves a distribution by at most the noise's own distance from a point mass, so

    W(X_i + X_DP, X_T) <= W(X_i, X_T) + W(X_DP, delta_0),

and the last term is simply E|noise|: Delta/epsilon for Laplace, sigma sqrt(2/pi) for Gaussian noise. The right-hand
side is what an owner reports to the market. For a normal owner with Gaussian noise the left-hand side is known too,
because the noised owner is normal again: it shows how much the bound gives away.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from kantor.errors import InputError
from kantor.owners.calibration import Calibration, Mechanism, noise_scale
from kantor.owners.distributions import family
from kantor.valuation.wasserstein import wasserstein

__all__ = ["noise_distance", "noisy_distance", "noisy_distance_bound"]


def noise_distance(
    mechanism: Mechanism,
    *,
    sensitivity: float,
    epsilon: float,
    delta: float | None = None,
    calibration: Calibration = "classical",
) -> float:
    """W(X_DP, delta_0), the mean absolute value of the noise.

    "classical" is the paper's formula for Gaussian noise, (2 Delta/epsilon) sqrt(ln(1.25/delta)/pi), computed at any
    epsilon although it is proved for epsilon < 1 only; "analytic" is the least sufficient noise, which releases use.

    >>> noise_distance("laplace", sensitivity=2.0, epsilon=0.5)
    4.0
    """
    scale = noise_scale(mechanism, sensitivity=sensitivity, epsilon=epsilon, delta=delta, calibration=calibration)
    return scale if mechanism == "laplace" else scale * float(np.sqrt(2 / np.pi))


def noisy_distance_bound(distance: float, mechanism: Mechanism, **noise: Any) -> float:
    """The upper bound on a noised owner's distance: its own plus the noise's. Keywords as for `noise_distance`."""
    if not (np.isfinite(distance) and distance >= 0):
        raise InputError(f"distance is {distance}", remedy="Give a finite number, at least 0.", value=distance)
    return distance + noise_distance(mechanism, **noise)


def noisy_distance(
    owner: Any, target: Any, *, sensitivity: float, epsilon: float, delta: float, calibration: Calibration = "classical"
) -> float:
    """W of a normal owner after Gaussian noise against the target, exactly: N(a, b^2 + sigma^2) against it."""
    parts = family(owner)
    if parts is None or parts.name != "norm":
        raise InputError(
            "only a normal owner stays in its family when Gaussian noise is added",
            remedy="Use noisy_distance_bound, or add noise to samples and measure.",
        )
    sigma = noise_scale("gaussian", sensitivity=sensitivity, epsilon=epsilon, delta=delta, calibration=calibration)
    return wasserstein(scipy.stats.norm(parts.location, np.hypot(parts.scale, sigma)), target)
