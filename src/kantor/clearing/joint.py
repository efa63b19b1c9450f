"""The joint mechanism, exactly: least V + Psi over all coalitions, for a million owners.

**Why it is easy.** For a fixed size n the loss is c_n sqrt(A), and c sqrt(A) = min over lambda > 0 of
lambda A + c^2 / (4 lambda), attained at lambda = c / (2 sqrt(A)). So the optimum is

    min over n and lambda of  phi_n(lambda) + c_n^2 / (4 lambda),

where phi_n(lambda) = min over coalitions of n owners of lambda A + Psi is the sum of the n smallest *keys*
lambda a_i + p_i. One sort of the keys gives phi_n for every n at once. What is left is a search over one number.

**Why it is exact.** phi_n is a minimum of linear functions of lambda, hence concave, and on an interval [l, u] lies
above its chord. Chord + c_n^2 / (4 lambda) has its minimum in closed form, which bounds the objective of every
coalition of n owners whose own lambda falls into the interval. Intervals are split, sizes whose bound reaches the best
objective found are forgotten, and the search ends when none is left. The slope of a chord cancels where phi_n(u) is
close to phi_n(l); it lies between the A of the sets at the two ends, and is clipped to them. Intervals left open by a
work limit enter the lower bound.

**Why it is fast.** An owner in an optimal coalition of n >= 2 is worth its price: leaving it out must not pay, so

    p_i <= c_(n-1) sqrt(A - a_i) - c_n sqrt(A) <= (c_(n-1)/c_n - 1) V,    a_i <= (1 - (c_n/c_(n-1))^2) A,

with V below any objective found. A strided sample finds a good one, and the two inequalities leave a core that is not
much larger than the coalition. Inside an interval, an owner whose key at u is below the n-th smallest at l for the
least size left is bought whatever lambda is, and one whose key at l is above the n-th smallest at u for the largest
size is not: the core shrinks from node to node.

Zero-distance owners, single owners, and the whole finite population (c_n = 0) are compared separately.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from kantor.bids.order import by_key
from kantor.clearing.outcome import Flags
from kantor.clearing.problem import TIE, Allocation, Places, Problem
from kantor.owners.distributions import Vector

__all__ = ["solve_joint"]

_SAMPLE = 4096
_SMALL = 64
_WIDE = 1 << 16
_GAP = 2.5e-13  # relative; what is proved is proved to 1e-12


class Core(NamedTuple):
    """Owners still undecided, in canonical order, and the totals of those that are bought for sure."""

    places: Places
    a: Vector
    p: Vector
    bought: Places = np.empty(0, dtype=np.int64)
    bought_a: float = 0.0
    bought_p: float = 0.0


class Point(NamedTuple):
    """Everything known at one lambda: entry k belongs to size `sure` + k."""

    lam: float
    sure: int
    phi: Vector
    total: Vector
    spend: Vector
    keys: Vector
    order: Places
    """The core's owners by key, as positions in the core; empty where only phi is known."""

    def rows(self, sizes: Places) -> Places:
        """Where sizes stand in the arrays."""
        return sizes - self.sure


class Node(NamedTuple):
    """An interval of lambda, the sizes that may still win in it, and their bounds."""

    low: Point
    high: Point
    sizes: Places
    bounds: Vector
    core: Core


@dataclass
class Best:
    """The best coalition found: its size and the lambda (and core) whose first owners it consists of."""

    objective: float
    spend: float = 0.0
    members: Places = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def offer(self, objective: float, spend: float, members: Places) -> None:
        """Take a coalition if it is better, or as good and cheaper. Nothing (no members) wins every tie."""
        slack = TIE * max(abs(objective), abs(self.objective) if self.objective < inf else 0.0)
        cheaper = spend < self.spend and self.members.size > 0
        if objective < self.objective - slack or (objective <= self.objective + slack and cheaper):
            self.objective, self.spend, self.members = objective, spend, members


def solve_joint(problem: Problem, work_limit: int | None = None) -> Allocation:
    """The coalition with the least V + Psi, or nothing where that is no better; proved unless the limit is met."""
    search = JointSearch(problem)
    open_bound = search.run(work_limit)
    members = np.sort(search.best.members)
    objective = problem.objective(*problem.totals(members))
    return Allocation(members, objective, min(objective, open_bound), search.evaluations)


class JointSearch:
    """Branch and bound on lambda for one problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.best = Best(problem.reference)
        self.evaluations = 0
        self.guess: float | None = None
        self.allowance = 0.0
        count = int(np.searchsorted(problem.costs, inf))
        self.everyone = Core(np.arange(count), problem.squares[:count], problem.costs[:count])
        self.coefficients = problem.coefficients[: count + 1]

    # ---- candidates that the search does not cover, and a first good one --------------------------------------

    def start(self) -> None:
        """Single owners, zero distances, the whole population, and a coalition from a sample."""
        places, a, p, *_ = self.everyone
        if places.size == 0:
            return
        alone = self.coefficients[1] * np.sqrt(a) + p
        first = int(alone.argmin())
        self._offer(places[first : first + 1])
        zeros = np.flatnonzero(a == 0)
        if zeros.size:
            self._offer(places[zeros[:1]])
        if self.coefficients[-1] == 0:
            self._offer(places)
        if places.size > 4 * _SAMPLE:
            self._from_sample()

    def _offer(self, members: Places) -> None:
        size, total, spend = members.size, self.problem.squares[members].sum(), self.problem.costs[members].sum()
        objective = self.problem.objective(size, float(total), float(spend))
        self.best.offer(objective, float(spend), members)

    def _from_sample(self) -> None:
        """Clear strided samples, each owner standing for `step`; then take the threshold found to everybody."""
        _, a, p, *_ = self.everyone
        start = float(p.mean() / a.mean()) if a.any() and p.any() else 1.0
        found = min(self._descend(start * 10.0**exponent, _SAMPLE) for exponent in range(-6, 7, 2))
        if a.size > 16 * _SAMPLE:
            found = self._descend(found[1], 16 * _SAMPLE)
        _, self.guess, threshold = found
        chosen = np.flatnonzero(self.guess * a + p <= threshold)
        if 0 < chosen.size < self.coefficients.size:
            self._offer(chosen)
            total, c = float(a[chosen].sum()), float(self.coefficients[chosen.size])
            self.guess = c / (2 * sqrt(total)) if c * total > 0 else self.guess

    def _descend(self, lam: float, count: int) -> tuple[float, float, float]:
        """From a lambda to its best size, to the lambda of that coalition, and so on: (objective, lambda, last key)."""
        _, everyone_a, everyone_p, *_ = self.everyone
        step = max(1, everyone_a.size // count)
        a, p = np.ascontiguousarray(everyone_a[::step]), np.ascontiguousarray(everyone_p[::step])
        sizes = np.arange(1, a.size + 1) * step
        c = np.where(
            sizes < self.coefficients.size, self.coefficients[np.minimum(sizes, self.coefficients.size - 1)], inf
        )
        best = (inf, lam, 0.0)
        for _ in range(12):
            keys = lam * a + p
            order = by_key(keys)
            total, spend = step * np.cumsum(a[order]), step * np.cumsum(p[order])
            with np.errstate(invalid="ignore"):
                objective = np.nan_to_num(c * np.sqrt(total) + spend, nan=inf)
            at = int(objective.argmin())
            if not objective[at] < best[0] * (1 - 1e-6):
                break
            best = (float(objective[at]), lam, float(keys[order[at]]))
            if not (c[at] > 0 and total[at] > 0):
                break
            lam = float(c[at] / (2 * np.sqrt(total[at])))
        return best

    # ---- the search -------------------------------------------------------------------------------------------

    def run(self, work_limit: int | None) -> float:
        """Search all sizes of two and more; returns the least bound of what was left open, or infinity."""
        self.start()
        root = self.root()
        return inf if root is None else self._branch([root], work_limit)

    def _branch(self, stack: list[Node], work_limit: int | None) -> float:
        open_bound = inf
        while stack:
            node = self.prune(stack.pop())
            if node is None:
                continue
            if work_limit is not None and self.evaluations >= work_limit:
                open_bound = min(open_bound, float(node.bounds.min()))
                continue
            children = self.split(node)
            children.sort(key=lambda child: -float(child.bounds.min(initial=inf)))
            stack.extend(children)
        return open_bound

    def cutoff(self) -> float:
        """Bounds from here on cannot lead to anything better."""
        return self.best.objective * (1 - _GAP) + self.allowance

    def prune(self, node: Node) -> Node | None:
        """Forget the sizes whose bound has been reached."""
        alive = node.bounds < self.cutoff()
        if not alive.any():
            return None
        return node if alive.all() else node._replace(sizes=node.sizes[alive], bounds=node.bounds[alive])

    def root(self) -> Node | None:
        """The whole axis, on the owners that an optimal coalition can hold."""
        core, sizes = self.everyone, np.arange(2, self.everyone.places.size + 1)
        sizes = sizes[self.coefficients[2:] > 0]
        cutoff = self.cutoff()
        while sizes.size:
            nearest = self.survey(core, inf, core.places.size)
            least_p = _running(0.0, core.p)
            bounds = _at(self.coefficients, sizes) * np.sqrt(_at(nearest.phi, sizes)) + _at(least_p, sizes)
            sizes = sizes[bounds * (1 + TIE) < cutoff]
            if not sizes.size:
                return None
            smaller = self._worth_their_price(core, sizes, _at(least_p, sizes), cutoff)
            if smaller.places.size > 0.8 * core.places.size:
                return Node(self.evaluate(core, 0.0), nearest, sizes, np.zeros(sizes.size), core)
            core, sizes = smaller, sizes[sizes <= smaller.places.size]
        return None

    def survey(self, core: Core, lam: float, most: int) -> Point:
        """Only phi, for the `most` first owners: a third of the work of an evaluation, enough for wide intervals."""
        self.evaluations += 1
        keys = core.a if lam == inf else lam * core.a + core.p
        keys = np.sort(keys) if most >= keys.size else np.sort(np.partition(keys, most - 1)[:most])
        phi = _running(core.bought_a if lam == inf else lam * core.bought_a + core.bought_p, keys)
        unknown = np.broadcast_to(np.nan, phi.shape)
        return Point(
            lam, core.bought.size, phi, phi if lam == inf else unknown, unknown, keys, np.empty(0, dtype=np.int64)
        )

    def _worth_their_price(self, core: Core, sizes: Places, least: Vector, cutoff: float) -> Core:
        """Owners within the two inequalities of the opening, for at least one of the sizes (of least Psi `least`)."""
        c, before = _at(self.coefficients, sizes), _at(self.coefficients, sizes - 1)
        loss = np.maximum(cutoff - least, 0.0)
        slack = 1 + 1e-9
        dearest = float(((before / c - 1) * loss).max()) * slack
        with np.errstate(over="ignore"):
            furthest = float(((1 - (c / before) ** 2) * (loss / c) ** 2).max()) * slack
        held = np.flatnonzero((core.p <= dearest) & (core.a <= furthest))
        return Core(core.places[held], core.a[held], core.p[held])

    def evaluate(self, core: Core, lam: float) -> Point:
        """phi, A and Psi of the first owners by key, for every size."""
        self.evaluations += 1
        if lam == 0:
            keys, a, p, order = core.p, core.a, core.p, np.arange(core.p.size)
        else:
            keys = lam * core.a + core.p
            order = by_key(keys)
            keys, a, p = keys[order], core.a[order], core.p[order]
        total, spend = _running(core.bought_a, a), _running(core.bought_p, p)
        phi = lam * total + spend
        point = Point(lam, core.bought.size, phi, total, spend, keys, order)
        self._candidate(core, point)
        return point

    def _candidate(self, core: Core, point: Point) -> None:
        """The best of the coalitions that an evaluation passes over."""
        size = np.arange(point.sure, point.sure + point.total.size)
        with np.errstate(invalid="ignore"):
            objective = self.coefficients[size] * np.sqrt(point.total) + point.spend
        if size[0] == 0:
            objective[0] = inf
        at = int(objective.argmin())
        slack = TIE * abs(self.best.objective) if self.best.objective < inf else 0.0
        if objective[at] < self.best.objective - slack:
            self.best.offer(float(objective[at]), float(point.spend[at]), self.members(core, point.lam, at))

    @staticmethod
    def members(core: Core, lam: float, extra: int) -> Places:
        """The sure owners and the first `extra` of the core by key; ties go by place."""
        keys = core.p if lam == 0 else lam * core.a + core.p
        chosen = core.places[by_key(keys)[:extra]]
        return np.concatenate([core.bought, chosen])

    # ---- one node ---------------------------------------------------------------------------------------------

    def split(self, node: Node) -> list[Node]:
        """Evaluate a lambda inside the interval; both halves, with their bounds."""
        node = node._replace(core=self.shrink(node))
        lam, count = self.split_at(node), node.core.places.size
        narrow = count < _WIDE or node.high.lam < 1.5 * node.low.lam
        most = min(int(node.sizes[-1]) + 1 - node.core.bought.size, count)
        middle = self.evaluate(node.core, lam) if narrow else self.survey(node.core, lam, most)
        halves = (node.low, middle), (middle, node.high)
        return [self.bounded(low, high, node.sizes, node.core) for low, high in halves]

    def bounded(self, low: Point, high: Point, sizes: Places, core: Core) -> Node:
        """The least of chord + c^2 / (4 lambda) on the interval, for every size."""
        c, start = _at(self.coefficients, sizes), _at(low.phi, sizes, low.sure)
        if high.lam == inf:
            slope = _at(high.total, sizes, high.sure)
        else:
            slope = _at(high.phi, sizes, high.sure) - start
            slope /= high.lam - low.lam
            np.maximum(slope, 0.0, out=slope)
            if high.order.size:  # a survey knows no totals
                np.maximum(slope, _at(high.total, sizes, high.sure), out=slope)
            if low.order.size:
                np.minimum(slope, _at(low.total, sizes, low.sure), out=slope)
        with np.errstate(divide="ignore", invalid="ignore"):
            lam = np.sqrt(slope)
            np.divide(c, lam, out=lam)
            lam *= 0.5
            np.maximum(lam, low.lam, out=lam)
            np.minimum(lam, high.lam, out=lam)
            rise = lam - low.lam
            rise *= slope
            rise[slope <= 0] = 0.0
            bounds = c * c
            bounds /= lam
            bounds *= 0.25
        bounds += rise
        bounds += start
        return Node(low, high, sizes, bounds, core)

    def split_at(self, node: Node) -> float:
        """Where the tangents of the least-bounded size cross; towards an open end, factors of 4, 4, 16, 256."""
        low, high = node.low.lam, node.high.lam
        if self.guess is not None and low < self.guess < high and (low == 0 or high == inf):
            return self.guess
        known = self.guess or low or high  # from there outwards, ever further
        if high == inf:
            return low * max(4.0, low / known) if low > 0 else _first_guess(node)
        if low == 0:
            return high / max(4.0, known / high)
        at = node.sizes[int(node.bounds.argmin())]
        i, j = int(at - node.low.sure), int(at - node.high.sure)
        steep, flat = node.low.total[i], node.high.total[j]
        if steep > flat:
            cross = (node.high.phi[j] - flat * high - node.low.phi[i] + steep * low) / (steep - flat)
            if low + 0.05 * (high - low) < cross < high - 0.05 * (high - low):
                return float(cross)
        return sqrt(low) * sqrt(high) if high > 1.5 * low else 0.5 * (low + high)

    @staticmethod
    def shrink(node: Node) -> Core:
        """Set aside the owners whom every coalition left in the node holds, or none does, nor the next larger one."""
        core, low, high = node.core, node.low, node.high
        if high.lam == inf or core.places.size < _SMALL:
            return core
        least, most = int(node.sizes[0]), int(node.sizes[-1])
        always = low.keys[max(least - low.sure - 1, 0)] if least > low.sure else -inf
        row = most + 1 - high.sure
        never = high.keys[row - 1] if 1 <= row <= high.keys.size else inf
        sure = _key_below(core, high.lam, always * (1 - 1e-12))
        left = _key_below(core, low.lam, np.nextafter(never * (1 + 1e-12), inf)) & ~sure
        if np.count_nonzero(left) > 0.7 * left.size:
            return core
        held, taken = np.flatnonzero(left), np.flatnonzero(sure)
        return Core(
            core.places[held],
            core.a[held],
            core.p[held],
            np.concatenate([core.bought, core.places[taken]]),
            core.bought_a + float(core.a[taken].sum()),
            core.bought_p + float(core.p[taken].sum()),
        )


def _running(first: float, values: Vector) -> Vector:
    sums = np.empty(values.size + 1)
    sums[0] = first
    np.cumsum(values, out=sums[1:])
    sums[1:] += first
    return sums


def _key_below(core: Core, lam: float, limit: float) -> Flags:
    """Whose key at lambda is below a limit."""
    if limit in (inf, -inf):
        return np.full(core.a.size, limit > 0)
    keys = lam * core.a
    keys += core.p
    return keys < limit


def _at(values: Vector, sizes: Places, first: int = 0) -> Vector:
    """Values of these sizes, where that of size `first` stands in front; a view where sizes follow one another."""
    if int(sizes[-1]) - int(sizes[0]) + 1 == sizes.size:
        return values[int(sizes[0]) - first : int(sizes[-1]) - first + 1]
    return values[sizes - first]


def _first_guess(node: Node) -> float:
    """The lambda of the coalition of middling size with the cheapest owners."""
    row = int(node.low.rows(node.sizes[node.sizes.size // 2 : node.sizes.size // 2 + 1])[0])
    total, spend = float(node.low.total[row]), float(node.low.spend[row])
    return spend / total if total > 0 and spend > 0 else 1.0
