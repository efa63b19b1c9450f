"""The claim: all coalitions' distances and exact Shapley values of 20 normal owners within 10 seconds.

What a user would write instead is the definition: a loop over coalitions for the distances, and a loop over players
and coalitions for the values. It is timed with fewer owners, where it ends.

    python -m benchmarks
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy

from benchmarks.timing import timed
from kantor.valuation.coalitions import coalition_distances
from kantor.valuation.shapley import shapley

LIMIT_SECONDS = 10.0


def measure(quick: bool = False) -> dict[str, object]:
    """Seconds for 20 owners, the first call and the best of the others, and the ratio to the plain loop on fewer."""
    owners, few = population(20), population(10 if quick else 14)
    cold, _ = timed(lambda: distances_and_values(owners))
    repeats = [timed(lambda: distances_and_values(owners)) for _ in range(2 if quick else 5)]
    distances = min(timed(lambda: coalition_distances(owners))[0] for _ in range(2 if quick else 5))
    warm = min(seconds for seconds, _ in repeats)
    ours, fast = min((timed(lambda: distances_and_values(few)) for _ in range(5)), key=lambda run: run[0])
    loop, slow = timed(lambda: plain_loop(few))
    return {
        "owners": 20,
        "coalitions": 2**20 - 1,
        "seconds_cold": cold,
        "seconds_warm": warm,
        "seconds_distances_alone": distances,
        "limit_seconds": LIMIT_SECONDS,
        "within_limit": cold < LIMIT_SECONDS,
        "loop_owners": len(few),
        "loop_seconds": loop,
        "ratio_to_loop": loop / ours,
        "largest_difference_to_loop": float(np.abs(fast - slow).max()),
    }


def population(count: int) -> list[Any]:
    """Normal owners as in the paper's case study: location U(10, 16), scale U(1, 3)."""
    rng = np.random.default_rng(1345)
    draws = zip(rng.uniform(10, 16, count), rng.uniform(1, 3, count), strict=True)
    return [scipy.stats.norm(location, scale) for location, scale in draws]


def distances_and_values(owners: list[Any]) -> Any:
    """V(P) = the largest W less W(P), V of nobody 0."""
    distances = coalition_distances(owners)
    distances[0] = distances[1:].max()
    return shapley(distances[0] - distances).values


def plain_loop(owners: list[Any]) -> Any:
    """The same by definition, in plain Python."""
    count = len(owners)
    parts = [(float(owner.mean()), float(owner.var())) for owner in owners]
    everyone = aggregate(parts)
    distances = [0.0] + [
        folded_mean(aggregate([parts[i] for i in range(count) if mask >> i & 1]), everyone)
        for mask in range(1, 1 << count)
    ]
    largest = max(distances)
    worth = [0.0] + [largest - distance for distance in distances[1:]]
    values = [0.0] * count
    for mask in range(1 << count):
        weight = 1 / (count * math.comb(count - 1, mask.bit_count())) if mask.bit_count() < count else 0.0
        for i in range(count):
            if not mask >> i & 1:
                values[i] += weight * (worth[mask | 1 << i] - worth[mask])
    return np.array(values)


def aggregate(parts: list[tuple[float, float]]) -> tuple[float, float]:
    return sum(m for m, _ in parts) / len(parts), math.sqrt(sum(v for _, v in parts)) / len(parts)


def folded_mean(one: tuple[float, float], other: tuple[float, float]) -> float:
    shift, stretch = one[0] - other[0], abs(one[1] - other[1])
    if stretch == 0:
        return abs(shift)
    t = shift / stretch
    return stretch * math.sqrt(2 / math.pi) * math.exp(-t * t / 2) + shift * math.erf(t / math.sqrt(2))
