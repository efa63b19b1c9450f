"""What an audit stands on: the clearing as it was published, a way to clear again, and nothing of how it was found.

Payments are read, never their label, and the modelled loss V is computed again from the coalition's distances
(Theorem 2), whatever bound the clearing states. Money is compared up to a tolerance: 1e-9 of the largest price in
play, and four times the 1e-12 of the limit within which two coalitions tie.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum, inf
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kantor.bids.bids import Bids
from kantor.clearing.clear import clear as clear_again
from kantor.clearing.mechanisms import Mechanism
from kantor.clearing.outcome import Clearing, Rules
from kantor.errors import InputError
from kantor.owners.distributions import Vector
from kantor.valuation.hoeffding import hoeffding_bound

__all__ = ["Case", "Clear", "case_of"]

Clear: TypeAlias = Callable[[Bids], Clearing]
"""A mechanism as an audit sees it: bids in, a clearing out, the same for the same bids."""


@dataclass(frozen=True, eq=False)
class Case:
    """One clearing under audit."""

    clearing: Clearing
    own: Clear | None
    """The user's own mechanism; None for `kantor.clear` with the clearing's rules."""

    @property
    def bids(self) -> Bids:
        """The bids that were cleared, taken to be the truth."""
        return self.clearing.bids

    @property
    def mechanism(self) -> Mechanism:
        """What the buyer stated: kind, limit and Lipschitz constant."""
        return self.clearing.rules.mechanism

    def clear(self, bids: Bids, newcomers: int = 0) -> Clearing:
        """The same market with other bids; `newcomers` are names that were not enrolled before."""
        if self.own is not None:
            return self.own(bids)
        rules = self.clearing.rules
        size = rules.population_size + newcomers
        return _by_rules(bids, rules if newcomers == 0 else replace(rules, population_size=size))

    @cached_property
    def honest(self) -> Clearing:
        """The published clearing, made again from the same bids."""
        return self.clear(self.bids)

    @cached_property
    def utilities(self) -> Vector:
        """What each owner has from the clearing as published: its payment less its reserve price if it is bought."""
        return self.clearing.payments - np.where(self.clearing.selected, self.bids.reserve, 0.0)

    @cached_property
    def tolerance(self) -> float:
        """The least sum of money that counts."""
        prices = np.concatenate([self.bids.reserve, self.clearing.payments, [1.0]])
        return 1e-9 * float(np.abs(prices[np.isfinite(prices)]).max()) + 4e-12 * self.mechanism.limit

    def loss(self, selected: npt.NDArray[np.bool_]) -> float:
        """V of a coalition at the distances that were bid: K times its Hoeffding bound; the reference for nobody."""
        rules = self.clearing.rules
        if not selected.any():
            return inf if self.mechanism.kind == "exogenous" else self.mechanism.limit
        bound = hoeffding_bound(self.bids.distance[selected], rules.population_size, rules.confidence, rules.population)
        return float(self.mechanism.lipschitz) * bound

    def excess(self, outcome: Clearing) -> float:
        """Payments less the budget; for a reference loss, V and payments less the reference."""
        used = spend_of(outcome)
        if self.mechanism.kind != "exogenous":
            used += self.loss(outcome.selected)
        return used - self.mechanism.limit


def spend_of(outcome: Clearing) -> float:
    """The sum of the payments, whatever the outcome says that it is."""
    return fsum(outcome.payments.tolist())


def case_of(bids: Bids, clearing: Clearing, own: Clear | None) -> Case:
    """The case, if these are the bids that were cleared."""
    if not isinstance(clearing, Clearing):
        raise InputError(
            f"the clearing is {_kind(clearing)}",
            remedy="Give what kantor.clear returned, or kantor.read_clearing(path, bids).",
            argument="c",
        )
    if bids is not clearing.bids and bids.hash != clearing.bids.hash:
        raise InputError(
            f"the bids given (hash {bids.hash[:12]}) are not those that were cleared (hash {clearing.bids.hash[:12]})",
            remedy="Give the bids of this clearing, unchanged: an audit of others would say nothing about it.",
            argument="bids",
        )
    return Case(clearing, own)


def _by_rules(bids: Bids, rules: Rules) -> Clearing:
    return clear_again(
        bids,
        rules.mechanism,
        confidence=rules.confidence,
        population=rules.population,
        population_size=rules.population_size,
        payments=rules.payments,
        solver=rules.solver,
        work_limit=rules.work_limit,
    )


def _kind(thing: Any) -> str:
    return type(thing).__name__
