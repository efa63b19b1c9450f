"""Tables of owners' data: a column for each owner, or the two columns owner and value.

In the wide form an owner may have fewer samples than another: its column then ends in empty cells. An empty cell in
the middle is refused, because dropping it would shift the owner's later samples against everybody else's moments.
Rows are named as a spreadsheet names them: the header is row 1, the first samples are row 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from kantor.errors import InputError
from kantor.owners.collection import Owners
from kantor.owners.distributions import Vector

__all__ = ["as_polars", "is_long", "numeric_column", "owners_from_frame"]

_FIRST_ROW = 2


def owners_from_frame(frame: Any, file: str | None = None) -> Owners:
    """Owners from a polars or pandas frame, in wide or in long form."""
    table = as_polars(frame, file)
    if table.width == 0 or table.height == 0:
        raise InputError(
            "the table is empty", remedy="Give a column for each owner, with a sample in each row.", file=file
        )
    if is_long(table.columns, file):
        return _long(table.rename({name: name.strip().lower() for name in table.columns}), file)
    columns = {name: wide_column(table.get_column(name), file) for name in table.columns}
    lengths = [column.size for column in columns.values()]
    return owners_from_columns(tuple(columns), lambda names: [columns[name] for name in names], lengths, file)


def is_long(names: list[str], file: str | None) -> bool:
    """Whether these are the two columns owner and value; beside a third one they could be either form."""
    plain = [name.strip().lower() for name in names]
    if not {"owner", "value"} <= set(plain):
        return False
    others = [name for name, known in zip(names, plain, strict=True) if known not in ("owner", "value")]
    if others:
        raise InputError(
            f"beside the columns owner and value there are others ({', '.join(others[:5])})",
            remedy=f"Leave them out (kantor value --ignore {others[0]}), or rename owner and value if they are owners.",
            file=file,
            row=1,
            column=others[0],
        )
    return True


def owners_from_columns(
    names: tuple[str, ...], read: Callable[[list[str]], list[Vector]], lengths: list[int], file: str | None
) -> Owners:
    """Owners whose samples are fetched by name, when a block needs them."""
    return Owners(
        names,
        np.array(lengths, dtype=np.int64),
        _read=lambda places: np.stack(read([names[int(i)] for i in places])),
        source=file,
    )


def as_polars(frame: Any, file: str | None) -> pl.DataFrame:
    """A pandas or polars frame as a polars one, pandas' missing numbers as empty cells."""
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if not hasattr(frame, "iloc"):
        raise InputError(
            f"a table cannot be read from {type(frame).__name__}", remedy="Give a pandas or polars frame.", file=file
        )
    names = [str(name) for name in frame.columns]
    refuse_duplicates(names, file)
    # pandas marks a missing number by NaN: here it becomes what it means, an empty cell.
    columns = {name: _pandas_column(frame.iloc[:, i].to_numpy(), name) for i, name in enumerate(names)}
    return pl.DataFrame(columns, strict=False)


def _pandas_column(values: Any, name: str) -> pl.Series:
    if values.dtype.kind in "biuf":
        return pl.Series(name, values, nan_to_null=True)
    missing = [value is None or value != value for value in values.tolist()]  # NaN differs from itself
    plain = [None if gone else value for value, gone in zip(values.tolist(), missing, strict=True)]
    return pl.Series(name, plain, strict=False)


def refuse_duplicates(names: list[str], file: str | None) -> None:
    """Two columns of one name would silently become one owner."""
    seen: set[str] = set()
    for place, name in enumerate(names):
        if name in seen:
            raise InputError(
                f"owner {name!r} stands in two columns, the second of them column {place + 1}",
                remedy="Give every owner a name of its own.",
                value=name,
                file=file,
                row=1,
                column=name,
            )
        seen.add(name)


def wide_column(column: pl.Series, file: str | None) -> Vector:
    """An owner's samples: the column up to its last filled cell."""
    if column.dtype.is_numeric() and column.null_count() == 0:
        values = column.cast(pl.Float64).to_numpy()
        if values.size and np.isfinite(values).all():
            return values
    numbers = numeric_column(column, file)
    filled = numbers.is_not_null()
    count = int(filled.sum())
    if count == 0:
        raise InputError(
            "the owner has no samples",
            remedy="Fill the column, or remove it.",
            file=file,
            column=column.name,
        )
    if not filled.head(count).all():
        empty = int(filled.arg_min() or 0)
        raise InputError(
            "the cell is empty, and later cells of the column are not",
            remedy="Fill it, or remove the row for all owners; empty cells may only stand at a column's end.",
            file=file,
            row=empty + _FIRST_ROW,
            column=column.name,
        )
    return numbers.head(count).to_numpy()


def numeric_column(column: pl.Series, file: str | None) -> pl.Series:
    """The column as floats; text, NaN and infinity are refused with their row. Empty cells stay empty."""
    if column.dtype == pl.String:
        text = column.str.strip_chars()
        column = pl.Series(column.name, text.set(text == "", None))
        numbers = column.cast(pl.Float64, strict=False)
    elif column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null):
        numbers = column.cast(pl.Float64)
    else:
        raise InputError(
            f"the column holds {column.dtype} values, for example {column.drop_nulls().head(1).to_list()}",
            remedy="Give numbers; leave out columns that are no owner's data, such as a time stamp.",
            file=file,
            column=column.name,
        )
    for faulty, remedy in (
        (numbers.is_null() & column.is_not_null(), _text_remedy),
        (~numbers.is_finite().fill_null(value=True), _not_finite_remedy),
    ):
        if faulty.any():
            place = int(faulty.arg_max() or 0)
            value = column[place]
            raise InputError(
                f"{value!r} is not a number" if isinstance(value, str) else f"the value is {value}",
                remedy=remedy(str(value)),
                value=value,
                file=file,
                row=place + _FIRST_ROW,
                column=column.name,
            )
    return numbers


def _text_remedy(value: str) -> str:
    if value.count(",") == 1 and value.replace(",", "").strip("+-").isdigit():
        return "Write decimals with a point, or separate the columns by semicolons."
    return "Replace it by a number; leave out columns that are no owner's data, such as a time stamp."


def _not_finite_remedy(_: str) -> str:
    return "Replace it by what was measured, or remove the row."


def _long(table: pl.DataFrame, file: str | None) -> Owners:
    owners, values = table.get_column("owner").cast(pl.String), numeric_column(table.get_column("value"), file)
    for column in (owners, values):
        if column.null_count():
            raise InputError(
                "the cell is empty",
                remedy="Give each row an owner and a value, or remove the row.",
                file=file,
                row=int(column.is_null().arg_max() or 0) + _FIRST_ROW,
                column=column.name,
            )
    codes, names = _coded(owners)
    order = np.argsort(codes, kind="stable")
    ordered, lengths = values.to_numpy()[order], np.bincount(codes)
    starts = np.concatenate([[0], np.cumsum(lengths)])

    def read(places: npt.NDArray[np.int64]) -> Vector:
        return np.stack([ordered[starts[i] : starts[i + 1]] for i in places])

    return Owners(names, lengths, _read=read, source=file)


def _coded(owners: pl.Series) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """Each row's owner as a number, in order of first appearance."""
    names = owners.unique(maintain_order=True)
    codes = owners.cast(pl.Enum(names)).to_physical()
    return codes.to_numpy().astype(np.int64), tuple(names.to_list())
