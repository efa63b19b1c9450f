"""The form of a delivery: what can be seen on its face, and is refused until it is put right.

A fault of form is not an accusation. The file was cut short, values were rounded by a spreadsheet, the noise was drawn
with other terms: the owner is told which value and why, and uploads again (the epsilon balance hands out the same
noised values, so that nothing is spent twice).

Two faults deserve a word. *Off the lattice*: a release gives whole multiples of 2^granularity, and so is every float
that is not much smaller than the scale. Only values within a hundredth of a scale of 0 can be seen to lie off the
lattice: the check finds naive noise on data near 0, and says nothing of other values. *Repeated values*: noise on a
lattice of 2^-60 of its scale hardly ever draws a number twice. A number that stands so often that noise would do it
once in a thousand million deliveries was not drawn, or was rounded afterwards.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import inf, log
from typing import Any

import numpy as np
import scipy

from kantor.delivery.manifest import check_manifest, read_manifest
from kantor.delivery.noise_law import noise_of
from kantor.errors import InputError
from kantor.owners.distributions import Vector
from kantor.owners.release import Promise
from kantor.owners.samples import as_numbers

__all__ = ["Delivery", "check_form"]

_HARDLY_EVER = log(1e-9)
_AGAIN = "Upload the values as they were released, without rounding, sorting or leaving any out."


@dataclass(frozen=True, eq=False)
class Delivery:
    """A winner's noised values, accepted: they have the form that was asked for. Read-only."""

    owner: str
    values: Vector
    promise: Promise
    library: str = ""
    """What drew the noise, as the manifest says."""

    @property
    def digest(self) -> str:
        """SHA-256 of the values as little-endian 64-bit floats, in their order."""
        return hashlib.sha256(np.ascontiguousarray(self.values, dtype="<f8").tobytes()).hexdigest()


def check_form(values: Any, manifest: Any, asked: Promise, owner: str = "") -> Delivery:
    """The delivery, if values and manifest have the form that was asked for; an error that says what to mend if not.

    manifest: plain data, what `Promise.as_dict()` wrote. asked: `kantor.owners.release.promise` of what the market's
    terms and the owner's bid say.
    """
    who = owner or None
    stated = read_manifest(manifest, who)
    check_manifest(stated, asked, who)
    numbers = as_numbers(values, owner=who) + 0.0  # a copy, without negative zeros
    _check_length(numbers, asked, who)
    _check_finite(numbers, who)
    _check_lattice(numbers, asked, who)
    _check_repeats(numbers, asked, who)
    numbers.flags.writeable = False
    return Delivery(owner, numbers, stated, str(manifest.get("library", "")))


def _check_length(numbers: Vector, asked: Promise, owner: str | None) -> None:
    if numbers.shape != (asked.records,):
        found = f"{numbers.size} values" if numbers.ndim == 1 else f"values of shape {numbers.shape}"
        raise InputError(
            f"there are {found}, and a series of {asked.records} is asked for",
            remedy=_AGAIN,
            value=numbers.size,
            owner=owner,
        )


def _check_finite(numbers: Vector, owner: str | None) -> None:
    finite = np.isfinite(numbers)
    if not finite.all():
        _refuse(numbers, int(np.argmin(finite)), "which no release contains", owner)


def _check_lattice(numbers: Vector, asked: Promise, owner: str | None) -> None:
    """Whole multiples of 2^g. Floats of at least 2^(g + 53) always are, and are not scaled up, lest they overflow."""
    small = np.abs(numbers) < np.ldexp(1.0, asked.granularity + 53)
    steps = np.ldexp(np.where(small, numbers, 0.0), -asked.granularity)
    off = steps != np.rint(steps)
    if off.any():
        between = f"which lies between the lines of the promised lattice, multiples of 2^{asked.granularity}"
        _refuse(numbers, int(np.argmax(off)), between, owner)


def _check_repeats(numbers: Vector, asked: Promise, owner: str | None) -> None:
    """Some value stands k times among m with probability at most C(m, k) a^(k-1), a the most that one value has."""
    _, first, times = np.unique(numbers, return_index=True, return_counts=True)
    most = int(times.argmax())
    if times[most] > 1 and _chance_of_repeats(numbers.size, int(times[most]), asked) < _HARDLY_EVER:
        place = int(first[most])
        why = f"and the same value stands {times[most]} times: noise does that in less than one delivery in 10^9"
        _refuse(numbers, place, why, owner)


def _chance_of_repeats(count: int, times: int, asked: Promise) -> float:
    """The logarithm of the bound. Values have the spacing of the lattice, or of floats where that is coarser."""
    noise = noise_of(asked)
    reach = max(abs(asked.low), abs(asked.high)) + 64 * asked.scale
    spacing = max(float(np.ldexp(1.0, asked.granularity)), float(np.spacing(reach)))
    atom = min(spacing * noise.peak / noise.scale, 1.0)
    ways = scipy.special.gammaln([count + 1, times + 1, count - times + 1])
    return float(ways[0] - ways[1] - ways[2] + (times - 1) * log(atom)) if atom > 0 else -inf


def _refuse(numbers: Vector, place: int, why: str, owner: str | None) -> None:
    raise InputError(
        f"value {place} (counted from 0) is {float(numbers[place])!r}, {why}",
        remedy=_AGAIN,
        value=float(numbers[place]),
        owner=owner,
        position=place,
    )
