"""Distances of owners that state a distribution: the parameters, shared.

Inside one location-scale family the target is given by sums (paper, section 2.5): the barycentre has the mean location
and the mean scale, and the mean of independent normals has the mean location and the root of the sum of squares over N.
There are two ways to go on, and a market chooses openly which:

- reveal="sums", the paper's: the sums are opened to everybody, so that each owner computes its own distance, and knows
  the target. With `epsilon`, each party adds noise to the sums before they are opened, enough by itself, so that the
  opened sums hide any one owner's parameters.
- reveal="distances": the parties compute E|a + s Z| on shares, by cells (see `kantor.private.nodes`), and open W_i
  alone. Nobody learns the target.

Parameters are whole multiples of 2^-bits. The bound on the error counts that rounding, the cells, and no noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp, inf, isfinite, sqrt
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import scipy

from kantor.errors import InputError
from kantor.owners.distributions import Distribution, Vector, family, is_distribution
from kantor.owners.release import integer_noise
from kantor.owners.samples import as_sample
from kantor.private.engine import Engine
from kantor.private.histogram import absolute_rows, limits
from kantor.private.methods import Outcome, Plain, refuse_unsound, whole
from kantor.private.nodes import Nodes, nodes
from kantor.private.randomness import Words
from kantor.private.sharing import fixed_point
from kantor.private.signs import by_pieces, negative
from kantor.valuation.families import CLOSED_FORMS, family_distance

__all__ = ["Parameters"]

_FINE = 20
"""The cells' probabilities have at least so many bits."""


@dataclass(frozen=True)
class Parameters(Plain):
    """Owners of one family, with locations between low and high and scales up to `widest`."""

    name: ClassVar[str] = "parameters"
    low: float
    high: float
    widest: float
    family: str = "norm"
    aggregate: Literal["euclidean", "barycenter"] = "barycenter"
    reveal: Literal["sums", "distances"] = "distances"
    bits: int = 16
    cells: int = 64
    epsilon: float | None = None

    def __post_init__(self) -> None:
        limits(self.low, self.high)
        whole("bits", self.bits, 0, 24)
        whole("cells", self.cells, 2, 4096)
        if self.family not in CLOSED_FORMS:
            raise InputError(
                f"family {self.family!r} is not known", remedy=f"Choose one of: {', '.join(CLOSED_FORMS)}."
            )
        if self.aggregate == "euclidean" and self.family != "norm":
            raise InputError(
                f"the mean of independent variables of family {self.family!r} has no closed form",
                remedy='Choose aggregate "barycenter", or the method aligned on their series.',
            )
        if self.aggregate not in ("euclidean", "barycenter") or self.reveal not in ("sums", "distances"):
            raise InputError(
                f"aggregate is {self.aggregate!r} and reveal is {self.reveal!r}",
                remedy='Choose "euclidean" or "barycenter", and "sums" or "distances".',
            )
        if not (isfinite(self.widest) and 0 < self.widest < 1 << 30):
            raise InputError(f"the largest scale is {self.widest}", remedy="Give a number above 0, below 2^30.")
        if self.epsilon is not None and (self.reveal == "distances" or not 0 < self.epsilon < inf):
            raise InputError(
                f"epsilon is {self.epsilon} with reveal={self.reveal!r}",
                remedy='Noise belongs to opened sums: give a number above 0, and reveal="sums".',
            )

    @property
    def size(self) -> int:
        """Location and scale."""
        return 2

    @property
    def error_bound(self) -> float:
        """Rounding of two pairs of parameters, and of the cells' weights, and the cells for the widest scale."""
        step = 2.0**-self.bits
        spread = float(CLOSED_FORMS[self.family].deviation(0.0))
        rounding = step * (1 + spread)
        if self.reveal == "sums":
            return rounding
        weights = self.cells * 0.5 ** (_FINE + 1) * (self.high - self.low + self.widest)
        return rounding + self.widest * nodes(self.family, self.cells).loss + weights

    def encode(self, data: Any, owner: str | None = None) -> Vector:
        """Location above `low`, and scale, in steps. Samples are fitted by the family's maximum likelihood."""
        location, scale = self._of(data, owner)
        if not self.low <= location <= self.high or not 0 < scale <= self.widest:
            raise InputError(
                f"location {location:g} and scale {scale:g} are outside the market's limits ({self.low:g} to "
                f"{self.high:g}, and above 0 to {self.widest:g})",
                remedy="Check their units. If they are right, this market does not fit these data; nothing was sent.",
                owner=owner,
            )
        return fixed_point(np.array([location - self.low, scale]), self.bits)

    def _of(self, data: Any, owner: str | None) -> tuple[float, float]:
        if not is_distribution(data):
            fitted = getattr(scipy.stats, self.family).fit(as_sample(data, owner=owner))
            return float(fitted[-2]), float(fitted[-1])
        stated = family(data)
        if stated is None or stated.name != self.family:
            raise InputError(
                f"the distribution is {'none of a family' if stated is None else stated.name}, not {self.family}",
                remedy=f"State a frozen scipy.stats.{self.family}, or give samples.",
                owner=owner,
            )
        return stated.location, stated.scale

    def compute(self, engine: Engine, inputs: Words, references: Words) -> Outcome:
        """Leave out parameters beyond the limits; then the sums, and from there one of the two ways."""
        everybody = np.concatenate([inputs, references], axis=1)
        sound = refuse_unsound(engine, self._violations(engine, everybody))
        owners = inputs[:, sound[: inputs.shape[1]]]
        count = owners.shape[1]
        self._room(count)
        scales = owners[:, :, 1]
        spread = scales.sum(axis=1) if self.aggregate == "barycenter" else engine.multiply(scales, scales).sum(axis=1)
        sums = np.stack([owners[:, :, 0].sum(axis=1), spread], axis=1)
        if self.reveal == "sums":
            return self._open_sums(engine, sums, sound)
        if self.aggregate == "euclidean":
            sums[:, 1] = root(engine, sums[:, 1:])[:, 0]
        gaps = everybody[:, sound] * np.uint64(count) - sums[:, None, :]
        weight, moment = self._weights(count)
        totals = [
            absolute_rows(engine, gaps[:, piece, :1] * weight + gaps[:, piece, 1:] * moment)
            for piece in by_pieces(np.broadcast_to(gaps[:, :, :1], (*gaps.shape[:2], self.cells)))
        ]
        return Outcome(sound, np.concatenate(totals, axis=1), {})

    def decode(self, totals: npt.NDArray[np.int64], owners: int, opened: dict[str, int]) -> Vector:
        """W_i, where it was computed on shares; nothing where owners compute it themselves from what was opened."""
        if opened:
            return np.empty(0)
        return np.ldexp(totals / owners, -self.bits - self._fineness(owners))

    def target(self, opened: dict[str, int], owners: int) -> Distribution:
        """The target, from the opened sums."""
        location = self.low + np.ldexp(opened["location"] / owners, -self.bits)
        spread = max(opened["spread"], 1)
        scale = (sqrt(spread) if self.aggregate == "euclidean" else spread) / owners
        return getattr(scipy.stats, self.family)(location, np.ldexp(scale, -self.bits))

    def own_distance(self, data: Any, opened: dict[str, int], owners: int) -> float:
        """An owner's distance from the opened target, computed by the owner."""
        location, scale = self._of(data, None)
        goal = family(self.target(opened, owners))
        assert goal is not None  # noqa: S101  made by `target`
        return float(family_distance(self.family, location - goal.location, scale - goal.scale))

    def _open_sums(self, engine: Engine, sums: Words, sound: npt.NDArray[np.bool_]) -> Outcome:
        if self.epsilon is not None:
            most = [self._most(self.high - self.low), self._most(self.widest)]
            if self.aggregate == "euclidean":
                most[1] **= 2
            noise = [integer_noise(largest, self.epsilon / 2) for largest in most]
            for brought in engine.contribute(np.array(noise, dtype=np.int64).view(np.uint64)):
                sums = sums + brought
        location, spread = engine.open(sums).view(np.int64).tolist()
        return Outcome(sound, np.zeros((2, 0), dtype=np.uint64), {"location": location, "spread": spread})

    def _most(self, value: float) -> int:
        return int(fixed_point(np.array(value), self.bits))

    def _violations(self, engine: Engine, rows: Words) -> Words:
        most = np.array([self._most(self.high - self.low), self._most(self.widest)], dtype=np.uint64)
        room = engine.public(np.broadcast_to(most, rows.shape[1:]), rows) - rows
        every = np.concatenate([rows, room], axis=2)
        found = [
            negative(engine, every[:, piece].reshape(2, -1)).reshape(2, -1, 4).sum(axis=2) for piece in by_pieces(every)
        ]
        return np.concatenate(found, axis=1)

    def _room(self, owners: int) -> None:
        """Refuse what would not fit into 62 bits."""
        widest = self._most(self.widest)
        squares = self.aggregate == "euclidean" and owners * widest**2 >= 1 << 61
        if squares or (self.reveal == "distances" and self._fineness(owners) < _FINE):
            raise InputError(
                f"{owners} owners with {self.bits} bits after the point do not fit the parties' 64-bit numbers",
                remedy="Choose fewer bits, or narrower limits.",
                value=self.bits,
            )

    def _fineness(self, owners: int) -> int:
        """How many bits the cells' probabilities have: what 62 bits leave for them, at most 24."""
        largest = owners * (self._most(self.high - self.low) + 16 * self._most(self.widest))
        return min(24, 61 - frexp(largest)[1])

    def _weights(self, owners: int) -> tuple[Words, Words]:
        cells: Nodes = nodes(self.family, self.cells)
        fine = self._fineness(owners)
        weight = fixed_point(cells.probability, fine).astype(np.int64).view(np.uint64)
        return weight, fixed_point(cells.probability * cells.place, fine).astype(np.int64).view(np.uint64)


def root(engine: Engine, square: Words) -> Words:
    """The whole part of the square root of shared numbers below 2^62, bit by bit from the top."""
    found = np.zeros_like(square)
    for bit in reversed(range(31)):
        step = np.uint64(1 << bit)
        taken = found * np.uint64(2) * step + engine.public(1 << (2 * bit), square)  # (r + s)^2 - r^2
        fits = engine.public(1, square) - negative(engine, square - taken)
        square = square - engine.multiply(fits, taken)
        found = found + fits * step
    return found
