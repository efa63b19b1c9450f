"""The whole check of a delivery: what it promises about honest owners, and what it finds."""

import json

import numpy as np
import pytest
import scipy.stats as st
from hypothesis import given, settings
from hypothesis import strategies as hs

import kantor as kt
from kantor.delivery.checks import check_delivery
from kantor.delivery.form import check_form
from kantor.errors import InputError
from kantor.owners.release import promise, release

HOW = {"laplace": {}, "gaussian": {"delta": 1e-5}}


def promised(kind="laplace", size=300, epsilon=3.0, unit="record", bounds=(0.0, 1.0)):
    return promise(kind, size, bounds=bounds, unit=unit, epsilon=epsilon, **HOW[kind])


def noise(made, seed, times=1.0):
    rng = np.random.default_rng(seed)
    return times * (rng.laplace if made.mechanism == "laplace" else rng.normal)(0, made.scale, made.records)


def shapes(size):
    rng = np.random.default_rng(size)
    return [np.full(size, 0.4), np.zeros(size), (np.arange(size) % 2) * 0.8, np.clip(rng.gamma(2, 0.08, size), 0, 0.8)]


@pytest.mark.parametrize("kind", HOW)
@pytest.mark.parametrize("unit", ["record", "series"])
def test_honest_deliveries_are_doubted_no_more_often_than_stated(kind, unit):
    """At a rate of 0.2 and at 0.02, over four shapes of data, with the distance exactly as stated."""
    for alpha in (0.2, 0.02):
        count, doubted = 0, 0
        made = promised(kind, 60, unit=unit)
        for data in shapes(60):
            goal = data + 0.2
            for seed in range(60):
                doubted += bool(check_delivery(data + noise(made, seed), made, 0.2, goal, alpha=alpha).doubts)
                count += 1
        assert doubted <= st.binom.isf(1e-6, count, alpha)


@pytest.mark.parametrize("kind", HOW)
def test_real_releases_pass_form_and_checks(kind):
    """The noise is the operating system's: a false alarm once in ten thousand, were the rates not smaller."""
    data = np.clip(np.random.default_rng(0).normal(0.5, 0.1, 2000), 0, 1)
    how = {"bounds": (0.0, 1.0), "unit": "record", "epsilon": 4.0, **HOW[kind]}
    sent = release(data, kind, **how)
    got = check_form(sent.values, sent.promise.as_dict(), promise(kind, 2000, **how), "7")
    assert not check_delivery(got.values, got.promise, kt.wasserstein(data, [0.3]), [0.3], alpha=1e-6).doubts


@pytest.mark.parametrize("kind", HOW)
@pytest.mark.parametrize("times", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("which", range(4))
def test_wrong_amounts_of_noise_are_found(kind, times, which):
    made = promised(kind, 1500, epsilon=2.0)
    data = shapes(1500)[which]
    for seed in range(3):
        assert check_delivery(data + noise(made, seed, times), made).doubts


@pytest.mark.parametrize("kind", HOW)
def test_another_kind_of_noise_is_found(kind):
    made = promised(kind, 8000, epsilon=2.0)
    rng = np.random.default_rng(1)
    other = rng.normal(0, made.scale * 2**0.5, 8000) if kind == "laplace" else rng.laplace(0, made.scale / 2**0.5, 8000)
    assert check_delivery(0.4 + other, made).doubts


@pytest.mark.parametrize("kind", HOW)
def test_half_the_distance_is_found_where_noise_allows(kind):
    made, goal = promised(kind, 3000, epsilon=6.0), np.linspace(0.1, 0.3, 50)
    data = np.linspace(0.7, 0.9, 3000)
    far = kt.wasserstein(data, goal)
    names = {test.name for test in check_delivery(data + noise(made, 1), made, far / 2, goal).doubts}
    assert "mean" in names
    assert names <= {"mean", "shape", "waves of the data"}
    assert not check_delivery(data + noise(made, 1), made, far, goal).doubts
    assert not check_delivery(data + noise(made, 1), made, far / 2, goal, slack=far / 2).doubts


def test_a_hidden_series_hides_a_lie_about_it():
    """The release is 1-private as a whole, so no test at rate alpha finds any lie more often than e alpha."""
    made = promised(size=400, epsilon=1.0, unit="series")
    goal, data = [0.0], np.full(400, 1.0)
    found = [check_delivery(data + noise(made, seed), made, 0.0, goal, alpha=0.01).doubts for seed in range(60)]
    assert sum(map(bool, found)) <= st.binom.isf(1e-6, 60, np.e * 0.01)


@given(hs.integers(0, 10**6), hs.sampled_from(list(HOW)), hs.sampled_from([0.25, 8.0]), hs.sampled_from([-4.0, 16.0]))
@settings(max_examples=15)
def test_units_and_origin_do_not_matter(seed, kind, factor, shift):
    """Watts or kilowatts, Celsius or Kelvin: the same statistics in other units."""
    made = promised(kind, 200)
    moved = promised(kind, 200, bounds=(shift, factor + shift))
    values, goal = 0.5 + noise(made, seed), np.linspace(0, 1, 30)
    one = check_delivery(values, made, 0.1, goal)
    other = check_delivery(factor * values + shift, moved, factor * 0.1, factor * goal + shift)
    for here, there in zip(one, other, strict=True):
        in_units = here.name in ("mean", "shape", "waves of the data")
        times = factor if in_units else 1.0
        assert there.statistic == pytest.approx(times * here.statistic, rel=1e-3, abs=1e-6)
        assert there.threshold == pytest.approx(times * here.threshold, rel=1e-3, abs=1e-6)


def test_the_same_delivery_has_the_same_findings():
    made, goal = promised(), [0.1, 0.4]
    values = 0.5 + noise(made, 3)
    assert check_delivery(values, made, 0.1, goal) == check_delivery(values.copy(), made, 0.1, goal)


def test_the_rate_is_shared_equally_among_tests_chosen_beforehand():
    for kind, count in (("laplace", 10), ("gaussian", 8)):
        made = promised(kind)
        for values in (0.5 + noise(made, 1), np.full(300, 0.5)):
            found = check_delivery(values, made, 0.1, [0.5], alpha=1e-3)
            assert len(found.tests) == count
            assert sum(test.alpha for test in found) == pytest.approx(1e-3)


def test_findings_speak_to_people_and_programs():
    made = promised()
    found = check_delivery(0.5 + noise(made, 1, 3.0), made)
    assert str(found).startswith(f"{len(found.doubts)} of 7 tests doubt this delivery")
    assert "DOUBT  " in str(found)
    assert "not tested" in str(found)
    assert found["beyond the bounds"].doubt
    told = json.loads(json.dumps(found.as_dict()))
    assert told["doubts"] == len(found.doubts)
    assert {"name", "statistic", "threshold", "alpha", "sentence", "doubt"} == set(told["tests"][0])


@pytest.mark.parametrize(
    "wrong",
    [
        {"values": [0.1, np.nan, *[0.5] * 298]}, {"values": [0.5] * 299}, {"alpha": 0.0}, {"alpha": 1.0},
        {"reference": [0.5]}, {"reference": [0.5], "stated_distance": -1.0},
        {"reference": [0.5], "stated_distance": 0.1, "slack": np.inf},
        {"reference": "target", "stated_distance": 0.1},
    ],
)  # fmt: skip
def test_what_cannot_be_checked_is_refused(wrong):
    with pytest.raises(InputError):
        check_delivery(**{"values": [0.5] * 300, "promise": promised(), **wrong})
