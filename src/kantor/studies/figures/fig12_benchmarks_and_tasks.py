"""Figure 12: the joint mechanism against those who see every coalition, and across tasks.

Improvement is 1 - cost / B_M, where the cost is the true excess plus payments, and B_M for buying nothing. CEN_M sees
every coalition's excess loss and CEN_W every coalition's W; FIN and INF know the owners' distances only.

As published the panels named after MAE show RMSE; "error" compares modelled costs with CEN's by MAE, over the first
trial's B_M; and "tasks" buys with K = 1 and each task's own B_M, and measures every purchase in RMSE. As described
the first two are about MAE with actual costs (CEN's less the mechanism's, over each trial's B_M), and each task has
its own K and its own loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kantor.owners.distributions import Vector
from kantor.studies.buying import bounds, buy, joint
from kantor.studies.figure import Case, Claim, Difference, Figure, Panel
from kantor.studies.figures.fig11_objectives import PRICE_BOUNDS
from kantor.studies.frames import Curves, Tidy
from kantor.studies.metrics import TASKS, Values
from kantor.studies.prices import CORRELATIONS, prices_of_all

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FIGURE"]

_TASKS = ("MAE", "RMSE", "MPL90", "MPL80")
_BUYERS = ("FIN", "INF", "CEN_W", "CEN_M")


def compute(case: Case) -> pl.DataFrame:
    """Improvement, error and tasks for each correlation."""
    tidy, values = Tidy("fig12"), case.values()
    costs = {
        rho: 2 * values.population.total(prices_of_all(values.alone("W"), correlation, case.setting.seed))
        for rho, correlation in CORRELATIONS.items()
    }
    task = "MAE" if case.setting.described else "RMSE"
    for rho, cost in costs.items():
        for name, modelled in _models(values, task).items():
            better = [_improvement(values, task, task, modelled, top * cost) for top in PRICE_BOUNDS]
            tidy.add(f"improvement/{rho}", name, PRICE_BOUNDS, better)
    error = _error_in_cost if case.setting.described else _error_in_model
    for rho, cost in costs.items():
        for name, modelled in _models(values, task).items():
            tidy.add(f"error/{rho}", name, PRICE_BOUNDS, [error(values, modelled, top * cost) for top in PRICE_BOUNDS])
    bound = bounds(values.population, values.alone("W"))
    for rho, cost in costs.items():
        for name in _TASKS:
            slope, judge = (TASKS[name].lipschitz, name) if case.setting.described else (1.0, "RMSE")
            better = [_improvement(values, name, judge, slope * bound, top * cost) for top in PRICE_BOUNDS]
            tidy.add(f"tasks/{rho}", name, PRICE_BOUNDS, better)
    return tidy.frame()


def _models(values: Values, task: str) -> dict[str, Vector]:
    """What each buyer takes for the loss."""
    people, alone = values.population, values.alone("W")
    found = bounds(people, alone), bounds(people, alone, "infinite"), values.of("W"), values.excess(task)
    return dict(zip(_BUYERS, found, strict=True))


def _improvement(values: Values, budget: str, judge: str, modelled: Vector, spend: Vector) -> float:
    """The mean of 1 - cost / B_M: the reference budget of one task, and the loss by which it is judged."""
    reference = values.reference[budget]
    cost = buy(values.excess(judge) + spend, joint(modelled, spend, reference), reference)
    return float((1 - cost / reference).mean())


def _central(values: Values, spend: Vector) -> Vector:
    """What CEN by MAE costs."""
    total, reference = values.excess("MAE") + spend, values.reference["MAE"]
    return buy(total, joint(values.excess("MAE"), spend, reference), reference)


def _error_in_model(values: Values, modelled: Vector, spend: Vector) -> float:
    """As published: modelled cost with the RMSE's budget, less the cost of CEN by MAE, over the first trial's B_M."""
    reference = values.reference["RMSE"]
    cost = buy(modelled + spend, joint(modelled, spend, reference), reference)
    return float((cost - _central(values, spend)).mean() / reference[0])


def _error_in_cost(values: Values, modelled: Vector, spend: Vector) -> float:
    """As described: the cost of CEN by MAE less the actual cost, over each trial's B_M."""
    reference = values.reference["MAE"]
    cost = buy(values.excess("MAE") + spend, joint(modelled, spend, reference), reference)
    return float(((_central(values, spend) - cost) / reference).mean())


def claims(curves: Curves) -> list[Claim]:
    """What section 4.2.2 says of benchmarks and tasks."""
    found = []
    better = {(rho, n): curves(f"improvement/{rho}", n) for rho in CORRELATIONS for n in _BUYERS}
    apart = max(float(np.abs(better[rho, "CEN_W"] - better[rho, "CEN_M"]).max()) for rho in CORRELATIONS)
    found.append(
        Claim("CEN by W is very close to CEN by loss", apart < 0.05, f"at most {100 * apart:.1f} points apart")
    )
    behind = {n: float((better["rho=0", "CEN_M"] - better["rho=0", n]).mean()) for n in ("FIN", "INF")}
    found.append(
        Claim(
            "rho = 0: FIN and INF do slightly worse than the central benchmark",
            all(0 <= gap < 0.1 for gap in behind.values()),
            ", ".join(f"{n} {100 * gap:.1f} points behind on average" for n, gap in behind.items()),
        )
    )
    free = {n: float(curves("error/rho=0", n)[0]) for n in ("INF", "FIN")}
    found.append(
        Claim(
            "INF pays for its bias at price 0: it does not buy everything that is free",
            abs(free["INF"]) > 0.01 > abs(free["FIN"]),
            f"error at price 0: INF {100 * free['INF']:.1f} %, FIN {100 * free['FIN']:.1f} %",
        )
    )
    peak = {n: float(PRICE_BOUNDS[np.abs(curves("error/rho=0", n)).argmax()]) for n in ("FIN", "INF", "CEN_W")}
    found.append(
        Claim(
            "rho = 0: the error of FIN and INF is largest for prices up to about 1, and falls after; not so CEN_W's",
            0.6 <= peak["FIN"] <= 1.4 and peak["INF"] <= 1.4 and peak["CEN_W"] > 1.4,
            "largest at " + ", ".join(f"{n} {value:.1f}" for n, value in peak.items()),
        )
    )
    tasks = {n: float(curves("tasks/rho=0", n)[1:].mean()) for n in _TASKS}
    found.append(
        Claim(
            "FIN does alike for mean and median estimation, and badly for quantiles",
            abs(tasks["MAE"] - tasks["RMSE"]) < 0.15 and max(tasks["MPL90"], tasks["MPL80"]) < 0.1,
            "mean improvement: " + ", ".join(f"{n} {100 * value:.1f} %" for n, value in tasks.items()),
        )
    )
    return found


def differences(published: Curves, described: Curves) -> list[Difference]:
    """RMSE for MAE, modelled for actual costs, K and the judge of tasks."""

    def gap(panel: str, names: tuple[str, ...]) -> float:
        pairs = [(f"{panel}/{rho}", name) for rho in CORRELATIONS for name in names]
        return max(float(np.abs(published(*pair) - described(*pair)).max()) for pair in pairs)

    signs = published("error/rho=0", "FIN")[5], described("error/rho=0", "FIN")[5]
    return [
        Difference(
            "improvement and error are for median estimation (MAE)",
            "the reference budget and the loss are the RMSE's",
            f"improvements differ by up to {100 * gap('improvement', _BUYERS):.1f} points",
            "fig12 improvement/…",
        ),
        Difference(
            "the error is CEN's actual cost less the mechanism's, over each trial's B_M",
            "it is the mechanism's modelled cost less CEN's, averaged, over the first trial's B_M",
            f"other sign and scale: FIN at a largest price of 1.0 has {100 * signs[0]:+.1f} % as published, "
            f"{100 * signs[1]:+.1f} % as described",
            "fig12 error/rho=0 FIN",
        ),
        Difference(
            "each task has its own Lipschitz constant and its own loss",
            "K = 1 for every task, and the RMSE judges every purchase",
            f"improvements differ by up to {100 * gap('tasks', _TASKS):.1f} points "
            f"(MPL alone: {100 * gap('tasks', ('MPL90', 'MPL80')):.1f})",
            "fig12 tasks/…",
        ),
    ]


FIGURE = Figure(
    name="fig12",
    title="Joint mechanism: benchmarks and tasks",
    compute=compute,
    grid=tuple(tuple(f"{panel}/{rho}" for rho in CORRELATIONS) for panel in ("improvement", "error", "tasks")),
    panels={
        "improvement": Panel("improvement", "largest price", "1 - cost / B_M"),
        "error": Panel("error against CEN", "largest price", "share of B_M"),
        "tasks": Panel("FIN across tasks", "largest price", "1 - cost / B_M"),
    },
    claims=claims,
    differences=differences,
)
