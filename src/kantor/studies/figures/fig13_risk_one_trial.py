"""Figure 13: confidence as a dial, in one trial.

The joint mechanism at nine confidences: what it thinks that its purchase costs (modelled), what it does cost
(actual), what the best coalition would (CEN), and the reference budget. As published the actual loss is W itself, in
CEN too, and prices go up to 1.0; as described the loss is the MAE, prices go up to 1.4, and there are seven
confidences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kantor.owners.distributions import Vector
from kantor.studies.buying import bounds, buy, joint
from kantor.studies.figure import Case, Claim, Difference, Figure, Panel
from kantor.studies.frames import Curves, Tidy
from kantor.studies.metrics import Values
from kantor.studies.prices import CORRELATIONS, correlated_prices
from kantor.studies.setting import Setting

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FIGURE", "actual_loss", "confidences"]


def confidences(setting: Setting) -> tuple[float, ...]:
    """Nine levels in the published run, seven in the text."""
    return (0.99, 0.95, 0.9, 0.75, 0.5, 0.25, 0.1) if setting.described else _PUBLISHED


_PUBLISHED = (0.999, 0.99, 0.95, 0.9, 0.75, 0.5, 0.25, 0.1, 0.001)


def actual_loss(values: Values, setting: Setting) -> Vector:
    """What a purchase really loses: W as published, the excess MAE as described."""
    return values.excess("MAE") if setting.described else values.of("W")


def compute(case: Case) -> pl.DataFrame:
    """Four curves for each correlation."""
    tidy, values, setting = Tidy("fig13"), case.values(), case.setting
    levels, people = confidences(setting), values.population
    reference, actual = values.reference["MAE"][:1], actual_loss(values, setting)[:1]
    top = 1.4 if setting.described else 1.0
    for rho, correlation in CORRELATIONS.items():
        prices = top * correlated_prices(values.alone("W")[0], correlation, setting.seed)
        spend = 2 * people.total(prices[None, :])
        curves: dict[str, list[float]] = {"actual": [], "modelled": []}
        for level in levels:
            loss = bounds(people, values.alone("W"), confidence=level)[:1]
            chosen = joint(loss, spend, reference)
            curves["actual"].append(float(buy(actual + spend, chosen, reference)[0]))
            curves["modelled"].append(float(buy(loss + spend, chosen, reference)[0]))
        central = float(buy(actual + spend, joint(actual, spend, reference), reference)[0])
        for name, points in curves.items():
            tidy.add(rho, name, levels, points)
        tidy.add(rho, "CEN", levels, np.full(len(levels), central))
        tidy.add(rho, "reference", levels, np.full(len(levels), reference[0]))
    return tidy.frame()


def claims(curves: Curves) -> list[Claim]:
    """What section 4.2.2 says of the confidence in this trial."""
    parts = {
        rho: {name: curves(rho, name) for name in ("actual", "modelled", "CEN", "reference")} for rho in CORRELATIONS
    }
    levels = curves("rho=0", "actual", "x")
    low = levels <= 0.5
    first, middle, last = (parts[rho] for rho in CORRELATIONS)
    under = {rho: levels[part["modelled"] < part["actual"] - 1e-9] for rho, part in parts.items()}
    return [
        Claim(
            "rho = -1: the central optimum is reached when the confidence is at most 0.5",
            bool(np.allclose(first["actual"][low], first["CEN"][low])),
            f"actual cost there {_list(first['actual'][low])}, CEN {first['CEN'][0]:.3f}",
        ),
        Claim(
            "rho = 0: lower confidences underestimate the loss, and the cost rises",
            bool(under["rho=0"].size and middle["actual"][-1] > middle["actual"].min() + 1e-9),
            f"underestimated at {_list(under['rho=0'])}; cost {middle['actual'].min():.3f} at best, "
            f"{middle['actual'][-1]:.3f} at the lowest confidence",
        ),
        Claim(
            "rho = 1: confidences of 0.4 and less underestimate the loss too, but the cost stays",
            bool(np.array_equal(under["rho=1"], levels[levels <= 0.4]) and np.ptp(last["actual"]) < 1e-9),
            f"underestimated at {_list(under['rho=1'])}; the cost varies by {np.ptp(last['actual']):.3f}",
        ),
    ]


def _list(numbers: Vector) -> str:
    return ", ".join(f"{number:.3g}" for number in numbers) or "none"


def differences(published: Curves, described: Curves) -> list[Difference]:
    """W for MAE, and the price bound."""
    costs = [f"{float(c('rho=0', 'actual')[c('rho=0', 'actual', 'x') == 0.95][0]):.3f}" for c in (published, described)]
    return [
        Difference(
            "costs in MAE, prices up to 1.4, seven confidences",
            "costs in W, prices up to 1.0, nine confidences",
            f"actual cost at rho = 0 and confidence 0.95: {costs[0]} as published, {costs[1]} as described",
            "fig13, all panels",
        )
    ]


FIGURE = Figure(
    name="fig13",
    title="Risk: the confidence as a dial, one trial",
    compute=compute,
    grid=(tuple(CORRELATIONS),),
    panels={rho: Panel("price and W", "confidence", "cost") for rho in CORRELATIONS},
    claims=claims,
    differences=differences,
)
