"""Distances from the mean of the owners' variables, for series of one length.

The paper's target is X_T = (X_1 + ... + X_N)/N, moment by moment. Each owner shares its series twice: in its order, and
sorted. The parties add up the series, sort the sum on shares, once for all owners, and open for each owner

    W_i = mean over r of |x_i(r) - x_T(r)|, both sorted: the total of |N x_i(r) - sum(r)|, over N m.

Values are whole multiples of 2^-bits, so the result is within 2^-bits of the distance of the raw data: half of that for
the owner's rounding and half for the target's. What costs time is the sort, m (log2 m)^2/4 comparisons, and the N m
absolute values: a year of days for a thousand owners, or a year of hours for a few dozen, takes minutes (see
`benchmarks/private_distances.py`).

An owner whose second series is not the first one, sorted, lies about its data, which no method can find out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from kantor.errors import InputError
from kantor.owners.distributions import Vector
from kantor.private.engine import Engine
from kantor.private.histogram import absolute_rows, inside, limits
from kantor.private.methods import Outcome, Plain, refuse_unsound, whole
from kantor.private.randomness import Words
from kantor.private.sharing import fixed_point
from kantor.private.signs import by_pieces, negative
from kantor.private.sorting import sort

__all__ = ["Aligned"]


@dataclass(frozen=True)
class Aligned(Plain):
    """Series of one length, with values between low and high, in whole multiples of 2^-bits."""

    name: ClassVar[str] = "aligned"
    low: float
    high: float
    length: int
    bits: int = 20

    def __post_init__(self) -> None:
        limits(self.low, self.high)
        whole("length", self.length, 1, 1 << 20)
        whole("bits", self.bits, -20, 40)
        if self._most >= 1 << 40:
            raise InputError(
                f"{self.bits} bits after the point are too many for values up to {self.high - self.low:g} apart",
                remedy="Give fewer bits.",
                value=self.bits,
            )

    @property
    def _most(self) -> int:
        return int(fixed_point(np.array(self.high - self.low), self.bits))

    @property
    def size(self) -> int:
        """The series, and the series sorted."""
        return 2 * self.length

    @property
    def error_bound(self) -> float:
        """Half a step for the owner's values and half a step for the target's."""
        return float(np.ldexp(1.0, -self.bits))

    def encode(self, data: Any, owner: str | None = None) -> Vector:
        """The series in steps above the lower limit, in its order and sorted."""
        samples = inside(data, self.low, self.high, owner)
        if samples.size != self.length:
            raise InputError(
                f"the series has {samples.size} values, and this market's have {self.length}",
                remedy="Cut it to the moments that all share, or choose the method histogram.",
                owner=owner,
            )
        steps = fixed_point(samples - self.low, self.bits)
        return np.concatenate([steps, np.sort(steps)])

    def compute(self, engine: Engine, inputs: Words, references: Words) -> Outcome:
        """Leave out values beyond the limits and what is not sorted; then add, sort, compare."""
        everybody = np.concatenate([inputs, references], axis=1)
        sound = refuse_unsound(engine, self._violations(engine, everybody))
        owners = inputs[:, sound[: inputs.shape[1]]]
        target = sort(engine, owners[:, :, : self.length].sum(axis=1))[:, None, :]
        ordered = everybody[:, sound][:, :, self.length :]
        count = np.uint64(owners.shape[1])
        totals = [absolute_rows(engine, ordered[:, piece] * count - target) for piece in by_pieces(ordered)]
        return Outcome(sound, np.concatenate(totals, axis=1), {})

    def decode(self, totals: npt.NDArray[np.int64], owners: int, opened: dict[str, int]) -> Vector:  # noqa: ARG002
        """W = total / (N m), in units of a step."""
        return np.ldexp(totals / (owners * self.length), -self.bits)

    def _violations(self, engine: Engine, rows: Words) -> Words:
        """How many values are below 0 or above the limit, and how often the sorted ones fall."""
        found = []
        for piece in by_pieces(rows):
            part = rows[:, piece]
            ordered = part[:, :, self.length :]
            room = engine.public(self._most, part) - part
            every = np.concatenate([part, room, np.diff(ordered, axis=2)], axis=2)
            found.append(negative(engine, every.reshape(2, -1)).reshape(every.shape).sum(axis=2))
        return np.concatenate(found, axis=1)
