"""Figure 5: how would each metric divide the value of the data among its owners?

Exact Shapley values of V(P) = max over coalitions - value of P, divided by their sum, for normal data. First trial:
the shares by distance and by loss. Mean over trials: how far the shares by a distance are from those by a loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kantor.owners.distributions import Vector
from kantor.studies.figure import Case, Claim, Figure, Panel
from kantor.studies.frames import Curves, Tidy
from kantor.studies.metrics import DISTANCES, LOSSES, METRICS
from kantor.valuation.coalitions import table_order
from kantor.valuation.shapley import shapley

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FIGURE", "shapley_shares"]


def compute(case: Case) -> pl.DataFrame:
    """Shares in the first trial, mis-allocations over all."""
    values = case.values()
    shares = {name: np.array([shapley_shares(row) for row in values.of(name)]) for name in METRICS}
    tidy = Tidy("fig05")
    owners = np.arange(values.population.owners) + 1
    for panel, names in (("distances", DISTANCES), ("losses", LOSSES)):
        for name in names:
            tidy.add(panel, name, owners, shares[name][0])
    for source in DISTANCES:
        away = [np.abs(shares[source] - shares[target]).sum(axis=1).mean() for target in LOSSES]
        tidy.add("misallocation", source, np.arange(len(LOSSES)), away, labels=LOSSES)
    return tidy.frame()


def shapley_shares(values: Vector) -> Vector:
    """Each owner's share, from the values of all coalitions in the table's order, where less is better."""
    worth = np.zeros(values.size + 1)
    worth[table_order(worth.size.bit_length() - 1)] = values.max() - values
    return shapley(worth).shares


def claims(curves: Curves) -> list[Claim]:
    """What section 4.1.3 says."""
    by_distance = np.array([curves("distances", name) for name in DISTANCES])
    by_loss = np.array([curves("losses", name) for name in LOSSES])
    spread, wide = np.ptp(by_distance, axis=0).max(), np.ptp(by_loss, axis=0).max()
    away = np.array([curves("misallocation", name) for name in DISTANCES])
    rank = (away < away[0]).sum(axis=0) + 1
    least = {name: _least_for(away, k) for k, name in enumerate(DISTANCES)}
    return [
        Claim(
            "shares are alike across distances, with differences below 5 %",
            bool(spread < 0.05),
            f"the largest difference between two distances' shares of an owner is {100 * spread:.1f} % of the whole",
        ),
        Claim(
            "shares vary significantly more across losses",
            bool(wide > 1.5 * spread),
            f"there the largest difference is {100 * wide:.1f} %",
        ),
        Claim(
            "KLD mis-allocates less than W for MAE and RMSE",
            bool((away[1, :2] < away[0, :2]).all()),
            f"MAE: {away[1, 0]:.3f} against {away[0, 0]:.3f}; RMSE: {away[1, 1]:.3f} against {away[0, 1]:.3f}",
        ),
        Claim(
            "KS mis-allocates least for high quantiles",
            "MPL90" in least["KS"] and "MPL80" in least["KS"],
            f"KS is the least for {', '.join(least['KS']) or 'no loss'}",
        ),
        Claim(
            "W mis-allocates least or second least",
            bool((rank <= 2).all()),
            f"W's rank among the five: {', '.join(f'{n} {r}' for n, r in zip(LOSSES, rank, strict=True))}",
        ),
    ]


def _least_for(away: Vector, distance: int) -> list[str]:
    """The losses for which a distance mis-allocates least."""
    return [name for name, best in zip(LOSSES, away.argmin(axis=0), strict=True) if best == distance]


FIGURE = Figure(
    name="fig05",
    title="Shapley allocations, normal data",
    compute=compute,
    grid=(("distances", "losses", "misallocation"),),
    panels={
        "distances": Panel("shares by distance, one trial", "owner", "share of the value", "dots"),
        "losses": Panel("shares by loss, one trial", "owner", "share of the value", "dots"),
        "misallocation": Panel(
            "mean mis-allocation", "loss", "distance", "heat", {"range": (0.0, 0.6), "numbers": True}
        ),
    },
    claims=claims,
)
