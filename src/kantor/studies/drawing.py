"""Figures drawn from their tables alone.

A table says which panels there are and what is in them; the figure's layout says how they are placed, drawn and
labelled. Nothing is calculated here, so that a figure can be drawn again from a CSV file that somebody else made.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kantor.errors import MissingExtraError
from kantor.studies.figure import Figure, Panel
from kantor.studies.frames import BOX, Curves
from kantor.studies.style import FONT, NAMES, SETTINGS, style_of
from kantor.writing import replacing

__all__ = ["draw", "require_matplotlib", "save"]

_WIDTH, _HEIGHT = 3.3, 2.6
_CELL = 0.19
_TITLES = {"rho=-1": "ρ = −1", "rho=0": "ρ = 0", "rho=1": "ρ = 1"}


def draw(figure: Figure, curves: Curves, described: bool = False) -> Any:
    """The figure as a matplotlib Figure."""
    with _style():
        from matplotlib.figure import Figure as Canvas

        rows, columns = len(figure.grid), max(map(len, figure.grid))
        heights = [max(_height(figure.panel(name), curves, name) for name in row) for row in figure.grid]
        widths = [
            max(_width(figure.panel(row[k]), curves, row[k]) for row in figure.grid if k < len(row))
            for k in range(columns)
        ]
        canvas = Canvas(figsize=(sum(widths) + 1.2, sum(heights) + 0.4), layout="constrained")
        grid = canvas.subplots(
            rows, columns, squeeze=False, gridspec_kw={"height_ratios": heights, "width_ratios": widths}
        )
        for place, row in enumerate(figure.grid):
            _draw_row(figure, curves, row, list(grid[place]))
        canvas.suptitle(
            f"{figure.title}{' (as described)' if described else ''}", fontsize=FONT + 2.5, fontweight="bold"
        )
        return canvas


def save(canvas: Any, path: Path, provenance: str) -> None:
    """The figure as SVG or PNG, with its provenance in the file."""
    options: dict[str, Any] = {"metadata": {"Description": provenance}}
    if path.suffix == ".svg":
        options["metadata"]["Date"] = None
    else:
        options["dpi"] = 150
    with _style(), replacing(path) as temporary:
        canvas.savefig(temporary, **options)


def require_matplotlib() -> Any:
    """The optional library that draws; an error that says how to get it."""
    try:
        import matplotlib as mpl
    except ImportError as missing:
        raise MissingExtraError("A study's figure", "matplotlib", "figures") from missing
    return mpl


@contextmanager
def _style() -> Iterator[None]:
    with require_matplotlib().rc_context(SETTINGS):
        yield


def _height(panel: Panel, curves: Curves, name: str) -> float:
    return max(_HEIGHT, _CELL * len(curves.names(name)) + 0.9) if panel.kind == "heat" else _HEIGHT


def _width(panel: Panel, curves: Curves, name: str) -> float:
    return max(_WIDTH, _CELL * len(curves(name, curves.names(name)[0])) + 0.9) if panel.kind == "heat" else _WIDTH


def _draw_row(figure: Figure, curves: Curves, row: tuple[str, ...], axes: list[Any]) -> None:
    alike = len({(panel.kind, panel.x, panel.y) for panel in map(figure.panel, row)}) == 1
    for place, name in enumerate(row):
        panel = figure.panel(name)
        _DRAW[panel.kind](axes[place], curves, name, panel)
        _label(axes[place], panel, name, first=place == 0 or not alike)
        followed = place + 1 < len(row) and (alike or curves.names(name) == curves.names(row[place + 1]))
        if not followed:
            _explain(panel, axes[: len(row)] if alike else [axes[place]])
    if alike and figure.panel(row[0]).kind in ("lines", "dots"):
        low, high = zip(*(each.get_ylim() for each in axes[: len(row)]), strict=True)
        for each in axes[: len(row)]:
            each.set_ylim(min(low), max(high))
    for spare in axes[len(row) :]:
        spare.set_axis_off()


def _explain(panel: Panel, axes: list[Any]) -> None:
    """A legend, or a scale of colours, to the right of panels that are drawn alike."""
    if panel.kind != "heat":
        axes[-1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
        return
    bar = axes[-1].figure.colorbar(axes[-1].images[0], ax=axes, shrink=0.9, pad=0.01, aspect=15)
    if panel.options.get("binary"):
        bar.set_ticks([0.25, 0.75], labels=["no", "yes"])


def _label(axes: Any, panel: Panel, name: str, first: bool) -> None:
    _, _, last = name.partition("/")
    which = _TITLES.get(last or name, last)
    title = ", ".join(part for part in (panel.title, which) if part)
    axes.set_title(title)
    axes.set_xlabel(panel.x)
    if first:
        axes.set_ylabel(panel.y)


def _draw_lines(axes: Any, curves: Curves, name: str, panel: Panel) -> None:
    names, spoken = curves.names(name), NAMES | panel.options.get("names", {})
    for place, curve in enumerate(names):
        x, y = curves(name, curve, "x"), curves(name, curve)
        look = style_of(curve, place, names)
        axes.plot(x, y, label=spoken.get(curve, curve), **look)
        _draw_band(axes, curves, name, curve, look["color"])
    if panel.options.get("log"):
        axes.set_xscale("log")
    if panel.options.get("logy"):
        axes.set_yscale("log")
    if ticks := panel.options.get("ticks"):
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()


def _draw_band(axes: Any, curves: Curves, name: str, curve: str, colour: Any) -> None:
    if "lower" not in curves.frame.columns:
        return
    low, high = (curves(name, curve, column).astype(float) for column in ("lower", "upper"))
    if np.isfinite(low).any():
        axes.fill_between(curves(name, curve, "x"), low, high, color=colour, alpha=0.15, lw=0)


def _draw_dots(axes: Any, curves: Curves, name: str, panel: Panel) -> None:
    _draw_lines(axes, curves, name, panel)
    axes.set_xticks(curves(name, curves.names(name)[0], "x"))


def _draw_scatter(axes: Any, curves: Curves, name: str, panel: Panel) -> None:
    names = curves.names(name)
    line = panel.options["line"]
    for place, curve in enumerate(names):
        x, y = curves(name, curve, "x"), curves(name, curve)
        if curve == line:
            ends = [x.min(), x.max()]
            axes.plot(ends, [y.min(), y.max()], "--", color="black", lw=1.2, label="the bound", zorder=3)
        else:
            look = style_of(curve, place, names)
            axes.scatter(x, y, s=9, color=look["color"], marker=look["marker"], alpha=0.6, lw=0, label=curve)


def _draw_heat(axes: Any, curves: Curves, name: str, panel: Panel) -> None:
    from matplotlib.colors import ListedColormap

    names = curves.names(name)
    across = sorted(
        {
            (x, label)
            for curve in names
            for x, label in zip(curves(name, curve, "x"), curves(name, curve, "xlabel"), strict=True)
        }
    )
    table = np.full((len(names), len(across)), np.nan)
    for place, curve in enumerate(names):
        table[place, curves(name, curve, "x").astype(int)] = curves(name, curve)
    binary = panel.options.get("binary", False)
    low, high = (0.0, 1.0) if binary else panel.options["range"]
    colours = ListedColormap(["#D55E00", "#56B4E9"]) if binary else "cividis"
    axes.imshow(table, cmap=colours, vmin=low, vmax=high, aspect="auto")
    small = FONT - 2 if len(names) > 8 else FONT - 1
    axes.set_xticks(range(len(across)), [label for _, label in across], rotation=90, fontsize=small)
    axes.set_yticks(range(len(names)), names, fontsize=small)
    axes.grid(visible=False)
    if panel.options.get("numbers"):
        _write_numbers(axes, table, 0.5 * (low + high))


def _write_numbers(axes: Any, table: Any, middle: float) -> None:
    for (row, column), value in np.ndenumerate(table):
        colour = "black" if value > middle else "white"
        size = FONT - 3.2 if table.shape[1] > 8 else FONT - 1
        axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=size)


def _draw_boxes(axes: Any, curves: Curves, name: str, _panel: Panel) -> None:
    names = curves.names(name)
    boxes = []
    for curve in names:
        mean, q1, median, q3, low, high = (float(curves(name, curve, column)[0]) for column in BOX)
        boxes.append({"mean": mean, "q1": q1, "med": median, "q3": q3, "whislo": low, "whishi": high, "label": curve})
    places = [float(curves(name, curve, "x")[0]) for curve in names]
    parts = axes.bxp(
        boxes,
        positions=places,
        widths=0.6,
        showfliers=False,
        showmeans=True,
        meanline=True,
        patch_artist=True,
        boxprops={"facecolor": "#56B4E9", "alpha": 0.45},
        medianprops={"color": "black"},
        meanprops={"color": "#D55E00", "linestyle": "-", "linewidth": 1.6},
    )
    axes.set_xticklabels(names, rotation=60, ha="right", rotation_mode="anchor")
    parts["means"][0].set_label("mean")
    parts["medians"][0].set_label("median")
    axes.set_ylim(bottom=0)


_DRAW = {"lines": _draw_lines, "dots": _draw_dots, "scatter": _draw_scatter, "heat": _draw_heat, "boxes": _draw_boxes}
