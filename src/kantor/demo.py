"""What `kantor demo` shows: a small population valued in every way, what the values promise, and a market for it.

The population ships with the package (`kantor.examples`). For each household the demo prints all five distances from
the average household; for each number of households bought it prints how far the nearest ones really lie from the
average together, and how far the Hoeffding bound says that they lie, knowing the single distances alone. Then the
households ask for made-up prices, add noise, and are cleared, and the clearing is audited.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from kantor.bids.bids import Bids
from kantor.clearing.audit import audit
from kantor.clearing.clear import clear
from kantor.clearing.mechanisms import Exogenous
from kantor.clearing.takes import what_it_takes
from kantor.errors import MissingExtraError
from kantor.examples import HOUSEHOLDS
from kantor.owners.aggregation import aggregate
from kantor.owners.collection import Owners
from kantor.owners.distributions import Vector
from kantor.owners.files import read_owners
from kantor.valuation.coalitions import coalition_distances
from kantor.valuation.distances import MetricName, distances
from kantor.valuation.hoeffding import nearest_bounds
from kantor.writing import make_folder, replacing, write_table

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["run_demo"]

_CONFIDENCE = 0.95
_SEED, _EPSILON, _BUDGET = 3, 1.0, 2.5
_SHORT: dict[MetricName, str] = {"wasserstein": "W", "kl": "KL", "js": "JS", "ks": "KS", "tv": "TV"}


def run_demo(folder: Path, console: Console) -> None:
    """Value the shipped households, clear a market of them, print what came out, and write it to a folder."""
    make_folder(folder)
    owners = read_owners(HOUSEHOLDS)
    values: dict[MetricName, Vector] = {name: _value(owners, name) for name in get_args(MetricName)}
    actual, bounds = _coalitions(owners, values["wasserstein"])
    _print_values(console, owners, values)
    _print_coalitions(console, owners, values["wasserstein"], actual, bounds)
    _write_values(folder / "values.csv", owners, values)
    console.print(f"Written: {folder / 'values.csv'}", markup=False)
    _trade(console, owners, values["wasserstein"], folder)
    try:
        _draw(folder / "values.png", owners, values["wasserstein"], actual, bounds)
        console.print(f"Written: {folder / 'values.png'}", markup=False)
    except MissingExtraError as missing:
        console.print(f"No figure: {missing}", markup=False)


def _value(owners: Owners, metric: MetricName) -> Vector:
    # A year has too few days for histograms: some day of each household falls where the average one has none.
    options: dict[str, Any] = {"density": "kernel"} if metric in ("kl", "js", "tv") else {}
    return distances(owners, metric=metric, **options)


def _coalitions(owners: Owners, alone: Vector) -> tuple[Vector, Vector]:
    """For each size: how far its nearest owners lie together, and the bound on it."""
    order = np.argsort(alone, kind="stable")
    rank = np.empty(len(owners), dtype=int)
    rank[order] = np.arange(len(owners))
    nearest = rank < np.arange(1, len(owners) + 1)[:, None]
    return coalition_distances(owners, coalitions=nearest), nearest_bounds(alone, len(owners), _CONFIDENCE)


def _print_values(console: Console, owners: Owners, values: dict[MetricName, Vector]) -> None:
    from rich.table import Table

    assert owners.lengths is not None  # noqa: S101  the shipped file holds samples
    console.print("[bold]How far is each household from the average one?[/bold]")
    console.print(f"{len(owners)} made-up households, {owners.lengths[0]} days each, kWh a day.")
    table = Table()
    table.add_column("household")
    for name in values:
        table.add_column(_SHORT[name], justify="right")
    for place in np.argsort(values["wasserstein"], kind="stable"):
        table.add_row(owners.names[place], *(f"{column[place]:.3f}" for column in values.values()))
    console.print(table)
    console.print(
        "W (Wasserstein) is in kWh: how far the average household's days have to be\n"
        "moved, on average, to become this household's. The others compare\n"
        "probabilities: KL (Kullback-Leibler, nats) may be infinite, and however far\n"
        "the data lie, JS (Jensen-Shannon) stays below 0.833, KS (Kolmogorov-Smirnov)\n"
        "and TV (total variation) below 1.\n"
    )


def _print_coalitions(console: Console, owners: Owners, alone: Vector, actual: Vector, bounds: Vector) -> None:
    from rich.table import Table

    order = np.argsort(alone, kind="stable")
    console.print("[bold]And together?[/bold]  Buying the nearest households first, distances in kWh:")
    table = Table()
    for title in ("bought", "the last one", "bound on W (95 %)", "W in fact", "the bound"):
        table.add_column(title, justify="left" if title in ("the last one", "the bound") else "right")
    for place, owner in enumerate(order):
        holds = "holds" if actual[place] <= bounds[place] + 1e-12 else "does not hold"
        table.add_row(str(place + 1), owners.names[owner], f"{bounds[place]:.3f}", f"{actual[place]:.3f}", holds)
    console.print(table)
    console.print(
        "The market knows the single distances only; the bound is what it minimises.\n"
        "It falls as more are bought because their differences average out. It does not\n"
        "hold for every coalition: kantor.coverage measures how often it does.\n"
    )


def _trade(console: Console, owners: Owners, alone: Vector, folder: Path) -> None:
    """A market for the same households: bids, a clearing with its reasons, an audit."""
    prices = np.random.default_rng(_SEED).uniform(0.1, 1.0, len(owners)).round(2)
    plain = Bids(distance=alone, reserve=prices, owner=owners.names, epsilon=np.full(len(owners), _EPSILON))
    bids = plain.with_noise("laplace", sensitivity=1.0)
    clearing = clear(bids, Exogenous(budget=_BUDGET))
    loser = bids.name(int(np.flatnonzero(~clearing.selected)[0]))
    console.print("[bold]Who should be paid for its data?[/bold]")
    console.print(
        f"Each household asks for a price between 0 and 1, and adds Laplace noise\n"
        f"(epsilon {_EPSILON:g}) to its data. The buyer has {_BUDGET:g} to spend.\n"
    )
    bought = np.flatnonzero(clearing.selected).tolist()
    lines = (f"  {bids.name(i)} is paid {clearing.payments[i]:.3f}" for i in bought)
    console.print("\n".join(lines), markup=False)
    console.print(str(clearing), markup=False)
    console.print(str(what_it_takes(clearing, loser)), markup=False)
    found = audit(bids, clearing, draws=60, reports=6)
    console.print(f"Audit: {found.tried} false prices tried, {len(found.deviations)} of them gain.\n", markup=False)
    with replacing(folder / "clearing.json") as temporary:
        temporary.write_text(clearing.to_json(), encoding="utf-8")
    write_table(clearing.to_frame(), folder / "clearing.csv")
    console.print(f"Written: {folder / 'clearing.csv'} and {folder / 'clearing.json'}", markup=False)


def _write_values(path: Path, owners: Owners, values: dict[MetricName, Vector]) -> None:
    import polars as pl

    columns: dict[str, Any] = {str(name): column for name, column in values.items()}
    write_table(pl.DataFrame({"owner": owners.names, **columns}), path)


def _draw(path: Path, owners: Owners, alone: Vector, actual: Vector, bounds: Vector) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise MissingExtraError("The demo's figure", "matplotlib", "figures") from missing
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_quantiles(left, owners, alone)
    sizes = np.arange(1, len(owners) + 1)
    right.plot(sizes, bounds, "o-", color="#0072B2", label="Hoeffding bound, 95 %")
    right.plot(sizes, actual, "s-", color="#D55E00", label="in fact")
    right.plot(sizes, np.sort(alone), "^:", color="#777777", label="the last one bought, alone")
    right.set(title="Buying the nearest households first", xlabel="households bought", ylim=(0, None))
    right.set(ylabel="distance from the average household (kWh)", xticks=sizes)
    right.legend(frameon=False)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=130)


def _draw_quantiles(axes: Any, owners: Owners, alone: Vector) -> None:
    """Every owner's quantile curve against the target's: the area between two curves is their distance."""
    target = aggregate(owners)
    levels = np.linspace(0.01, 0.99, 197)
    rows = {int(place): row for block in owners.blocks() for place, row in zip(*block, strict=True)}
    nearest, furthest = int(alone.argmin()), int(alone.argmax())
    for place, row in rows.items():
        axes.plot(levels, np.quantile(row, levels), color="#cccccc", lw=1, zorder=1)
        if place in (nearest, furthest):
            colour = "#009E73" if place == nearest else "#CC79A7"
            label = f"{owners.names[place]}: W = {alone[place]:.2f}"
            axes.plot(levels, np.quantile(row, levels), color=colour, lw=2, label=label, zorder=3)
    middle = np.quantile(target.values, levels)  # type: ignore[union-attr]
    axes.plot(levels, middle, color="black", lw=2.5, label="the average household", zorder=4)
    axes.fill_between(levels, middle, np.quantile(rows[furthest], levels), color="#CC79A7", alpha=0.15, lw=0)
    axes.set(title="Distance is the area between quantile curves", xlabel="share of days below")
    axes.set(ylabel="consumption (kWh a day)")
    axes.legend(frameon=False, loc="upper left")
