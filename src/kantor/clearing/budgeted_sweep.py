"""All sizes: bounds first, then a good coalition, then the sizes whose bound does not exceed it, one by one."""

from __future__ import annotations

from math import inf

import numpy as np

from kantor.bids.order import by_key
from kantor.clearing.budgeted_bounds import Bounds, Market, Trial, bounds
from kantor.clearing.budgeted_search import FEW, Pool, explore
from kantor.clearing.knapsack import Core, allowed_loss

__all__ = ["WORK", "search"]

WORK = 4_000_000
"""Nodes that are spent if no limit is given."""
LIST = 200_000
"""The longest list of swaps on one side."""


def search(market: Market, pool: Pool, work: int, known: Bounds | None = None) -> float:
    """Fills the pool with the best coalitions; returns a bound on those that were not seen."""
    start = bounds(market, known)
    _round(market, start, pool)
    sizes = by_key(start.losses) + 1
    for size in sizes[:3].tolist() if market.costs.size > FEW else ():
        if start.losses[size - 1] < inf:
            core = _core(market, start.last, size, _window(market, size))
            explore(market, core, size, start.last.mu, float(start.losses[size - 1]), pool, 3000)
    left = inf
    for size in sizes.tolist():
        floor = float(start.losses[size - 1])
        if floor > pool.ceiling or floor == inf:
            break
        if pool.nodes > work:
            return min(left, floor)
        core = _core(market, start.last, size, _undecided(market, start.last, size, floor, pool.ceiling))
        left = min(left, max(floor, explore(market, core, size, start.last.mu, floor, pool, LIST)))
    return left


def _round(market: Market, start: Bounds, pool: Pool) -> None:
    """The cheapest n owners, and the n smallest keys of each multiplier, for the best n at which that is allowed."""
    count = market.largest
    cheapest = Trial(
        inf,
        np.arange(count),
        market.costs,
        market.costs,
        *(np.cumsum(v[:count]) for v in (market.squares, market.costs)),
    )
    best = [(*trial.best(market), trial.order) for trial in [cheapest, *start.trials]]
    loss, size, order = min(best, key=lambda found: found[0])
    if loss < inf:
        pool.offer(order[:size])


def _window(market: Market, size: int, reach: int = 40) -> tuple[int, int]:
    return max(0, size - reach), min(market.costs.size, size + reach)


def _undecided(market: Market, trial: Trial, size: int, floor: float, ceiling: float) -> tuple[int, int]:
    """From where to where the keys of this size are undecided."""
    if ceiling == inf or size == trial.keys.size:
        return 0, trial.keys.size
    corners = market.corners(size, floor, ceiling)
    total = float(trial.sums[size - 1])
    allowance = allowed_loss(corners, trial.mu, total) + 1e-12 * total
    first = int(np.searchsorted(trial.keys, trial.keys[size] - allowance, side="left"))
    last = int(np.searchsorted(trial.keys, trial.keys[size - 1] + allowance, side="right"))
    return min(first, size), max(last, size)


def _core(market: Market, trial: Trial, size: int, window: tuple[int, int]) -> Core:
    first, last = window
    taken, kept = trial.order[:first], np.sort(trial.order[first:last])
    return Core(
        kept,
        market.squares[kept],
        market.costs[kept],
        size - first,
        taken,
        float(np.sum(market.squares[taken])),
        float(np.sum(market.costs[taken])),
    )
