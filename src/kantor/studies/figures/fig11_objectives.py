"""Figure 11: three objectives in one market, as reserve prices rise.

First trial, median estimation, FIN. Joint, endogenous, and exogenous with the reference budget as its budget: the
loss modelled by the bound, that plus payments, and the true excess plus payments. The reference budget B_M is the
largest excess of any coalition; buying nothing costs B_M.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kantor.owners.distributions import Vector
from kantor.studies.buying import bounds, buy, endogenous, exogenous, joint
from kantor.studies.figure import Case, Claim, Figure, Panel
from kantor.studies.frames import Curves, Tidy
from kantor.studies.prices import CORRELATIONS, correlated_prices

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FIGURE", "PRICE_BOUNDS"]

PRICE_BOUNDS = np.arange(13) / 5
"""The upper bounds of reserve prices: 0, 0.2, ..., 2.4."""

_PANELS = ("expected-loss", "expected-cost", "actual-cost")


def compute(case: Case) -> pl.DataFrame:
    """Three panels for each correlation."""
    tidy, values = Tidy("fig11"), case.values()
    reference = values.reference["MAE"][:1]
    loss = bounds(values.population, values.alone("W"))[:1]
    excess = values.excess("MAE")[:1]
    found = {}
    for rho, correlation in CORRELATIONS.items():
        prices = correlated_prices(values.alone("W")[0], correlation, case.setting.seed)
        costs = 2 * values.population.total(prices[None, :])
        found[rho] = [_outcomes(loss, excess, top * costs, reference) for top in PRICE_BOUNDS]
    for place, panel in enumerate(_PANELS):
        for rho, steps in found.items():
            for name in ("joint", "endogenous", "exogenous"):
                tidy.add(f"{panel}/{rho}", name, PRICE_BOUNDS, [step[name][place] for step in steps])
            tidy.add(f"{panel}/{rho}", "reference", PRICE_BOUNDS, np.full(PRICE_BOUNDS.size, reference[0]))
    return tidy.frame()


def _outcomes(loss: Vector, excess: Vector, spend: Vector, reference: Vector) -> dict[str, list[float]]:
    chosen = {
        "joint": joint(loss, spend, reference),
        "endogenous": endogenous(loss, spend, reference),
        "exogenous": exogenous(loss, spend, reference[:, None]),
    }
    tables = (loss, loss + spend, excess + spend)
    return {name: [float(buy(table, bought, reference)[0]) for table in tables] for name, bought in chosen.items()}


def claims(curves: Curves) -> list[Claim]:
    """What section 4.2.2 says of the objectives."""
    found = []
    panel = "expected-loss/rho=-1"
    rising = all((np.diff(curves(panel, name)) >= -1e-9).all() for name in ("joint", "endogenous", "exogenous"))
    ends = ", ".join(f"{name} {curves(panel, name)[-1]:.3f}" for name in ("joint", "endogenous", "exogenous"))
    found.append(
        Claim("rho = -1: as prices rise, the data that are bought lie further away", rising, f"at 2.4: {ends}")
    )
    limit = float(curves(panel, "reference")[0])
    for name, within in (("joint", True), ("endogenous", True), ("exogenous", False)):
        worst = {p: max(float(curves(f"{p}/{rho}", name).max()) for rho in CORRELATIONS) for p in _PANELS[1:]}
        kept = max(worst.values()) <= limit + 1e-9
        said = (
            "never costs more than the reference budget"
            if within
            else "exceeds the reference budget, payments included"
        )
        found.append(
            Claim(
                f"{name} {said}, modelled or in fact",
                kept if within else not kept,
                f"largest expected cost {worst['expected-cost']:.3f}, largest actual {worst['actual-cost']:.3f}, "
                f"reference {limit:.3f}",
            )
        )
    lower = np.concatenate(
        [curves(f"expected-loss/{rho}", "joint") - curves(f"expected-loss/{rho}", "endogenous") for rho in CORRELATIONS]
    )
    dearer = np.concatenate(
        [curves(f"expected-cost/{rho}", "endogenous") - curves(f"expected-cost/{rho}", "joint") for rho in CORRELATIONS]
    )
    found.append(
        Claim(
            "endogenous reaches a lower modelled loss than joint, at a higher modelled cost",
            bool((lower >= -1e-9).all() and (dearer >= -1e-9).all() and lower.max() > 1e-9),
            f"up to {lower.max():.3f} less loss, and up to {dearer.max():.3f} more cost",
        )
    )
    return found


FIGURE = Figure(
    name="fig11",
    title="Three objectives, median estimation, one trial",
    compute=compute,
    grid=tuple(tuple(f"{panel}/{rho}" for rho in CORRELATIONS) for panel in _PANELS),
    panels={
        "expected-loss": Panel("expected loss", "largest price", "modelled loss"),
        "expected-cost": Panel("expected cost", "largest price", "modelled loss + payments"),
        "actual-cost": Panel("actual cost", "largest price", "excess loss + payments"),
    },
    claims=claims,
)
