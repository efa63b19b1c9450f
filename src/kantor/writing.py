"""Result files, written whole or not at all.

A result is written beside its place under a temporary name and then moved there, so that an interrupted run leaves
either the old file or the new one, never half of it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kantor.errors import InputError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["check_destination", "make_folder", "replacing", "write_table", "write_text"]

_TABLES = (".csv", ".parquet")


def check_destination(path: Path, endings: tuple[str, ...] = _TABLES, keep: Iterable[Path | None] = ()) -> Path:
    """Refuse a place that could not be written, or that holds what is being read, before any work is done."""
    if path.suffix.lower() not in endings:
        raise InputError(
            f"results are not written as {path.suffix or 'a file without ending'}",
            remedy=f"Give a name that ends in {' or '.join(endings)}.",
            file=path,
        )
    if path.is_dir():
        raise InputError("this is a folder", remedy="Give the name of a file in it.", file=path)
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent}", remedy="Make it first, or write elsewhere.", file=path)
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"nothing may be written to the folder {path.parent}", remedy="Write elsewhere.", file=path)
    if path.exists() and not (path.stat().st_mode & 0o222 and os.access(path, os.W_OK)):  # for root too
        raise InputError("the file is write-protected", remedy="Make it writable, or give another name.", file=path)
    if any(other is not None and path.resolve() == other.resolve() for other in keep):
        raise InputError("the result would replace the data it comes from", remedy="Give another name.", file=path)
    return path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name to write to, which takes the place of `path` when all went well; links are followed."""
    temporary: Path | None = None
    place = Path(os.path.realpath(path))
    try:
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{path.stem}-", suffix=path.suffix)
        temporary = Path(name)
        os.close(handle)
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(place)
    except OSError as fault:
        raise InputError(
            f"it cannot be written ({fault.strerror or fault})",
            remedy="Check the disk's space and the folder's permissions.",
            file=path,
        ) from fault
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def make_folder(path: Path) -> Path:
    """A folder for results, made if it is missing."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        problem = "this is a file" if path.is_file() else f"the folder cannot be made ({fault.strerror})"
        raise InputError(problem, remedy="Give the name of a folder that can be written to.", file=path) from fault
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_table(table: pl.DataFrame, path: Path) -> None:
    """A table as CSV or Parquet, by the file's ending."""
    check_destination(path)
    with replacing(path) as temporary:
        if path.suffix.lower() == ".parquet":
            table.write_parquet(temporary)
        else:
            table.write_csv(temporary)


def write_text(text: str, path: Path) -> None:
    """A text as it is."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
