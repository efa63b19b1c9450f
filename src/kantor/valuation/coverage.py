"""What the Hoeffding bound is worth: how often it holds, measured.

Theorem 2 promises that a coalition's W stays below its bound with confidence delta. Its proof treats the coalition as
a random draw, and it uses a triangle inequality that is true of mixtures and of quantile averages but not of means of
independent variables; so the promise is not a theorem about the coalition that a market buys. Where the owners are
known, it need not be believed: value the coalitions exactly and count.

The bound is confidence_factor(delta) times something that does not depend on delta. So each coalition has a *needed
factor*, W divided by that something, and the bound holds at delta when the needed factor is at most
confidence_factor(delta). Having the needed factors, coverage at any confidence is a count, and the confidence that
covers a wanted share is a quantile.

Whose coverage? "all" is a coalition drawn at random among those of its size. But a clearing never draws at random: it
prefers near owners, whose bound is small by construction. "nearest" is the coalition of the n nearest owners,
the one which the bound recommends at every size. It fares worse, as whatever is chosen for its low estimate does.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypedDict, Unpack

import numpy as np
import numpy.typing as npt
import scipy

from kantor.errors import InputError
from kantor.owners.aggregation import Aggregate
from kantor.owners.collection import as_owners
from kantor.owners.distributions import Vector
from kantor.valuation.coalitions import (
    ENUMERATION_LIMIT,
    Members,
    coalition_distances,
    coalition_sizes,
    members,
)
from kantor.valuation.hoeffding import Correction, Population, coefficient, confidence_factor, confidence_of

__all__ = [
    "CalibratedConfidence",
    "Coverage",
    "How",
    "NeededFactors",
    "calibrated_confidence",
    "coverage",
    "needed_factors",
]

_TOLERANCE = 1e-9
"""Relative slack of W against its bound: rounding is no failure."""

_SAMPLES_LIMIT = 12
"""Up to how many owners who gave samples all coalitions are valued without being asked for."""

_MANY_SIZES = 32
"""How many sizes are looked at where owners are many."""


class How(TypedDict, total=False):
    """What all questions about coverage have in common; `needed_factors` explains each."""

    target: Any
    aggregate: Aggregate
    population: Population
    correction: Correction
    which: Literal["all", "nearest"]
    enumerate_up_to: int | None
    draws: int
    seed: int


@dataclass(frozen=True, eq=False)
class Coverage:
    """The share of coalitions of each size for which the bound holds, with limits at `level`.

    Where all coalitions of the markets at hand were valued and there is one market, the share is exact for that
    market: `exact` says so and the limits equal it. Random coalitions give Clopper-Pearson limits. Several markets
    give limits for the mean over markets like these: coalitions of one market fail together, so that
    markets, not coalitions, are counted (Korn and Graubard's limits).
    """

    confidence: float
    sizes: npt.NDArray[np.int64]
    share: Vector
    lower: Vector
    upper: Vector
    exact: npt.NDArray[np.bool_]
    coalitions: npt.NDArray[np.int64]
    markets: int
    level: float

    @property
    def falls_short(self) -> npt.NDArray[np.bool_]:
        """At which sizes the bound plainly holds less often than its confidence says."""
        return self.upper < self.confidence

    @property
    def worst(self) -> tuple[int, float]:
        """The size at which the bound holds least often, and its share there."""
        place = int(np.argmin(self.share))
        return int(self.sizes[place]), float(self.share[place])

    def rows(self) -> list[dict[str, Any]]:
        """A plain record for each size."""
        names = ("size", "share", "lower", "upper", "exact", "coalitions")
        columns = (self.sizes, self.share, self.lower, self.upper, self.exact, self.coalitions)
        return [dict(zip(names, row, strict=True)) for row in zip(*(c.tolist() for c in columns), strict=True)]


@dataclass(frozen=True, eq=False)
class CalibratedConfidence:
    """The least confidence whose bound covers the wanted share, and what it covers where it was calibrated."""

    confidence: float
    factor: float
    wanted: float
    coverage: Coverage


@dataclass(frozen=True, eq=False)
class NeededFactors:
    """For each coalition valued, the confidence factor at which its bound would just hold.

    `factors[market][k]` belongs to the coalitions of size `sizes[k]`; `exact[k]` says that these are all of them.
    """

    sizes: npt.NDArray[np.int64]
    factors: tuple[tuple[Vector, ...], ...]
    exact: npt.NDArray[np.bool_]

    @classmethod
    def pool(cls, markets: Iterable[NeededFactors]) -> NeededFactors:
        """Several markets of equally many owners as one body of evidence, each counting alike."""
        listed = list(markets)
        if not listed:
            raise InputError("there are no markets to pool", remedy="Give at least one.")
        first = listed[0]
        for place, market in enumerate(listed):
            if not np.array_equal(market.sizes, first.sizes):
                raise InputError(
                    f"the first market has coalitions of sizes {_span(first)}, this one of sizes {_span(market)}",
                    remedy="Pool markets with equally many owners.",
                    market=place,
                )
        factors = tuple(factors for market in listed for factors in market.factors)
        return cls(first.sizes, factors, np.all([market.exact for market in listed], axis=0))

    def coverage(self, confidence: float = 0.95, level: float = 0.95) -> Coverage:
        """How often the bound at this confidence holds, by size, with limits at `level`."""
        factor = confidence_factor(confidence) * (1 + _TOLERANCE)
        held = np.array([[np.mean(needed <= factor) for needed in market] for market in self.factors])
        counts = np.array([[needed.size for needed in market] for market in self.factors]).sum(axis=0)
        limits = [self._limits(held[:, k], int(counts[k]), bool(self.exact[k]), level) for k in range(counts.size)]
        lower, upper = np.array(limits).T
        alone = self.exact if len(self.factors) == 1 else np.zeros(counts.size, dtype=bool)
        return Coverage(
            confidence, self.sizes, held.mean(axis=0), lower, upper, alone, counts, len(self.factors), level
        )

    def calibrated(self, wanted: float = 0.95, each_size: bool = True) -> CalibratedConfidence:
        """The least confidence whose bound holds for the wanted share of coalitions.

        each_size: at every size by itself, since the clearing chooses the size; otherwise of all coalitions,
        sizes counting as many coalitions as they have.
        """
        if not 0 < wanted <= 1:
            raise InputError(
                f"a share of {wanted} was wanted",
                remedy="Ask for a share above 0 and at most 1, 0.95 for 95 %.",
                value=wanted,
                argument="wanted",
            )
        by_size = [[market[k] for market in self.factors] for k in range(self.sizes.size)]
        if each_size:
            factor = max(_quantile(groups, np.ones(len(groups)), wanted) for groups in by_size)
        else:
            groups = [group for same in by_size for group in same]
            factor = _quantile(groups, np.repeat(self._size_weights(), len(self.factors)), wanted)
        confidence = confidence_of(factor)
        if confidence >= 1:
            raise InputError(
                f"no confidence covers {wanted:.6g} of the coalitions: their bound would have to be "
                f"{factor / confidence_factor(0.95):.3g} times that at confidence 0.95",
                remedy="Want a smaller share, or value coalitions exactly: the bound says too little about them.",
                value=wanted,
                argument="wanted",
            )
        return CalibratedConfidence(confidence, factor, wanted, self.coverage(confidence))

    def _size_weights(self) -> Vector:
        """How many coalitions each size has, relative to the most."""
        count = self.sizes.max()
        logs = scipy.special.gammaln([count + 1]) - scipy.special.gammaln([self.sizes + 1, count - self.sizes + 1]).sum(
            0
        )
        return np.exp(logs - logs.max())

    @staticmethod
    def _limits(shares: Vector, count: int, exact: bool, level: float) -> tuple[float, float]:
        if shares.size > 1:
            return _limits_over_markets(shares, count, level)
        share = float(shares[0])
        return (share, share) if exact else _clopper_pearson(share * count, count, level)


def coverage(owners: Any, confidence: float = 0.95, **how: Unpack[How]) -> Coverage:
    """How often the Hoeffding bound at this confidence holds on these owners, by coalition size.

    Options are those of `needed_factors`; `NeededFactors.pool` puts several markets together.
    """
    return needed_factors(owners, **how).coverage(confidence)


def calibrated_confidence(
    owners: Any, wanted: float = 0.95, each_size: bool = True, **how: Unpack[How]
) -> CalibratedConfidence:
    """The least confidence whose bound covers the wanted share of these owners' coalitions, at every size.

    Options are those of `needed_factors`. With `which="nearest"` the one coalition of each size that the bound
    recommends has to be covered, which is the stricter demand.
    """
    return needed_factors(owners, **how).calibrated(wanted, each_size)


def needed_factors(
    owners: Any,
    target: Any = None,
    aggregate: Aggregate = "euclidean",
    population: Population = "finite",
    correction: Correction = "program",
    which: Literal["all", "nearest"] = "all",
    enumerate_up_to: int | None = None,
    draws: int = 1000,
    seed: int = 0,
) -> NeededFactors:
    """The needed factors of these owners' coalitions: W over the bound with its confidence factor left out.

    owners, target, aggregate: as in `coalition_distances`. which: "all" coalitions, or the "nearest" owners of each
    size. All coalitions are valued for up to `enumerate_up_to` owners (20 for distributions, 12 for samples unless
    said otherwise); of more owners, `draws` random coalitions of each of some 32 sizes, all where there are fewer.
    """
    market = as_owners(owners)
    count = len(market)
    alone = coalition_distances(market, target, aggregate, np.eye(count, dtype=bool))

    def needed(rows: Members) -> Vector:
        distances = coalition_distances(market, target, aggregate, rows)
        return _needed(distances, rows.sum(axis=1), rows @ alone**2, alone, population, correction)

    if which == "nearest":
        return _of_nearest(alone, needed)
    if which != "all":
        raise InputError(
            f"coalitions are to be {which!r}",
            remedy="Say 'all', or 'nearest' for the n nearest owners of each size.",
            value=which,
            argument="which",
        )
    if enumerate_up_to is None:
        enumerate_up_to = _SAMPLES_LIMIT if market.distributions is None else ENUMERATION_LIMIT
    if count <= enumerate_up_to:
        return _of_all(count, needed)
    return _of_draws(count, needed, draws, seed)


_Needed: TypeAlias = Callable[[Members], Vector]


def _needed(
    distances: Vector, sizes: Any, squares: Vector, alone: Vector, population: Population, correction: Correction
) -> Vector:
    """W over the bound without its confidence factor: 0 where W is 0, infinite where only the bound is."""
    constant = coefficient(sizes, alone.size, 0.0, population, correction) / confidence_factor(0.0)
    bound = constant * np.sqrt(squares)
    distances = np.where(distances <= _TOLERANCE * alone.max(), 0.0, distances)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(distances == 0, 0.0, distances / bound)


def _of_all(count: int, needed: _Needed) -> NeededFactors:
    sizes = coalition_sizes(count)
    order = np.argsort(sizes, kind="stable")[1:]
    factors = needed(members(order, count))
    groups = np.split(factors, np.cumsum(np.bincount(sizes)[1:-1]))
    return NeededFactors(np.arange(1, count + 1), (tuple(groups),), np.ones(count, dtype=bool))


def _of_nearest(alone: Vector, needed: _Needed) -> NeededFactors:
    order = np.argsort(alone, kind="stable")
    rank = np.argsort(order, kind="stable")
    sizes = _some_sizes(alone.size)
    factors = needed(rank < sizes[:, None])
    return NeededFactors(sizes, (tuple(factors[:, None]),), np.ones(sizes.size, dtype=bool))


def _of_draws(count: int, needed: _Needed, draws: int, seed: int) -> NeededFactors:
    if draws < 1:
        raise InputError(f"{draws} coalitions of each size were asked for", remedy="Ask for at least one.", value=draws)
    sizes = _some_sizes(count)
    exact = np.array([math.comb(count, int(size)) <= draws for size in sizes])
    groups = [
        needed(_every_of_size(count, size) if few else _random_of_size(count, size, draws, seed))
        for size, few in zip(sizes.tolist(), exact, strict=True)
    ]
    return NeededFactors(sizes, (tuple(groups),), exact)


def _some_sizes(count: int) -> npt.NDArray[np.int64]:
    return np.unique(np.linspace(1, count, min(count, _MANY_SIZES)).round().astype(np.int64))


def _every_of_size(count: int, size: int) -> Members:
    chosen = np.array(list(itertools.combinations(range(count), size)))
    rows = np.zeros((len(chosen), count), dtype=bool)
    np.put_along_axis(rows, chosen, True, axis=1)
    return rows


def _random_of_size(count: int, size: int, draws: int, seed: int) -> Members:
    rng = np.random.default_rng([seed, size])
    rows = np.zeros((draws, count), dtype=bool)
    for row in rows:
        row[rng.choice(count, size, replace=False, shuffle=False)] = True
    return rows


def _span(needed: NeededFactors) -> str:
    return f"{needed.sizes[0]} to {needed.sizes[-1]}"


def _quantile(groups: Sequence[Vector], weights: Vector, wanted: float) -> float:
    """The least factor that at least the wanted share reaches, each group weighing as a whole what is said."""
    factors = np.concatenate(groups)
    shares = np.concatenate([np.full(g.size, w / g.size) for g, w in zip(groups, weights, strict=True)])
    order = np.argsort(factors, kind="stable")
    reached = np.cumsum(shares[order]) / shares.sum()
    place = min(int(np.searchsorted(reached, wanted - 1e-12)), order.size - 1)
    return float(factors[order[place]])


def _clopper_pearson(held: float, count: float, level: float) -> tuple[float, float]:
    tail = (1 - level) / 2
    lower = scipy.special.betaincinv(held, count - held + 1, tail) if held > 0 else 0.0
    upper = scipy.special.betaincinv(held + 1, count - held, 1 - tail) if held < count else 1.0
    return float(lower), float(upper)


def _limits_over_markets(shares: Vector, count: int, level: float) -> tuple[float, float]:
    """Korn and Graubard's limits: Clopper-Pearson's with as many trials as would vary like the markets do."""
    markets, mean = shares.size, float(shares.mean())
    variance = float(shares.var(ddof=1)) / markets
    spread = mean * (1 - mean)
    if spread <= 0:
        return _clopper_pearson(mean * markets, markets, level)
    student = scipy.special.stdtrit([count - 1, markets - 1], (1 + level) / 2)
    trials = min(count, spread / variance * (student[0] / student[1]) ** 2) if variance > 0 else count
    return _clopper_pearson(mean * trials, trials, level)
