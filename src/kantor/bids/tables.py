"""Tables of bids: the columns owner, distance, reserve and, if wanted, epsilon and prior.

Column names are compared without regard to case. Other columns are left aside, unless one is nearly called like a
column that is missing: a misspelt "priors" would otherwise silently become the default.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from kantor.bids.notation import parse_prior
from kantor.errors import InputError
from kantor.owners.distributions import Vector
from kantor.owners.files import read_table
from kantor.owners.frames import as_polars, numeric_column

__all__ = ["Columns", "columns_of", "read_columns"]

_NEEDED, _OPTIONAL = ("owner", "distance", "reserve"), ("epsilon", "prior")
_FIRST_ROW = 2


@dataclass(frozen=True)
class Columns:
    """The columns of a table of bids, cells filled and numbers read."""

    owner: list[str]
    distance: Vector
    reserve: Vector
    epsilon: Vector | None
    prior: list[str | None] | None
    file: str | None

    def priors(self, default: Any) -> Any:
        """Each owner's prior, the default where the cell is empty; the default itself where there is no column."""
        if self.prior is None or not any(self.prior):
            return default
        if default is not None and not isinstance(default, str) and hasattr(default, "__len__"):
            raise InputError(
                "a prior for each owner was given, and the table has a column prior",
                remedy="Use one of the two.",
                file=self.file,
                column="prior",
            )
        read: dict[str | None, Any] = {None: "uniform:0:1" if default is None else default}
        for place, text in enumerate(self.prior):
            if text not in read:
                read[text] = parse_prior(str(text), file=self.file, row=place + _FIRST_ROW, column="prior")
        return [read[text] for text in self.prior]


def read_columns(path: str | Path) -> Columns:
    """The columns of a CSV or Parquet file."""
    return columns_of(read_table(path), str(path))


def columns_of(frame: Any, file: str | None) -> Columns:
    """The columns of a pandas or polars frame."""
    table = _recognised(as_polars(frame, file), file)
    if table.height == 0:
        raise InputError("there are no bids", remedy="Give at least one row.", file=file)
    texts = {name: _texts(table.get_column(name), file) for name in ("owner", "prior") if name in table.columns}
    numbers = {
        name: _filled(numeric_column(table.get_column(name), file), file).to_numpy()
        for name in ("distance", "reserve", "epsilon")
        if name in table.columns
    }
    return Columns(
        owner=_filled(texts["owner"], file).to_list(),
        distance=numbers["distance"],
        reserve=numbers["reserve"],
        epsilon=numbers.get("epsilon"),
        prior=texts["prior"].to_list() if "prior" in texts else None,
        file=file,
    )


def _recognised(table: pl.DataFrame, file: str | None) -> pl.DataFrame:
    """The columns that count, by their plain names."""
    plain = [name.strip().lower() for name in table.columns]
    for name in _NEEDED:
        if name not in plain:
            raise InputError(
                f"there is no column {name!r}",
                remedy=f"The columns owner, distance and reserve are needed{_mistaken(name, table.columns)}; "
                f"this table has: {', '.join(table.columns[:8])}.",
                file=file,
            )
    for name in (*_NEEDED, *_OPTIONAL):
        if plain.count(name) > 1:
            raise InputError(
                f"there are {plain.count(name)} columns {name!r}", remedy="Keep one of them.", file=file, column=name
            )
    _refuse_near_misses(table.columns, plain, file)
    wanted = [place for place, name in enumerate(plain) if name in (*_NEEDED, *_OPTIONAL)]
    return table.select(pl.col(table.columns[place]).alias(plain[place]) for place in wanted)


def _mistaken(name: str, columns: list[str]) -> str:
    close = difflib.get_close_matches(name, columns, 1, 0.75)
    return f" ({close[0]!r} may be meant as {name!r})" if close else ""


def _refuse_near_misses(columns: list[str], plain: list[str], file: str | None) -> None:
    missing = [name for name in _OPTIONAL if name not in plain]
    for column, name in zip(columns, plain, strict=True):
        meant = difflib.get_close_matches(name, missing, 1, 0.75)
        if meant:
            raise InputError(
                f"column {column!r} is not known",
                remedy=f"Call it {meant[0]!r} if that is meant; otherwise give it a name less like it.",
                file=file,
                row=1,
            )


def _texts(column: pl.Series, file: str | None) -> pl.Series:
    """A column as texts without outer spaces; empty ones are no text at all."""
    try:
        texts = column.cast(pl.String).str.strip_chars()
    except pl.exceptions.PolarsError as fault:
        raise InputError(
            f"the column holds {column.dtype} values", remedy="Give texts.", file=file, column=column.name
        ) from fault
    return texts.set(texts == "", None)


def _filled(column: pl.Series, file: str | None) -> pl.Series:
    if column.null_count():
        raise InputError(
            "the cell is empty",
            remedy="Fill it, or remove the row.",
            file=file,
            row=int(column.is_null().arg_max() or 0) + _FIRST_ROW,
            column=column.name,
        )
    return column
