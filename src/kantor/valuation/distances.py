"""One number per owner: how far its data lie from the target.

`METRICS` lists the distances to choose from with the properties that make Wasserstein the paper's choice (Table 1):
whether it is a metric, whether it keeps growing as data move away, whether it is defined where supports do not
overlap, and what it has to be computed from. Every property in the table is shown by a test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from kantor.errors import InputError
from kantor.owners import aggregation
from kantor.owners.aggregation import Aggregate
from kantor.owners.collection import Owners, as_owners
from kantor.owners.distributions import Distribution, Vector, family
from kantor.owners.samples import Sample, sample_or_distribution
from kantor.valuation.divergences import DivergenceTarget, js, kl, ks, tv
from kantor.valuation.families import family_distance, standard
from kantor.valuation.wasserstein import distance_target, wasserstein

__all__ = ["METRICS", "Metric", "MetricName", "distances"]

MetricName: TypeAlias = Literal["wasserstein", "kl", "js", "ks", "tv"]
Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True)
class Metric:
    """A distance and its properties (paper, Table 1)."""

    name: str
    label: str
    function: Callable[..., float]
    is_metric: bool
    saturates: bool
    finite_on_disjoint_supports: bool
    computed_from: str
    units: str


METRICS: dict[str, Metric] = {
    m.name: m
    for m in (
        Metric(
            "wasserstein", "Wasserstein", wasserstein, True, False, True, "distribution functions", "the data's units"
        ),
        Metric("kl", "Kullback-Leibler", kl, False, False, False, "densities", "nats"),
        Metric("js", "Jensen-Shannon", js, True, True, True, "densities and their mean", "root of nats"),
        Metric("ks", "Kolmogorov-Smirnov", ks, True, True, True, "distribution functions", "probability"),
        Metric("tv", "total variation", tv, True, True, True, "densities", "probability"),
    )
}
"""By the name that `distances` takes."""


def distances(
    owners: Any,
    target: Any = None,
    metric: MetricName = "wasserstein",
    aggregate: Aggregate = "euclidean",
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Vector:
    """How far each owner lies from the target: one number per owner, in their order.

    owners: a 2-D array (a row for each owner), a list of samples or of frozen distributions, a mapping from names to
        those, a pandas or polars frame (a column for each owner, or the columns owner and value), or a path to a CSV
        or Parquet file of the same form.
    target: samples, a distribution, or None for the owners' own aggregate.
    metric: "wasserstein", "kl" (owner against target, natural logarithm), "js" (the square root), "ks" or "tv".
    aggregate: "euclidean" (the mean of the owners' variables; needs equal lengths), "mixture" or "barycenter".
    progress: called with (owners done, owners in all) now and then.
    options: `density` and `bins`, for "kl", "js" and "tv" of samples (see `kantor.valuation.divergences`).

    >>> distances([[0, 2], [4, 6]], metric="wasserstein").tolist()
    [2.0, 2.0]
    """
    if metric not in get_args(MetricName):
        raise InputError(
            f"metric {metric!r} is not known", remedy=f"Choose one of: {', '.join(METRICS)}.", value=metric
        )
    if options and metric in ("wasserstein", "ks"):
        raise InputError(
            f"{', '.join(options)} has no meaning for metric {metric!r}, which needs no densities",
            remedy='Leave it out, or choose "kl", "js" or "tv".',
        )
    unknown = [name for name in options if name not in ("density", "bins")]
    if unknown:
        raise InputError(f"there is no option {unknown[0]!r}", remedy='Choose "density" or "bins".', value=unknown[0])
    aggregation.check_aggregate(aggregate)
    market = as_owners(owners)
    goal = _target(market, target, aggregate)
    steps = _by_wasserstein(market, goal) if metric == "wasserstein" else _one_by_one(market, goal, metric, options)
    result = np.empty(len(market))
    done = 0
    for places, values in steps:
        result[places] = values
        done += len(places)
        if progress is not None:
            progress(done, len(market))
    return result


def _target(market: Owners, target: Any, how: Aggregate) -> Sample | Distribution:
    if target is None:
        return aggregation.aggregate(market, how)
    if isinstance(target, str) or hasattr(target, "__fspath__"):
        from kantor.owners.files import read_target

        return read_target(target)
    return sample_or_distribution(target, argument="target")


def _by_wasserstein(market: Owners, goal: Sample | Distribution) -> Iterator[tuple[Any, Any]]:
    if market.distributions is None:
        ready = distance_target(goal)
        for places, rows in market.blocks():
            yield places, ready.distances(rows)
        return
    closed = _family_closed_form(market.distributions, goal)
    if closed is not None:
        yield np.arange(len(market)), closed
    else:
        yield from _each(market, lambda owner: wasserstein(owner, goal))


def _family_closed_form(owners: tuple[Distribution, ...], goal: Sample | Distribution) -> Vector | None:
    centre = None if isinstance(goal, Sample) else family(goal)
    if centre is None or standard(centre) is None:
        return None
    parts = [family(owner) for owner in owners]
    alike = [part for part in parts if part is not None and part.name == centre.name]
    if len(alike) < len(parts):
        return None
    location, scale = np.array([part.location for part in alike]), np.array([part.scale for part in alike])
    return family_distance(centre.name, location - centre.location, scale - centre.scale)


def _one_by_one(market: Owners, goal: Any, metric: str, options: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    compare = getattr(DivergenceTarget(goal, **options), metric)
    if market.distributions is not None:
        yield from _each(market, compare)
        return
    for places, rows in market.blocks():
        for place, row in zip(places, rows, strict=True):
            yield [place], compare(Sample(row))


def _each(market: Owners, distance: Callable[[Distribution], float]) -> Iterator[tuple[Any, Any]]:
    for place, owner in enumerate(market.distributions or ()):
        yield [place], distance(owner)
