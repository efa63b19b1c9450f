"""Coalitions of owners, all of them at once, and their exact distances.

A coalition is a set of owners. Two orders are used. People read the *table*: by size, then lexicographically, as the
paper's 255 coalitions of eight owners stand. Arithmetic wants the *bitmask order*: entry b of a vector of length 2^N
belongs to the coalition of those owners i whose bit i is set in b. In that order a sum over the members of every
coalition is N steps of doubling: once the sums without owner i are known, those with it are the same plus one
number. `subset_sums` does this; 2^20 sums take a few milliseconds.

What a coalition's data look like depends on how owners are combined (`aggregate`):

- "euclidean": the mean of the members' random variables, independent across owners. Normals stay normal, with the
  mean of the alphas and sqrt(sum of beta^2)/n, so two subset sums give every coalition. For samples it is the
  sample-wise mean of rows of equal length.
- "barycenter": the mean of the members' quantile functions, which stays inside any location-scale family (means of
  alphas and of betas). For samples it is the mean of the sorted rows.
- "mixture": a draw from one of the members. For samples, the members' values pooled.

The target is the same aggregate of all owners unless another is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from kantor.errors import InputError
from kantor.owners.aggregation import Aggregate, check_aggregate
from kantor.owners.collection import Owners, as_owners
from kantor.owners.distributions import Distribution, Family, Vector, family
from kantor.owners.samples import Sample, sample_or_distribution
from kantor.valuation.families import family_distance, standard
from kantor.valuation.wasserstein import DistributionTarget, SampleTarget

__all__ = [
    "ENUMERATION_LIMIT",
    "Members",
    "coalition_distances",
    "coalition_sizes",
    "coalitions",
    "mean_by_size",
    "members",
    "subset_sums",
    "table_order",
]

Members: TypeAlias = npt.NDArray[np.bool_]

ENUMERATION_LIMIT = 20
"""The most owners whose coalitions are enumerated: 2^20 is about a million."""

_BLOCK = 2**21
"""How many numbers are worked on at once: 16 MB of floats."""


def check_enumerable(count: int) -> None:
    """Refuse to list the coalitions of more than 20 owners."""
    if not 1 <= count <= ENUMERATION_LIMIT:
        raise InputError(
            f"all coalitions of {count} owners were asked for, and 1 to {ENUMERATION_LIMIT} can be listed",
            remedy="Do without listing: solver='exact' clears any number of owners, shapley_estimate samples.",
            value=count,
        )


def coalition_sizes(count: int) -> npt.NDArray[np.int64]:
    """How many owners each of the 2^N coalitions has, in bitmask order."""
    return subset_sums(np.ones(count, dtype=np.int64))


def subset_sums(values: Any) -> Any:
    """The sum over the members of each of the 2^N coalitions, in bitmask order; 0 for the empty one."""
    terms = np.asarray(values)
    check_enumerable(len(terms))
    sums = np.zeros((1 << len(terms), *terms.shape[1:]), dtype=terms.dtype)
    for i, term in enumerate(terms):
        np.add(sums[: 1 << i], term, out=sums[1 << i : 2 << i])
    return sums


def mean_by_size(values: Vector) -> Vector:
    """The mean over all coalitions of each size 1 to N, from 2^N values in bitmask order."""
    count = len(values).bit_length() - 1
    sizes = coalition_sizes(count)[1:]
    totals = np.bincount(sizes, weights=values[1:], minlength=count + 1)
    return totals[1:] / np.bincount(sizes)[1:]


def table_order(count: int) -> npt.NDArray[np.int64]:
    """The bitmasks of the 2^N - 1 coalitions by size, then lexicographically: indices from one order to the other."""
    check_enumerable(count)
    mirrored = subset_sums(1 << np.arange(count - 1, -1, -1))
    return np.lexsort((-mirrored, coalition_sizes(count)))[1:]


def members(masks: Any, count: int) -> Members:
    """Bitmasks as rows of booleans, one column for each owner."""
    return (np.asarray(masks)[..., None] >> np.arange(count) & 1).astype(bool)


def coalitions(count: int) -> Members:
    """The table: a row for each of the 2^N - 1 coalitions, by size, then lexicographically.

    >>> coalitions(2).astype(int).tolist()
    [[1, 0], [0, 1], [1, 1]]
    """
    return members(table_order(count), count)


def coalition_distances(
    owners: Any, target: Any = None, aggregate: Aggregate = "euclidean", coalitions: Any = None
) -> Vector:
    """W of coalitions against the target, which is the aggregate of all owners unless given.

    owners: as for `kantor.distances`; samples need equal lengths, distributions one family (normals for "euclidean").
    target: None, a sample, or a distribution (of the owners' family where they state distributions).
    coalitions: rows of booleans. Without them all 2^N coalitions are valued, in bitmask order, the empty one at
    infinity; `result[table_order(N)]` has them as the paper lists them.
    """
    valuer = _valuer(owners, target, aggregate)
    if coalitions is not None:
        return _in_blocks(valuer, _rows(coalitions, valuer.count))
    check_enumerable(valuer.count)
    if isinstance(valuer, _LocationScale):
        return valuer.every()
    everyone = members(np.arange(1 << valuer.count), valuer.count)
    return _in_blocks(valuer, everyone)


class _Valuer(Protocol):
    """Owners, a target and a way to combine, ready to value rows of members; `width` is the work for one row."""

    count: int
    width: int

    def of(self, rows: Members) -> Vector:
        """W of each coalition; none of them is empty."""


def _in_blocks(valuer: _Valuer, rows: Members) -> Vector:
    """All rows, so many at a time that memory stays bounded; infinity for the empty coalition."""
    result = np.full(len(rows), np.inf)
    held = np.flatnonzero(rows.any(axis=1))
    step = max(1, _BLOCK // valuer.width)
    for start in range(0, held.size, step):
        block = held[start : start + step]
        result[block] = valuer.of(rows[block])
    return result


def _rows(coalitions: Any, count: int) -> Members:
    rows = np.asarray(coalitions)
    if rows.ndim != 2 or rows.shape[1] != count or rows.dtype != np.bool_:
        raise InputError(
            f"coalitions of {count} owners came as {rows.dtype} values of shape {rows.shape}",
            remedy=f"Give a row of {count} booleans for each coalition; kantor.coalitions({count}) has that form.",
            argument="coalitions",
        )
    return rows


def _valuer(owners: Any, target: Any, aggregate: str) -> _Valuer:
    check_aggregate(aggregate)
    market = as_owners(owners)
    goal = None if target is None else sample_or_distribution(target, argument="target")
    if isinstance(goal, Sample) and goal.weights is not None:
        raise InputError(
            "the target is a weighted sample or a discrete distribution",
            remedy="Draw samples from it, as many as each owner has.",
            argument="target",
        )
    if market.distributions is not None:
        return _LocationScale(market.distributions, goal, aggregate)
    samples = _equal_rows(market)
    return _Pool(samples, goal) if aggregate == "mixture" else _Means(samples, goal, aggregate)


def _equal_rows(owners: Owners) -> Vector:
    if owners.lengths is not None and not owners.equal_length:
        odd = int(np.argmax(owners.lengths != owners.lengths[0]))
        raise InputError(
            f"owner {owners.names[0]} has {owners.lengths[0]} samples and owner {owners.names[odd]} has "
            f"{owners.lengths[odd]}",
            remedy="Coalitions are combined from samples of equal length: take as many from each owner.",
            owner=owners.names[odd],
        )
    return np.concatenate([block.rows for block in owners.blocks()])


class _LocationScale:
    """Owners of one location-scale family, combined within it.

    Under the Euclidean aggregate of normals variances add: the scale is (sum of beta^2)^(1/2) / n. Under the
    barycentre scales add: (sum of beta)/n. So the two differ by an exponent.
    """

    def __init__(self, owners: Sequence[Distribution], target: Sample | Distribution | None, aggregate: str) -> None:
        parts = [family(owner) for owner in owners]
        first = parts[0]
        known = [p for p in parts if p is not None and first is not None and p[:2] == first[:2]]
        if first is None or len(known) < len(parts) or not _stays_in_family(first, aggregate):
            raise InputError(
                f"the {aggregate} aggregate of these distributions has no closed form",
                remedy="Draw samples (owner.rvs(10_000)) and give those. Closed forms: normals for 'euclidean', one "
                "location-scale family for 'barycenter'.",
                argument="owners",
            )
        self.count = len(parts)
        self.width = self.count
        self._name = first.name
        self._power = 2 if aggregate == "euclidean" else 1
        location = np.array([part.location for part in known])
        spread = np.array([part.scale for part in known]) ** self._power
        goal = _family_target(target, first, location, spread, self._power)
        self._terms = np.column_stack([location - goal[0], spread])
        self._goal = goal[1]

    def of(self, rows: Members) -> Vector:
        """W of each row."""
        chosen = rows.astype(float)
        return self._distance(chosen.sum(axis=1), *(chosen @ self._terms).T)

    def every(self) -> Vector:
        """W of all 2^N coalitions, from subset sums."""
        sizes = coalition_sizes(self.count)
        distances = np.full(sizes.size, np.inf)
        location, spread = (subset_sums(term)[1:] for term in self._terms.T)
        distances[1:] = self._distance(sizes[1:], location, spread)
        return distances

    def _distance(self, n: Any, location: Vector, spread: Vector) -> Vector:
        return family_distance(self._name, location / n, spread ** (1 / self._power) / n - self._goal)


def _stays_in_family(parts: Family, aggregate: str) -> bool:
    if aggregate == "euclidean":
        return parts.name == "norm"
    return aggregate == "barycenter" and standard(parts) is not None


def _family_target(target: Any, parts: Family, location: Vector, spread: Vector, power: int) -> tuple[float, float]:
    """The target's location and scale: those of all owners together, or of a distribution of the same family."""
    if target is None:
        return float(location.mean()), float(spread.sum() ** (1 / power) / spread.size)
    other = None if isinstance(target, Sample) else family(target)
    if other is None or other[:2] != parts[:2]:
        raise InputError(
            f"owners are {parts.name} distributions, and the target is not one",
            remedy="Give a target of the same family, or draw samples from the owners (owner.rvs(10_000)).",
            argument="target",
        )
    return other.location, other.scale


class _Means:
    """Samples combined row by row: as they come (Euclidean) or each sorted first (barycentre)."""

    def __init__(self, samples: Vector, target: Sample | Distribution | None, aggregate: str) -> None:
        self.count, self.width = samples.shape
        centre = float(samples.mean()) if target is None or isinstance(target, Sample) else 0.0
        self._rows = samples - centre if aggregate == "euclidean" else np.sort(samples - centre, axis=1)
        self._sorted = aggregate == "barycenter"
        self._target = _sample_target(target, self._rows.mean(axis=0), centre)

    def of(self, rows: Members) -> Vector:
        """W of each row."""
        block = (rows / rows.sum(axis=1, keepdims=True)) @ self._rows
        if not isinstance(self._target, np.ndarray):
            return self._target.distances(block)
        return _between_sorted(block if self._sorted else np.sort(block, axis=1), self._target)


def _sample_target(
    target: Sample | Distribution | None, everyone: Vector, centre: float
) -> Vector | SampleTarget | DistributionTarget:
    """A distribution, a sample moved like the owners, or sorted numbers where there are as many as owners have."""
    if target is not None and not isinstance(target, Sample):
        return DistributionTarget(target)
    values = everyone if target is None else target.values - centre
    return np.sort(values) if values.size == everyone.size else SampleTarget(Sample(values))


def _between_sorted(block: Vector, ordered: Vector) -> Vector:
    gaps = block - ordered
    np.abs(gaps, out=gaps)
    return np.asarray(gaps.mean(axis=1), dtype=float)


class _Pool:
    """Samples pooled: W is the area between step functions on one grid, sorted once for all coalitions."""

    def __init__(self, samples: Vector, target: Sample | Distribution | None) -> None:
        self.count, self._each = samples.shape
        self._samples = samples
        self._target = None if target is None or isinstance(target, Sample) else DistributionTarget(target)
        values, whose = samples.ravel(), np.repeat(np.arange(self.count), self._each)
        extra = target.values if isinstance(target, Sample) else np.array([])
        values = np.concatenate([values, extra])
        order = np.argsort(values, kind="stable")
        self._whose = np.concatenate([whose, np.full(extra.size, self.count)])[order]
        self._gaps = np.diff(values[order])
        counted = np.ones(values.size) if extra.size == 0 else self._whose == self.count
        self._goal = np.cumsum(counted)[:-1] / counted.sum()
        self.width = values.size

    def of(self, rows: Members) -> Vector:
        """W of each row."""
        if self._target is not None:
            return np.array([self._target.distance(Sample(self._samples[row].ravel())) for row in rows])
        held = np.column_stack([rows, np.zeros(len(rows), dtype=bool)])[:, self._whose[:-1]]
        levels = np.cumsum(held, axis=1, dtype=np.int32) / (rows.sum(axis=1, keepdims=True) * self._each)
        levels -= self._goal
        return np.asarray(np.abs(levels, out=levels) @ self._gaps, dtype=float)
