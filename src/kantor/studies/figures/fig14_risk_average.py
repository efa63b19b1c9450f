"""Figure 14: confidence as a dial, on average.

For nine confidences and every upper bound of prices, the mean over trials of 1 - cost / B_M under the joint
mechanism. As published the actual loss is W itself, as described it is the MAE, at seven confidences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kantor.studies.buying import bounds, buy, joint
from kantor.studies.figure import Case, Claim, Difference, Figure, Panel
from kantor.studies.figures.fig11_objectives import PRICE_BOUNDS
from kantor.studies.figures.fig13_risk_one_trial import actual_loss, confidences
from kantor.studies.frames import Curves, Tidy
from kantor.studies.prices import CORRELATIONS, prices_of_all

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FIGURE"]


def compute(case: Case) -> pl.DataFrame:
    """A curve for each confidence, a panel for each correlation."""
    tidy, values, setting = Tidy("fig14"), case.values(), case.setting
    reference, actual = values.reference["MAE"], actual_loss(values, setting)
    for rho, correlation in CORRELATIONS.items():
        cost = 2 * values.population.total(prices_of_all(values.alone("W"), correlation, setting.seed))
        for level in confidences(setting):
            loss = bounds(values.population, values.alone("W"), confidence=level)
            better = []
            for top in PRICE_BOUNDS:
                spend = top * cost
                paid = buy(actual + spend, joint(loss, spend, reference), reference)
                better.append(float((1 - paid / reference).mean()))
            tidy.add(rho, f"{level:g}", PRICE_BOUNDS, better)
    return tidy.frame()


def claims(curves: Curves) -> list[Claim]:
    """What section 4.2.2 says of the confidence on average."""
    lowest = {rho: float(curves(rho, "0.1").min()) for rho in CORRELATIONS}
    gain = {rho: float((curves(rho, "0.1") - curves(rho, "0.95"))[1:].mean()) for rho in CORRELATIONS}
    return [
        Claim(
            "rho = -1: low confidences lead to negative improvements where prices are high",
            lowest["rho=-1"] < 0,
            f"confidence 0.1: down to {100 * lowest['rho=-1']:.1f} % of the reference budget",
        ),
        Claim(
            "rho = 0 and 1: lower confidences improve the cost",
            gain["rho=0"] > 0 and gain["rho=1"] > 0,
            f"0.1 against 0.95, mean over prices: {100 * gain['rho=0']:+.1f} and {100 * gain['rho=1']:+.1f} points",
        ),
        Claim(
            "prices that fall in distance are the case with the highest risk of buying too much",
            min(lowest, key=lowest.__getitem__) == "rho=-1",
            "lowest improvement at 0.1: " + ", ".join(f"{rho} {100 * v:.1f} %" for rho, v in lowest.items()),
        ),
    ]


def differences(published: Curves, described: Curves) -> list[Difference]:
    """W for MAE."""
    gap = [float((described(rho, "0.95") - published(rho, "0.95"))[1:].mean()) for rho in CORRELATIONS]
    most = max(float(np.abs(described(r, n) - published(r, n)).max()) for r in CORRELATIONS for n in described.names(r))
    return [
        Difference(
            "improvements in MAE, at seven confidences",
            "improvements in W (against a reference budget in MAE), at nine",
            f"at 0.95 the text's are {', '.join(f'{100 * g:+.1f}' for g in gap)} points higher on average "
            f"(rho = -1, 0, 1); at most {100 * most:.1f}",
            "fig14, all panels",
        )
    ]


FIGURE = Figure(
    name="fig14",
    title="Risk: the confidence as a dial, on average",
    compute=compute,
    grid=(tuple(CORRELATIONS),),
    panels={rho: Panel("price and W", "largest price", "1 - cost / B_M") for rho in CORRELATIONS},
    claims=claims,
    differences=differences,
)
