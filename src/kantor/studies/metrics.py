"""The 17 metrics of the case study: five distances from the target, and twelve losses of deciding without it.

The order is that of the published results. A loss is "decide with the coalition, pay with the target"; figures show its
excess over the grand coalition's. What is minimised can be infinite (Kullback-Leibler of estimated densities).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kantor.owners.distributions import Vector
from kantor.studies.populations import Population
from kantor.valuation import tasks
from kantor.valuation.tasks import Task

__all__ = ["DISTANCES", "LEVELS", "LOSSES", "METRICS", "TASKS", "Values"]

DISTANCES = ("W", "KLD", "KS", "TVD", "JSD")
LEVELS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
TASKS: dict[str, Task] = {
    "MAE": tasks.median,
    "RMSE": tasks.mean,
    "NV": tasks.newsvendor(),
    **{f"MPL{round(100 * level)}": tasks.quantile(level) for level in LEVELS},
}
LOSSES = tuple(TASKS)
METRICS = DISTANCES + LOSSES


@dataclass(frozen=True, eq=False)
class Values:
    """Every metric of every coalition of every trial: `table` is trials x coalitions x metrics, losses raw."""

    population: Population
    table: Vector

    def of(self, metric: str) -> Vector:
        """One metric: a row for each trial, a column for each coalition."""
        return np.asarray(self.table[:, :, METRICS.index(metric)])

    def excess(self, metric: str) -> Vector:
        """The same less that of the grand coalition."""
        values = self.of(metric)
        return values - values[:, -1:]

    def alone(self, metric: str) -> Vector:
        """The same for single owners: a column for each."""
        return self.of(metric)[:, : self.population.owners]

    @property
    def reference(self) -> dict[str, Vector]:
        """B_M: for each loss the largest excess of every trial's coalitions."""
        return {name: self.excess(name).max(axis=1) for name in LOSSES}
