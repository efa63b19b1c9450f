"""Distributions as owners may state them: frozen scipy.stats distributions, and aggregates of them.

Much of the theory has a closed form inside a *location-scale family*: all variables alpha + beta Z for one fixed Z.
Two normals differ only in (alpha, beta), and so do two exponentials, two logistics, two Student variables with the
same degrees of freedom. `family` takes a frozen distribution apart into the name of Z, its shape parameters, and
(alpha, beta), which is all that closed forms need.

Anything with `cdf`, `sf`, `pdf`, `ppf`, `isf`, `mean`, `support` and `rvs` can stand where a distribution is asked for;
`Mixture` and `QuantileAverage` are such objects, the exact aggregates of distributions that have no family in common.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
import scipy

from kantor.errors import InputError

__all__ = [
    "Distribution",
    "Family",
    "Mixture",
    "QuantileAverage",
    "Vector",
    "bisect",
    "family",
    "is_discrete",
    "is_distribution",
]

Vector: TypeAlias = npt.NDArray[np.float64]


@runtime_checkable
class Distribution(Protocol):
    """What kantor asks of a continuous distribution: every frozen scipy.stats one answers it."""

    def cdf(self, x: Any) -> Any:
        """F(x)."""

    def sf(self, x: Any) -> Any:
        """1 - F(x), accurate in the upper tail."""

    def ppf(self, q: Any) -> Any:
        """The quantile function."""

    def isf(self, q: Any) -> Any:
        """The quantile function counted from the upper end, accurate in the upper tail."""

    def mean(self) -> Any:
        """The expectation."""

    def support(self) -> tuple[Any, Any]:
        """The smallest interval that has probability one."""

    def rvs(self, size: Any = ..., random_state: Any = ...) -> Any:
        """Draws."""


class Family(NamedTuple):
    """alpha + beta Z: the name and shape parameters of Z, the location alpha, the scale beta."""

    name: str
    shape: tuple[float, ...]
    location: float
    scale: float


def is_distribution(thing: object) -> bool:
    """Whether this states a distribution rather than a sample."""
    return hasattr(thing, "cdf") and isinstance(thing, Distribution)  # the first is quick, and settles it for samples


def is_discrete(distribution: Distribution) -> bool:
    """Whether probability sits on points: then it is a weighted sample, and is treated as one."""
    return hasattr(distribution, "pmf")


def family(distribution: Distribution) -> Family | None:
    """The location-scale family of a frozen scipy.stats distribution, None for anything else."""
    base = getattr(distribution, "dist", None)
    if not isinstance(base, scipy.stats.rv_continuous):
        return None
    args, kwds = distribution.args, distribution.kwds  # type: ignore[attr-defined]
    shape, location, scale = base._parse_args(*args, **kwds)  # noqa: SLF001  the only way to a frozen location
    numbers = [np.ndim(v) == 0 and np.isfinite(v) for v in (*shape, location, scale)]
    if not all(numbers) or not scale > 0:
        raise InputError(
            f"{base.name} with shape {shape}, loc {location} and scale {scale} is not one distribution",
            remedy="Give one finite number for each parameter, and a positive scale.",
            value=(shape, location, scale),
        )
    return Family(base.name, tuple(float(s) for s in shape), float(location), float(scale))


def atoms(distribution: Distribution, tail: float = 1e-16) -> tuple[Vector, Vector]:
    """The points of a discrete distribution and their probabilities, all but `tail` of it on each side."""
    low, high = (float(end) for end in distribution.support())
    low = low if np.isfinite(low) else float(distribution.ppf(tail))
    high = high if np.isfinite(high) else float(distribution.ppf(1 - tail)) + 1.0
    points = np.arange(np.floor(low), np.floor(high) + 1.0)
    probability: Vector = np.asarray(distribution.pmf(points), dtype=np.float64)  # type: ignore[attr-defined]
    held = probability > 0
    return points[held], probability[held] / probability[held].sum()


class _Combined:
    """Several distributions made one, each with a weight."""

    def __init__(self, parts: Sequence[Distribution], weights: Sequence[float] | None = None) -> None:
        if not parts:
            raise InputError("an aggregate of no distributions was asked for", remedy="Give at least one owner.")
        shares = np.full(len(parts), 1.0) if weights is None else np.asarray(weights, dtype=float)
        if shares.shape != (len(parts),) or not np.all(shares >= 0) or not shares.sum() > 0:
            raise InputError(
                f"{len(parts)} distributions came with weights {weights}",
                remedy="Give one weight for each, none negative, not all zero.",
                value=weights,
            )
        self.parts = tuple(parts)
        self.weights: Vector = shares / shares.sum()

    def _average(self, values: list[Any]) -> Any:
        return sum(w * np.asarray(v, dtype=float) for w, v in zip(self.weights, values, strict=True))

    def mean(self) -> float:
        """The weighted mean of the parts' means."""
        return float(self._average([part.mean() for part in self.parts]))


class Mixture(_Combined):
    """A draw from one of the parts, chosen with its weight: F is the weighted mean of the F_i."""

    def cdf(self, x: Any) -> Any:
        """F(x), the weighted mean of the parts' F."""
        return self._average([part.cdf(x) for part in self.parts])

    def sf(self, x: Any) -> Any:
        """1 - F(x)."""
        return self._average([part.sf(x) for part in self.parts])

    def pdf(self, x: Any) -> Any:
        """f(x), the weighted mean of the parts' f."""
        return self._average([part.pdf(x) for part in self.parts])  # type: ignore[attr-defined]

    def logpdf(self, x: Any) -> Any:
        """Logarithm of f(x), without underflow in the tails."""
        logs = np.array([part.logpdf(x) for part in self.parts])  # type: ignore[attr-defined]
        weights = self.weights.reshape(-1, *([1] * (logs.ndim - 1)))
        return scipy.special.logsumexp(logs, axis=0, b=weights)

    def ppf(self, q: Any) -> Any:
        """The quantile function, by bisection between the least and the largest quantile of the parts."""
        levels = np.atleast_1d(np.asarray(q, dtype=float))
        low, high = _bracket([part.ppf(levels) for part in self.parts], levels)
        return bisect(self.cdf, levels, low, high).reshape(np.shape(q))

    def isf(self, q: Any) -> Any:
        """The quantile function counted from the upper end."""
        levels = np.atleast_1d(np.asarray(q, dtype=float))
        low, high = _bracket([part.isf(levels) for part in self.parts], levels)
        return bisect(lambda x: -self.sf(x), -levels, low, high).reshape(np.shape(q))

    def support(self) -> tuple[float, float]:
        """From the least lower end to the largest upper end."""
        ends = [part.support() for part in self.parts]
        return float(min(low for low, _ in ends)), float(max(high for _, high in ends))

    def rvs(self, size: int = 1, random_state: Any = None) -> Vector:
        """Draws."""
        rng = np.random.default_rng(random_state)
        which = rng.choice(len(self.parts), size=size, p=self.weights)
        draws = np.empty(size)
        for i, part in enumerate(self.parts):
            draws[which == i] = part.rvs(size=int((which == i).sum()), random_state=rng)
        return draws


class QuantileAverage(_Combined):
    """The 1-D Wasserstein barycentre: its quantile function is the weighted mean of the parts' quantile functions."""

    def ppf(self, q: Any) -> Any:
        """The weighted mean of the parts' quantiles."""
        return self._average([part.ppf(q) for part in self.parts])

    def isf(self, q: Any) -> Any:
        """The weighted mean of the parts' quantiles, counted from the upper end."""
        return self._average([part.isf(q) for part in self.parts])

    def _level(self, x: Any) -> Vector:
        points = np.atleast_1d(np.asarray(x, dtype=float))
        return bisect(self.ppf, points, np.zeros(points.shape), np.ones(points.shape))

    def cdf(self, x: Any) -> Any:
        """F(x), by bisection on the quantile function."""
        return self._level(x).reshape(np.shape(x))

    def sf(self, x: Any) -> Any:
        """1 - F(x)."""
        points = np.atleast_1d(np.asarray(x, dtype=float))
        tails = bisect(lambda q: -self.isf(q), -points, np.zeros(points.shape), np.ones(points.shape))
        return tails.reshape(np.shape(x))

    def pdf(self, x: Any) -> Any:
        """f(x) = 1 / mean of 1 / f_i at the parts' quantiles of the same level."""
        level = self._level(x)
        with np.errstate(divide="ignore"):
            slopes = [1.0 / part.pdf(part.ppf(level)) for part in self.parts]  # type: ignore[attr-defined]
            low, high = self.support()
            inside = (np.atleast_1d(x) >= low) & (np.atleast_1d(x) <= high)
            return np.where(inside, 1.0 / self._average(slopes), 0.0).reshape(np.shape(x))

    def support(self) -> tuple[float, float]:
        """From the mean lower end to the mean upper end."""
        low, high = self._average([np.array(part.support(), dtype=float) for part in self.parts])
        return float(low), float(high)

    def rvs(self, size: int = 1, random_state: Any = None) -> Vector:
        """Draws, by inversion."""
        return np.asarray(self.ppf(np.random.default_rng(random_state).uniform(size=size)), dtype=float)


def _bracket(quantiles: list[Any], like: Vector) -> tuple[Vector, Vector]:
    every = np.array([np.broadcast_to(q, like.shape) for q in quantiles], dtype=float)
    return every.min(axis=0), every.max(axis=0)


def bisect(rising: Callable[[Vector], Any], goal: Vector, low: Vector, high: Vector) -> Vector:
    """The least float at which a rising function reaches each goal, between low and high.

    It halves the number of floats that are left rather than their span, so that 64 steps suffice at any magnitude.
    """
    below, above = _ranks(low) - 1, _ranks(high)
    for _ in range(65):
        middle = (below >> 1) + (above >> 1) + (below & above & 1)
        short = np.asarray(rising(_floats(middle))) < goal
        below = np.where(short & (middle > below), middle, below)
        above = np.where(~short & (middle > below), middle, above)
    return _floats(above)


def _ranks(x: Vector) -> npt.NDArray[np.int64]:
    """Floats as integers in the same order."""
    bits = np.ascontiguousarray(x + 0.0).view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)


def _floats(ranks: npt.NDArray[np.int64]) -> Vector:
    return np.ascontiguousarray(np.where(ranks < 0, np.int64(-(2**63)) - ranks, ranks)).view(np.float64)
