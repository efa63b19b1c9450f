"""Keeping the state of a ceremony in a file, through a power cut.

A state is written to a new file, put on the disk, and then takes the old one's place at one stroke: whenever the
machine stops, the file holds the old state or the new one, whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from kantor.errors import EvidenceError, InputError
from kantor.evidence.canonical import canonical, parse
from kantor.evidence.signing import write_secret

__all__ = ["Store", "in_file", "read_file"]

Store: TypeAlias = Callable[[dict[str, Any]], None]


def in_file(file: Path) -> Store:
    """What keeps a state in this file, which its owner alone may read."""

    def store(state: dict[str, Any]) -> None:
        fresh = file.with_name(file.name + ".new")
        fresh.unlink(missing_ok=True)
        write_secret(fresh, canonical(state))
        fresh.replace(file)
        _settle(file.parent)

    return store


def read_file(file: Path) -> Any:
    """The state in a file."""
    try:
        return parse(file.read_bytes())
    except (OSError, EvidenceError) as fault:
        raise InputError(
            f"this is no state of a ceremony ({fault})", remedy="Put it back from a copy.", file=file
        ) from fault


def _settle(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
