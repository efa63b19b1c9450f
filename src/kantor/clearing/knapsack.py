"""The best coalition of one size: a knapsack in which exactly n owners are taken, searched around its prices.

Take the n smallest keys a_i + mu p_i, the set S, and let T be any number between the n-th key and the next. A coalition
P of n owners that leaves out R from S and takes Q instead (|R| = |Q|) has

    A(P) + mu Psi(P) = K_n(mu) + sum over R of (T - key) + sum over Q of (key - T),

so that each swap adds its *loss*, which is not negative, and T cancels. If P is to have A <= A' and Psi <= B', its
losses sum to at most the allowance D = A' + mu B' - K_n(mu). Two things follow. An owner whose own loss is above D
stands where it stands: what is left is the *core*. And every P worth looking at is a pair of short lists: all R with
losses within D, all Q with losses within D, matched on their count and on the money that is left (sort one list by
money, keep its running least A, look every member of the other list up in it).

The lists grow like the partitions of a number, so D is first tried small. Whatever is found makes A' and so D smaller,
and the search is over when the allowance tried reaches D. If owner i costs no more than j and lies no further away,
some best coalition with j holds i too (exchange them: less Psi, or the same Psi and earlier members, so the tie rule
agrees). Therefore owners are put into chains in which each is at least as good as the next, and lists take chains from
the front: identical owners, and owners at one price, become one whole number instead of many yes-or-no.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

from kantor.bids.order import by_key
from kantor.clearing.problem import Places
from kantor.owners.distributions import Vector

__all__ = ["Core", "Corner", "Subsets", "allowed_loss", "chains", "peak", "subsets"]

_MOST = 1e200
Tangent = Callable[[float], tuple[float, float]]
Corner = tuple[float, float]
"""A' and B'. Where the budget depends on the loss there are two, at the least and at the greatest loss."""


def peak(tangent: Tangent, start: float, precision: float = 1e-10, steps: int = 80) -> float:
    """Where a concave function of mu >= 0 is greatest, nearly: tangents are intersected, and halved when that drags.

    tangent: the value and a slope at mu. Every mu gives a valid bound, so that stopping early is never wrong.
    """
    low, high = 0.0, inf
    low_line = high_line = (0.0, 0.0)
    best, top = 0.0, -inf
    mu = start
    for step in range(steps):
        value, slope = tangent(mu)
        if value > top:
            best, top = mu, value
        if slope > 0:
            low, low_line = mu, (value, slope)
        else:
            high, high_line = mu, (value, slope)
        if slope == 0 or not 1e-15 * start <= mu <= min(1e15 * start, _MOST):
            break
        mu, reach = _between(low, high, low_line, high_line, step)
        if reach - top <= precision * abs(top) or not low < mu < high:
            break
    return best


def _between(
    low: float, high: float, low_line: tuple[float, float], high_line: tuple[float, float], step: int
) -> tuple[float, float]:
    """The next mu, and how high the function can still be."""
    if high == inf:
        return low * 8, inf
    if low_line[1] == 0:
        return high / 8, inf
    (value_low, slope_low), (value_high, slope_high) = low_line, high_line
    cross = (value_high - value_low + slope_low * low - slope_high * high) / (slope_low - slope_high)
    reach = value_low + slope_low * (cross - low)
    if step % 3 == 2:
        return (low + high) / 2, reach
    margin = 0.01 * (high - low)
    if step % 3 == 1:
        cross = min(max(cross, low + margin), high - margin)
    return cross, reach


def allowed_loss(corners: list[Corner], mu: float, least: float) -> float:
    """What swaps may lose (a little too much rather than too little), given K_n(mu)."""
    most = max(square + mu * budget for square, budget in corners)
    return (most - least) + 1e-14 * (abs(most) + abs(least))


@dataclass(frozen=True)
class Core:
    """The owners who are still undecided, how many of them to take, and what the decided ones bring along."""

    places: Places
    squares: Vector
    costs: Vector
    count: int
    taken: Places
    base_square: float
    base_cost: float

    def narrowed(self, corners: list[Corner], start: float) -> tuple[Core, float, float]:
        """A smaller core with the same coalitions of A + mu Psi <= the corners' most, mu, and K_n(mu) of the core."""
        core, mu = self, start
        while True:
            mu = peak(core._tangent(corners), mu or core._ratio())
            least, order, keys = core._least(mu)
            allowance = allowed_loss(corners, mu, least)
            if allowance < 0 or core.count in (0, core.places.size):
                return core, mu, least
            below, above = keys[core.count - 1], keys[core.count]
            first = int(np.searchsorted(keys, above - allowance, side="left"))
            last = int(np.searchsorted(keys, below + allowance, side="right"))
            first, last = min(first, core.count), max(last, core.count)
            if last - first > 0.8 * core.places.size:
                return core, mu, least
            core = core._cut(order, first, last)

    def _least(self, mu: float) -> tuple[float, Places, Vector]:
        """K_n(mu), and the keys in order."""
        keys = self.squares + mu * self.costs
        order = by_key(keys)
        keys = keys[order]
        return self.base_square + mu * self.base_cost + float(keys[: self.count].sum()), order, keys

    def _ratio(self) -> float:
        cost = float(self.costs.sum())
        return float(self.squares.sum()) / cost or 1.0 if cost > 0 else 1.0

    def _tangent(self, corners: list[Corner]) -> Tangent:
        def tangent(mu: float) -> tuple[float, float]:
            keys = self.squares + mu * self.costs
            if self.count in (0, keys.size):
                chosen: npt.NDArray[np.int64] = np.arange(self.count)
            else:
                chosen = np.argpartition(keys, self.count - 1)[: self.count]
            square, budget = max(corners, key=lambda corner: corner[0] + mu * corner[1])
            spent = self.base_cost + float(self.costs[chosen].sum()) - budget
            return self.base_square + float(self.squares[chosen].sum()) - square + mu * spent, spent

        return tangent

    def _cut(self, order: Places, first: int, last: int) -> Core:
        sure, kept = order[:first], np.sort(order[first:last])
        return Core(
            self.places[kept],
            self.squares[kept],
            self.costs[kept],
            self.count - first,
            np.concatenate([self.taken, self.places[sure]]),
            self.base_square + float(self.squares[sure].sum()),
            self.base_cost + float(self.costs[sure].sum()),
        )


@dataclass(frozen=True)
class Subsets:
    """Sets of owners of one side, each made of an earlier one and one more owner."""

    loss: Vector
    cost: Vector
    square: Vector
    count: Places
    parent: Places
    owner: Places

    def members(self, state: int) -> list[int]:
        """The owners of a set, as positions in the core."""
        found = []
        while state > 0:
            found.append(int(self.owner[state]))
            state = int(self.parent[state])
        return found


def chains(squares: Vector, costs: Vector) -> Iterator[list[int]]:
    """The fewest chains in which each owner is no cheaper and no nearer than the one before (patience sorting).

    Owners come in canonical order: cost, then square.
    """
    ends: list[float] = []
    lists: list[list[int]] = []
    for owner in np.lexsort((squares, costs)).tolist():
        square = float(squares[owner])
        place = bisect_right(ends, square) - 1
        if place < 0:
            ends.insert(0, square)
            lists.insert(0, [owner])
        else:
            ends[place] = square
            lists[place].append(owner)
    yield from lists


def subsets(
    lists: list[list[int]], losses: Vector, costs: Vector, squares: Vector, allowance: float, limit: int
) -> Subsets | None:
    """All sets that take each chain from its front and lose at most the allowance; None if more than the limit."""
    usable = [chain for chain in lists if losses[chain[0]] <= allowance]
    usable.sort(key=lambda chain: -float(losses[chain[0]]))
    sets = _Growing(limit)
    for chain in usable:
        first, last = 0, sets.size
        for owner in chain:
            start = sets.size
            if not sets.extend(first, last, owner, float(losses[owner]), costs[owner], squares[owner], allowance):
                return None
            first, last = start, sets.size
            if first == last:
                break
    return sets.done()


class _Growing:
    """Columns that double in length as sets are added."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 1
        self.numbers = np.zeros((3, 256))
        self.whole = np.zeros((3, 256), dtype=np.int64)

    def extend(
        self, first: int, last: int, owner: int, loss: float, cost: float, square: float, allowance: float
    ) -> bool:
        """Adds the owner to each set from first to last that can bear it; False if there are too many."""
        ready = np.flatnonzero(self.numbers[0, first:last] <= allowance - loss) + first
        end = self.size + ready.size
        if end > self.limit:
            return False
        if end > self.numbers.shape[1]:
            wider = max(end, 2 * self.numbers.shape[1])
            self.numbers = np.pad(self.numbers, ((0, 0), (0, wider - self.numbers.shape[1])))
            self.whole = np.pad(self.whole, ((0, 0), (0, wider - self.whole.shape[1])))
        new = slice(self.size, end)
        self.numbers[:, new] = self.numbers[:, ready] + np.array([[loss], [cost], [square]])
        self.whole[0, new] = self.whole[0, ready] + 1
        self.whole[1, new] = ready
        self.whole[2, new] = owner
        self.size = end
        return True

    def done(self) -> Subsets:
        """The columns, cut to length."""
        loss, cost, square = self.numbers[:, : self.size]
        count, parent, owner = self.whole[:, : self.size]
        return Subsets(loss, cost, square, count, parent, owner)
