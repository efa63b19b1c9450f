"""One party's side of a valuation, whatever joins it to the others; and all three in one process, for trials.

`value_in_memory` runs the parties' programs as threads of one process. It protects nothing, and computes exactly what
three machines would: tests, benchmarks and the checks of what a party sees use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from kantor.owners.distributions import Vector
from kantor.private.engine import Engine
from kantor.private.methods import Method, Outcome
from kantor.private.randomness import Words
from kantor.private.sharing import PARTIES, combine, expand, held_by, split
from kantor.private.wire import MemoryWire, memory_wires

__all__ = ["Trial", "run_party", "value_in_memory"]


class Trial(NamedTuple):
    """Distances, reference data's distances, who was sound, what was opened to all, and the parties' wires."""

    distances: Vector
    references: Vector
    outcomes: list[Outcome]
    wires: list[MemoryWire]


def run_party(engine: Engine, method: Method, inputs: Words, references: Words) -> Outcome:
    """The party's program. Its shares of the totals are checked before they are handed out."""
    if not inputs.shape[1]:
        return Outcome(np.zeros(references.shape[1], dtype=bool), np.zeros((2, 0), dtype=np.uint64), {})
    outcome = method.compute(engine, inputs, references)
    engine.settle()
    return outcome


def value_in_memory(
    method: Method, owners: Sequence[Any], references: Sequence[Any] = (), wires: list[MemoryWire] | None = None
) -> Trial:
    """Private distances of data that are all here: the same computation, without the privacy."""
    joined = memory_wires() if wires is None else wires
    everybody = [method.encode(data) for data in (*owners, *references)]
    shares = [split(numbers) for numbers in everybody]

    def party(index: int) -> Outcome:
        rows = np.array(
            [[expand(share[component], method.size) for share in shares] for component in held_by(index)],
            dtype=np.uint64,
        ).reshape(2, len(shares), method.size)
        try:
            return run_party(Engine(joined[index]), method, rows[:, : len(owners)], rows[:, len(owners) :])
        except BaseException:
            joined[index].give_up()
            raise

    with ThreadPoolExecutor(PARTIES) as pool:
        outcomes = list(pool.map(party, range(PARTIES)))
    return _trial(method, outcomes, len(owners), joined)


def _trial(method: Method, outcomes: list[Outcome], owners: int, wires: list[MemoryWire]) -> Trial:
    totals = combine([outcome.totals for outcome in outcomes]).view(np.int64)
    kept = int(outcomes[0].sound[:owners].sum())
    distances = method.decode(totals, kept, outcomes[0].opened)
    return Trial(distances[:kept], distances[kept:], outcomes, wires)
