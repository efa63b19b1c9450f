"""The distance inside a family, as a sum of absolute values of straight lines.

Parties that hold shares of a and s cannot evaluate E|a + s Z| in closed form: it needs the distribution of Z. They can
take absolute values. Cut the line into cells and put Z at the mean m of its cell, where it has probability p:

    E|a + s Z|  =  sum over cells of p |a + s m|  +  (what is lost in the cell where a + s Z changes its sign).

Elsewhere |a + s Z| is straight and the mean of a cell is exact. What is lost is never negative, and at most |s| times
p E|Z - m| of that cell. Cells of width proportional to 1/sqrt(density) make that about equal everywhere; for normals it
is then 1.25/n^2 for n cells: 64 cells are good to three parts in ten thousand of the spread.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy

from kantor.owners.distributions import Vector
from kantor.valuation.families import CLOSED_FORMS

__all__ = ["Nodes", "nodes"]

_GRID = 1 << 14


class Nodes(NamedTuple):
    """Cell probabilities, the means of Z in them, and the most that one unit of spread can lose."""

    probability: Vector
    place: Vector
    loss: float


@lru_cache(maxsize=32)
def nodes(family: str, count: int) -> Nodes:
    """Cells for a family's standard variable.

    >>> found = nodes("norm", 64)
    >>> round(float(found.probability @ np.abs(found.place)), 3), found.loss < 4e-4
    (0.798, True)
    """
    standard, base = CLOSED_FORMS[family], getattr(scipy.stats, family)
    edges = _edges(base, count)
    share = np.concatenate([[0.0], base.cdf(edges), [1.0]])
    under = np.concatenate([[0.0], edges * base.cdf(edges) - standard.below(edges), [standard.mean]])
    probability = np.diff(share)
    place = np.diff(under) / probability
    lower = np.concatenate([[0.0], standard.below(edges) - edges * base.cdf(edges)])
    # p E(m - Z)+ in a cell that starts at l is E(m - Z)+ - E(l - Z)+ - (m - l) F(l); p E|Z - m| is twice that.
    loss = 2 * (standard.below(place) - lower - place * share[:-1])
    return Nodes(probability, place, float(loss.max()))


def _edges(base: scipy.stats.rv_continuous, count: int) -> Vector:
    level = (np.arange(_GRID) + 0.5) / _GRID
    place = base.ppf(level)
    crowd = np.concatenate([[0.0], np.cumsum(1 / np.sqrt(base.pdf(place)))])
    wanted = np.interp(np.arange(1, count) / count * crowd[-1], crowd, np.arange(_GRID + 1) / _GRID)
    return base.ppf(wanted)
