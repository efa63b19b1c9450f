"""Rows in an order that does not depend on how they were listed.

Owners are ordered by one number, ties by a second, ties of both by name. Names are looked at only where both numbers
tie, since a million texts take a second to sort and a million numbers a tenth of that.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from kantor.owners.distributions import Vector

__all__ = ["Places", "rising"]

Places = npt.NDArray[np.int64]


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
