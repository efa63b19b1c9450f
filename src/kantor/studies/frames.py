"""Figures as tidy tables: a row for each point, with the columns figure, panel, curve, x, y.

Where an axis is categorical, `xlabel` stands beside the numeric x; where a curve has a band, `lower` and `upper`
follow y. Boxes have mean, q1, median, q3, lo and hi in place of y: quartiles, and whiskers that reach to the last
value within 1.5 interquartile ranges of the box.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kantor.errors import InputError
from kantor.owners.distributions import Vector

if TYPE_CHECKING:
    import polars as pl

__all__ = ["BOX", "Curves", "Tidy", "read_frame"]

BOX = ("mean", "q1", "median", "q3", "lo", "hi")
_ORDER = ("figure", "panel", "curve", "x", "xlabel", "y", "lower", "upper", *BOX)


class Tidy:
    """Collects curves, and makes the table."""

    def __init__(self, figure: str) -> None:
        self._figure = figure
        self._rows: list[dict[str, Any]] = []

    def add(
        self,
        panel: str,
        curve: str,
        x: Any,
        y: Any,
        *,
        band: tuple[Any, Any] | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """A curve: x and y, a band around it, names of the places on the x axis."""
        columns: dict[str, Any] = {"x": x, "y": y}
        if band is not None:
            columns["lower"], columns["upper"] = band
        self._append(panel, curve, columns, labels)

    def add_box(self, panel: str, curve: str, place: float, values: Vector) -> None:
        """What many trials gave, as a box."""
        q1, median, q3 = np.quantile(values, [0.25, 0.5, 0.75])
        reach = 1.5 * (q3 - q1)
        inside = values[(values >= q1 - reach) & (values <= q3 + reach)]
        numbers = (values.mean(), q1, median, q3, inside.min(), inside.max())
        self._append(panel, curve, {"x": [place], **{n: [v] for n, v in zip(BOX, numbers, strict=True)}}, [curve])

    def _append(self, panel: str, curve: str, columns: dict[str, Any], labels: Sequence[str] | None) -> None:
        numeric = {name: np.asarray(values, dtype=float).tolist() for name, values in columns.items()}
        count = len(numeric["x"])
        same = {"figure": [self._figure] * count, "panel": [panel] * count, "curve": [curve] * count}
        named = {} if labels is None else {"xlabel": list(labels)}
        table = {**same, **numeric, **named}
        self._rows += [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]

    def frame(self) -> pl.DataFrame:
        """All curves."""
        import polars as pl

        found = pl.DataFrame(self._rows, infer_schema_length=None)
        return found.select([name for name in _ORDER if name in found.columns])


class Curves:
    """A figure's curves by panel and name."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame

    def __call__(self, panel: str, curve: str, column: str = "y") -> Vector:
        """One column of one curve."""
        import polars as pl

        rows = self.frame.filter((pl.col("panel") == panel) & (pl.col("curve") == curve))
        if rows.is_empty():
            raise InputError(
                f"there is no curve {curve!r} in a panel {panel!r}",
                remedy=f"Panels are {', '.join(self.panels())}.",
                value=curve,
            )
        return np.asarray(rows[column].to_numpy())

    def panels(self) -> list[str]:
        """The names of all panels, in order."""
        return [str(name) for name in self.frame["panel"].unique(maintain_order=True)]

    def names(self, panel: str) -> list[str]:
        """The names of a panel's curves, in order."""
        import polars as pl

        rows = self.frame.filter(pl.col("panel") == panel)
        return [str(name) for name in rows["curve"].unique(maintain_order=True)]


def read_frame(path: Path) -> pl.DataFrame:
    """A figure's table from its file."""
    import polars as pl

    try:
        return pl.read_csv(path, schema_overrides={"panel": pl.String, "curve": pl.String}, infer_schema_length=None)
    except (OSError, pl.exceptions.PolarsError) as fault:
        raise InputError(
            f"the figure's table cannot be read ({fault})",
            remedy="Run `kantor study` for this figure again.",
            file=path,
        ) from fault
