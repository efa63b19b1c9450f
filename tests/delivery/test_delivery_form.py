"""A delivery's form: what a release gives is accepted as it is, and every fault is named with its place."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs

from kantor.delivery.form import check_form
from kantor.delivery.manifest import read_manifest
from kantor.errors import InputError
from kantor.owners.release import promise, release

TERMS = {"bounds": (0.0, 10.0), "unit": "record", "epsilon": 2.0}
KINDS = [("laplace", {}), ("gaussian", {"delta": 1e-5})]


def sent(kind="laplace", size=300, **how):
    terms = {**TERMS, **dict(KINDS)[kind], **how}
    made = release(np.linspace(0, 10, size), kind, **terms)
    return made.values, made.promise.as_dict(), promise(kind, size, **terms)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("unit", ["record", "series", 24])
def test_what_a_release_gives_is_accepted_after_a_journey_as_json(kind, unit):
    values, manifest, asked = sent(kind, unit=unit)
    travelled = json.loads(json.dumps({"values": values.tolist(), "manifest": manifest}))
    got = check_form(travelled["values"], travelled["manifest"], asked, "7")
    assert (got.values == values).all()
    assert not got.values.flags.writeable
    assert got.promise == asked
    assert got.library.startswith("opendp")
    assert got.digest == check_form(values, manifest, asked, "8").digest


@given(
    hs.sampled_from(KINDS), hs.integers(1, 60), hs.floats(1e-3, 50), hs.floats(-1e3, 1e3), hs.floats(1e-3, 1e6)
)  # fmt: skip
@settings(max_examples=25)
def test_any_release_has_the_form_that_is_asked_for(which, size, epsilon, low, width):
    kind, how = which
    terms = {"bounds": (low, low + width), "unit": "record", "epsilon": epsilon, **how}
    made = release(np.full(size, low + width / 3), kind, **terms)
    got = check_form(made.values, made.promise.as_dict(), promise(kind, size, **terms))
    assert got.values.size == size


def refused(values, manifest, asked, **place):
    with pytest.raises(InputError) as caught:
        check_form(values, manifest, asked, "anna")
    assert caught.value.where == {"owner": "anna", **place}
    assert caught.value.remedy
    return str(caught.value)


@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("mechanism", "gaussian"), ("epsilon", 2.5), ("delta", 1e-6), ("calibration", "classical"), ("unit", "series"),
        ("records", 299), ("low", -1.0), ("high", 9.0), ("sensitivity", 9.0), ("scale", 4.0), ("granularity", -50),
    ],
)  # fmt: skip
def test_a_manifest_that_says_something_else_is_refused_by_the_field(field, other):
    values, manifest, asked = sent()
    told = refused(values, {**manifest, field: other}, asked, field=field)
    assert repr(other) in told
    assert repr(getattr(asked, field)) in told


def test_a_scale_that_another_version_rounded_is_accepted_and_a_library_may_be_missing():
    values, manifest, asked = sent()
    del manifest["library"]
    assert check_form(values, {**manifest, "scale": asked.scale * (1 + 1e-8)}, asked).library == ""


@pytest.mark.parametrize("field", ["mechanism", "scale", "delta"])
def test_a_missing_field_is_named(field):
    values, manifest, asked = sent()
    del manifest[field]
    assert f"no {field}" in refused(values, manifest, asked, field=field)


@pytest.mark.parametrize(
    ("field", "value"),
    [("records", 300.0), ("scale", "5"), ("epsilon", None), ("unit", True), ("mechanism", 3), ("granularity", "x")],
)
def test_a_field_of_the_wrong_kind_is_named(field, value):
    values, manifest, asked = sent()
    assert type(value).__name__ in refused(values, {**manifest, field: value}, asked, field=field)


def test_what_is_no_manifest_is_refused():
    values, manifest, asked = sent()
    refused(values, [1, 2], asked)
    assert "'colour'" in refused(values, {**manifest, "colour": "red"}, asked, field="colour")
    assert read_manifest(manifest) == asked


def test_length_and_gaps_are_refused_with_their_place():
    values, manifest, asked = sent()
    assert "299 values" in refused(values[:-1], manifest, asked)
    assert "shape (2, 150)" in refused(values.reshape(2, 150), manifest, asked)
    for gap in (np.nan, np.inf):
        assert "value 17" in refused(np.where(np.arange(300) == 17, gap, values), manifest, asked, position=17)


def test_a_value_between_the_lines_is_refused_with_its_place():
    values, manifest, asked = sent()
    between = values.copy()
    between[5] = np.ldexp(1.0, asked.granularity - 1)
    assert "value 5" in refused(between, manifest, asked, position=5)


def test_naive_noise_on_data_near_zero_is_off_the_lattice():
    _, manifest, asked = sent(size=5000)
    naive = np.random.default_rng(1).laplace(scale=asked.scale, size=5000)
    with pytest.raises(InputError, match="lattice"):
        check_form(naive, manifest, asked)


def test_huge_values_are_on_the_lattice_and_do_not_overflow():
    values, manifest, asked = sent()
    check_form(np.where(np.arange(300) == 3, 1e308, values), manifest, asked)


@pytest.mark.parametrize(
    "made", [lambda v: np.full_like(v, 3.0), lambda v: np.round(v, 1), lambda v: np.clip(v, 0, 10)]
)
def test_constant_rounded_and_clipped_values_are_refused(made):
    values, manifest, asked = sent()
    with pytest.raises(InputError, match="times"):
        check_form(made(values), manifest, asked)


def test_values_that_floats_must_repeat_are_not_refused():
    """Noise so small beside the bounds that floats hold few values of it."""
    terms = {"bounds": (0.0, 2.0**40), "unit": "record", "epsilon": 2.0**80}
    asked = promise("laplace", 4000, **terms)
    values = release(np.full(4000, 2.0**39), "laplace", **terms).values
    assert np.unique(values).size < 4000
    check_form(values, asked.as_dict(), asked)


def test_a_promise_is_not_believed():
    """An owner who promises less noise consistently is refused: what is asked for is worked out by the market."""
    _, _, asked = sent()
    weaker = release(np.linspace(0, 10, 300), "laplace", **{**TERMS, "epsilon": 4.0})
    told = refused(weaker.values, weaker.promise.as_dict(), asked, field="epsilon")
    assert "4.0" in told
    assert replace(asked, epsilon=4.0) != asked
