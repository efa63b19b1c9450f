"""One size at a time, exactly: the two lists of a core are matched on the money that is left.

See `kantor.clearing.knapsack` for the argument. What is added here is the budget that shrinks with the loss (s = 1):
for each R, the best Q within B - s V is looked up with V at its floor, then with the V that was found, and so on: the
least fixed point is approached from below, for all R at once.

Everything within the tie's width of the best is kept in a `Pool`, which in the end names the one with the least Psi,
then the smallest, then the one whose members come first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Protocol

import numpy as np

from kantor.bids.order import by_key
from kantor.clearing.budgeted_bounds import Market
from kantor.clearing.knapsack import Core, Subsets, allowed_loss, chains, subsets
from kantor.clearing.problem import Places, tie
from kantor.owners.distributions import Vector

__all__ = ["FEW", "Pool", "explore"]

CORE = 3_000
"""The largest core whose swaps are listed."""
FEW = 16
"""In a core this small all swaps are listed at once."""
PAIRS = 20_000
"""So many ties are looked at one by one,"""
TIES = 200
"""and so many of those with the least Psi are kept."""


class Question(Protocol):
    """What a pool asks of a problem."""

    def totals(self, members: Places) -> tuple[int, float, float]: ...
    def objective(self, size: int, total: float, spend: float) -> float: ...

    @property
    def reference(self) -> float: ...


@dataclass
class Pool:
    """The best coalitions so far, all that tie with the best."""

    problem: Question
    best: float = inf
    found: dict[bytes, tuple[float, float, Places]] = field(default_factory=dict)
    nodes: int = 0

    def offer(self, members: Places) -> None:
        """Takes a coalition in if it is allowed and ties with the best or beats it."""
        members = np.sort(members)
        size, total, spend = self.problem.totals(members)
        value = self.problem.objective(size, total, spend)
        if value == inf or value > self.ceiling or members.tobytes() in self.found:
            return
        self.found[members.tobytes()] = (value, spend, members)
        if value < self.best:
            self.best = value
            self.found = {key: kept for key, kept in self.found.items() if kept[0] <= self.ceiling}

    @property
    def ceiling(self) -> float:
        """The greatest objective worth looking at: it ties with the best."""
        return min(self.best + tie(self.best), self.problem.reference)

    def most(self, floor: float) -> float:
        """The greatest Psi worth looking at, if no loss is below the floor: where all can only tie, less Psi wins."""
        if floor < self.best - tie(self.best) if self.best < inf else True:
            return inf
        least = min(spend for _, spend, _ in self.found.values())
        return least + tie(least)

    def choose(self) -> tuple[float, Places] | None:
        """The winner among those that tie: least Psi, then the fewest members, then those that come first."""
        if not self.found:
            return None
        least = min(spend for _, spend, _ in self.found.values())
        close = [kept for kept in self.found.values() if kept[1] <= least + tie(least)]
        value, _, members = min(close, key=lambda kept: (kept[2].size, *kept[2].tolist()))
        return value, members


@dataclass(frozen=True)
class Sides:
    """The core's owners inside and outside the cheapest set, with what moving each of them loses."""

    core: Core
    inside: Places
    outside: Places
    losses: Vector
    square: float
    cost: float
    leaving: list[list[int]]
    coming: list[list[int]]

    @classmethod
    def of(cls, core: Core, mu: float) -> Sides:
        """Around the core's `count` smallest keys."""
        keys = core.squares + mu * core.costs
        order = by_key(keys)
        inside, outside = order[: core.count], order[core.count :]
        line = 0.5 * (keys[inside[-1]] + keys[outside[0]]) if inside.size and outside.size else 0.0
        losses = np.abs(keys - line)
        square = core.base_square + float(core.squares[inside].sum())
        cost = core.base_cost + float(core.costs[inside].sum())
        leaving = [chain[::-1] for chain in _chains(core, inside)]
        return cls(core, inside, outside, losses, square, cost, leaving, _chains(core, outside))

    def lists(self, allowance: float, limit: int) -> tuple[Subsets, Subsets] | None:
        """All that may leave and all that may come, or None if there are too many."""
        core = self.core
        out = subsets(self.leaving, self.losses, core.costs, core.squares, allowance, limit)
        new = subsets(self.coming, self.losses, core.costs, core.squares, allowance, limit) if out else None
        return (out, new) if out and new else None

    def first_step(self) -> float:
        """An allowance that reaches a few owners on either side."""
        few = [np.sort(self.losses[side])[:10][-1] for side in (self.inside, self.outside) if side.size]
        return float(max(few, default=0.0))

    def members(self, leave: list[int], come: list[int]) -> Places:
        """The coalition after a swap."""
        kept = np.setdiff1d(self.inside, np.array(leave, dtype=np.int64))
        chosen = np.concatenate([kept, np.array(come, dtype=np.int64)])
        return np.concatenate([self.core.taken, self.core.places[chosen]])


def _chains(core: Core, side: Places) -> list[list[int]]:
    """The chains of one side, best owners first, as positions in the core."""
    return [side[chain].tolist() for chain in chains(core.squares[side], core.costs[side])]


def explore(market: Market, core: Core, size: int, start: float, floor: float, pool: Pool, limit: int) -> float:
    """Searches all coalitions of this size in the core that could beat the pool; returns a bound on V for the size.

    The bound is infinite if nothing that beats the pool's ceiling is left unseen.
    """
    mu, seen, step = start, floor, 0.0
    while True:
        corners = market.corners(size, floor, pool.ceiling, pool.most(floor))
        core, mu, least = core.narrowed(corners, mu)
        seen = max(seen, float(market.least_loss(size, least, mu, floor)))
        allowance = allowed_loss(corners, mu, least)
        if allowance < 0:
            return inf
        pool.nodes += core.places.size
        if core.places.size > CORE:
            return seen
        sides = Sides.of(core, mu)
        few = core.places.size <= FEW
        last, step = step, allowance if few else min(allowance, max(2 * step, sides.first_step(), 1e-3 * allowance))
        lists = sides.lists(step, limit)
        if lists is None:
            step, lists = _retreat(sides, last, step, limit)
            limit = 0
        if lists is None:
            return seen
        pool.nodes += lists[0].loss.size + lists[1].loss.size
        _match(market, sides, lists, size, floor, pool)
        if step >= allowed_loss(market.corners(size, floor, pool.ceiling, pool.most(floor)), mu, least):
            return inf
        seen = max(seen, float(market.least_loss(size, least + step, mu, floor)))


def _retreat(sides: Sides, tried: float, step: float, limit: int) -> tuple[float, tuple[Subsets, Subsets] | None]:
    """The longest of a few shorter steps whose lists are short enough."""
    for part in (0.7, 0.45, 0.25, 0.1):
        shorter = tried + part * (step - tried)
        lists = sides.lists(shorter, limit)
        if lists is not None:
            return shorter, lists
    return tried, None


def _match(market: Market, sides: Sides, lists: tuple[Subsets, Subsets], size: int, floor: float, pool: Pool) -> None:
    """Offers the pool the best pair of sets of equal count, and what ties with it."""
    leave, come = lists
    counts = int(min(leave.count.max(), come.count.max()))
    tables = [
        _Table(market, sides, size, leave, come, out, new)
        for out, new in zip(_by_count(leave, counts), _by_count(come, counts), strict=True)
        if out.size and new.size
    ]
    for table in tables:
        table.look_up(floor)
    first = min(tables, key=lambda table: float(table.values.min()), default=None)
    if first is not None:
        first.offer_best(pool)
    ties = [(spend, table, row, place) for table in tables for spend, row, place in table.ties(pool.ceiling)]
    least = min((pair[0] for pair in ties), default=0.0)
    close = [pair for pair in ties if pair[0] <= least + 4 * tie(least)]
    for _, table, row, place in close[:TIES] if len(ties) > 1 else []:
        table.offer(row, place, pool)


def _by_count(sets: Subsets, most: int) -> list[Places]:
    """The sets of 0, 1, 2, ... owners, cheapest first."""
    order = np.lexsort((sets.cost, sets.count))
    ends = np.searchsorted(sets.count[order], np.arange(most + 2))
    return [order[ends[count] : ends[count + 1]] for count in range(most + 1)]


class _Table:
    """Sets that leave (rows) against sets that come (cheapest first), of one count."""

    def __init__(
        self, market: Market, sides: Sides, size: int, leave: Subsets, come: Subsets, out: Places, new: Places
    ) -> None:
        self.sides, self.scale = sides, float(market.coefficients[size])
        self.limit, self.share = float(market.limits[size]), market.share
        self.leave, self.come, self.out, self.new = leave, come, out, new
        self.prices, self.added = come.cost[new], come.square[new]
        self.least = np.minimum.accumulate(self.added)
        improves = np.concatenate([[True], self.least[1:] < self.least[:-1]])
        self.partner = np.maximum.accumulate(np.where(improves, np.arange(new.size), 0))
        self.kept = sides.square - leave.square[out]
        self.spent = sides.cost - leave.cost[out]
        self.values = np.full(out.size, inf)
        self.reach = np.full(out.size, -1)

    def look_up(self, floor: float) -> None:
        """For each row the least V (infinite if nothing can come), and how many of those that can come it affords."""
        active = np.arange(self.out.size)
        room = self.limit - self.share * floor - self.spent
        while active.size:
            reach = np.searchsorted(self.prices, room[active], side="right") - 1
            moved = reach != self.reach[active]
            active, reach = active[moved], reach[moved]
            self.reach[active] = reach
            total = self.kept[active] + self.least[np.maximum(reach, 0)]
            losses = self.scale * np.sqrt(np.maximum(total, 0.0))
            self.values[active] = np.where(reach < 0, inf, losses)
            if not self.share:
                break
            active = active[reach >= 0]
            room[active] = self.limit - self.values[active] - self.spent[active]

    def offer_best(self, pool: Pool) -> None:
        """The pair with the least V."""
        row = int(np.argmin(self.values))
        if self.values[row] <= pool.ceiling:
            self.offer(row, int(self.partner[self.reach[row]]), pool)

    def ties(self, ceiling: float) -> list[tuple[float, int, int]]:
        """All pairs (up to some number) whose V is within the ceiling, with their Psi."""
        ceiling *= 1 + 1e-14
        pairs: list[tuple[float, int, int]] = []
        for row in np.flatnonzero(self.values <= ceiling)[:PAIRS].tolist():
            reach = int(self.reach[row]) + 1
            fits = np.flatnonzero(self.scale * np.sqrt(np.maximum(self.kept[row] + self.added[:reach], 0)) <= ceiling)
            pairs += [(float(self.spent[row] + self.prices[place]), row, place) for place in fits[:PAIRS].tolist()]
            if len(pairs) > PAIRS:
                break
        return pairs

    def offer(self, row: int, place: int, pool: Pool) -> None:
        """The pool gets this pair's coalition."""
        leave = self.leave.members(int(self.out[row]))
        pool.offer(self.sides.members(leave, self.come.members(int(self.new[place]))))
