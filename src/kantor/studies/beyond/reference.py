"""Over- and under-estimated reference budgets (section 3.4): who bears the error?

The buyer states f times its true reference budget B_M, the largest excess MAE, for f from 0.25 to 4. Its cost is the
true excess plus payments, and the true B_M where nothing is bought, over the true B_M; prices go up to 0.8. Also
shown: how often it ends up worse off than with its reference data, and what is bought.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kantor.studies.buying import bounds, buy, endogenous, joint
from kantor.studies.figure import Case, Claim, Figure, Panel
from kantor.studies.frames import Curves, Tidy
from kantor.studies.prices import CORRELATIONS, prices_of_all

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FIGURE"]

_FACTORS = np.array([0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0])
_TOP = 0.8
_AXIS = {"log": True, "ticks": (0.25, 0.5, 1, 2, 4)}
_BUYERS = {"joint": joint, "endogenous": endogenous}


def compute(case: Case) -> pl.DataFrame:
    """Cost, regret and number for each correlation."""
    tidy, values = Tidy("reference"), case.values()
    people, true = values.population, values.reference["MAE"]
    loss, excess = bounds(people, values.alone("W")), values.excess("MAE")
    sizes = np.broadcast_to(people.sizes, excess.shape)
    found = {}
    for rho, correlation in CORRELATIONS.items():
        spend = 2 * _TOP * people.total(prices_of_all(values.alone("W"), correlation, case.setting.seed))
        for name, chooses in _BUYERS.items():
            steps: list[tuple[float, float, float]] = []
            for factor in _FACTORS.tolist():
                chosen = chooses(loss, spend, factor * true)
                cost = buy(excess + spend, chosen, true) / true
                worse = cost > 1 + 1e-9
                steps.append((float(cost.mean()), float(worse.mean()), float(buy(sizes, chosen, 0).mean())))
            found[rho, name] = np.array(steps)
    for place, panel in enumerate(("cost", "worse", "number")):
        for (rho, name), rows in found.items():
            tidy.add(f"{panel}/{rho}", name, _FACTORS, rows[:, place])
    return tidy.frame()


def claims(curves: Curves) -> list[Claim]:
    """What section 3.4 says."""

    def over(panel: str, name: str, low: float, high: float) -> float:
        inside = (low <= _FACTORS) & (high >= _FACTORS)
        return max(float(curves(f"{panel}/{rho}", name)[inside].max()) for rho in CORRELATIONS)

    at = int(np.flatnonzero(_FACTORS == 1.0)[0])
    less = all(
        bool((curves(f"number/{rho}", name)[:at] <= curves(f"number/{rho}", name)[at] + 1e-9).all())
        for rho in CORRELATIONS
        for name in _BUYERS
    )
    cheaper = {
        n: min(float(curves(f"cost/{r}", n)[at] - curves(f"cost/{r}", n)[at + 1]) for r in CORRELATIONS)
        for n in _BUYERS
    }
    return [
        Claim(
            "an under-estimate keeps the budget: no buyer is worse off than with its reference data",
            over("worse", "joint", 0, 1) == 0 == over("worse", "endogenous", 0, 1),
            f"worse off in {100 * over('worse', 'joint', 0, 1):.0f} % (joint) and "
            f"{100 * over('worse', 'endogenous', 0, 1):.0f} % (endogenous) of the trials at most",
        ),
        Claim(
            "an under-estimate buys less data",
            less,
            "owners bought at half the true budget and at the true one, rho = 0: "
            + ", ".join(
                f"{n} {curves('number/rho=0', n)[1]:.2f} and {curves('number/rho=0', n)[at]:.2f}" for n in _BUYERS
            ),
        ),
        Claim(
            "an over-estimate can leave the buyer worse off",
            max(over("worse", name, 1.01, 9) for name in _BUYERS) > 0,
            f"worse off in up to {100 * over('worse', 'joint', 1.01, 9):.0f} % (joint) and "
            f"{100 * over('worse', 'endogenous', 1.01, 9):.0f} % (endogenous) of the trials",
        ),
        Claim(
            "an over-estimate need not break the budget, because the bound is above the loss: 25 % too much does not "
            "raise the joint mechanism's cost",
            cheaper["joint"] >= 0,
            "cost saved by 25 % too much, least of the three correlations: "
            + ", ".join(f"{n} {100 * value:+.1f} % of B_M" for n, value in cheaper.items()),
        ),
    ]


FIGURE = Figure(
    name="reference",
    title="Reference budgets that are wrong",
    compute=compute,
    grid=tuple(tuple(f"{panel}/{rho}" for rho in CORRELATIONS) for panel in ("cost", "worse", "number")),
    panels={
        "cost": Panel("actual cost", "stated / true budget", "cost / true B_M", options=_AXIS),
        "worse": Panel("worse off", "stated / true budget", "share of trials", options=_AXIS),
        "number": Panel("bought", "stated / true budget", "owners", options=_AXIS),
    },
    claims=claims,
)
