"""What the buyer gets: the winners' noised data made one, what it is worth, and a manifest that says what is in it.

The buyer paid for a coalition and may get less than all of it. So the bound is computed again for those who delivered,
beside the one for all winners: the difference is what the missing ones cost. The noise does not vanish in the aggregate
either, and the buyer has to know how much is left to choose a model, or error bars:

- a mean over n owners (`euclidean`) leaves sqrt(sum of sd^2)/n of it on each value;
- a `mixture` leaves the noise of every value as it was, sd of one owner or another: it averages out only in what is
  computed from many values;
- a `barycenter` averages quantiles, each of them a quantile of noised values: the noise spreads them out by at most the
  mean of the sds (in 2-Wasserstein distance), and no number of owners takes that away.

The mean over all values has the same noise in all three, sqrt(sum of sd^2/m)/n.

Whatever the buyer computes from the aggregate is as private as the deliveries are: it may keep, join and publish it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, cast

import numpy as np

from kantor.delivery.form import Delivery
from kantor.delivery.noise_law import noise_of
from kantor.errors import InputError
from kantor.owners.aggregation import Aggregate, aggregate
from kantor.owners.distributions import Vector
from kantor.owners.samples import Sample
from kantor.valuation.hoeffding import Population, hoeffding_bound

__all__ = ["Handover", "handover"]


@dataclass(frozen=True, eq=False)
class Handover:
    """What the buyer gets."""

    aggregate: Sample
    """Values, and weights where they do not count alike."""
    how: Aggregate
    bound: float
    """K times the bound for the owners who delivered."""
    bound_of_all: float
    """The same if every winner had delivered: the bound of the clearing."""
    deliveries: tuple[Delivery, ...]
    missing: tuple[str, ...]
    """The winners who have not delivered."""

    @property
    def noises(self) -> Vector:
        """The standard deviation of each owner's noise, in the order of the deliveries."""
        return np.array([noise_of(one.promise).deviation for one in self.deliveries])

    @property
    def noise_of_a_value(self) -> float:
        """The standard deviation of the noise left on one value of the aggregate (a barycentre: at most)."""
        return {
            "euclidean": float(np.sqrt(np.sum(self.noises**2))) / len(self.deliveries),
            "mixture": float(np.sqrt(np.mean(self.noises**2))),
            "barycenter": float(np.mean(self.noises)),
        }[self.how]

    @property
    def noise_of_the_mean(self) -> float:
        """The standard deviation of the noise left on the mean over all values."""
        sizes = np.array([one.values.size for one in self.deliveries])
        return float(np.sqrt(np.sum(self.noises**2 / sizes))) / len(self.deliveries)

    @property
    def digest(self) -> str:
        """SHA-256 of the aggregate: values, then weights, as little-endian 64-bit floats."""
        parts = [part for part in self.aggregate if part is not None]
        return hashlib.sha256(b"".join(np.ascontiguousarray(part, dtype="<f8").tobytes() for part in parts)).hexdigest()

    def manifest(self, *, anonymous: bool = False) -> dict[str, Any]:
        """Plain data to go with the values; no owner's distance or price is in it.

        anonymous: owners are "owner 1", "owner 2", ... in the order of their files' hashes, which says nothing about
        who they are, and those missing are only counted.
        """
        ordered = sorted(self.deliveries, key=lambda one: one.digest if anonymous else one.owner)
        labels = [f"owner {place}" if anonymous else one.owner for place, one in enumerate(ordered, 1)]
        return {
            "aggregate": self.how,
            "values": int(self.aggregate.values.size),
            "weighted": self.aggregate.weights is not None,
            "sha256": self.digest,
            "bound": self.bound,
            "bound_of_all_winners": self.bound_of_all,
            "noise_sd_of_a_value": self.noise_of_a_value,
            "noise_sd_of_the_mean": self.noise_of_the_mean,
            "delivered": [_line(one, label, len(ordered)) for one, label in zip(ordered, labels, strict=True)],
            "missing": len(self.missing) if anonymous else list(self.missing),
        }


def handover(
    deliveries: Sequence[Delivery],
    distances: Mapping[str, float],
    how: Aggregate = "euclidean",
    population_size: int | None = None,
    confidence: float = 0.95,
    population: Population = "finite",
    lipschitz: float = 1.0,
) -> Handover:
    """The aggregate of what was delivered and what it is worth.

    distances: by owner, of all winners, as the clearing used them (noise included); those without a delivery are
    missing. population_size, confidence, population, lipschitz: as in the clearing.
    """
    _check(deliveries, distances, lipschitz)
    chosen = tuple(sorted(deliveries, key=lambda one: one.owner))
    here = [one.owner for one in chosen]
    together = aggregate({one.owner: one.values for one in chosen}, how)

    def bound(names: Sequence[str]) -> float:
        return lipschitz * hoeffding_bound([distances[name] for name in names], population_size, confidence, population)

    return Handover(
        aggregate=cast(Sample, together),  # of samples
        how=how,
        bound=bound(here),
        bound_of_all=bound(list(distances)),
        deliveries=chosen,
        missing=tuple(sorted(set(distances) - set(here))),
    )


def _line(delivery: Delivery, label: str, owners: int) -> dict[str, Any]:
    return {
        "owner": label,
        "share": 1 / owners,
        "sha256": delivery.digest,
        "noise_sd": noise_of(delivery.promise).deviation,
        "promise": {**delivery.promise.__dict__, "library": delivery.library},
    }


def _check(deliveries: Sequence[Delivery], distances: Mapping[str, float], lipschitz: float) -> None:
    if not deliveries:
        raise InputError("nothing was delivered", remedy="Hand over once there is a delivery, or pay the buyer back.")
    seen: set[str] = set()
    for one in deliveries:
        if one.owner in seen:
            raise InputError("there are two deliveries", remedy="Hand over the last accepted one.", owner=one.owner)
        if one.owner not in distances:
            raise InputError(
                "there is a delivery and no distance", remedy="Give the distances of all winners.", owner=one.owner
            )
        seen.add(one.owner)
    if not (isfinite(lipschitz) and lipschitz >= 0):
        raise InputError(
            f"the Lipschitz constant is {lipschitz}", remedy="Give a finite constant, at least 0.", value=lipschitz
        )
