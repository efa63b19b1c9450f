"""The pictures of privacy.md. Run it again after a change:  python docs/theory/privacy_pictures.py

The noise is the operating system's, so no two runs draw quite the same.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import kantor as kt
from kantor.examples import HOUSEHOLDS
from kantor.owners.files import read_owners
from kantor.owners.release import release
from kantor.private.histogram import Histogram
from kantor.private.sharing import expand, split

mpl.use("Agg")
from matplotlib import pyplot as plt

HERE = Path(__file__).parent
BOUNDS = (0.0, 60.0)
INK, ORANGE, BLUE, GREEN = "#222222", "#D55E00", "#0072B2", "#009E73"


def family() -> np.ndarray:
    """A year of a family's days, from the shipped households."""
    owners = read_owners(HOUSEHOLDS)
    place = owners.names.index("family")
    return next(row for block in owners.blocks() for at, row in zip(*block, strict=True) if at == place)


def tidy(axes: Any) -> None:
    """Without the box."""
    axes.spines[["top", "right"]].set_visible(False)


def at_several_epsilons() -> None:
    """The same days released with more and with less noise: day by day, and as a whole."""
    days = family()
    levels = [30.0, 10.0, 3.0, 1.0]
    figure, rows = plt.subplots(2, len(levels), figsize=(12, 5.6), layout="constrained", sharex="row")
    for column, epsilon in enumerate(levels):
        sent = release(days, "laplace", bounds=BOUNDS, unit="record", epsilon=epsilon)
        noise = kt.noise_distance("laplace", sensitivity=BOUNDS[1] - BOUNDS[0], epsilon=epsilon)
        top, bottom = rows[0][column], rows[1][column]
        top.plot(sent.values[:60], ".", color=ORANGE, ms=5, label="released")
        top.plot(days[:60], color=INK, lw=1.4, label="measured")
        top.set(title=f"epsilon {epsilon:g} a day", ylim=(-25, 85), xlabel="day")
        odds = f"{np.exp(epsilon):,.0f}" if epsilon < 20 else "ten million million"
        top.text(0.03, 0.97, f"odds shift up to {odds} : 1", transform=top.transAxes, va="top", fontsize=8.5)
        edges = np.linspace(-40, 100, 57)
        bottom.hist(sent.values, edges, color=ORANGE, alpha=0.6)
        bottom.hist(days, edges, histtype="step", color=INK, lw=1.4)
        moved = kt.wasserstein(sent.values, days)
        bottom.text(
            0.97, 0.97, f"distance from the\nmeasured {moved:.1f},\nat most {noise:.1f}", transform=bottom.transAxes,
            va="top", ha="right", fontsize=8.5,
        )  # fmt: skip
        bottom.set(xlabel="kWh a day")
        for axes in (top, bottom):
            tidy(axes)
            if column:
                axes.tick_params(labelleft=False)
    rows[0][0].set_ylabel("kWh a day")
    rows[0][0].legend(frameon=False, fontsize=8.5, loc="lower left")
    rows[1][0].set_ylabel("days")
    for axes in rows[1][1:]:
        axes.sharey(rows[1][0])
    figure.savefig(HERE / "privacy-epsilon.png", dpi=120)


def what_a_party_holds() -> None:
    """An owner's cumulative counts, and the two components of them that one party is given."""
    method = Histogram(*BOUNDS, bins=60, levels=365)
    counts = method.encode(family())
    packed = split(counts)
    figure, panes = plt.subplots(1, 3, figsize=(12, 3.1), layout="constrained")
    panes[0].step(np.arange(1, 60), counts, color=INK, where="mid")
    panes[0].set(title="what the owner has: days at or below", xlabel="kWh", ylabel="days")
    for axes, component in zip(panes[1:], (0, 1), strict=True):
        words = expand(packed[component], method.size) / 2.0**64
        axes.plot(np.arange(1, 60), words, ".", color=BLUE)
        axes.set(
            title=f"what party 1 is given: component {component}", xlabel="place", ylabel="of $2^{64}$", ylim=(0, 1)
        )
    for axes in panes:
        tidy(axes)
    figure.savefig(HERE / "privacy-shares.png", dpi=120)


def last_bits() -> None:
    """How finely outputs are divided: naive noise tells 0 from 1, a release does not."""
    figure, panes = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained", sharey=True)
    rng = np.random.default_rng(1)

    def safe(value: float) -> np.ndarray:
        return release(np.full(4000, value), "laplace", bounds=(0, 1), unit="record", epsilon=1.0).values

    naive = [0.0 + rng.laplace(size=4000), 1.0 + rng.laplace(size=4000)]
    for axes, title, sides in ((panes[0], "NumPy's noise", naive), (panes[1], "a release", [safe(0.0), safe(1.0)])):
        for outputs, colour, label in zip(sides, (ORANGE, BLUE), ("from the value 0", "from the value 1"), strict=True):
            mantissa, exponent = np.frexp(np.abs(outputs))
            whole = np.ldexp(mantissa, 53).astype(np.int64)
            fineness = exponent - 53 + np.log2((whole & -whole).astype(float))
            axes.plot(np.abs(outputs), fineness, ".", ms=3, color=colour, alpha=0.5, label=label)
        axes.set(title=title, xlabel="size of the output", xscale="log", xlim=(1e-3, 20), ylim=(-66, -40))
        tidy(axes)
    panes[0].set_ylabel("last bit that is set, as a power of 2")
    panes[0].legend(frameon=False, loc="upper left", markerscale=3)
    figure.savefig(HERE / "privacy-last-bits.png", dpi=120)


def scale() -> None:
    """How long private valuations take (python -m benchmarks.private_distances writes the table)."""
    with (HERE / "private-scale.csv").open() as file:
        rows = list(csv.DictReader(file))
    figure, axes = plt.subplots(figsize=(7.5, 4), layout="constrained")
    marks = {"histogram": ("o", BLUE), "aligned": ("s", ORANGE), "parameters": ("^", GREEN)}
    for name, (mark, colour) in marks.items():
        mine = [row for row in rows if row["method"] == name]
        numbers = [int(row["owners"]) * int(row["columns"]) for row in mine]
        seconds = [float(row["processor_seconds_of_a_party"]) for row in mine]
        axes.plot(numbers, seconds, mark, color=colour, label=name, ms=7)
        for row, x, y in zip(mine, numbers, seconds, strict=True):
            what = f"{int(row['owners']):,} × {int(row['columns']):,}"
            axes.annotate(what, (x, y), textcoords="offset points", xytext=(6, -9), fontsize=7.5, color=colour)
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="owners × (bins, samples or parameters)",
        ylabel="processor seconds of a party",
    )
    axes.set_title("What a private valuation takes", loc="left")
    axes.legend(frameon=False)
    tidy(axes)
    figure.savefig(HERE / "private-scale.png", dpi=120)


if __name__ == "__main__":
    at_several_epsilons()
    what_a_party_holds()
    last_bits()
    scale()
