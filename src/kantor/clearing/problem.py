"""One clearing as numbers: what every solver is given, and what it has to answer.

With a_i = W_i^2 and p_i = psi_i(theta_i), a coalition P of n owners is worth knowing by three numbers only: n, A = sum
of a, and Psi = sum of p. Its modelled loss is V = c_n sqrt(A), where c_n carries the Lipschitz constant, the confidence
and the population (`kantor.valuation.hoeffding.coefficient`). Three problems are posed with them:

    joint       least V + Psi,                    or buying nothing at the reference loss B
    exogenous   least V subject to Psi <= B,      or buying nothing at an infinite loss
    endogenous  least V subject to V + Psi <= B,  or buying nothing at the reference loss B

Owners stand in canonical order (virtual cost, distance, name), and where coalitions tie (to a few roundings), less Psi
wins, then fewer members, then those that come first. Buying nothing wins every tie. Sums are exact (`math.fsum`), so no
outcome depends on the order in which owners were listed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum, inf, sqrt
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from kantor.owners.distributions import Vector

__all__ = ["TIE", "Allocation", "Kind", "Places", "Problem", "tie", "tolerance"]

Kind: TypeAlias = Literal["joint", "exogenous", "endogenous"]
Places: TypeAlias = npt.NDArray[np.int64]


TIE = 4e-15
"""How far two objectives, or two sums of costs, may lie apart and still tie, relative to either: a few roundings."""


_EXACT = 4096


def tie(size: float) -> float:
    """The same in money."""
    return TIE * abs(size) if size < inf else 0.0


def tolerance(*sizes: float) -> float:
    """How far a budget may be exceeded by rounding, and how close a bound has to come to count as proof."""
    return 1e-12 * max([1.0, *(abs(size) for size in sizes if size < inf)])


@dataclass(frozen=True)
class Problem:
    """Owners in canonical order, the coefficient of every size, and the limit B."""

    kind: Kind
    squares: Vector
    """a_i, finite and not negative."""
    costs: Vector
    """p_i, not negative, infinite for owners who are never bought; rising."""
    coefficients: Vector
    """c_n for n = 0, ..., number of owners; c_0 is infinite, c_n = 0 for the whole finite population."""
    limit: float
    """B for exogenous, the reference loss for the other two."""

    @property
    def reference(self) -> float:
        """The objective of buying nothing."""
        return inf if self.kind == "exogenous" else self.limit

    def totals(self, members: Iterable[int] | Places) -> tuple[int, float, float]:
        """n, A and Psi of a coalition, exactly rounded whatever the order of its members.

        Of more than 4,096 members in their order, with extended precision where the machine has it: exact sums of
        thousands cost more than finding the coalition.
        """
        places = np.asarray(members, dtype=np.int64)
        return places.size, _sum(self.squares[places]), _sum(self.costs[places])

    def loss(self, size: int, total: float) -> float:
        """V."""
        return self.reference if size == 0 else float(self.coefficients[size]) * sqrt(total)

    def objective(self, size: int, total: float, spend: float) -> float:
        """What is minimised: V + Psi for joint, V for the others; infinity where the budget does not allow it."""
        if size == 0:
            return self.reference
        loss = self.loss(size, total)
        if self.kind == "joint":
            return loss + spend
        used = spend if self.kind == "exogenous" else loss + spend
        return loss if used <= self.limit + tolerance(self.limit) else inf


def _sum(values: Vector) -> float:
    return fsum(values.tolist()) if values.size <= _EXACT else float(values.sum(dtype=np.longdouble))


@dataclass(frozen=True)
class Allocation:
    """A solver's answer: the members' places in canonical order, the objective, and what is proved about it."""

    members: Places
    objective: float
    lower_bound: float
    nodes: int = 0
    """How much work it took, in evaluations: the same on every machine."""

    @property
    def proved(self) -> bool:
        """Whether nothing better exists, to 1e-12."""
        return self.objective - self.lower_bound <= tolerance(self.objective) or self.objective == self.lower_bound
