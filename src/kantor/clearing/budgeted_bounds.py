"""What no coalition can beat, for every size at once: Lagrangian bounds for the two mechanisms with a budget.

A coalition may spend B - s V, where s = 0 for an exogenous budget and 1 for an endogenous one. For any mu >= 0 its A
and Psi satisfy A + mu Psi >= K_n(mu), the sum of the n smallest keys a_i + mu p_i: one sort gives it for every n. With
Psi <= B - s V and A = V^2 / c_n^2,

    V^2 / c_n^2 - s mu V >= K_n(mu) - mu B.

For s = 0 that is V >= c_n sqrt(K_n - mu B). For s = 1 it forbids an interval of V: if a floor under V is known and lies
inside, V must be at or above the interval's upper end, which is a better floor. So the floor rises by itself, as the
least fixed point of V = exogenous(B - V) is approached from below.

One mu does not serve all sizes: where few owners are bought money is worth less. So the size whose bound is least is
looked at, the tangents to its K_n(mu) - mu B at the multipliers tried so far are intersected, and that mu is tried
next, for all sizes at once as before. When the least bound cannot be raised any more, the others lie above it anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from kantor.bids.order import by_key
from kantor.clearing.knapsack import Corner
from kantor.clearing.problem import Places, Problem, tolerance
from kantor.owners.distributions import Vector

__all__ = ["Bounds", "Market", "Trial", "bounds"]


@dataclass(frozen=True)
class Market:
    """The owners who can be afforded at all: the first of the canonical order."""

    squares: Vector
    costs: Vector
    coefficients: Vector
    """c_n for n = 0 up to the largest coalition that can be afforded."""
    limit: float
    """B, with the tolerance that a budget is given."""
    share: float
    """s: how much of the loss counts against the budget."""
    limits: Vector
    """The limit of each size n = 0, 1, ...: all the same, but for partners who are looked for (`budgeted_prices`)."""

    @classmethod
    def of(cls, problem: Problem) -> Market:
        """The affordable part of a problem, distances of the whole finite population (c_n = 0) apart."""
        limit = problem.limit + tolerance(problem.limit)
        count = int(np.searchsorted(problem.costs, limit, side="right"))
        costs = problem.costs[:count]
        largest = int(np.searchsorted(np.cumsum(costs), limit * (1 + 1e-11), side="right"))
        coefficients = problem.coefficients[: largest + 1]
        if largest and coefficients[-1] == 0:
            coefficients = coefficients[:-1]
        share = 1.0 if problem.kind == "endogenous" else 0.0
        limits = np.full(coefficients.size, limit)
        return cls(problem.squares[:count], costs, coefficients, limit, share, limits)

    @property
    def largest(self) -> int:
        """The size of the largest coalition whose loss is not 0 whoever is in it."""
        return self.coefficients.size - 1

    def allowed(self, size: Any, loss: Any) -> Any:
        """What a coalition of this size with this loss may spend, and more than one with a greater loss may."""
        return self.limits[size] - self.share * loss if self.share else self.limits[size]

    def least_losses(self, sums: Vector, mu: float, floors: Vector) -> Vector:
        """The least V that each size n = 1, 2, ... can have, given K_n(mu) and the floors known so far."""
        guard = (1e-15 * np.sqrt(np.arange(1, sums.size + 1)) + 1e-14) * (sums + mu * np.abs(self.limits[1:]))
        return self.least_loss(slice(1, None), sums - guard, mu, floors)

    def least_loss(self, size: Any, least: Any, mu: float, floor: Any) -> Any:
        """The least V of coalitions with A + mu Psi >= least and V >= floor."""
        scale = self.coefficients[size]
        finite = np.where(floor < inf, floor, 0.0)
        room = least - mu * self.allowed(size, finite)
        if not self.share or mu == 0:
            return np.maximum(scale * np.sqrt(np.maximum(room, 0.0)), floor)
        # The upper root of (V - floor)^2 + 2 middle (V - floor) + product, if V = floor is between the roots.
        middle = finite - 0.5 * scale**2 * mu
        product = finite**2 - scale**2 * room
        rise = np.where(product < 0, np.sqrt(np.maximum(middle**2 - product, 0.0)) - middle, 0.0)
        return floor + np.maximum(rise, 0.0)

    def corners(self, size: int, floor: float, ceiling: float, most: float = inf) -> list[Corner]:
        """A and Psi at most, for losses from the floor to the ceiling and spends up to the most.

        A + mu Psi <= V^2 / c^2 + mu (B - s V) is convex in V, and so greatest at one of the ends.
        """
        scale = float(self.coefficients[size])
        ends = {ceiling, min(floor, ceiling)} if self.share else {ceiling}
        return [((loss / scale) ** 2, min(float(self.allowed(size, loss)), most)) for loss in sorted(ends)]


@dataclass(frozen=True)
class Trial:
    """What one mu says about every size: K_n, and the Psi of the coalition that attains it."""

    mu: float
    order: Places
    keys: Vector
    """In order."""
    sums: Vector
    squares: Vector
    spends: Vector

    @classmethod
    def at(cls, market: Market, mu: float) -> Trial:
        """One sort."""
        keys = market.squares + mu * market.costs
        order = by_key(keys)
        first = order[: market.largest]
        squares, spends = np.cumsum(market.squares[first]), np.cumsum(market.costs[first])
        return cls(mu, order, keys[order], squares + mu * spends, squares, spends)

    def best(self, market: Market) -> tuple[float, int]:
        """The least V, and the size, at which taking the smallest keys is allowed; infinity and 0 if it never is."""
        losses = market.coefficients[1:] * np.sqrt(self.squares)
        losses[self.spends + market.share * losses > market.limits[1:]] = inf
        size = int(np.argmin(losses)) + 1 if losses.size else 0
        return (float(losses[size - 1]), size) if size and losses[size - 1] < inf else (inf, 0)


@dataclass(frozen=True)
class Bounds:
    """What each size can reach, n = 1, 2, ..., and the multipliers that show it."""

    losses: Vector
    trials: list[Trial]

    @property
    def last(self) -> Trial:
        """The one that settled the least bound."""
        return self.trials[-1]


def bounds(market: Market, known: Bounds | None = None, steps: int = 60) -> Bounds:
    """The best bound on the size whose bound is least, and good ones on all others.

    known: bounds of a market that lacks nothing this one has, and so hold here as well (`budgeted_prices`).
    """
    losses = np.zeros(market.largest)
    if known is not None:
        losses[: known.losses.size] = known.losses[: losses.size]
    trials: list[Trial] = []
    cheapest = np.cumsum(market.costs[: market.largest])
    mu: float | None = known.last.mu if known is not None else 0.0
    while mu is not None and len(trials) < steps:
        trials.append(Trial.at(market, mu))
        losses = market.least_losses(trials[-1].sums, mu, losses)
        losses[cheapest > market.allowed(slice(1, None), losses) + 1e-11 * np.abs(market.limits[1:])] = inf
        mu = _next(market, losses, trials)
    return Bounds(losses, trials)


def _next(market: Market, losses: Vector, trials: list[Trial]) -> float | None:
    """A multiplier that could raise the least bound, or None if none can by much."""
    place = int(np.argmin(losses))
    floor = float(losses[place])
    if floor == inf:
        return None
    allowed = float(market.allowed(place + 1, floor))
    lines = sorted((trial.mu, float(trial.sums[place]), float(trial.spends[place]) - allowed) for trial in trials)
    low = max((line for line in lines if line[2] > 0), default=None)
    high = min((line for line in lines if line[2] <= 0), default=None)
    if low is None or high is None:
        return _outward(market, low is None, trials)
    cross = (low[1] - low[0] * (low[2] + allowed) - high[1] + high[0] * (high[2] + allowed)) / (high[2] - low[2])
    reach = low[1] - low[0] * allowed + low[2] * (cross - low[0])
    scale = float(market.coefficients[place + 1])
    if scale * np.sqrt(max(reach, 0.0)) <= floor * (1 + 1e-9) or not low[0] < cross < high[0]:
        return None
    return cross if len(trials) % 3 or low[0] == 0 else 0.5 * (low[0] + high[0])


def _outward(market: Market, down: bool, trials: list[Trial]) -> float | None:
    """A multiplier below or above all that were tried: first a little, then far."""
    tried = [trial.mu for trial in trials]
    if down:
        return None if min(tried) == 0 else (0.9 * tried[0] if len(tried) == 1 else 0.0)
    if max(tried) == 0:
        return _guess(market)
    mu = max(tried) * (1.1 if len(tried) == 1 else 8)
    return mu if mu < 1e30 * _guess(market) else None


def _guess(market: Market) -> float:
    cost = float(market.costs.mean())
    return float(market.squares.mean()) / cost if cost > 0 else 1.0
