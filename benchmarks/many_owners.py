"""The claim: W of 1,000 owners x 1,000 samples against 1,000,000, at least 1,000 times a loop over SciPy.

What a user would write is `[scipy.stats.wasserstein_distance(owner, target) for owner in owners]`, or the same with
POT's one-dimensional solver. Both are timed on some of the owners and scaled up; the limit is sorting the data.

    python -m benchmarks
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

import kantor as kt
from benchmarks.timing import best, timed


def measure(quick: bool = False) -> dict[str, object]:
    """Seconds for ours, SciPy's loop, POT's loop and the sorts, their ratios, and the largest difference."""
    import ot

    count, samples, size = (100, 200, 20_000) if quick else (1000, 1000, 1_000_000)
    looped = 10 if quick else 40
    rng = np.random.default_rng(0)
    owners = rng.normal(rng.uniform(10, 16, count)[:, None], rng.uniform(1, 3, count)[:, None], (count, samples))
    target = rng.normal(13, 2, size)
    cold, _ = timed(lambda: kt.distances(owners, target))
    ours, values = best(lambda: kt.distances(owners, target), 5)

    def scipy_loop() -> Any:
        return [scipy.stats.wasserstein_distance(owner, target) for owner in owners[:looped]]

    def pot_loop() -> Any:
        return [ot.emd2_1d(owner, target, metric="euclidean") for owner in owners[:looped]]

    by_scipy, exact = timed(scipy_loop)
    by_pot, _ = timed(pot_loop)
    sorts, _ = best(lambda: (np.sort(owners, axis=1), np.sort(target)), 3)
    scale = count / looped
    return {
        "owners x samples against": f"{count} x {samples} against {size}",
        "seconds, cold": cold,
        "seconds, warm": ours,
        "SciPy loop, seconds (scaled up)": by_scipy * scale,
        "POT loop, seconds (scaled up)": by_pot * scale,
        "ratio to the SciPy loop": by_scipy * scale / ours,
        "ratio to the POT loop": by_pot * scale / ours,
        "ours / sorting owners and target": ours / sorts,
        "largest difference from SciPy": float(np.abs(values[:looped] - exact).max()),
        "claim": "ratio to the SciPy loop >= 1000, difference <= 1e-9",
    }
