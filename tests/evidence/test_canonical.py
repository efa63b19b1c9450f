"""One written form: what is written is read back, and any other bytes are refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kantor.errors import EvidenceError
from kantor.evidence.canonical import canonical, digest, parse

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abé\n", max_size=3), inner, max_size=4),
    max_leaves=12,
)


@given(PLAIN)
def test_what_is_written_is_read_back(value):
    assert parse(canonical(value)) == value


@given(PLAIN, st.data())
def test_one_changed_byte_is_refused_or_means_something_else(value, data):
    written = bytearray(canonical(value))
    place = data.draw(st.integers(0, len(written) - 1))
    written[place] ^= data.draw(st.integers(1, 255))
    try:
        changed = parse(bytes(written))
    except EvidenceError:
        return
    assert changed != value or type(changed) is not type(value)


def test_other_ways_of_writing_it_are_refused():
    record = {"b": 1, "a": "é"}
    for other in (
        json.dumps(record),
        '{"b":1,"a":"é"}',
        '{"a":"\\u00e9","b":1}',
        '{"a":"é","b":1}\n',
        '{"a":"é","b":1.0}',
    ):
        with pytest.raises(EvidenceError):
            parse(other.encode())
    assert parse('{"a":"é","b":1}'.encode()) == record


@pytest.mark.parametrize("value", [1.5, {1: 2}, b"x", {"a": {"b": [float("nan")]}}, "\ud800", object()])
def test_what_has_no_one_form_is_refused(value):
    with pytest.raises(EvidenceError):
        canonical(value)


def test_kinds_keep_statements_apart():
    assert digest("bid", {"a": 1}) != digest("receipt", {"a": 1})
