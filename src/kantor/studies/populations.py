"""The case study's populations: owners who hold location-scale distributions, in many independent trials.

Owner i of trial r has the location alpha ~ U(10, 16) and the scale beta ~ U(1, 3), drawn as the published run drew
them: NumPy's legacy generator, all locations first, then all scales. The three families (normal, uniform,
exponential) share the draws; location and scale are `loc` and `scale` of the SciPy distribution of that name.

Coalitions stand in the table's order: by size, then lexicographically, so that the first N are the single owners and
the last is everybody, whose aggregate is the target.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from kantor.owners.distributions import Vector
from kantor.studies.setting import Setting
from kantor.valuation.coalitions import Members, coalitions

__all__ = ["FAMILIES", "Family", "Population", "population"]

Family: TypeAlias = Literal["gaussian", "uniform", "exponential"]
FAMILIES: tuple[Family, ...] = ("gaussian", "uniform", "exponential")


@dataclass(frozen=True, eq=False)
class Population:
    """Every trial's owners: a row of locations and one of scales each."""

    location: Vector
    scale: Vector

    @property
    def trials(self) -> int:
        """How many trials."""
        return len(self.location)

    @property
    def owners(self) -> int:
        """How many owners each has."""
        return self.location.shape[1]

    @cached_property
    def members(self) -> Members:
        """A row of booleans for each coalition, in the table's order."""
        return coalitions(self.owners)

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many owners each coalition has."""
        return self.members.sum(axis=1)

    def total(self, values: Vector) -> Vector:
        """The sum over the members of each coalition: a column for each, from a column for each owner."""
        return np.asarray(values @ self.members.T.astype(float))

    def normal_parameters(self, scale: Vector | None = None) -> tuple[Vector, Vector]:
        """Mean and standard deviation of every coalition's aggregate: normals, independent across owners.

        scale: other standard deviations of the owners, such as those of noise.
        """
        spread = self.scale if scale is None else scale
        return self.total(self.location) / self.sizes, np.sqrt(self.total(spread**2)) / self.sizes


def population(setting: Setting) -> Population:
    """The owners of every trial.

    >>> population(Setting(trials=1)).location.round(2)[0, :3].tolist()
    [11.04, 13.11, 13.8]
    """
    draws = np.random.RandomState(setting.seed)
    shape = setting.trials, setting.owners
    return Population(draws.uniform(10, 16, shape), draws.uniform(1, 3, shape))
