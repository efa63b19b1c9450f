"""Rows in an order that does not depend on how they were listed.

Owners are ordered by one number, ties by a second, ties of both by name. Names are looked at only where both numbers
tie, since a million texts take a second to sort and a million numbers a hundredth of that.

`by_key` is the sort that every solver uses. NumPy's default one is several times faster than its stable one, but where
keys tie its order differs from one processor to another: ties are put in place order afterwards.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from kantor.owners.distributions import Vector

__all__ = ["Places", "by_key", "rising"]

Places = npt.NDArray[np.int64]

_SMALL = 512  # below this many keys NumPy's stable sort is as fast as putting ties right afterwards


def by_key(keys: Vector) -> Places:
    """The places in rising order of their keys (none of them NaN); where keys tie, the lower place comes first.

    Tied places are sorted as integers, each lifted by its run's number times the number of keys: runs stay apart.
    """
    if keys.size < _SMALL:
        return np.argsort(keys, kind="stable").astype(np.int64, copy=False)
    order = np.argsort(keys).astype(np.int64, copy=False)
    ranked = keys[order]
    same = ranked[1:] == ranked[:-1]
    if same.any():
        spots = _tied(same)
        runs = np.concatenate([[0], np.cumsum(~same)])[spots] * keys.size
        members = order[spots] + runs
        members.sort()
        order[spots] = members - runs
    return order


def rising(first: Vector, second: Vector, name: Callable[[int], str]) -> Places:
    """The places in rising order of `first`, then `second`, then the text that `name` gives a place."""
    order = np.argsort(first).astype(np.int64, copy=False)
    keys = first[order]
    spots = _tied(keys[1:] == keys[:-1])
    members = order[spots]
    order[spots] = members[np.lexsort((second[members], keys[spots]))]
    values = second[order]
    same = (keys[1:] == keys[:-1]) & (values[1:] == values[:-1])
    spots = _tied(same)
    runs = np.concatenate([[0], np.cumsum(~same)])[spots].tolist()
    named = sorted(zip(runs, map(name, order[spots].tolist()), order[spots].tolist(), strict=True))
    order[spots] = [place for _, _, place in named]
    return order


def _tied(same: npt.NDArray[np.bool_]) -> Places:
    """The spots that are equal to the one before or the one after."""
    return np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
