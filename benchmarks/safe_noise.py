"""The claim: releases of 1,000,000 numbers in seconds, and no output that only one of two neighbours could have given.

What a user would write is `values + rng.laplace(size=n)`: some hundred times faster, and the same test flags a fifth of
its outputs. `python -m benchmarks.safe_noise 10000000` draws the full count from each neighbour, in seven minutes.

    python -m benchmarks
"""

from __future__ import annotations

import sys
from time import process_time

import numpy as np

import kantor as kt
from benchmarks.timing import timed
from kantor.owners.distributions import Vector
from kantor.owners.impossible import compare
from kantor.owners.release import release

HOW = {"laplace": {}, "gaussian": {"delta": 1e-5}}


def measure(quick: bool = False) -> dict[str, object]:
    """Seconds of a release, the measured against the stated distance of its noise, and impossible outputs."""
    size = 2_000 if quick else 1_000_000
    found: dict[str, object] = {"values": size}
    rng = np.random.default_rng(0)
    naive, _ = timed(lambda: rng.laplace(size=size))
    for name, how in HOW.items():
        started = process_time()
        seconds, sent = timed(
            lambda name=name, how=how: release(np.zeros(size), name, bounds=(0, 1), unit="record", epsilon=1.0, **how)
        )
        stated = kt.noise_distance(name, sensitivity=1.0, epsilon=1.0, calibration="analytic", **how)
        scale = sent.promise.scale * (np.sqrt(2 / np.pi) if name == "gaussian" else 1.0)
        found[f"seconds, {name}"] = seconds
        found[f"processor seconds, {name}"] = process_time() - started
        found[f"{name}, measured W / stated"] = kt.wasserstein(sent.values, [0.0]) / stated
        found[f"difference of {name}'s scale from the least (relative)"] = abs(scale / stated - 1)
        found[f"ratio of {name} to NumPy's noise, in time"] = seconds / naive
    return {
        **found,
        **impossible(2_000 if quick else 200_000),
        "claim": "a release of 1,000,000 in seconds; none impossible",
    }


def impossible(count: int) -> dict[str, object]:
    """Impossible outputs of releases and of naive noise, in `count` draws from each of two neighbours."""
    rng = np.random.default_rng(0)
    found: dict[str, object] = {"outputs of each neighbour": count}
    for name, how in HOW.items():

        def safe(values: Vector, name: str = name, how: dict[str, float] = how) -> Vector:
            return release(values, name, bounds=(0, 1), unit="record", epsilon=1.0, **how).values

        verdict = compare(safe, 0.0, 1.0, count)
        found[f"impossible outputs, {name}"] = verdict.first + verdict.second
    naive = compare(lambda values: values + rng.laplace(size=values.size), 0.0, 1.0, count)
    found["impossible share, naive NumPy noise"] = naive.share
    return found


def soak(count: int) -> int:
    """Print what was found in so many outputs; 1 if a release gave an impossible one, or naive noise passed."""
    found = impossible(count)
    for title, number in found.items():
        print(f"{title}: {number}")
    breaches = sum(int(str(found[f"impossible outputs, {name}"])) for name in HOW)
    return int(breaches > 0 or not float(str(found["impossible share, naive NumPy noise"])) > 0.1)


if __name__ == "__main__":
    sys.exit(soak(int(sys.argv[1])))
