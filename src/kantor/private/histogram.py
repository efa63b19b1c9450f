"""Distances of empirical data without assumptions: cumulative counts on shares.

The market fixes limits and a number of bins. An owner's data become the share of them at or below each inner edge,
F_i(k), in whole steps of 1/levels. The target is the mixture, every owner with equal weight: G = (F_1 + ... + F_N)/N.
On a line with bins of one width, the distance is the area between the two,

    W_i = width * sum over k of |F_i(k) - G(k)| = width/(N levels) * sum over k of |N c_i(k) - sum over j of c_j(k)|,

with whole numbers c: the parties add, subtract and take absolute values, and nothing is rounded. Nobody sees the
target; each owner's total is opened to the market and to that owner.

Error, before anything runs: putting a sample at its bin's middle moves it by at most width/2, and the target likewise;
counting in whole levels moves an owner, and the target, by at most range/(2 levels). So the result is within
width + range/levels of the distance of the raw data. With samples of one length that divides `levels`, the counting is
exact, and the result equals `kantor.distances(binned, aggregate="mixture")`.

The same numbers of a buyer's reference data give W(X_R, X_T); they are no part of the target.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from kantor.errors import InputError
from kantor.owners.distributions import Vector
from kantor.owners.samples import as_sample
from kantor.private.engine import Engine
from kantor.private.methods import Outcome, Plain, refuse_unsound, whole
from kantor.private.randomness import Words
from kantor.private.signs import absolute, by_pieces, negative

__all__ = ["Histogram", "limits"]


@dataclass(frozen=True)
class Histogram(Plain):
    """Bins of equal width from low to high; shares of the data in whole steps of 1/levels."""

    name: ClassVar[str] = "histogram"
    low: float
    high: float
    bins: int = 100
    levels: int = 1 << 16

    def __post_init__(self) -> None:
        limits(self.low, self.high)
        whole("bins", self.bins, 2, 1 << 20)
        whole("levels", self.levels, 1, 1 << 30)

    @property
    def size(self) -> int:
        """The inner edges."""
        return self.bins - 1

    @property
    def width(self) -> float:
        """Of a bin."""
        return (self.high - self.low) / self.bins

    @property
    def error_bound(self) -> float:
        """Binning moves both sides by half a bin, counting in levels by half a level's share of the range."""
        return self.width + (self.high - self.low) / self.levels

    def places(self, samples: Vector) -> npt.NDArray[np.int64]:
        """The bin of each sample; the upper limit belongs to the last."""
        place = np.floor((samples - self.low) / self.width).astype(np.int64)
        return np.clip(place, 0, self.bins - 1)

    def binned(self, samples: Any, owner: str | None = None) -> Vector:
        """The data as the method sees them, up to the counting in levels: each sample at its bin's middle."""
        middles = self.places(inside(samples, self.low, self.high, owner)) + 0.5
        return np.asarray(self.low + middles * self.width, dtype=np.float64)

    def encode(self, data: Any, owner: str | None = None) -> Vector:
        """The cumulative counts at the inner edges, in levels."""
        samples = inside(data, self.low, self.high, owner)
        counts = np.bincount(self.places(samples), minlength=self.bins).cumsum()[:-1]
        shares: Vector = np.rint(counts * (self.levels / samples.size))
        return shares

    def compute(self, engine: Engine, inputs: Words, references: Words) -> Outcome:
        """Leave out what is no cumulative count; then the totals, owners first."""
        everybody = np.concatenate([inputs, references], axis=1)
        sound = refuse_unsound(engine, self._violations(engine, everybody))
        owners = inputs[:, sound[: inputs.shape[1]]]
        target = owners.sum(axis=1, keepdims=True)
        count = np.uint64(owners.shape[1])
        totals = [
            absolute_rows(engine, everybody[:, sound][:, piece] * count - target)
            for piece in by_pieces(everybody[:, sound])
        ]
        return Outcome(sound, np.concatenate(totals, axis=1), {})

    def decode(self, totals: npt.NDArray[np.int64], owners: int, opened: dict[str, int]) -> Vector:  # noqa: ARG002
        """W = width total / (N levels)."""
        return np.asarray(totals * (self.width / (owners * self.levels)), dtype=np.float64)

    def _violations(self, engine: Engine, counts: Words) -> Words:
        """How many counts are negative, and how many steps from one to the next (and to `levels`) go down."""
        found = []
        for piece in by_pieces(counts):
            part = counts[:, piece]
            full = engine.public(self.levels, part[:, :, :1])
            steps = np.diff(np.concatenate([part, full], axis=2), axis=2)
            both = np.concatenate([part, steps], axis=2)
            found.append(negative(engine, both.reshape(2, -1)).reshape(both.shape).sum(axis=2))
        return np.concatenate(found, axis=1)


def absolute_rows(engine: Engine, table: Words) -> Words:
    """The sum of absolute values along each row, shared."""
    return absolute(engine, table.reshape(2, -1)).reshape(table.shape).sum(axis=2)


def inside(samples: Any, low: float, high: float, owner: str | None = None) -> Vector:
    """Samples, all between the limits."""
    values = as_sample(samples, owner=owner)
    beyond = (values < low) | (values > high)
    if beyond.any():
        place = int(beyond.argmax())
        raise InputError(
            f"sample {place} (counted from 0) is {values[place]}, outside the market's limits {low:g} to {high:g}",
            remedy="Check its units. If it is right, this market's limits do not fit these data; nothing was sent.",
            value=values[place],
            owner=owner,
        )
    return values


def limits(low: float, high: float) -> None:
    """Refuse limits that are none."""
    if not (isfinite(low) and isfinite(high) and low < high and isfinite(high - low)):
        raise InputError(
            f"the limits are {low} and {high}", remedy="Give two finite numbers, the lower one first.", argument="low"
        )
