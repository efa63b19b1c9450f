"""Figure 9: the same purchases with each of the five distances in the place of W.

CEN takes the coalition with the least distance, FIN the one with the least bound on it. A purchase is judged by the
loss it saves: 1 - excess / the largest excess of the trial's coalitions. As published CEN is judged by RMSE, and FIN
by the mean over eleven losses (RMSE and all after it in the table of metrics); as described both are judged by RMSE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kantor.owners.distributions import Vector
from kantor.studies.buying import Purchases, bounds, buy, exogenous
from kantor.studies.figure import Case, Claim, Difference, Figure, Panel
from kantor.studies.figures.fig08_exogenous_budgets import budgets_of
from kantor.studies.frames import Curves, Tidy
from kantor.studies.metrics import DISTANCES, LOSSES, Values
from kantor.studies.prices import CORRELATIONS, prices_for_budgets

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FIGURE"]

_ELEVEN = LOSSES[LOSSES.index("RMSE") :]


def compute(case: Case) -> pl.DataFrame:
    """What CEN and FIN save with each distance."""
    tidy, values = Tidy("fig09"), case.values()
    people, budgets = values.population, budgets_of(case.setting.owners)
    judges = {"cen": ("RMSE",), "fin": ("RMSE",) if case.setting.described else _ELEVEN}
    spend = {
        rho: people.total(prices_for_budgets(values.alone("W"), correlation, case.setting))
        for rho, correlation in CORRELATIONS.items()
    }
    for panel, cost in (("cen", 1.0), ("fin", 2.0)):
        for rho, price in spend.items():
            for name in DISTANCES:
                aim = values.of(name) if panel == "cen" else bounds(people, values.alone(name))
                saved = [_saved(values, judges[panel], exogenous(aim, cost * price, b)) for b in budgets.tolist()]
                tidy.add(f"{panel}/{rho}", name, budgets, saved)
    return tidy.frame()


def _saved(values: Values, losses: tuple[str, ...], chosen: Purchases) -> float:
    """The mean over losses and trials of 1 - excess / largest excess; 0 for buying nothing."""
    shares: list[Vector] = []
    for name in losses:
        excess = values.excess(name)
        most = excess.max(axis=1)
        shares.append(1 - buy(excess, chosen, most) / most)
    return float(np.mean(shares))


def claims(curves: Curves) -> list[Claim]:
    """What section 4.2.1 says of other distances."""
    cen = np.array([[curves(f"cen/{rho}", name) for rho in CORRELATIONS] for name in DISTANCES])
    fin = np.array([[curves(f"fin/{rho}", name) for rho in CORRELATIONS] for name in DISTANCES])
    apart = float(np.ptp(cen, axis=0).max())
    means = dict(zip(DISTANCES, fin.mean(axis=(1, 2)), strict=True))
    return [
        Claim(
            "CEN performs much alike with all distances",
            apart < 0.1,
            f"they differ by at most {100 * apart:.1f} points of the loss that can be saved, "
            f"by {100 * np.ptp(cen, axis=0).mean():.1f} on average",
        ),
        Claim(
            "with FIN the KLD performs worse than the other distances",
            min(means, key=means.__getitem__) == "KLD",
            "saved on average: " + ", ".join(f"{name} {100 * mean:.1f} %" for name, mean in means.items()),
        ),
    ]


def differences(published: Curves, described: Curves) -> list[Difference]:
    """The judge of FIN."""
    gap = [
        float(np.abs(published(f"fin/{rho}", name) - described(f"fin/{rho}", name)).max())
        for rho in CORRELATIONS
        for name in DISTANCES
    ]
    return [
        Difference(
            "FIN's purchases are judged by RMSE",
            "they are judged by the mean over eleven losses (those from RMSE on; only MAE is left out)",
            f"up to {100 * max(gap):.1f} points of the saved loss, {100 * float(np.mean(gap)):.1f} on average",
            "fig09 fin/…",
        )
    ]


FIGURE = Figure(
    name="fig09",
    title="Exogenous budgets with other distances",
    compute=compute,
    grid=tuple(tuple(f"{panel}/{rho}" for rho in CORRELATIONS) for panel in ("cen", "fin")),
    panels={
        "cen": Panel("CEN", "budget", "share of the loss saved"),
        "fin": Panel("FIN", "budget", "share of the loss saved"),
    },
    claims=claims,
    differences=differences,
    note="Prices as in Figure 8. Kolmogorov-Smirnov is exact here.",
)
