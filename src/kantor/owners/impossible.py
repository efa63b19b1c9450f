"""The impossible-output test: can one output tell for certain which of two data sets it came from?

Differential privacy promises that whatever comes out could have come from the neighbouring data too. Floating-point
noise breaks that in its last bits: x + noise lands on the floats that are multiples of the coarser of the two grids,
and which grid that is depends on x. So the test looks at how finely each output is divided. An output m 2^q with odd m
has *fineness* q. Among outputs of one sign and one magnitude (one power of two), the finest one seen shows the grid
that a data set reaches; an output of the other data set that lies between the lines of that grid is one that only the
other could have produced.

A grid is judged only where at least 64 outputs show it. Outputs that fall on a finer grid at random miss its odd lines
with probability one half each, so a false alarm has probability below 2^-63 for each magnitude.

The test knows nothing of how the outputs were made, needs two sets of them, and keeps only counts, so that 10^7 outputs
cost no memory. It is a one-sided test: what it finds is a breach; a mechanism that leaks otherwise can pass it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from kantor.owners.distributions import Vector
from kantor.owners.samples import as_sample

__all__ = ["Fineness", "Verdict", "compare", "impossible_outputs"]

_SEEN = 64
_LEAST, _MOST = -1140, 1026
_SPAN = _MOST - _LEAST


@dataclass
class Fineness:
    """How many outputs there were of each sign, magnitude and fineness."""

    counts: dict[tuple[int, int], npt.NDArray[np.int64]] = field(default_factory=dict)
    total: int = 0

    def add(self, outputs: Any) -> None:
        """Count more outputs."""
        values = as_sample(outputs, argument="outputs")
        self.total += values.size
        held = values[values != 0]
        mantissa, magnitude = np.frexp(held)
        whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
        lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
        fineness = magnitude - 53 + lowest
        side = np.where(held < 0, 1, 0)
        codes = (side * _SPAN + magnitude - _LEAST).astype(np.int64) * _SPAN + (fineness - _LEAST)
        for code, count in zip(*np.unique(codes, return_counts=True), strict=True):
            group, place = divmod(int(code), _SPAN)
            row = self.counts.setdefault(divmod(group, _SPAN), np.zeros(_SPAN, dtype=np.int64))
            row[place] += count

    def beyond(self, other: Fineness) -> int:
        """How many outputs here lie between the lines of the grid on which the other's lie."""
        found = 0
        for group, row in self.counts.items():
            known = other.counts.get(group)
            if known is not None and known.sum() >= _SEEN:
                found += int(row[: int(np.flatnonzero(known)[0])].sum())
        return found


@dataclass(frozen=True)
class Verdict:
    """How many outputs of each side the other could not have produced."""

    first: int
    second: int
    outputs: int

    @property
    def safe(self) -> bool:
        """Whether none was found."""
        return self.first == self.second == 0

    @property
    def share(self) -> float:
        """The share of all outputs that give their data away."""
        return (self.first + self.second) / self.outputs


def impossible_outputs(first: Any, second: Any) -> Verdict:
    """Judge outputs of one mechanism on two neighbouring data sets.

    >>> noise = np.random.default_rng(1).laplace(size=(2, 10_000))
    >>> impossible_outputs(0.0 + noise[0], 1.0 + noise[1]).safe
    False
    """
    sides = Fineness(), Fineness()
    for side, outputs in zip(sides, (first, second), strict=True):
        side.add(outputs)
    return _verdict(*sides)


def compare(
    mechanism: Callable[[Vector], Any],
    first: float,
    second: float,
    count: int,
    *,
    at_once: int = 100_000,
    progress: Callable[[int, int], None] | None = None,
) -> Verdict:
    """Draw `count` outputs from each of two neighbouring values, a piece at a time, and judge them.

    mechanism: takes a vector of equal values and gives an output for each.
    """
    sides = Fineness(), Fineness()
    for start in range(0, count, at_once):
        size = min(at_once, count - start)
        for side, value in zip(sides, (first, second), strict=True):
            side.add(mechanism(np.full(size, value)))
        if progress is not None:
            progress(start + size, count)
    return _verdict(*sides)


def _verdict(first: Fineness, second: Fineness) -> Verdict:
    return Verdict(first.beyond(second), second.beyond(first), first.total + second.total)
