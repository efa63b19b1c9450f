"""Checks on Lipschitz constants: whether a bound holds on given data, and how steep a loss is.

A constant stands between a distance and money: every budget computed from K W inherits its truth. So it should be
checked on data wherever that is possible. `check_lipschitz` measures |excess| / W for each owner against a target; one
ratio above K refutes the constant, and no number of ratios below proves it. `slope_in_data` looks at the loss itself:
the steepest chord of l(q, .) on given data, a lower limit on its constant.

For comparison there are the bounds that use the diameter D of the data instead (Besbes et al.; paper, section 2.2). On
an interval of width D,

    W = integral of |F - G| <= D sup|F - G| = D KS,      and KS <= TV,

for KS looks only at half-lines where TV looks at all events. So K W <= K D KS <= K D TV: Wasserstein is always the
tightest of the three, and the other two say nothing on unbounded data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from kantor.errors import InputError
from kantor.owners.distributions import Distribution, Vector
from kantor.owners.samples import Sample, as_sample, sample_or_distribution
from kantor.valuation.tasks import Task
from kantor.valuation.wasserstein import wasserstein

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "DiameterBounds",
    "LipschitzCheck",
    "Slope",
    "check_lipschitz",
    "diameter_bounds",
    "slope",
    "slope_in_data",
]

_ROUNDING = 1e-11
"""Excesses below this share of the losses they are the difference of are rounding."""


@dataclass(frozen=True)
class LipschitzCheck:
    """|excess| / W for each owner, against one constant. `proved` says whether the constant is the proved one."""

    task: str
    constant: float
    proved: bool
    owners: tuple[Any, ...]
    distances: Vector
    excesses: Vector
    ratios: Vector
    within: tuple[bool, ...]

    @property
    def holds(self) -> bool:
        """Whether |excess| <= constant x W for every owner, up to rounding."""
        return all(self.within)

    @property
    def largest(self) -> float:
        """The largest ratio: the least constant that these owners do not refute."""
        return float(self.ratios.max())

    @property
    def where(self) -> Any:
        """The owner with the largest ratio."""
        return self.owners[int(self.ratios.argmax())]

    def to_frame(self) -> pl.DataFrame:
        """A row for each owner: owner, distance, excess, ratio, holds."""
        import polars as pl

        columns = {"distance": self.distances, "excess": self.excesses, "ratio": self.ratios, "holds": self.within}
        return pl.DataFrame({"owner": self.owners, **columns})


def check_lipschitz(task: Task, owners: Any, target: Any, constant: float | None = None) -> LipschitzCheck:
    """Whether |L(owner, target) - L(target, target)| <= constant x W(owner, target) for each of the owners.

    owners: rows, a list of samples or distributions, or a mapping from names to them. Without a `constant` it is
    the task's guarantee, or, where nothing is proved, the paper's constant.

    >>> from kantor.valuation import tasks
    >>> check_lipschitz(tasks.median, [[0, 1], [5, 7]], [0, 2]).largest
    0.8
    """
    names, data = _named(owners)
    proved = constant is None and isfinite(task.guarantee)
    limit = _limit(task, constant)
    base = task.loss(target, target)
    losses = np.array([task.loss(owner, target) for owner in data])
    distances = np.array([wasserstein(owner, target) for owner in data])
    excesses = losses - base
    rounding = _ROUNDING * (np.abs(losses) + abs(base))
    seen = np.where(np.abs(excesses) <= rounding, 0.0, np.abs(excesses))
    ratios = np.divide(seen, distances, out=np.where(seen > 0, inf, 0.0), where=distances > 0)
    within = (np.abs(excesses) <= rounding) | (seen <= limit * distances + rounding)
    return LipschitzCheck(
        task.name, limit, proved, names, distances, excesses, ratios, tuple(bool(kept) for kept in within)
    )


def _named(owners: Any) -> tuple[tuple[Any, ...], list[Any]]:
    names = tuple(owners) if isinstance(owners, Mapping) else tuple(range(len(owners)))
    data = list(owners.values()) if isinstance(owners, Mapping) else list(owners)
    if not data:
        raise InputError("there are no owners to check", remedy="Give at least one.")
    return names, data


def _limit(task: Task, constant: float | None) -> float:
    if constant is None:
        constant = task.guarantee if isfinite(task.guarantee) else task.lipschitz
    if not 0 <= constant < inf:
        raise InputError(
            f"the constant to check for {task.name} is {constant}",
            remedy="Give a finite constant: infinity holds always and says nothing.",
            value=constant,
        )
    return float(constant)


@dataclass(frozen=True)
class Slope:
    """The steepest chord found: its slope, the two data it joins, and the decision for which it was found."""

    value: float
    between: tuple[float, float]
    decision: Any = None

    def __float__(self) -> float:
        return self.value


def slope(function: Callable[[Vector], Any], points: Any) -> Slope:
    """The largest |f(a) - f(b)| / |a - b| over all pairs of the points: a lower limit on the Lipschitz constant.

    Neighbours are enough: the slope of a chord is an average of the slopes of the neighbouring chords below it.
    """
    ordered = np.unique(as_sample(points, argument="points"))
    if ordered.size < 2:
        raise InputError("a slope needs two different points", remedy="Give more data.")
    values = np.asarray(function(ordered), dtype=float)
    if values.shape != ordered.shape or not np.isfinite(values).all():
        raise InputError(
            f"the function gave shape {values.shape} for {ordered.size} points, or values that are not finite",
            remedy="It takes an array and returns one finite number for each element.",
        )
    steps = np.abs(np.diff(values)) / np.diff(ordered)
    place = int(steps.argmax())
    return Slope(float(steps[place]), (float(ordered[place]), float(ordered[place + 1])))


def slope_in_data(
    loss: Task | Callable[[Any, Vector], Any], decisions: Iterable[Any], data: Any, *, difference: bool = False
) -> Slope:
    """The steepest chord of l(q, .) on the data over all given decisions q: a lower limit on the constant in data.

    With `difference=True` it is the steepest chord of l(q, .) - l(r, .) over all pairs of decisions, Lip(g) in the
    proof of the guarantee: the number that |excess| / W can come close to.
    """
    pay = loss.pay if isinstance(loss, Task) else loss
    choices = list(decisions)
    if len(choices) < 1 + difference:
        raise InputError(
            f"{len(choices)} decisions were given",
            remedy="Give at least two decisions." if difference else "Give at least one decision.",
        )

    def chord(q: Any) -> Slope:
        return slope(lambda y: pay(q, y), data)

    def chord_of_difference(pair: Any) -> Slope:
        return slope(lambda y: pay(pair[0], y) - pay(pair[1], y), data)

    pairs = combinations(choices, 2)
    found = [(chord_of_difference(pair), pair) for pair in pairs] if difference else [(chord(q), q) for q in choices]
    steepest, decision = max(found, key=lambda pair: pair[0].value)
    return Slope(steepest.value, steepest.between, decision)


@dataclass(frozen=True)
class DiameterBounds:
    """Three upper bounds on |L(P) - L(T)|, each at least as large as the one before: K W <= K D KS <= K D TV."""

    lipschitz: float
    diameter: float
    wasserstein: float
    kolmogorov: float
    total_variation: float


def diameter_bounds(
    lipschitz: float, x: Any, y: Any, *, diameter: float | None = None, total_variation: float | None = None
) -> DiameterBounds:
    """The bounds K W, K D KS and K D TV for a K-Lipschitz loss; for a task, give its guarantee.

    Without a `diameter` it is the width of the smallest interval that holds both; infinite on unbounded data, and so
    are the two bounds that use it. Total variation is exact: between samples it counts equal values as equal and all
    others as different, so it is 1 between continuous data unless you give an estimate of your own.

    >>> diameter_bounds(1.0, [0, 1, 2], [0, 2, 3])
    DiameterBounds(lipschitz=1.0, diameter=3.0, wasserstein=0.6666666666666666, kolmogorov=1.0, total_variation=1.0)
    """
    if not 0 <= lipschitz < inf:
        raise InputError(
            f"the Lipschitz constant is {lipschitz}", remedy="Give a finite constant, at least 0.", value=lipschitz
        )
    from kantor.valuation.divergences import ks

    left, right = sample_or_distribution(x, None, "x"), sample_or_distribution(y, None, "y")
    width = _width(left, right, diameter)
    variation = _total_variation(left, right) if total_variation is None else total_variation
    if not 0 <= variation <= 1:
        raise InputError(
            f"the total variation distance is {variation}", remedy="It lies between 0 and 1.", value=variation
        )
    return DiameterBounds(
        lipschitz=lipschitz,
        diameter=width,
        wasserstein=lipschitz * wasserstein(x, y),
        kolmogorov=_product(lipschitz, width, ks(x, y)),
        total_variation=_product(lipschitz, width, variation),
    )


def _product(lipschitz: float, width: float, distance: float) -> float:
    return 0.0 if lipschitz == 0 or distance == 0 else lipschitz * width * distance


def _width(left: Sample | Distribution, right: Sample | Distribution, diameter: float | None) -> float:
    ends = [
        (side.values.min(), side.values.max()) if isinstance(side, Sample) else side.support() for side in (left, right)
    ]
    width = float(max(high for _, high in ends) - min(low for low, _ in ends))
    if diameter is None:
        return width
    if not diameter >= width * (1 - 1e-12):
        raise InputError(
            f"the diameter is {diameter:g}, and the data spread over {width:g}",
            remedy="Give the width of an interval that holds all data, or leave it out.",
            value=diameter,
        )
    return float(diameter)


def _total_variation(left: Sample | Distribution, right: Sample | Distribution) -> float:
    if isinstance(left, Sample) and isinstance(right, Sample):
        points = np.unique(np.concatenate([left.values, right.values]))
        f, g = (_masses(side, points) for side in (left, right))
        return min(0.5 * float(np.abs(f - g).sum()), 1.0)
    if isinstance(left, Sample) or isinstance(right, Sample):
        return 1.0  # points have no probability under a continuous distribution
    from kantor.valuation.divergences import tv

    return tv(left, right)


def _masses(side: Sample, points: Vector) -> Vector:
    weights = np.full(side.values.size, 1 / side.values.size) if side.weights is None else side.weights
    masses: Vector = np.bincount(np.searchsorted(points, side.values), weights, minlength=points.size).astype(float)
    return masses
