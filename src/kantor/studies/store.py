"""Valuations that take long are kept in a folder, so that several figures and a resumed run need not repeat them.

A trial's samples depend on the seed, the family and the trial's number alone, so that blocks of trials can be valued
apart, in any order and in several processes, and give the same table.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from kantor.owners.distributions import Vector
from kantor.studies.metrics import METRICS
from kantor.studies.populations import Family, Population, population
from kantor.studies.sampled_values import DRAWS, sampled_values
from kantor.studies.setting import Setting
from kantor.writing import make_folder, replacing

__all__ = ["blocks", "keep", "recall", "valued_block"]

_FOLDER = ".valuations"
_TRIALS = 5


def blocks(setting: Setting) -> list[tuple[int, int]]:
    """The first trial of every block and the one after its last."""
    return [(start, min(start + _TRIALS, setting.trials)) for start in range(0, setting.trials, _TRIALS)]


def valued_block(setting: Setting, family: Family, first: int, last: int) -> Vector:
    """The table of some trials: trials x coalitions x metrics."""
    owners = population(setting)
    part = Population(owners.location[first:last], owners.scale[first:last])
    return sampled_values(part, family, setting.seed, first).table


def recall(folder: Path | None, setting: Setting, family: Family) -> Vector | None:
    """The table of all trials, if the folder has it whole."""
    if folder is None:
        return None
    try:
        with _path(folder, setting, family).open("rb") as kept, np.load(kept) as file:
            table = np.asarray(file["table"])
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile):
        return None  # not there, or not whole: it is valued again
    whole = setting.trials, 2**setting.owners - 1, len(METRICS)
    return table if table.shape == whole else None


def keep(folder: Path | None, setting: Setting, family: Family, table: Vector) -> None:
    """Write the table of all trials, where there is a folder."""
    if folder is None:
        return
    path = _path(folder, setting, family)
    make_folder(path.parent)
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, table=table)


def _path(folder: Path, setting: Setting, family: Family) -> Path:
    return folder / _FOLDER / f"{family}-{setting.trials}x{setting.owners}-{setting.seed}-{DRAWS}.npz"
