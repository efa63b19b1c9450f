"""Sorting numbers that nobody sees: compare and exchange in an order that does not depend on them.

Batcher's merge exchange (Knuth, volume 3, algorithm 5.2.2M) sorts any n numbers in about (log2 n)^2/2 layers; the pairs
of a layer do not touch each other, so a layer is one round of comparisons for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from kantor.private.engine import Engine
from kantor.private.randomness import Words
from kantor.private.signs import negative

__all__ = ["layers", "sort"]

Places = npt.NDArray[np.int64]


def layers(count: int) -> Iterator[tuple[Places, Places]]:
    """The pairs to compare, layer by layer: the smaller number goes to the first place of each.

    >>> [(low.tolist(), high.tolist()) for low, high in layers(3)]
    [([0], [2]), ([0], [1]), ([1], [2])]
    """
    top = 1 << max(0, (count - 1).bit_length() - 1)
    block = top
    while block and count > 1:
        reach, step, phase = block, top, 0
        while True:
            low = np.arange(count - reach)
            low = low[(low & block) == phase]
            yield low, low + reach
            if step == block:
                break
            reach, step, phase = step - block, step // 2, block
        block //= 2


def sort(engine: Engine, numbers: Words) -> Words:
    """The numbers in rising order, shared; any two may differ by less than 2^63."""
    rows = numbers.copy()
    for low, high in layers(numbers.shape[1]):
        gap = rows[:, low] - rows[:, high]
        shift = gap - engine.multiply(negative(engine, gap), gap)  # what the larger has more, where they stand wrongly
        rows[:, low] -= shift
        rows[:, high] += shift
    return rows
