"""What every winner of the joint mechanism could have asked for: all critical costs together.

A winner i stays bought until its virtual cost reaches psi_i + OPT(without i) - OPT, so its price needs the optimum of a
market without it. Clearing that market anew for every winner is n clearings; they are nearly the same one. Without
i, phi_n becomes

    phi_n without i (lambda) = max(phi_n, phi_(n+1) - (lambda a_i + p_i)),

since the n + 1 first owners without i are n owners, and the second term is below the first where i is not among them.
So the sorts of one search price everybody: it is the search for the optimum with a wider allowance (nobody's removal
costs more than its largest upper bound), in which every interval is judged for all winners at once.

Where i is among the first owners throughout, OPT(without i) + p_i = H(a_i) depends on the distance alone, and H, a
minimum over lambda of functions linear in a, is concave: it lies above its chords. So winners are priced at some
distances and others in between, where the chord below and the coalition of the neighbour above agree to eleven digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from kantor.clearing.joint import Core, JointSearch, Node, Point, solve_joint
from kantor.clearing.problem import Allocation, Places, Problem
from kantor.owners.distributions import Vector

__all__ = ["critical_costs_of_joint"]

_FEW = 128
_NARROW, _NARROWEST = 0.02, 1e-7
_LISTED = 1 << 17
_GAP = 1e-12
_CELLS = 1 << 20
_ALWAYS, _NEVER = -1, -2


def critical_costs_of_joint(problem: Problem, allocation: Allocation, winners: Places | None = None) -> Vector:
    """For members of an optimal coalition (all unless told otherwise), the highest virtual cost at which each stays."""
    members = allocation.members
    if winners is not None and (winners.size <= 1 or problem.costs.size <= _FEW):
        return _one_by_one(problem, allocation, winners)
    if winners is not None:
        return critical_costs_of_joint(problem, allocation)[np.searchsorted(members, winners)]
    if members.size == 0:
        return np.empty(0)
    count = int(np.searchsorted(problem.costs, inf))
    total = float(problem.squares[members].sum())
    if count <= _FEW or members.size < 3 or total == 0:
        return _one_by_one(problem, allocation, members)
    return _critical(problem, allocation, members, _Together(problem, allocation).best_without())


def _one_by_one(problem: Problem, allocation: Allocation, winners: Places) -> Vector:
    without = np.array([_best_without(problem, int(place)) for place in winners], dtype=np.float64)
    return _critical(problem, allocation, winners, without)


def _critical(problem: Problem, allocation: Allocation, winners: Places, without: Vector) -> Vector:
    return np.maximum(problem.costs[winners] + without - allocation.objective, problem.costs[winners])


def _best_without(problem: Problem, place: int) -> float:
    """OPT without one owner: the population, and so every coefficient, stays as it is."""
    squares, costs = np.delete(problem.squares, place), np.delete(problem.costs, place)
    rest = Problem(problem.kind, squares, costs, problem.coefficients[:-1], problem.limit)
    return solve_joint(rest).objective


@dataclass
class _Answers:
    """For some winners: the best objective found without each, and the coalition (with it) that it comes from.

    `place` is the winner's, or _ALWAYS for one that every coalition of a leaf holds, or _NEVER for one that none does.
    """

    place: Places
    a: Vector
    p: Vector
    value: Vector
    size: Places
    total: Vector
    spend: Vector
    held: int = 0
    """How many owners the leaf holds for sure; whoever is held beyond these is one of its core."""

    @classmethod
    def start(cls, place: Places, a: Vector, p: Vector, value: Vector) -> _Answers:
        return cls(place, a, p, value.copy(), np.zeros(a.size, dtype=np.int64), np.zeros(a.size), np.zeros(a.size))


class _Together:
    """One search for all winners of a market that is too large to be cleared once for each."""

    def __init__(self, problem: Problem, allocation: Allocation) -> None:
        self.problem = problem
        self.members = allocation.members
        self.a, self.p = problem.squares[self.members], problem.costs[self.members]
        self.upper = self._first_bounds()
        self.search = JointSearch(problem)
        self.search.best.objective = self.optimum = allocation.objective
        self.search.allowance = float(self.upper.max()) - self.optimum * (1 - 1e-11)

    def _first_bounds(self) -> Vector:
        """Buying nothing, the best other single owner, doing without i, or taking the next best instead of it."""
        problem, members, n = self.problem, self.members, self.members.size
        c, total, spend = problem.coefficients, float(self.a.sum()), float(self.p.sum())
        upper = np.minimum(c[n - 1] * np.sqrt(np.maximum(total - self.a, 0)) + spend - self.p, problem.reference)
        lam = float(c[n]) / (2 * np.sqrt(total))
        keys = lam * problem.squares + problem.costs
        keys[members] = inf
        following = int(keys.argmin())
        if keys[following] < inf:
            larger = total + problem.squares[following] - self.a
            upper = np.minimum(upper, c[n] * np.sqrt(larger) + spend + problem.costs[following] - self.p)
        return np.minimum(upper, self._alone())

    def _alone(self) -> Vector:
        """The least objective of a coalition of one, or of one owner at no distance, other than i."""
        objective = self.problem.coefficients[1] * np.sqrt(self.problem.squares) + self.problem.costs
        first, second = np.argpartition(objective, 1)[:2]
        return np.where(self.members == first, objective[second], objective[first])

    def best_without(self) -> Vector:
        """OPT without each member."""
        root = self.search.root()
        if root is not None:
            self._improve(root, np.arange(self.members.size), _NARROW)
        return self.upper

    def _improve(self, start: Node, winners: Places, narrow: float) -> None:
        """Lower the upper bounds of these winners (rows of `members`) to what they can be inside a node."""
        self.search.allowance = float(self.upper[winners].max()) - self.optimum * (1 - 1e-11)
        for leaf in self._leaves(start, 1 + narrow):
            self._in_leaf(leaf, winners, narrow)

    def _leaves(self, start: Node, narrow: float) -> list[Node]:
        """Intervals and sizes in which some market without a winner may have its optimum, on small cores."""
        stack, leaves = [start], []
        while stack:
            node = self.search.prune(stack.pop())
            if node is None:
                continue
            if (node.low.lam > 0 and node.high.lam < narrow * node.low.lam) or node.core.places.size <= _FEW:
                leaves.append(node)
            else:
                stack.extend(self.search.split(node))
        return leaves

    def _in_leaf(self, leaf: Node, winners: Places, narrow: float) -> None:
        """Those always held are priced by distance, those never held together, and the undecided one by one.

        The undecided are the dearest: little is lost without them. Where there are many, their own smaller allowance
        narrows the leaf first.
        """
        status = np.zeros(self.problem.costs.size, dtype=np.int8)
        status[leaf.core.places], status[leaf.core.bought] = 1, 2
        held = status[self.members[winners]]
        absent, undecided, always = (winners[held == state] for state in range(3))
        if absent.size:
            nobody = np.full(1, _NEVER), np.zeros(1), np.full(1, inf), np.full(1, float(self.upper[absent].max()))
            self._lower(absent, self._solve(leaf, _Answers.start(*nobody)).value[0])
        if always.size:
            least = self._by_distance(leaf, self.a[always], (self.p + self.upper)[always])
            self._lower(always, least - self.p[always])
        if undecided.size * leaf.sizes.size > _LISTED and narrow > _NARROWEST:
            self._improve(leaf, undecided, narrow / 4)
        elif undecided.size:
            some = self.members[undecided], self.a[undecided], self.p[undecided], self.upper[undecided]
            self._lower(undecided, self._solve(leaf, _Answers.start(*some)).value)

    def _lower(self, winners: Places, found: Vector | float) -> None:
        self.upper[winners] = np.minimum(self.upper[winners], found)

    def _by_distance(self, leaf: Node, a: Vector, upper: Vector) -> Vector:
        """H at many distances: solved at some, and in between where chord and neighbour do not agree, at more."""
        points, back = np.unique(a, return_inverse=True)
        most = np.full(points.size, -inf)
        np.maximum.at(most, back, upper)
        value = np.full(points.size, inf)
        done = np.zeros(points.size, dtype=bool)
        todo = np.unique(np.linspace(0, points.size - 1, min(points.size, 9)).astype(int))
        held = np.full(points.size, _ALWAYS)
        known = _Answers.start(held, points, np.zeros(points.size), most)
        while todo.size:
            found = self._solve(leaf, _Answers.start(held[todo], points[todo], np.zeros(todo.size), most[todo]))
            for name in ("value", "size", "total", "spend"):
                getattr(known, name)[todo] = getattr(found, name)
            done[todo] = True
            value, gap = self._between(known, np.flatnonzero(done))
            wide = np.flatnonzero(gap > 1e-11 * np.abs(value))
            todo = _middles(np.flatnonzero(done), wide)
        return value[back]

    def _between(self, known: _Answers, solved: Places) -> tuple[Vector, Vector]:
        """Upper values for all distances from the solved neighbours' coalitions, and how far the chord lies below."""
        every = np.arange(known.a.size)
        right = np.clip(np.searchsorted(solved, every), 0, solved.size - 1)
        right, left = solved[right], solved[np.maximum(right - 1, 0)]
        left = np.where(right == every, every, left)
        chord_width = known.a[right] - known.a[left]
        share = np.where(chord_width > 0, (known.a - known.a[left]) / np.where(chord_width > 0, chord_width, 1), 0.0)
        chord = known.value[left] + share * (known.value[right] - known.value[left])
        value = np.minimum(self._with(known, left), self._with(known, right))
        value[solved] = known.value[solved]
        return value, np.where(np.isin(every, solved), 0.0, value - chord)

    def _with(self, known: _Answers, at: Places) -> Vector:
        """The objective (and p_i) of the coalition found for another distance."""
        rest = np.sqrt(np.maximum(known.total[at] - known.a, 0.0))
        found = self.problem.coefficients[np.maximum(known.size[at], 1)] * rest + known.spend[at]
        return np.where(known.size[at] > 0, found, inf)

    # ---- all winners in one leaf -------------------------------------------------------------------------------

    def _solve(self, leaf: Node, answers: _Answers) -> _Answers:
        """The least objective without each of some winners inside a leaf, or what it was where none is less."""
        low, high = (self.search.evaluate(leaf.core, end.lam) if end.lam < inf else end for end in leaf[:2])
        leaf, answers.held = leaf._replace(low=low, high=high), leaf.core.bought.size
        step = max(1, _CELLS // leaf.sizes.size)
        for start in range(0, answers.a.size, step):
            winners = np.arange(start, min(start + step, answers.a.size))
            for end in (low, high):
                if end.lam < inf:
                    self._take(answers, winners, end, leaf.sizes, leaf.core)
            self._search(leaf, answers, winners)
        return answers

    def _search(self, leaf: Node, answers: _Answers, winners: Places) -> None:
        stack = [(leaf, winners)]
        while stack:
            node, some = stack.pop()
            bounds = self._bounds(node.low, node.high, node.sizes, answers, some)
            alive = bounds < answers.value[some, None] * (1 - _GAP)
            rows, columns = np.flatnonzero(alive.any(axis=1)), np.flatnonzero(alive.any(axis=0))
            if not rows.size:
                continue
            some, sizes = some[rows], node.sizes[columns[0] : columns[-1] + 1]
            least = bounds[np.ix_(rows, np.arange(columns[0], columns[-1] + 1))].min(axis=0)
            node = node._replace(sizes=sizes, bounds=least)
            core = self.search.shrink(node)
            middle = self.search.evaluate(core, self.search.split_at(node))
            self._take(answers, some, middle, sizes, core)
            stack.extend((Node(*ends, sizes, least, core), some) for ends in ((node.low, middle), (middle, node.high)))

    def _phi(self, point: Point, sizes: Places, a: Vector, p: Vector) -> Vector:
        """Phi without each winner; winners by rows, sizes by columns."""
        plain, larger = point.phi[point.rows(sizes)], _up_to(point.phi, point.rows(sizes) + 1)
        key = (np.where(np.isinf(p), inf, a) if point.lam == inf else point.lam * a + p)[:, None]
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(key), plain, np.maximum(larger - key, plain))

    def _bounds(self, low: Point, high: Point, sizes: Places, answers: _Answers, some: Places) -> Vector:
        """Chord + c^2 / (4 lambda) for winners by sizes: without i, phi is concave too."""
        a, p, c = answers.a[some], answers.p[some], self.problem.coefficients[sizes]
        start, end = self._phi(low, sizes, a, p), self._phi(high, sizes, a, p)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = end if high.lam == inf else (end - start) / (high.lam - low.lam)
            slope = np.maximum(np.nan_to_num(slope, nan=0.0), 0.0)
            lam = np.clip(c / (2 * np.sqrt(slope)), low.lam, high.lam)
            rise = np.where(slope > 0, slope * (lam - low.lam), 0.0)
            bounds = start + rise + np.where(lam > 0, 0.25 * c * c / np.maximum(lam, 1e-300), inf)
        return np.asarray(np.where(np.isfinite(start), bounds, inf))

    def _take(self, answers: _Answers, some: Places, point: Point, sizes: Places, core: Core) -> None:
        """The coalitions of one lambda, for winners by sizes: keep each winner's best.

        Whether a winner is among the n + 1 first goes by its place in the order: where keys tie, comparing them lies.
        """
        a, p = answers.a[some][:, None], answers.p[some][:, None]
        rows = point.rows(sizes)
        inside = _rank(answers.place[some], point, core, answers.held)[:, None] <= rows
        with np.errstate(invalid="ignore"):
            total = np.where(inside, _up_to(point.total, rows + 1) - a, point.total[rows])
            spend = np.where(inside, _up_to(point.spend, rows + 1) - p, point.spend[rows])
            objective = self.problem.coefficients[sizes] * np.sqrt(np.maximum(total, 0.0)) + spend
        objective[np.isnan(objective)] = inf
        best = objective.argmin(axis=1)
        line = np.arange(some.size)
        better = objective[line, best] < answers.value[some]
        chosen = some[better]
        answers.value[chosen] = objective[line, best][better]
        answers.size[chosen] = sizes[best][better]
        answers.total[chosen] = (total + np.where(inside, a, 0.0))[line, best][better]
        with np.errstate(invalid="ignore"):
            answers.spend[chosen] = (spend + np.where(inside, p, 0.0))[line, best][better]


def _rank(places: Places, point: Point, core: Core, held: int) -> Places:
    """How many of the core's owners come before each winner: -1 for those bought for sure, many for those out."""
    at = np.minimum(np.searchsorted(core.places, places), max(core.places.size - 1, 0))
    known = core.places[at] == places if core.places.size else np.zeros(places.size, dtype=bool)
    ranks = np.empty(core.places.size + 1, dtype=np.int64)
    ranks[point.order] = np.arange(point.order.size)
    sure = (places == _ALWAYS) | np.isin(places, core.bought[held:])
    return np.where(sure, -1, np.where(known, ranks[at], np.iinfo(np.int64).max))


def _up_to(values: Vector, rows: Places) -> Vector:
    """Entries by row, infinite beyond the last: there is no coalition of that size."""
    return np.where(rows < values.size, values[np.minimum(rows, values.size - 1)], inf)


def _middles(solved: Places, wide: Places) -> Places:
    """For every gap between solved places that holds a wide one, the place in its middle."""
    if not wide.size:
        return wide
    right = np.unique(np.searchsorted(solved, wide))
    return np.unique((solved[right - 1] + solved[right]) // 2)
