"""The impossible-output test passes what is safe and flags what is not, in any number of outputs."""

import numpy as np
import pytest

from kantor.owners.impossible import compare, impossible_outputs
from kantor.owners.release import release

RNG = np.random.default_rng(3)
NAIVE = [lambda x: x + RNG.laplace(size=x.size), lambda x: x + RNG.normal(size=x.size)]


@pytest.mark.parametrize("naive", NAIVE)
@pytest.mark.parametrize(("first", "second"), [(0.0, 1.0), (0.1, 0.7)])
def test_naive_noise_is_flagged(naive, first, second):
    verdict = compare(naive, first, second, 50_000)
    assert verdict.share > 0.1


@pytest.mark.parametrize(("mechanism", "delta"), [("laplace", None), ("gaussian", 1e-6)])
@pytest.mark.parametrize(("first", "second"), [(0.0, 1.0), (0.1, 0.7)])
def test_releases_pass(mechanism, delta, first, second):
    """The full count, 10^7 for each side, is `python -m benchmarks` (benchmarks/safe_noise.py)."""

    def safe(values):
        return release(values, mechanism, bounds=(0, 1), unit="record", epsilon=1.0, delta=delta).values

    verdict = compare(safe, first, second, 10_000, at_once=5_000)
    assert verdict.safe
    assert verdict.outputs == 20_000


def test_equal_inputs_are_never_flagged():
    assert impossible_outputs(0.3 + RNG.laplace(size=100_000), 0.3 + RNG.laplace(size=100_000)).safe


def test_a_single_finer_output_is_found():
    coarse = RNG.integers(512, 1024, 10_000) / 1024
    assert impossible_outputs(np.append(coarse, 0.5 + 2.0**-40), coarse).first == 1
