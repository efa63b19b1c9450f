"""The claim: a market of eight is cleared at least 1,000 times faster than the paper's program in an open solver.

The program is the paper's, constraint by constraint, in SCIP through CVXPY (`solver="misocp"`); the answers are the
same to the solver's tolerance. Both clear the same bids through `kt.clear`, so that posing the program counts, as it
does for whoever uses it.

    python -m benchmarks.against_misocp
"""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np

import kantor as kt
from benchmarks.markets import POPULATIONS
from benchmarks.timing import best, timed

OWNERS = 8


def measure(quick: bool = False) -> dict[str, object]:
    """Ratios over mechanisms, populations and seeds, and how far the answers lie apart."""
    ratios, away, listed, bought, milliseconds = [], [], [], [], []
    for population, seed in product(POPULATIONS, range(1 if quick else 5)):
        for mechanism, bids in _markets(seed):
            go = partial(kt.clear, bids, mechanism, population=population, payments="virtual")
            ours, answer = best(go, 20)
            theirs, printed = timed(partial(go, solver="misocp"))
            every = go(solver="enumerate")
            ratios.append(theirs / ours)
            milliseconds.append((1e3 * theirs, 1e3 * ours))
            away.append(abs(answer.objective - printed.objective) / max(1.0, answer.objective))
            listed.append(abs(answer.objective - every.objective) / max(1.0, answer.objective))
            bought.append(answer.size)
    by_misocp, by_us = np.median(milliseconds, axis=0)
    return {
        "markets": len(ratios),
        "MISOCP / ours, least": min(ratios),
        "MISOCP / ours, median": float(np.median(ratios)),
        "MISOCP / ours, most": max(ratios),
        "milliseconds by the MISOCP, median": float(by_misocp),
        "milliseconds by ours, median": float(by_us),
        "bought (least, most)": [min(bought), max(bought)],
        "objective away from the MISOCP's, most": max(away),
        "difference from enumeration": max(listed),
        "claim": "MISOCP / ours >= 1,000",
    }


def _markets(seed: int) -> list[tuple[kt.Mechanism, kt.Bids]]:
    rng = np.random.default_rng(seed)
    bids = kt.Bids(distance=rng.uniform(0.3, 3, OWNERS), reserve=rng.uniform(0, 0.3, OWNERS))
    return [
        (kt.Joint(reference_loss=2.0), bids),
        (kt.Exogenous(budget=0.8), bids),
        (kt.Endogenous(reference_loss=1.6), bids),
    ]


if __name__ == "__main__":
    for title, number in measure().items():
        print(f"{title}: {number}")
