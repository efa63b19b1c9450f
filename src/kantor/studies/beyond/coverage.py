"""How often do the Hoeffding bounds hold?

For every family and coalition size, the share of coalitions whose W stays below FIN, at five confidences: of all
coalitions ("all"), and of the n nearest owners, the coalition that the bound itself recommends ("nearest"). Bands are
95 % limits for the mean over markets like these. docs/decisions/0002-hoeffding-bound.md says what follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kantor.studies.buying import bounds
from kantor.studies.figure import Case, Claim, Figure, Panel
from kantor.studies.frames import Curves, Tidy
from kantor.studies.metrics import Values
from kantor.studies.populations import FAMILIES
from kantor.valuation.coverage import NeededFactors
from kantor.valuation.hoeffding import confidence_factor

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FIGURE"]

_CONFIDENCES = (0.99, 0.95, 0.9, 0.75, 0.5)


def compute(case: Case) -> pl.DataFrame:
    """Two panels for each family."""
    tidy = Tidy("coverage")
    for panel in ("all", "nearest"):
        for family in FAMILIES:
            needed = _needed(case.values(family), panel == "nearest")
            for confidence in _CONFIDENCES:
                found = needed.coverage(confidence)
                band = found.lower, found.upper
                tidy.add(f"{panel}/{family}", f"{confidence:g}", found.sizes, found.share, band=band)
    return tidy.frame()


def _needed(values: Values, nearest: bool) -> NeededFactors:
    """For every coalition the confidence factor at which its bound would just hold."""
    people, true = values.population, values.of("W")
    bound = bounds(people, values.alone("W"), confidence=0.0) / confidence_factor(0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.where(true <= 1e-9 * true.max(axis=1, keepdims=True), 0.0, true / bound)
    sizes = np.unique(people.sizes)
    rank = np.argsort(np.argsort(values.alone("W"), axis=1, kind="stable"), axis=1)
    kept = np.ones_like(true, dtype=bool)
    if nearest:  # the coalition of the n nearest has no rank of n or more
        last = np.where(people.members, rank[:, None, :], -1).max(axis=2)
        kept = last == people.sizes - 1
    groups = tuple(
        tuple(row[(people.sizes == n) & keep] for n in sizes) for row, keep in zip(factors, kept, strict=True)
    )
    return NeededFactors(sizes, groups, np.ones(sizes.size, dtype=bool))


def claims(curves: Curves) -> list[Claim]:
    """What a confidence of 95 % would promise."""
    found = []
    for panel, who in (("all", "coalitions"), ("nearest", "coalitions of the nearest owners")):
        for family in FAMILIES:
            share = curves(f"{panel}/{family}", "0.95")[1:-1]
            found.append(
                Claim(
                    f"{family}: FIN at confidence 0.95 holds for 95 % of the {who} of each size",
                    bool(share.min() >= 0.95),
                    f"from {100 * share.min():.0f} % to {100 * share.max():.0f} % between 2 owners and all but one",
                )
            )
    return found


FIGURE = Figure(
    name="coverage",
    title="Coverage of the Hoeffding bound (FIN)",
    compute=compute,
    sampled=True,
    grid=tuple(tuple(f"{panel}/{family}" for family in FAMILIES) for panel in ("all", "nearest")),
    panels={
        "all": Panel("all coalitions", "coalition size", "share covered"),
        "nearest": Panel("the nearest owners", "coalition size", "share covered"),
    },
    claims=claims,
)
