"""A planner for buyers: what would another budget, confidence or reference loss have bought?

One parameter is swept, everything else stays, and the market is cleared at every value. What comes out is a frontier:
how low a bound is to be had for how much money. Between the last value at which nothing is bought and the first at
which something is, the switch is closed in on (`Plan.nothing`): it is the least budget, or reference loss, with which a
buyer should come to this market at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import fsum, inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

import numpy as np

from kantor.bids.bids import Bids
from kantor.clearing.clear import clear
from kantor.clearing.mechanisms import Joint, Mechanism
from kantor.clearing.outcome import Clearing, Payments
from kantor.errors import InputError, MissingExtraError
from kantor.owners.distributions import Vector
from kantor.valuation.hoeffding import Population
from kantor.writing import replacing

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Plan", "Sweep", "plan"]

Sweep: TypeAlias = Literal["budget", "reference_loss", "confidence"]

_POINTS = 25
_HALVINGS = 40
_CLOSE = 1e-4
_MOST_CONFIDENCE = 0.999
_BLUE, _RED = "#0072B2", "#D55E00"


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """The frontier: one clearing for each value of what was swept."""

    sweep: Sweep
    values: Vector
    size: Vector
    """How many owners are bought."""
    spend: Vector
    bound: Vector
    objective: Vector
    gap: Vector
    nothing: float | None
    """Where buying nothing wins: up to this budget or reference loss, or from this confidence on; None: nowhere."""
    kind: str
    payments: str

    def to_frame(self) -> pl.DataFrame:
        """A row for each value: the value, size, spend, bound, objective, gap."""
        import polars as pl

        columns = {name: getattr(self, name) for name in ("size", "spend", "bound", "objective", "gap")}
        return pl.DataFrame({self.sweep: self.values, **columns})

    def as_dict(self) -> dict[str, Any]:
        """Plain data; infinity is None."""
        rows = [
            {name: value if value < inf else None for name, value in row.items()}
            for row in self.to_frame().iter_rows(named=True)
        ]
        about = {name: getattr(self, name) for name in ("sweep", "kind", "payments", "nothing")}
        return {**about, "points": rows}

    @property
    def said_of_nothing(self) -> str:
        """Where buying nothing wins, in a sentence."""
        name = self.sweep.replace("_", " ")
        if self.nothing is None:
            bought = "Something" if self.size.any() else "Nothing"
            return f"{bought} is bought at every {name} tried."
        if self.sweep == "confidence":
            return f"From a confidence of {self.nothing:.6g} on buying nothing is best."
        return f"Up to a {name} of {self.nothing:.6g} buying nothing is best."

    def draw(self, path: str | Path) -> None:
        """The frontier as a figure: bound against spend, and both against what was swept."""
        _draw(self, Path(path))

    def __repr__(self) -> str:
        span = f"{self.values[0]:.6g} to {self.values[-1]:.6g}"
        return f"Plan({self.sweep} from {span}, {self.values.size} clearings. {self.said_of_nothing})"

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>{self.to_frame()._repr_html_()}"


def plan(
    bids: Bids,
    mechanism: Mechanism,
    sweep: Sweep | None = None,
    values: Sequence[float] | int = _POINTS,
    *,
    confidence: float = 0.95,
    population: Population = "finite",
    population_size: int | None = None,
    payments: Payments = "threshold",
    progress: Callable[[int, int], None] | None = None,
) -> Plan:
    """Clear the market at every value of one parameter.

    sweep: "budget", "reference_loss" or "confidence"; the mechanism's own limit unless given. (A joint mechanism buys
        the same at every reference loss at which it buys anything.)
    values: how many to try, from nothing to where more buys no more; or the values themselves.
    """

    def market(value: float, pay: Payments) -> Clearing:
        changed, level = _with(mechanism, which, value, confidence)
        return clear(bids, changed, level, population, population_size, pay)

    which = _sweep(mechanism, sweep)
    points = _points(bids, mechanism, which, values, confidence, population, population_size)
    found = []
    for place, value in enumerate(points.tolist()):
        found.append(market(value, payments))
        if progress is not None:
            progress(place + 1, points.size)
    sizes = np.array([c.size for c in found])
    cheaply: Payments = "virtual" if "virtual" in mechanism.payment_rules else payments
    return Plan(
        sweep=which,
        values=points,
        size=sizes,
        spend=np.array([c.spend for c in found]),
        bound=np.array([c.bound for c in found]),
        objective=np.array([c.objective for c in found]),
        gap=np.array([c.gap for c in found]),
        nothing=_switch(points, sizes, lambda value: market(value, cheaply if payments != "clock" else payments).size),
        kind=mechanism.kind,
        payments=found[0].rules.payments,
    )


def _sweep(mechanism: Mechanism, asked: str | None) -> Sweep:
    if not isinstance(mechanism, Mechanism):
        raise InputError(
            f"mechanism is {mechanism!r}",
            remedy="Give kantor.Exogenous(budget=...), or another mechanism, to start from.",
            argument="mechanism",
        )
    own = "budget" if mechanism.reference_loss is None else "reference_loss"
    able = [own, "confidence"]
    if asked is not None and asked not in able:
        named = f"{asked!r} is not known" if asked not in get_args(Sweep) else f"{mechanism.kind} has no {asked}"
        raise InputError(named, remedy=f"Choose one of: {', '.join(able)}.", value=asked, argument="sweep")
    return cast(Sweep, asked or own)


def _with(mechanism: Mechanism, sweep: Sweep, value: float, confidence: float) -> tuple[Mechanism, float]:
    """The mechanism and the confidence with one value changed."""
    if sweep == "confidence":
        return mechanism, value
    try:
        return replace(cast(Any, mechanism), **{sweep: value}), confidence
    except TypeError as fault:
        raise InputError(
            f"the mechanism {mechanism.kind!r} cannot be made again with another {sweep} ({fault})",
            remedy=f"Make it a dataclass with a field {sweep}.",
            argument="mechanism",
        ) from fault


def _points(
    bids: Bids,
    mechanism: Mechanism,
    sweep: Sweep,
    values: Sequence[float] | int,
    confidence: float,
    population: Population,
    population_size: int | None,
) -> Vector:
    """The values to try, rising."""
    if isinstance(values, (int, np.integer)):
        if values < 2:
            raise InputError(f"{values} values are to be tried", remedy="Give at least 2.", argument="values")
        if sweep == "confidence":
            return np.linspace(0.0, _MOST_CONFIDENCE, int(values))
        top = _enough(bids, mechanism, sweep, confidence, population, population_size)
        return np.asarray(top * np.linspace(0.0, 1.0, int(values)) ** 2)  # frontiers bend where little is spent
    points = np.unique(np.asarray(values, dtype=np.float64))
    if points.ndim != 1 or points.size == 0 or not np.isfinite(points).all() or points[0] < 0:
        raise InputError(
            f"values is {values!r}", remedy="Give a number of values, or a list of them, at least 0.", argument="values"
        )
    return points


def _enough(
    bids: Bids,
    mechanism: Mechanism,
    sweep: Sweep,
    confidence: float,
    population: Population,
    population_size: int | None,
) -> float:
    """Where more buys no more."""
    everything = fsum(bids.virtual[np.isfinite(bids.virtual)].tolist())
    if sweep == "budget":
        return everything or 1.0
    free = Joint(reference_loss=1e300, lipschitz=mechanism.lipschitz)
    best = clear(bids, free, confidence, population, population_size, "virtual")
    if isinstance(mechanism, Joint):
        return 2 * best.objective or 1.0
    everybody = best.rules.loss(bids.distance[np.isfinite(bids.virtual)])
    return (everything + everybody if everybody < inf else 2 * best.objective) or 1.0


def _switch(points: Vector, sizes: Vector, size_at: Callable[[float], int]) -> float | None:
    """Between two neighbours of which one buys nothing: the value at which that changes."""
    changes = np.flatnonzero((sizes[:-1] == 0) != (sizes[1:] == 0))
    if changes.size == 0:
        return None
    low, high = float(points[changes[0]]), float(points[changes[0] + 1])
    empty_below = sizes[changes[0]] == 0
    for _ in range(_HALVINGS):
        if high - low <= _CLOSE * high:
            break
        middle = low + 0.5 * (high - low)
        low, high = (middle, high) if (size_at(middle) == 0) == empty_below else (low, middle)
    return low if empty_below else high


def _draw(found: Plan, path: Path) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise MissingExtraError("A figure", "matplotlib", "figures") from missing
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    what = "bound on the distance" if found.kind == "exogenous" else "bound on the loss"
    _draw_frontier(left, found, what)
    _draw_sweep(right, found, what)
    for axes in (left, right):
        axes.spines[["top"]].set_visible(False)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=130)


def _draw_frontier(axes: Any, found: Plan, what: str) -> None:
    """Every clearing as a point, and a line through those that no cheaper one equals."""
    shown = np.flatnonzero(np.isfinite(found.bound) & (found.size > 0))
    by_spend = shown[np.lexsort((found.bound[shown], found.spend[shown]))]
    best = np.minimum.accumulate(found.bound[by_spend]) if by_spend.size else np.empty(0)
    efficient = by_spend[np.append(True, best[1:] < best[:-1])[: best.size]]
    axes.plot(found.spend[efficient], found.bound[efficient], "-", color=_BLUE, lw=1.5, drawstyle="steps-post")
    points = axes.scatter(
        found.spend[shown], found.bound[shown], c=found.values[shown], cmap="viridis", zorder=3, clip_on=False
    )
    if shown.size:
        axes.figure.colorbar(points, ax=axes, label=found.sweep.replace("_", " "))
    axes.set(title="What a sum of money buys", xlabel="spend", ylabel=what, xlim=(0, None), ylim=(0, None))
    axes.spines[["right"]].set_visible(False)


def _draw_sweep(axes: Any, found: Plan, what: str) -> None:
    name = found.sweep.replace("_", " ")
    bound = np.where(np.isfinite(found.bound), found.bound, np.nan)
    lines = [axes.plot(found.values, bound, "o-", color=_BLUE, ms=4, label=what)[0]]
    other = axes.twinx()
    lines += [other.plot(found.values, found.spend, "s-", color=_RED, ms=4, label="spend")[0]]
    if found.nothing is not None:
        label = f"nothing is bought {'from' if found.sweep == 'confidence' else 'up to'} {found.nothing:.4g}"
        lines += [axes.axvline(found.nothing, color="#777777", ls=":", label=label)]
    axes.set(xlabel=name, ylabel=what, ylim=(0, None))
    other.set(ylabel="spend", ylim=(0, None))
    other.spines[["top"]].set_visible(False)
    axes.legend(handles=lines, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(lines))
