"""Valuations that take long are kept in a folder, so that several figures and a resumed run need not repeat them.

A trial's samples depend on the seed, the family and the trial's number alone. Trials are valued in parallel where a pool of
processes is given, and the whole is written in one piece when all are there.
"""

from __future__ import annotations

import zipfile
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kantor.owners.distributions import Vector
from kantor.studies.metrics import Values
from kantor.studies.populations import Family, Population
from kantor.studies.sampled_values import DRAWS, sampled_values
from kantor.writing import make_folder, replacing

if TYPE_CHECKING:
    from kantor.studies.figure import Case

__all__ = ["FOLDER", "block_values", "stored_values"]

FOLDER = ".valuations"
"""Where `kantor study` keeps them, inside the folder of results."""


def stored_values(owners: Population, family: Family, case: Case) -> Values:
    """The values of sampled coalitions: from the store if they are there, and into it if they are not."""
    path = _path(case, family)
    table = None if path is None else _read(path, (owners.trials, len(owners.members)))
    if table is None:
        found = sampled_values(owners, family, case.setting.seed)
        table = found.table
        if path is not None:
            _write(path, table)
    return Values(owners, table)


def block_values(case: Case, family: Family, pool: Executor | None, jobs: int) -> list[str]:
    """Fill the store in parallel; the families still to be valued are returned as they are done."""
    raise NotImplementedError((case, family, pool, jobs))


def _path(case: Case, family: Family) -> Path | None:
    if case.store is None:
        return None
    setting = case.setting
    return case.store / f"{family}-{setting.trials}x{setting.owners}-{setting.seed}-{DRAWS}.npz"


def _read(path: Path, shape: tuple[int, int]) -> Vector | None:
    try:
        with np.load(path) as file:
            table = np.asarray(file["table"])
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return None
    return table if table.shape[:2] == shape else None


def _write(path: Path, table: Vector) -> None:
    make_folder(path.parent)
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, table=table)
