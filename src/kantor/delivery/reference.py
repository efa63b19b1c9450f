"""What a delivery's distance is measured from, if there is anything to measure from.

A public target is a `Target`. A market that keeps its target to itself still has the other winners: their deliveries
mixed, M, lie within the mean of their distances from *any* target, W(M, T) <= mean of W(X_k, T), so

    W(X_i, M) <= W(X_i, T) + W(M, T) <= stated distance + mean of the others' stated distances.

That is sound, and weak: an owner has to lie by more than the others' distances before it can be seen. And it takes the
others at their word. A doubt then says that the deliveries do not fit together, not whose fault it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from kantor.delivery.deviations import Part
from kantor.delivery.form import Delivery
from kantor.delivery.noise_law import Setting, noise_of
from kantor.errors import InputError
from kantor.owners.distributions import Distribution, Vector
from kantor.owners.samples import Sample, sample_or_distribution
from kantor.valuation.wasserstein import wasserstein

__all__ = ["Others", "Reference", "Target", "others", "target"]

_ATOMS = 256


@dataclass(frozen=True, eq=False)
class Target:
    """A known target as a few equally likely points, moved to the bounds; `lost` is how far that moved it at most."""

    atoms: Vector
    lost: float

    @property
    def mean(self) -> float:
        """Its expectation."""
        return float(self.atoms.mean())

    def waves(self, frequencies: Vector) -> Vector:
        """Its characteristic function."""
        return np.asarray(np.exp(1j * np.outer(frequencies, self.atoms)).mean(axis=1))


@dataclass(frozen=True, eq=False)
class Others:
    """The other winners' deliveries, and the mean of the distances that they stated."""

    deliveries: tuple[Delivery, ...]
    slack: float

    @property
    def parts(self) -> list[Part]:
        """Their noise, each with its share."""
        share = 1 / len(self.deliveries)
        return [Part(noise_of(one.promise), one.values.size, share) for one in self.deliveries]

    @property
    def mean(self) -> float:
        """The mean of the deliveries' means."""
        return float(np.mean([one.values.mean() for one in self.deliveries]))

    def waves(self, frequencies: Vector) -> Vector:
        """An unbiased estimate of the mixture's characteristic function: each delivery's, with the noise undone."""
        undone = [
            np.exp(1j * np.outer(frequencies, one.values)).mean(axis=1) / noise_of(one.promise).wave(frequencies)
            for one in self.deliveries
        ]
        return np.asarray(np.mean(undone, axis=0))


Reference: TypeAlias = Target | Others


def others(deliveries: Sequence[Delivery], distances: Mapping[str, float]) -> Others:
    """The other winners as a reference. distances: what each stated of its data alone, without the noise's part."""
    if not deliveries:
        raise InputError("there are no other deliveries", remedy="Wait for them, or check without a reference.")
    for one in deliveries:
        if one.owner not in distances:
            raise InputError(
                "there is no distance for this delivery", remedy="Give what the owner stated.", owner=one.owner
            )
    return Others(tuple(deliveries), float(np.mean([distances[one.owner] for one in deliveries])))


def target(reference: Any, setting: Setting) -> Target:
    """A target from samples or a distribution. Moving it and the data to the bounds brings them no further apart."""
    whole = sample_or_distribution(reference, argument="reference")
    atoms = _atoms(whole)
    lost = wasserstein(whole, atoms)
    if not np.isfinite(lost):
        raise InputError(
            "the reference has no finite mean, so every distance from it is infinite",
            remedy="Give samples, or a distribution with a mean.",
            argument="reference",
        )
    return Target(np.clip(atoms, setting.low, setting.high), lost)


def _atoms(whole: Sample | Distribution) -> Vector:
    """Means of the quantiles over equal parts of the levels; for a distribution the middle quantiles."""
    if not isinstance(whole, Sample):
        return np.asarray(whole.ppf((np.arange(_ATOMS) + 0.5) / _ATOMS), dtype=float)
    if whole.weights is None and whole.values.size <= _ATOMS:
        return whole.values
    ordered, levels = whole.ordered()
    levels = np.concatenate([[0.0], levels])
    sums = np.concatenate([[0.0], np.cumsum(ordered * np.diff(levels))])
    return _ATOMS * np.diff(np.interp(np.arange(_ATOMS + 1) / _ATOMS, levels, sums))
