"""Figure 15: what each approximation costs, from a cooperative game down to the mechanism.

SHAP      everybody is bought at its Shapley value, with the buyer as one more player
CEN_IR    the best coalition at the owners' prices
CEN_IC    the same at their virtual costs
CEN_W     chosen by W instead of the loss
CEN_DP    chosen by W plus the distance that noise adds
FIN, INF  chosen by the bounds

As published, CEN_DP, FIN and INF add the mean absolute value of a centred normal with the coalition's (owner's) own
scale in the place of the noise's, and are judged by the loss of the noise alone around the coalition's mean; losses
are raw while buying nothing costs B_M, an excess, and SHAP is the payments alone; K is 1. As described the noise's
own scale is added, purchases are judged by the noisy coalition, costs are excess plus payments throughout, and each
task has its own K.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt
from typing import TYPE_CHECKING

import numpy as np

from kantor.owners.distributions import Vector
from kantor.studies.buying import bounds, buy, joint
from kantor.studies.figure import Case, Claim, Difference, Figure, Panel
from kantor.studies.figures.fig10_privacy_and_heterogeneity import noise_scales
from kantor.studies.frames import Curves, Tidy
from kantor.studies.metrics import TASKS, Values
from kantor.studies.prices import correlated_prices
from kantor.studies.setting import SEED, Setting
from kantor.valuation.coalitions import table_order
from kantor.valuation.shapley import shapley

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FIGURE", "privacy_and_prices"]

_LEVELS = ("SHAP", "CEN_IR", "CEN_IC", "CEN_W", "CEN_DP", "FIN", "INF")
_PANELS = {"mae": "MAE", "rmse": "RMSE", "mpl90": "MPL90", "mpl80": "MPL80"}
_TOP, _EPSILON, _DELTA, _OWN_SEED = 0.8, (0.1, 5.0), 1e-5, 123412
_MEAN_ABSOLUTE = sqrt(2 / pi)


def privacy_and_prices(setting: Setting) -> tuple[Vector, Vector]:
    """Each owner's epsilon and price, the same in every trial; the published run has a seed of its own here.

    Its generator had drawn once for the prices when epsilon was drawn; the prices then seed it anew.
    """
    seed = _OWN_SEED if setting.seed == SEED else setting.seed
    draws = np.random.RandomState(seed)
    draws.uniform(0, 1, setting.owners)
    epsilon = draws.uniform(*_EPSILON, setting.owners)
    return epsilon, _TOP * correlated_prices(epsilon, 0.0, seed)


@dataclass(frozen=True, eq=False)
class _Market:
    """One task's tables: trials x coalitions."""

    excess: Vector
    reference: Vector
    paid: Vector
    """What a purchase loses without noise: raw as published, the excess as described."""
    noisy: Vector
    """The same with noise."""
    asked: Vector
    costs: Vector

    def cost(self, objective: Vector, payments: Vector, loss: Vector) -> Vector:
        """Every trial's cost of the purchase with the least objective plus payments."""
        return buy(loss + payments, joint(objective, payments, self.reference), self.reference)


def compute(case: Case) -> pl.DataFrame:
    """A box for each level and task."""
    tidy, values, setting = Tidy("fig15"), case.values(), case.setting
    epsilon, prices = privacy_and_prices(setting)
    noise = np.broadcast_to(noise_scales(epsilon, _DELTA), values.population.scale.shape)
    asked = np.broadcast_to(values.population.total(prices[None, :]), values.of("W").shape)
    for panel, task in _PANELS.items():
        slope = TASKS[task].lipschitz if setting.described else 1.0
        market = _market(values, task, noise, asked, setting.described)
        aims = {name: slope * aim for name, aim in _aims(values, noise, setting.described).items()}
        costs = {
            "SHAP": _shapley_payments(market),
            "CEN_IR": market.cost(market.excess, market.asked, market.paid),
            "CEN_IC": market.cost(market.excess, market.costs, market.paid),
            "CEN_W": market.cost(aims["CEN_W"], market.costs, market.paid),
            **{name: market.cost(aims[name], market.costs, market.noisy) for name in ("CEN_DP", "FIN", "INF")},
        }
        for place, name in enumerate(_LEVELS):
            tidy.add_box(panel, name, place + 1, costs[name])
    return tidy.frame()


def _market(values: Values, task: str, noise: Vector, asked: Vector, described: bool) -> _Market:
    people = values.population
    mean, scale = people.normal_parameters()
    noise_only = people.normal_parameters(noise)[1]
    seen = np.hypot(scale, noise_only) if described else noise_only
    noisy = TASKS[task].of_normals(mean, seen, mean[:, -1:], scale[:, -1:])
    raw = values.of(task)
    base = raw[:, -1:] if described else 0.0
    return _Market(values.excess(task), values.reference[task], raw - base, noisy - base, asked, 2 * asked)


def _aims(values: Values, noise: Vector, described: bool) -> dict[str, Vector]:
    """What is minimised in place of the loss, for K = 1."""
    people = values.population
    added = noise if described else people.scale
    alone = values.alone("W") + _MEAN_ABSOLUTE * added
    return {
        "CEN_W": values.of("W"),
        "CEN_DP": values.of("W") + _MEAN_ABSOLUTE * people.normal_parameters(added)[1],
        "FIN": bounds(people, alone),
        "INF": bounds(people, alone, "infinite"),
    }


def _shapley_payments(market: _Market) -> Vector:
    """The owners' total payment in the game with the buyer, without whom nothing is saved."""
    trials, coalitions = market.excess.shape
    order = table_order((coalitions + 1).bit_length() - 1)
    found = np.empty(trials)
    for trial in range(trials):
        saved = np.zeros(2 * (coalitions + 1))
        saved[order + coalitions + 1] = market.reference[trial] - market.excess[trial]
        found[trial] = shapley(saved).values[:-1].sum()
    return found


def claims(curves: Curves) -> list[Claim]:
    """What section 4.2.2 says of the levels."""
    found = []
    means = {panel: np.array([curves(panel, name, "mean")[0] for name in _LEVELS]) for panel in _PANELS}
    for panel, row in means.items():
        drops = [_LEVELS[k + 1] for k in np.flatnonzero(np.diff(row) < -0.01 * row.max())]
        found.append(
            Claim(
                f"{_PANELS[panel]}: mean costs rise or stay at each level, to 1 %",
                not drops,
                ", ".join(f"{name} {value:.3f}" for name, value in zip(_LEVELS, row, strict=True))
                + (f"; lower by more: {', '.join(drops)}" if drops else ""),
            )
        )
    for panel in ("mae", "rmse"):
        steps = dict(zip(_LEVELS[1:], np.diff(means[panel]), strict=True))
        largest = sorted(steps, key=steps.__getitem__)[:-3:-1]
        rises = ", ".join(f"{name} {step:+.3f}" for name, step in steps.items())
        said = (
            f"{_PANELS[panel]}: reserve prices (CEN_IR) and incentive compatibility (CEN_IC) are the two largest steps"
        )
        found.append(Claim(said, set(largest) == {"CEN_IR", "CEN_IC"}, rises))
        said = f"{_PANELS[panel]}: choosing by W instead of the loss costs little"
        found.append(Claim(said, bool(steps["CEN_W"] < 0.05 * means[panel][3]), f"CEN_W {steps['CEN_W']:+.3f}"))
    for panel in ("mpl90", "mpl80"):
        row = means[panel][2:]
        found.append(
            Claim(
                f"{_PANELS[panel]}: after incentive compatibility the costs saturate at the reference budget",
                bool(np.ptp(row[1:]) < 0.05 * row.max()),
                ", ".join(f"{name} {value:.4f}" for name, value in zip(_LEVELS[2:], row, strict=True)),
            )
        )
    return found


def differences(published: Curves, described: Curves) -> list[Difference]:
    """Noise, units, and K."""

    def at(curves: Curves, panel: str, name: str) -> float:
        return float(curves(panel, name, "mean")[0])

    mae = {name: (at(published, "mae", name), at(described, "mae", name)) for name in _LEVELS}
    mpl = {name: (at(published, "mpl80", name), at(described, "mpl80", name)) for name in ("CEN_W", "FIN")}
    return [
        Difference(
            "costs are excess loss plus payments",
            "losses are raw, buying nothing costs B_M (an excess), and SHAP is the payments without a loss",
            f"mean MAE cost of CEN_IR {mae['CEN_IR'][0]:.3f} as published, {mae['CEN_IR'][1]:.3f} as described; "
            f"SHAP {mae['SHAP'][0]:.3f} in both, so that its step up to CEN_IR is partly one of units",
            "fig15 mae",
        ),
        Difference(
            "the noise's distance is added to W, and the noisy data are used",
            "the distance of a centred normal with the data's own scale is added, and the noise alone is judged",
            f"mean MAE cost: CEN_DP {mae['CEN_DP'][0]:.3f} and {mae['CEN_DP'][1]:.3f}, FIN {mae['FIN'][0]:.3f} and "
            f"{mae['FIN'][1]:.3f}, INF {mae['INF'][0]:.3f} and {mae['INF'][1]:.3f}",
            "fig15 mae CEN_DP, FIN, INF",
        ),
        Difference(
            "W is multiplied by the task's Lipschitz constant",
            "K = 1 for every task",
            f"mean MPL80 cost: CEN_W {mpl['CEN_W'][0]:.4f} and {mpl['CEN_W'][1]:.4f}, FIN {mpl['FIN'][0]:.4f} and "
            f"{mpl['FIN'][1]:.4f}",
            "fig15 mpl80",
        ),
    ]


FIGURE = Figure(
    name="fig15",
    title="Levels of approximation",
    compute=compute,
    grid=(tuple(_PANELS),),
    panels={panel: Panel(task, "", "cost", "boxes") for panel, task in _PANELS.items()},
    claims=claims,
    differences=differences,
)
