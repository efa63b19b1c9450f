"""A budget kept in every clearing, or on average? Pointwise against interim feasibility, and SMQ, which is interim.

The published run keeps the budget, counted in virtual costs, in every single market; the problem as printed keeps it
in expectation over the priors. The populations of the case study with prices drawn from the prior (so that the
expectation means something), threshold payments, five budgets. Shown: W of what is bought, mean spend, and how often
it exceeds the budget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kantor.bids.bids import Bids
from kantor.clearing.baselines import smq_offers
from kantor.clearing.clear import clear
from kantor.clearing.mechanisms import Exogenous, Feasibility
from kantor.clearing.outcome import Flags
from kantor.owners.distributions import Vector
from kantor.studies.figure import Case, Claim, Figure, Panel
from kantor.studies.frames import Curves, Tidy
from kantor.valuation.coalitions import table_order

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FIGURE"]

_SHARES = np.array([0.05, 0.1, 0.2, 0.3, 0.4])
_NAMES = ("pointwise", "interim", "SMQ")
_MOST_TRIALS, _DRAWS = 12, 12


def compute(case: Case) -> pl.DataFrame:
    """Four panels."""
    tidy, values = Tidy("feasibility"), case.values()
    count = case.setting.owners
    rng = np.random.default_rng(case.setting.seed)
    prices = rng.uniform(0, 1, (min(case.setting.trials, _MOST_TRIALS), _DRAWS, count))
    order = table_order(count)
    results: dict[str, list[list[float]]] = {name: [] for name in _NAMES}
    for share in _SHARES.tolist():
        rows: dict[str, list[list[float]]] = {name: [] for name in _NAMES}
        for trial, draws in enumerate(prices):
            true = np.full(2**count, values.of("W")[trial].max())
            true[order] = values.of("W")[trial]
            market = Bids(distance=values.alone("W")[trial], reserve=draws[0])
            offers = smq_offers(market, share * count)
            for asked in draws:
                bids = market.replace(reserve=asked)  # what depends on the priors alone is found once
                for name in _NAMES:
                    bought = _bought(bids, name, share * count, offers)
                    rows[name].append(_measured(*bought, true, share * count))
        for name in _NAMES:
            results[name].append(np.mean(rows[name], axis=0).tolist())
    for place, panel in enumerate(("wd", "number", "spend", "overspent")):
        for name in _NAMES:
            tidy.add(panel, name, _SHARES, [row[place] for row in results[name]])
    return tidy.frame()


def _bought(bids: Bids, name: str, budget: float, offers: Vector) -> tuple[Flags, float]:
    """Who is bought, and what is spent."""
    if name == "SMQ":
        selected = bids.reserve <= offers
        return selected, float(offers[selected].sum())
    kind: Feasibility = "interim" if name == "interim" else "pointwise"
    c = clear(bids, Exogenous(budget=budget, feasibility=kind))
    return c.selected, c.spend


def _measured(selected: Flags, spend: float, true: Vector, budget: float) -> list[float]:
    """W, number bought, spend over the budget, whether that is more than 1."""
    mask = int(selected @ (1 << np.arange(selected.size)))
    return [float(true[mask]), float(selected.sum()), spend / budget, float(spend > budget * (1 + 1e-9))]


def claims(curves: Curves) -> list[Claim]:
    """What an expectation is worth."""
    wd = {name: curves("wd", name) for name in _NAMES}
    spend = {name: curves("spend", name) for name in _NAMES}
    over = {name: curves("overspent", name) for name in _NAMES}
    return [
        Claim(
            "an interim budget buys nearer data than the same budget kept in every clearing",
            bool((wd["interim"] <= wd["pointwise"] + 1e-12).all()),
            f"mean W {wd['interim'].mean():.3f} against {wd['pointwise'].mean():.3f}, SMQ {wd['SMQ'].mean():.3f}",
        ),
        Claim(
            "interim budgets are met on average, to 5 %",
            bool(max(spend["interim"].max(), spend["SMQ"].max()) <= 1.05),
            f"mean spend of the budget: at most {100 * spend['interim'].max():.0f} % (interim), "
            f"{100 * spend['SMQ'].max():.0f} % (SMQ), {100 * spend['pointwise'].max():.0f} % (pointwise)",
        ),
        Claim(
            "the price is that single clearings exceed the budget",
            bool(over["interim"].max() > over["pointwise"].max()),
            f"in up to {100 * over['interim'].max():.0f} % of the markets (interim), {100 * over['SMQ'].max():.0f} % "
            f"(SMQ), {100 * over['pointwise'].max():.0f} % (pointwise, threshold payments)",
        ),
    ]


FIGURE = Figure(
    name="feasibility",
    title="A budget in every clearing, or on average",
    compute=compute,
    grid=(("wd", "number", "spend", "overspent"),),
    panels={
        "wd": Panel("W", "budget / (price × owners)", "mean W"),
        "number": Panel("number bought", "budget / (price × owners)", "owners"),
        "spend": Panel("spend", "budget / (price × owners)", "mean spend / budget"),
        "overspent": Panel("overspent", "budget / (price × owners)", "share of markets"),
    },
    claims=claims,
    note=f"{_DRAWS} draws of all prices in each of the first {_MOST_TRIALS} trials.",
)
