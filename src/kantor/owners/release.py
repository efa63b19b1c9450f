"""What leaves the owner's machine: a vector of numbers with noise that is safe in floating point.

Noise drawn the usual way (a float from NumPy, added to a float) does not keep the promise that its formula makes. The
floats near 0 are dense and those near 1 are not, so an output such as 0.3000000000000000166 can come from the value 0
and never from the value 1: one such output gives the owner away, whatever epsilon says (Mironov, 2012). OpenDP rounds
the data to a lattice, draws whole steps of it by exact integer arithmetic, and so gives every input the same possible
outputs. `kantor.owners.impossible` is the test that tells the two apart.

Three things have to be stated, because a promise without them means nothing:

- **bounds**: between which limits a value can lie. Values outside are moved to the nearest limit. They must not be
  read off the data, or they give the data away themselves.
- **unit**: whose secret is kept. "record" hides any one value of the series; "series" hides all of it, so that the
  owner's release says (almost) nothing about the owner as a whole; a whole number k hides any k values, such as the 24
  hours of one day. The sensitivity follows: the width of the bounds times 1, n or k for Laplace noise, times the
  square root of that for Gaussian noise.
- **epsilon** (and delta, for Gaussian noise): how much may be learnt of that unit.

Independent noise on each value is one mechanism on the vector, however the drawing is cut into pieces: it is done in
pieces here so that a million values show progress. OpenDP states what its lattice costs; the scale is raised (by about
one part in a billion) until what it states is within the promise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import frexp, inf, nextafter, sqrt
from typing import Any, Literal, TypeAlias

import numpy as np

from kantor.errors import InputError, MissingExtraError
from kantor.owners.calibration import Calibration, Mechanism, gaussian_delta, noise_scale
from kantor.owners.distributions import Vector
from kantor.owners.samples import as_sample

__all__ = ["Promise", "Release", "Unit", "integer_noise", "promise", "release", "sensitivity_of"]

Unit: TypeAlias = Literal["record", "series"] | int

_PIECE = 20_000
_FINENESS = 60
"""The lattice has 2^60 steps to about one scale of the noise."""


@dataclass(frozen=True)
class Promise:
    """What a release of `records` values promises, and the noise that keeps it. Everything here may be published."""

    mechanism: Mechanism
    epsilon: float
    delta: float | None
    calibration: Calibration | None
    """How Gaussian noise was sized; None for Laplace noise, which has one way."""
    unit: Unit
    records: int
    low: float
    high: float
    sensitivity: float
    scale: float
    """Laplace's b or the Gaussian's standard deviation."""
    granularity: int
    """Outputs are whole multiples of 2 to this power."""

    def as_dict(self) -> dict[str, Any]:
        """The manifest: plain data, to go with the values."""
        return {**self.__dict__, "library": f"opendp {_opendp_version()}"}


@dataclass(frozen=True)
class Release:
    """Noised values and the promise that they keep. `clipped` stays with the owner: it says something of the data."""

    values: Vector
    promise: Promise
    clipped: int


def sensitivity_of(mechanism: Mechanism, unit: Unit, records: int, width: float) -> float:
    """How far one unit can move the vector: in absolute change for Laplace noise, in Euclidean change for Gaussian.

    >>> round(sensitivity_of("laplace", "series", 365, 2.0), 9), round(sensitivity_of("gaussian", 4, 365, 2.0), 9)
    (730.0, 4.0)
    """
    moved = _moved(unit, records)
    return nextafter(width * (moved if mechanism == "laplace" else sqrt(moved)), inf) if moved > 1 else width


def _moved(unit: Unit, records: int) -> int:
    if unit == "record":
        return 1
    if unit == "series":
        return records
    if isinstance(unit, bool) or not isinstance(unit, int) or not 1 <= unit <= records:
        raise InputError(
            f"the unit of privacy is {unit!r}, in a series of {records}",
            remedy='Choose "record" (any one value), "series" (all of it), or how many values belong together.',
            value=unit,
            argument="unit",
        )
    return unit


def promise(
    mechanism: Mechanism,
    records: int,
    *,
    bounds: tuple[float, float],
    unit: Unit,
    epsilon: float,
    delta: float | None = None,
    calibration: Calibration = "analytic",
) -> Promise:
    """What `release` will promise, worked out without any data."""
    low, high = _bounds(bounds)
    if mechanism == "gaussian" and calibration == "classical" and epsilon >= 1:
        raise InputError(
            f"the classical calibration proves nothing at epsilon {epsilon}: its proof needs epsilon below 1",
            remedy='Leave calibration at "analytic", which is proved for every epsilon and needs less noise.',
            value=epsilon,
            argument="calibration",
        )
    if records < 1:
        raise InputError("there is nothing to release", remedy="Give at least one number.", value=records)
    moved = sensitivity_of(mechanism, unit, records, nextafter(high - low, inf))
    first = noise_scale(mechanism, sensitivity=moved, epsilon=epsilon, delta=delta, calibration=calibration)
    granularity = frexp(first)[1] - _FINENESS
    if not (first < inf and -1000 < granularity < 900):
        raise InputError(
            f"the noise would have scale {first}, which floats cannot hold well",
            remedy="Use units in which the bounds are closer to 1.",
            value=first,
            argument="bounds",
        )
    scale = first
    while not _kept(mechanism, records, scale, granularity, moved, epsilon, delta):
        scale *= 1 + max(1e-12, 2.0 ** (1 - _FINENESS) * records / min(epsilon, 1.0))
    how = calibration if mechanism == "gaussian" else None
    return Promise(mechanism, epsilon, delta, how, unit, records, low, high, moved, scale, granularity)


def release(
    values: Any,
    mechanism: Mechanism,
    *,
    bounds: tuple[float, float],
    unit: Unit,
    epsilon: float,
    delta: float | None = None,
    calibration: Calibration = "analytic",
    progress: Callable[[int, int], None] | None = None,
) -> Release:
    """The values with noise, safe to give away; each call draws new noise and spends epsilon again.

    bounds: (low, high), known without looking at the data. unit: "record", "series", or how many values belong
    together. Nothing is charged here: `kantor.owners.balance` does that, and calls this.
    """
    clean = as_sample(values, argument="values")
    sure = promise(
        mechanism, clean.size, bounds=bounds, unit=unit, epsilon=epsilon, delta=delta, calibration=calibration
    )
    inside = np.clip(clean, sure.low, sure.high)
    noised = np.empty_like(inside)
    for start, piece in _pieces(inside):
        noised[start : start + piece.size] = _measurement(mechanism, piece.size, sure.scale, sure.granularity)(piece)
        if progress is not None:
            progress(start + piece.size, clean.size)
    return Release(noised, sure, int((inside != clean).sum()))


def _pieces(values: Vector) -> Iterator[tuple[int, Vector]]:
    for start in range(0, values.size, _PIECE):
        yield start, values[start : start + _PIECE]


def _bounds(bounds: Any) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in bounds)
    except (TypeError, ValueError) as fault:
        raise InputError(
            f"the bounds are {bounds!r}",
            remedy="Give (low, high): limits that hold whatever the data are, such as (0, 15) for a load in kW.",
            argument="bounds",
        ) from fault
    if not -inf < low < high < inf or not high - low < inf:
        raise InputError(
            f"the bounds are {low} and {high}",
            remedy="Give two finite numbers, the lower one first.",
            argument="bounds",
        )
    return low, high


def _kept(
    mechanism: Mechanism, records: int, scale: float, step: int, moved: float, epsilon: float, delta: float | None
) -> bool:
    """Whether OpenDP's own statement, lattice included, is within the promise.

    For Gaussian noise it states rho = (d/sigma)^2/2 (zero-concentrated privacy), with the lattice in d. What is drawn
    differs from continuous Gaussian noise rounded to the lattice by less than n 2^-118 in total variation, so the
    delta of the latter (Balle and Wang, Theorem 8), at the ratio d/sigma that rho states, holds up to that: it is
    asked to stay below delta by one part in a billion.
    """
    stated = _measurement(mechanism, records, scale, step).map(moved)
    if mechanism == "laplace":
        return stated <= epsilon
    assert delta is not None  # noqa: S101  noise_scale has refused it
    return gaussian_delta(1 / sqrt(2 * stated), epsilon) <= delta * (1 - 1e-9)


@lru_cache(maxsize=64)
def _measurement(mechanism: Mechanism, size: int, scale: float, step: int) -> Any:
    dp = _opendp()
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=size)
    if mechanism == "laplace":
        return dp.m.make_laplace(domain, dp.l1_distance(T=float), scale=scale, k=step)
    return dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale, k=step)


def _opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError as missing:
        raise MissingExtraError("A private release", "opendp", "private") from missing
    dp.enable_features("contrib")
    return dp


def _opendp_version() -> str:
    from importlib.metadata import version

    return version("opendp")


def integer_noise(sensitivity: int, epsilon: float) -> int:
    """A whole number of Laplace noise, for a whole number that one unit can move by `sensitivity`."""
    dp = _opendp()
    scale = nextafter(noise_scale("laplace", sensitivity=sensitivity, epsilon=epsilon), inf)
    noise = dp.m.make_laplace(dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), scale=scale)
    return int(noise(0))
