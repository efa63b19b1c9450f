"""Many owners at once: their names, and their data in blocks that fit the cache.

Whatever form the data came in (rows of an array, lists of unequal length, columns of a file, distributions), the rest
of the package sees `Owners`. Owners with samples are handed out in blocks: 2-D arrays of owners that have equally many
samples, with their places. A block is about two megabytes, and a columnar file is read block by block, so the memory
that valuing needs beside the data does not grow with the number of owners.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kantor.errors import InputError
from kantor.owners.distributions import Distribution, Vector, is_distribution
from kantor.owners.samples import Sample, as_numbers, as_sample, check_finite, sample_or_distribution

__all__ = ["Block", "Owners", "as_owners"]

_BLOCK = 1 << 18


class Block(NamedTuple):
    """Some owners with equally many samples: their places in the market, and a row of samples for each."""

    places: npt.NDArray[np.int64]
    rows: Vector


@dataclass(frozen=True)
class Owners:
    """Named owners, with samples or with distributions. Made by `as_owners`."""

    names: tuple[str, ...]
    lengths: npt.NDArray[np.int64] | None
    """How many samples each has; None for distributions."""
    distributions: tuple[Distribution, ...] | None = None
    _read: Callable[[npt.NDArray[np.int64]], Vector] | None = None
    source: str | None = None
    """The file that they were read from, for messages."""

    def __len__(self) -> int:
        return len(self.names)

    @property
    def equal_length(self) -> bool:
        """Whether all have equally many samples, so that their k-th samples can belong together."""
        return self.lengths is not None and bool((self.lengths == self.lengths[0]).all())

    def blocks(self) -> Iterator[Block]:
        """All owners with samples, in blocks; equal lengths keep the owners' order."""
        if self.lengths is None or self._read is None:
            raise InputError(
                "these owners state distributions and hold no samples",
                remedy="Draw samples from them first: distribution.rvs(10_000, random_state=0).",
            )
        for length in np.unique(self.lengths):
            places = np.flatnonzero(self.lengths == length)
            step = max(1, _BLOCK // int(length))
            for start in range(0, places.size, step):
                chosen = places[start : start + step]
                yield Block(chosen, self._read(chosen))


def as_owners(data: Any) -> Owners:
    """Owners from a 2-D array (a row each), a list of samples or of distributions, a mapping, a frame, or a path.

    Frames and files have a column for each owner, or the two columns owner and value.
    """
    if isinstance(data, Owners):
        return data
    if isinstance(data, (str, Path)):
        from kantor.owners.files import read_owners

        return read_owners(data)
    if hasattr(type(data), "columns"):
        from kantor.owners.frames import owners_from_frame

        return owners_from_frame(data)
    if isinstance(data, Mapping):
        return _from_list(list(data.values()), tuple(str(name) for name in data))
    if isinstance(data, np.ndarray) and (data.dtype != object or data.ndim > 1):
        return _from_array(data)
    if isinstance(data, Sequence) or (isinstance(data, np.ndarray) and data.ndim == 1):
        return _from_list(list(data), _numbered(len(data)))
    raise InputError(
        f"owners cannot be read from {type(data).__name__}",
        remedy="Give a 2-D array with a row for each owner, a list of samples or distributions, a frame, or a path.",
        argument="owners",
    )


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(map(str, range(count)))


def _from_array(data: Any) -> Owners:
    numeric = data.dtype.kind in "biuf" and not np.ma.is_masked(data)  # made floats a block at a time
    matrix = data if numeric else as_numbers(data, argument="owners")
    if matrix.ndim != 2:
        raise InputError(
            f"owners in an array are its rows, and this array has shape {matrix.shape}",
            remedy="Give a 2-D array. For one owner, give [samples]; for points in the plane, use kantor.wasserstein.",
            argument="owners",
        )
    if 0 in matrix.shape:
        raise InputError(
            f"an array of shape {matrix.shape} holds no samples",
            remedy="Give at least one owner, each with at least one sample.",
            argument="owners",
        )
    return Owners(
        _numbered(len(matrix)), np.full(len(matrix), matrix.shape[1]), _read=lambda places: _checked(matrix, places)
    )


def _checked(matrix: npt.NDArray[Any], places: npt.NDArray[np.int64]) -> Vector:
    first, last = int(places[0]), int(places[-1])
    chosen = matrix[first : last + 1] if last - first + 1 == places.size else matrix[places]
    rows = np.asarray(chosen, dtype=np.float64)
    if not np.isfinite(rows).all():
        faulty = int(np.argmin(np.isfinite(rows).all(axis=1)))
        check_finite(rows[faulty], owner=int(places[faulty]))
    return rows


def _from_list(things: list[Any], names: tuple[str, ...]) -> Owners:
    if not things:
        raise InputError("there are no owners", remedy="Give at least one.", argument="owners")
    stated = [is_distribution(thing) for thing in things]
    if any(stated):
        return _from_distributions(things, names, stated)
    if all(np.ndim(thing) == 0 for thing in things):
        raise InputError(
            f"a list of {len(things)} single numbers is not a list of owners",
            remedy="Give one list of samples for each owner; for a single owner, give [samples].",
            argument="owners",
        )
    samples = [as_sample(thing, owner=name) for thing, name in zip(things, names, strict=True)]
    lengths = np.array([sample.size for sample in samples])
    return Owners(names, lengths, _read=lambda places: np.stack([samples[i] for i in places]))


def _from_distributions(things: list[Any], names: tuple[str, ...], stated: list[bool]) -> Owners:
    if not all(stated):
        place = stated.index(False)
        raise InputError(
            f"some owners state distributions, and this one is {type(things[place]).__name__}",
            remedy="Give samples for all owners, or distributions for all.",
            owner=names[place],
        )
    sides = [sample_or_distribution(thing, argument="owners") for thing in things]
    if any(isinstance(side, Sample) for side in sides):
        if not all(isinstance(side, Sample) for side in sides):
            raise InputError(
                "some owners state discrete distributions and some continuous ones",
                remedy="Draw samples from them first: distribution.rvs(10_000, random_state=0).",
            )
        raise InputError(
            "owners state discrete distributions",
            remedy="Draw samples from them first: distribution.rvs(10_000, random_state=0).",
        )
    return Owners(names, None, distributions=tuple(things))
