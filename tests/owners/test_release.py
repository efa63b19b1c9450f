"""What leaves the machine: the noise is what was promised, and what cannot be promised is refused."""

import numpy as np
import pytest
import scipy.stats as st
from hypothesis import given, settings
from hypothesis import strategies as hs

import kantor as kt
from kantor.errors import InputError
from kantor.owners.release import promise, release, sensitivity_of

FIXED = np.tile([0.0, 0.3, 1.0, 7.0], 5000)
BOTH = [("laplace", {}, st.laplace), ("gaussian", {"delta": 1e-5}, st.norm)]


@pytest.mark.parametrize(("mechanism", "how", "base"), BOTH)
def test_the_noise_has_the_promised_law_and_distance(mechanism, how, base):
    sent = release(FIXED, mechanism, bounds=(0, 10), unit="record", epsilon=0.8, **how)
    noise = sent.values - FIXED
    # 20,000 draws: a false alarm once in a million (the noise is the operating system's, so no seed can be set).
    assert st.kstest(noise, base(scale=sent.promise.scale).cdf).pvalue > 1e-6
    stated = kt.noise_distance(mechanism, sensitivity=10, epsilon=0.8, calibration="analytic", **how)
    deviation = stated * 6 / np.sqrt(noise.size)
    assert kt.wasserstein(noise, [0.0]) == pytest.approx(stated, abs=deviation)
    assert sent.promise.scale * (np.sqrt(2 / np.pi) if mechanism == "gaussian" else 1) == pytest.approx(
        stated, rel=1e-8
    )


@pytest.mark.parametrize(("mechanism", "how", "base"), BOTH)
def test_the_bound_and_the_exact_value_hold_for_released_data(mechanism, how, base):
    """W(X + noise, T) <= W(X, T) + W(noise); for a normal owner with Gaussian noise the left side is known."""
    rng = np.random.default_rng(5)
    owner, target = st.norm(1, 2), st.norm(0, 1.5)
    data = np.clip(owner.rvs(20_000, random_state=rng), -20, 20)
    sent = release(data, mechanism, bounds=(-20, 20), unit="record", epsilon=8.0, **how)
    noised = kt.wasserstein(sent.values, target)
    noise = {"sensitivity": 40, "epsilon": 8.0, "calibration": "analytic", **how}
    bound = kt.noisy_distance_bound(kt.wasserstein(data, target), mechanism, **noise)
    error = 6 * np.std(sent.values) / np.sqrt(data.size)
    assert noised <= bound + error
    if mechanism == "gaussian":
        assert noised == pytest.approx(kt.noisy_distance(owner, target, **noise), abs=error)


@given(
    hs.sampled_from(BOTH), hs.integers(1, 10**6), hs.floats(1e-3, 20), hs.sampled_from(["record", "series"]),
    hs.floats(-100, 100), hs.floats(1e-3, 100),
)  # fmt: skip
@settings(max_examples=30)
def test_the_scale_is_the_least_up_to_one_part_in_a_million(which, records, epsilon, unit, low, width):
    mechanism, how, _ = which
    made = promise(mechanism, records, bounds=(low, low + width), unit=unit, epsilon=epsilon, **how)
    moved = sensitivity_of(mechanism, unit, records, (low + width) - low)
    least = kt.noise_distance(mechanism, sensitivity=moved, epsilon=epsilon, calibration="analytic", **how)
    stated = made.scale * (np.sqrt(2 / np.pi) if mechanism == "gaussian" else 1)
    assert least * (1 - 1e-12) <= stated <= least * (1 + 1e-6)


def test_units_of_privacy():
    assert sensitivity_of("laplace", "record", 365, 2.0) == 2.0
    assert sensitivity_of("laplace", "series", 365, 2.0) == pytest.approx(730)
    assert sensitivity_of("gaussian", "series", 400, 2.0) == pytest.approx(40)
    assert sensitivity_of("gaussian", 24, 8760, 2.0) == pytest.approx(2 * np.sqrt(24))


def test_values_beyond_the_bounds_are_moved_to_them_and_counted_for_the_owner_alone():
    sent = release([-5.0, 0.5, 90.0], "laplace", bounds=(0, 1), unit="record", epsilon=1e6)
    assert sent.values == pytest.approx([0, 0.5, 1], abs=1e-3)
    assert sent.clipped == 2
    assert "clipped" not in sent.promise.as_dict()


def test_outputs_lie_on_one_lattice_and_progress_is_told():
    told = []
    sent = release(
        np.full(50_000, 0.1), "laplace", bounds=(0, 1), unit="record", epsilon=1, progress=lambda *p: told.append(p)
    )
    steps = np.ldexp(sent.values, -sent.promise.granularity)
    assert np.array_equal(steps, np.round(steps))
    assert told == [(20_000, 50_000), (40_000, 50_000), (50_000, 50_000)]


def give(**changed):
    how = {"mechanism": "laplace", "bounds": (0, 1), "unit": "record", "epsilon": 0.5} | changed
    return lambda: release(how.pop("values", [0.5]), **how)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (give(values=[0.1, np.nan]), r"sample 1 \(counted from 0\) is nan"),
        (give(values=[np.inf]), "sample 0 .* is inf"),
        (give(values=[]), "there are no samples"),
        (give(values=["a"]), "not numbers"),
        (give(bounds=(1, 0)), "the bounds are 1.0 and 0.0"),
        (give(bounds=(0, np.inf)), "the bounds are 0.0 and inf"),
        (give(bounds=None), "the bounds are None"),
        (give(bounds=(-1.7e308, 1.7e308)), "the bounds are"),
        (give(bounds=(0, 1e300), epsilon=1e-9), "which floats cannot hold well"),
        (give(unit="day"), "the unit of privacy is 'day', in a series of 1"),
        (give(unit=2), "the unit of privacy is 2"),
        (give(epsilon=0), "epsilon is 0"),
        (give(delta=1e-5), "which needs none"),
        (give(mechanism="gaussian"), "delta None"),
        (give(mechanism="uniform"), "mechanism 'uniform'"),
        (
            give(mechanism="gaussian", delta=1e-5, epsilon=1.0, calibration="classical"),
            "the classical calibration proves nothing at epsilon 1.0: its proof needs epsilon below 1",
        ),
    ],
)
def test_what_cannot_be_promised_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_the_papers_calibration_by_name():
    how = {"bounds": (0, 1), "unit": "record", "epsilon": 0.5, "delta": 1e-5}
    paper, least = (promise("gaussian", 10, calibration=name, **how) for name in ("classical", "analytic"))
    assert paper.scale / least.scale == pytest.approx(1.378, abs=1e-3)
    assert paper.as_dict()["calibration"] == "classical"
