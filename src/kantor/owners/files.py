"""Owners' data from files: CSV (also TSV, semicolons, or compressed), and Parquet.

Parquet in wide form is read a block of owners at a time, so that a file larger than memory can be valued. Whatever is
wrong with a file is told with its name, the row as a spreadsheet counts it, the column, and what to do.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import polars as pl

from kantor.errors import InputError
from kantor.owners.collection import Owners
from kantor.owners.distributions import Vector
from kantor.owners.frames import (
    is_long,
    numeric_column,
    owners_from_columns,
    owners_from_frame,
    refuse_duplicates,
    wide_column,
)
from kantor.owners.samples import Sample

__all__ = ["read_owners", "read_table", "read_target"]

_PARQUET = (".parquet", ".pq")
_TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".csv.zst", ".tsv.gz")
_NUMBERS_AT_ONCE = 1 << 22  # held in memory while a file is checked: 32 MB


def read_owners(path: str | Path, ignore: Sequence[str] = ()) -> Owners:
    """Owners from a CSV or Parquet file: a column for each, or the two columns owner and value.

    ignore: columns that are no owner's data, such as a time stamp.
    """
    file = _existing(path)
    if not _is_parquet(file):
        return owners_from_frame(_without(read_table(file), ignore, file), str(file))
    with _readable(file):
        scan = pl.scan_parquet(file)
        empty, rows = scan.head(0).collect(), int(scan.select(pl.len()).collect().item())
    columns = _without(empty, ignore, file).columns
    if not columns or is_long(columns, str(file)):
        return owners_from_frame(_without(read_table(file), ignore, file), str(file))
    # One pass that checks every column and keeps its length; the samples are read again, block by block.
    step = max(64, _NUMBERS_AT_ONCE // max(rows, 1))
    lengths = [
        column.size
        for start in range(0, len(columns), step)
        for column in _parquet_columns(file, columns[start : start + step])
    ]
    return owners_from_columns(tuple(columns), lambda names: _parquet_columns(file, names), lengths, str(file))


def _without(table: pl.DataFrame, ignore: Sequence[str], file: Path) -> pl.DataFrame:
    for name in ignore:
        if name not in table.columns:
            raise InputError(
                f"there is no column {name!r} to ignore",
                remedy=f"The columns are: {', '.join(table.columns[:8])}{' ...' if table.width > 8 else ''}.",
                value=name,
                file=file,
            )
    return table.drop(list(ignore))


def _parquet_columns(file: Path, names: list[str]) -> list[Vector]:
    with _readable(file):
        table = pl.read_parquet(file, columns=names)
    return [wide_column(table.get_column(name), str(file)) for name in names]


def read_target(path: str | Path) -> Sample:
    """The target's samples: a file with one column of numbers, or with one named value."""
    file = _existing(path)
    table = read_table(file)
    names = {name.strip().lower(): name for name in table.columns}
    if table.width == 1 or "value" in names:
        column = numeric_column(table.get_column(names.get("value", table.columns[0])), str(file)).drop_nulls()
        if column.len() == 0:
            raise InputError("the target has no samples", remedy="Give at least one number.", file=file)
        return Sample(column.to_numpy())
    raise InputError(
        f"the target has {table.width} columns ({', '.join(table.columns[:5])})",
        remedy='Give one column of numbers, or name the one that counts "value".',
        file=file,
    )


def read_table(path: str | Path) -> pl.DataFrame:
    """A CSV or Parquet file as it stands, numbers recognised; duplicate and missing column names are refused.

    A column owner beside one of values, distances or reserve prices holds names: owner 007 is not owner 7.
    """
    file = _existing(path)
    if _is_parquet(file):
        with _readable(file):
            return pl.read_parquet(file)
    separator, columns = _header(file)
    plain = [name.strip().lower() for name in columns]
    named = "owner" in plain and not {"value", "distance", "reserve"}.isdisjoint(plain)
    texts = {name: pl.String for name, known in zip(columns, plain, strict=True) if named and known == "owner"}
    with _readable(file):
        table = pl.read_csv(
            file,
            separator=separator,
            decimal_comma=separator == ";",
            infer_schema_length=None,
            null_values=[""],
            schema_overrides=texts,
        )
    return table.rename({name: name.strip() for name in table.columns})


def _existing(path: str | Path) -> Path:
    file = Path(path)
    if not file.exists():
        raise InputError("there is no such file", remedy="Check the name and the folder.", file=file)
    if file.is_dir():
        raise InputError("this is a folder", remedy="Give one CSV or Parquet file.", file=file)
    if not _is_parquet(file) and not file.name.lower().endswith(_TEXT):
        raise InputError(
            f"files ending in {file.suffix or 'nothing'} are not read",
            remedy="Give a CSV file (.csv, .tsv) or a Parquet file (.parquet).",
            file=file,
        )
    if file.stat().st_size == 0:
        raise InputError(
            "the file is empty", remedy="Give a header row with the owners' names, then samples.", file=file
        )
    return file


def _is_parquet(file: Path) -> bool:
    return file.name.lower().endswith(_PARQUET)


def _header(file: Path) -> tuple[str, list[str]]:
    """The separator and the columns, once the header is known to name each, once, and not to be data."""
    with _readable(file):
        top = pl.read_csv(file, has_header=False, n_rows=1, separator="\n", infer_schema=False, quote_char=None)
    line = str(top.item(0, 0) or "") if top.height else ""
    plain = re.sub(r'"[^"]*"', "", line)
    separator = "\t" if "\t" in plain else ";" if ";" in plain and "," not in plain else ","
    with _readable(file):
        cells = pl.read_csv(file, has_header=False, n_rows=1, separator=separator, infer_schema=False).row(0)
    columns = ["" if cell is None else str(cell) for cell in cells]
    names = [name.strip() for name in columns]
    if "" in names:
        raise InputError(
            "the column has no name",
            remedy="Name every column after its owner.",
            file=file,
            row=1,
            column=names.index("") + 1,
        )
    if all(_is_number(name) for name in names) and not _counts(names):
        raise InputError(
            f"the first row looks like data ({', '.join(names[:5])})",
            remedy="Put a header row above it that names the owners; numbers are names only where they count 1, 2, 3.",
            file=file,
            row=1,
        )
    refuse_duplicates(names, str(file))
    return separator, columns


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _counts(names: list[str]) -> bool:
    """Whether numbers are names: two or more that rise by one."""
    if len(names) < 2 or not all(name.isdigit() for name in names):
        return False
    return all(int(after) == int(before) + 1 for before, after in pairwise(names))


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    """What a reader says of a broken file, in our words and with the file's name."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as fault:
        row, problem = _overlong_row(file) or (None, f"the file cannot be read ({str(fault).splitlines()[0]})")
        raise InputError(
            problem,
            remedy="Check that it is a whole Parquet file, or a CSV in UTF-8 with equally many cells in each row.",
            file=file,
            row=row,
        ) from fault


def _overlong_row(file: Path) -> tuple[int, str] | None:
    """The first row of a plain CSV that has more cells than the header, which is what readers stumble over most."""
    if file.suffix.lower() != ".csv":
        return None
    with file.open(encoding="utf-8", errors="replace", newline="") as text:
        rows = csv.reader(text)
        width = len(next(rows, []))
        for number, cells in enumerate(rows, start=2):
            if len(cells) > width:
                return number, f"the row has {len(cells)} cells where the header has {width}"
    return None
