"""Figure 4: which distance ranks coalitions as a task does?

For each trial the 17 metrics of all coalitions are correlated (Pearson), and correlations averaged over trials.
Below: for a target metric and another one as source, whether W correlates at least as well with the target as the
source does.

Where Kullback-Leibler is infinite, the coalition is left out of its correlations. The panels "undefined" count these,
by coalition size and as a share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kantor.owners.distributions import Vector
from kantor.studies.figure import Case, Claim, Figure, Panel
from kantor.studies.frames import Curves, Tidy
from kantor.studies.metrics import DISTANCES, LOSSES, METRICS, Values
from kantor.studies.populations import FAMILIES

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FIGURE", "mean_correlations"]


def compute(case: Case) -> pl.DataFrame:
    """Correlations, comparisons with W, and what is undefined."""
    tidy = Tidy("fig04")
    found = {family: mean_correlations(case.values(family)) for family in FAMILIES}
    places = np.arange(len(METRICS))
    for family, table in found.items():
        for target, row in zip(METRICS, table, strict=True):
            tidy.add(f"correlation/{family}", target, places, row, labels=METRICS)
    for family, table in found.items():
        for k, target in enumerate(METRICS):
            others = places[places != k]
            better = table[k, 0] >= table[k, others] - 1e-12
            tidy.add(f"better/{family}", target, others, better, labels=[METRICS[i] for i in others])
    for family in FAMILIES:
        values = case.values(family)
        missing, sizes = ~np.isfinite(values.of("KLD")), values.population.sizes
        share = [missing[:, sizes == n].mean() for n in np.unique(sizes)]
        tidy.add(f"undefined/{family}", "KLD", np.unique(sizes), share)
    return tidy.frame()


def mean_correlations(values: Values) -> Vector:
    """The mean over trials of the metrics' correlations, over the coalitions where both are finite."""
    return np.asarray(np.nanmean([_correlations(rows) for rows in values.table], axis=0))


def _correlations(rows: Vector) -> Vector:
    finite = np.isfinite(rows).all(axis=1)
    known = np.isfinite(rows).all(axis=0)
    found = _pearson(rows[finite])
    found[np.ix_(known, known)] = _pearson(rows[:, known])
    return found


def _pearson(rows: Vector) -> Vector:
    if len(rows) < 3:
        return np.full((rows.shape[1], rows.shape[1]), np.nan)
    return np.asarray(np.corrcoef(rows.T))


def claims(curves: Curves) -> list[Claim]:
    """What section 4.1.2 says."""
    tables = {family: _table(curves, family) for family in FAMILIES}
    normal = tables["gaussian"][0, len(DISTANCES) :]
    found = [
        Claim(
            "gaussian: W correlates with the losses between 0.7 and 1.0",
            bool((normal >= 0.7).all() and (normal <= 1).all()),
            f"from {normal.min():.3f} ({LOSSES[int(normal.argmin())]}) to {normal.max():.3f}",
        )
    ]
    for family, table in tables.items():
        others = table[1 : len(DISTANCES), len(DISTANCES) :]
        best = table[0, len(DISTANCES) :] >= others.max(axis=0)
        beaten = [name for name, wins in zip(LOSSES, best, strict=True) if not wins]
        found.append(
            Claim(
                f"{family}: W correlates best of the distances with almost all losses",
                len(beaten) <= 3,
                f"best for {best.sum()} of {len(LOSSES)} losses" + (f"; not for {', '.join(beaten)}" if beaten else ""),
            )
        )
    found.append(_divergence(tables["gaussian"], "gaussian: KLD correlates better with MAE and RMSE", ("MAE", "RMSE")))
    low = ("MPL30", "MPL20", "MPL10")
    found.append(_divergence(tables["uniform"], "uniform: KLD correlates better with MPL of low quantiles", low))
    high = [METRICS.index(name) for name in ("MPL90", "MPL80", "MPL70")]
    rivals = tables["exponential"][1 : len(DISTANCES), high].max(axis=0)
    found.append(
        Claim(
            "exponential: for high quantiles other distances outdo W",
            bool((rivals > tables["exponential"][0, high]).all()),
            f"MPL90, 80, 70: W {_list(tables['exponential'][0, high])}, the best other {_list(rivals)}",
        )
    )
    shares = {family: curves(f"undefined/{family}", "KLD") for family in FAMILIES}
    found.append(
        Claim(
            "KLD is undefined for some uniform and exponential coalitions, mostly small ones",
            all(share[0] > share[-2] for family, share in shares.items() if family != "gaussian"),
            "; ".join(f"{family}: {_list(100 * share)} % by size" for family, share in shares.items()),
        )
    )
    return found


def _divergence(table: Vector, said: str, names: tuple[str, ...]) -> Claim:
    rows = [METRICS.index(name) for name in names]
    ours, theirs = table[0, rows], table[1, rows]
    return Claim(said, bool((theirs > ours).all()), f"{', '.join(names)}: KLD {_list(theirs)}, W {_list(ours)}")


def _table(curves: Curves, family: str) -> Vector:
    return np.array([curves(f"correlation/{family}", name) for name in METRICS])


def _list(numbers: Vector) -> str:
    return ", ".join(f"{number:.3g}" for number in numbers)


FIGURE = Figure(
    name="fig04",
    title="Task correlations",
    compute=compute,
    sampled=True,
    grid=tuple(tuple(f"{row}/{family}" for family in FAMILIES) for row in ("correlation", "better", "undefined")),
    panels={
        "correlation": Panel("mean correlation", "source", "target", "heat", {"range": (0.0, 1.0)}),
        "better": Panel("W at least as good", "source", "target", "heat", {"binary": True}),
        "undefined": Panel("KLD undefined", "coalition size", "share of coalitions"),
    },
    claims=claims,
    note="Kolmogorov-Smirnov of normals is exact here, the published run estimates it from samples. Coalitions whose "
    "KLD is infinite are left out of KLD's correlations and counted in the bottom row.",
)
