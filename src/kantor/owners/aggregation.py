"""What the owners' data make together: three meanings of "the whole population".

- `euclidean` (the paper's): the mean of the owners' variables, X_T = (X_1 + ... + X_N)/N. For a community's load it
  is the load per household. The owners' k-th samples belong to the same moment, so all need equally many; for
  distributions the variables are taken as independent, which has a closed form for normals.
- `mixture`: a draw from an owner chosen at random, each owner with equal weight however many samples it holds.
- `barycenter`: the 1-Wasserstein barycentre on the line, whose quantiles are the means of the owners' quantiles.

The three differ: of two owners at -1 and at +1 the mean is at 0, the mixture is half at each, the barycentre is at 0;
of two independent standard normals the mean has variance 1/2, the mixture and the barycentre have variance 1.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import scipy

from kantor.errors import InputError
from kantor.owners.collection import Owners, as_owners
from kantor.owners.distributions import Distribution, Mixture, QuantileAverage, Vector, family
from kantor.owners.samples import Sample

__all__ = ["Aggregate", "aggregate", "check_aggregate"]

Aggregate: TypeAlias = Literal["euclidean", "mixture", "barycenter"]


def aggregate(owners: Any, how: Aggregate = "euclidean") -> Sample | Distribution:
    """The owners' aggregate: a `Sample` (values, weights or None) of samples, a distribution of distributions.

    owners: as for `kantor.distances`. Closed forms: normals for `euclidean`, one location-scale family for
    `barycenter`; mixtures and barycentres of any other distributions are exact too, by bisection.
    """
    check_aggregate(how)
    market = as_owners(owners)
    if market.distributions is not None:
        return _OF_DISTRIBUTIONS[how](market.distributions)
    with np.errstate(over="ignore"):
        together = _OF_SAMPLES[how](market)
    if not np.isfinite(together.values).all():
        raise InputError(
            "the owners' samples are so large that their mean exceeds the largest float",
            remedy="Use larger units, so that values stay below 1e300.",
        )
    return together


def check_aggregate(how: str) -> None:
    """Refuse an aggregate that is not one of the three."""
    if how not in get_args(Aggregate):
        raise InputError(
            f"aggregate {how!r} is not known",
            remedy='Choose "euclidean" (the mean of the owners\' variables), "mixture" or "barycenter".',
            value=how,
            argument="aggregate",
        )


def _euclidean_samples(owners: Owners) -> Sample:
    if not owners.equal_length:
        assert owners.lengths is not None  # noqa: S101  only called with samples
        short, long = int(owners.lengths.argmin()), int(owners.lengths.argmax())
        raise InputError(
            f"the mean of the owners' variables needs equally many samples of each, and owner {owners.names[short]} "
            f"has {owners.lengths[short]} where owner {owners.names[long]} has {owners.lengths[long]}",
            remedy='Cut the samples to the moments that all share, or choose aggregate "mixture" or "barycenter".',
            file=owners.source,
        )
    return Sample(sum(block.rows.sum(axis=0) for block in owners.blocks()) / len(owners))


def _mixture_samples(owners: Owners) -> Sample:
    values, weights = [], []
    for _, rows in owners.blocks():
        values.append(rows.ravel())
        weights.append(np.full(rows.size, 1.0 / (len(owners) * rows.shape[1])))
    return Sample(np.concatenate(values), None if owners.equal_length else np.concatenate(weights))


def _barycenter_samples(owners: Owners) -> Sample:
    if owners.equal_length:
        return Sample(sum(np.sort(block.rows, axis=1).sum(axis=0) for block in owners.blocks()) / len(owners))
    assert owners.lengths is not None  # noqa: S101  only called with samples
    levels = np.unique(np.concatenate([np.arange(1, m + 1) / m for m in np.unique(owners.lengths)]))
    middles = levels - 0.5 * np.diff(levels, prepend=0.0)
    total: Vector = np.zeros(levels.size)
    for _, rows in owners.blocks():
        place = np.minimum((middles * rows.shape[1]).astype(int), rows.shape[1] - 1)
        total += np.sort(rows, axis=1).sum(axis=0)[place]
    return Sample(total / len(owners), np.diff(levels, prepend=0.0))


def _euclidean_normals(parts: tuple[Distribution, ...]) -> Distribution:
    if len(parts) == 1:
        return parts[0]
    known = [family(part) for part in parts]
    normals = [member for member in known if member is not None and member.name == "norm"]
    if len(normals) < len(parts):
        raise InputError(
            "the mean of independent variables has a closed form for normal owners only",
            remedy="Draw equally many samples from each (distribution.rvs(10_000, random_state=i)) and give those, "
            'or choose aggregate "mixture" or "barycenter".',
        )
    mean = float(np.mean([member.location for member in normals]))
    spread = float(np.sqrt(np.sum([member.scale**2 for member in normals]))) / len(normals)
    return scipy.stats.norm(mean, spread)


def _mixture(parts: tuple[Distribution, ...]) -> Distribution:
    return parts[0] if len(parts) == 1 else Mixture(parts)


def _barycenter(parts: tuple[Distribution, ...]) -> Distribution:
    if len(parts) == 1:
        return parts[0]
    known = [family(part) for part in parts]
    alike = [member for member in known if member is not None and known[0] is not None and member[:2] == known[0][:2]]
    if len(alike) < len(parts):
        return QuantileAverage(parts)
    base = getattr(scipy.stats, alike[0].name)
    location = float(np.mean([member.location for member in alike]))
    return base(*alike[0].shape, loc=location, scale=float(np.mean([member.scale for member in alike])))


_OF_SAMPLES = {"euclidean": _euclidean_samples, "mixture": _mixture_samples, "barycenter": _barycenter_samples}
_OF_DISTRIBUTIONS = {"euclidean": _euclidean_normals, "mixture": _mixture, "barycenter": _barycenter}
