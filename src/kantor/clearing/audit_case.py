"""What an audit stands on: the clearing as it was published, a way to clear again, and nothing of how it was found.

Payments are read, never their label, and the modelled loss V is computed again from the coalition's distances
(Theorem 2), whatever bound the clearing states. Money is compared up to a tolerance: 1e-9 of the largest price in
play, and four times the 1e-12 of the limit within which two coalitions tie.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum, isfinite

import numpy as np

from kantor.bids.bids import Bids
from kantor.clearing.clear import clear_by
from kantor.clearing.mechanisms import Mechanism
from kantor.clearing.outcome import Clearing, Flags
from kantor.errors import InputError
from kantor.owners.distributions import Vector

__all__ = ["Case", "case_of", "spend_of"]


@dataclass(frozen=True, eq=False)
class Case:
    """One clearing under audit."""

    clearing: Clearing

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
        rules = self.clearing.rules
        if newcomers:
            rules = replace(rules, population_size=rules.population_size + newcomers)
        return clear_by(rules, bids)

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
        return 1e-9 * float(np.abs(prices[np.isfinite(prices)]).max()) + 4e-12 * self.scale

    @property
    def scale(self) -> float:
        """The limit, where there is one."""
        return self.mechanism.limit if isfinite(self.mechanism.limit) else 0.0

    def loss(self, selected: Flags) -> float:
        """V of a coalition at the distances that were bid: K times its bound; what nothing costs for nobody."""
        return self.clearing.rules.loss(self.bids.distance[selected])

    def excess(self, outcome: Clearing) -> float:
        """Payments less the budget; for a reference loss, V and payments less the reference."""
        used = spend_of(outcome)
        if self.mechanism.reference_loss is not None:
            used += self.loss(outcome.selected)
        return used - self.mechanism.limit


def spend_of(outcome: Clearing) -> float:
    """The sum of the payments, whatever the outcome says that it is."""
    return fsum(outcome.payments.tolist())


def case_of(bids: Bids, clearing: Clearing) -> Case:
    """The case, if these are the bids that were cleared."""
    if not isinstance(clearing, Clearing):
        raise InputError(
            f"the clearing is {type(clearing).__name__}",
            remedy="Give what kantor.clear returned, or kantor.read_clearing(path, bids).",
            argument="c",
        )
    if not isinstance(bids, Bids):
        raise InputError(f"the bids are {type(bids).__name__}", remedy="Give the kantor.Bids.", argument="bids")
    if bids is not clearing.bids and bids.hash != clearing.bids.hash:
        raise InputError(
            f"the bids given (hash {bids.hash[:12]}) are not those that were cleared (hash {clearing.bids.hash[:12]})",
            remedy="Give the bids of this clearing, unchanged: an audit of others would say nothing about it.",
            argument="bids",
        )
    return Case(clearing)
