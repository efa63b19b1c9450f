import hashlib
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl import bindings

from kantor.errors import EvidenceError, MissingExtraError
from kantor.evidence.canonical import tagged
from kantor.sealing import group
from kantor.sealing.group import (
    BASE,
    IDENTITY,
    ORDER,
    ZERO,
    add,
    hash_to_scalar,
    plus,
    product,
    random_scalar,
    read_point,
    read_scalar,
    scalar,
    subtract,
    times,
    times_base,
    weighted_sum,
)
from sealing.planted import NO_POINTS, OUTSIDE, TORSION

numbers = st.integers(0, ORDER - 1)


def whole(one):
    return int.from_bytes(one, "little")


@given(numbers, numbers)
def test_scalars_are_numbers_modulo_the_order(a, b):
    assert whole(plus(scalar(a), scalar(b))) == (a + b) % ORDER
    assert whole(product(scalar(a), scalar(b))) == a * b % ORDER
    assert scalar(a - ORDER) == scalar(a)


@given(numbers, numbers)
def test_taking_points_often_distributes(a, b):
    together = times_base(scalar(a + b))
    assert add(times_base(scalar(a)), times_base(scalar(b))) == together
    assert subtract(together, times_base(scalar(b))) == times_base(scalar(a))
    if b:
        assert times(scalar(a), times_base(scalar(b))) == times_base(scalar(a * b))


def test_zero_times_is_the_identity():
    assert times_base(ZERO) == times(ZERO, BASE) == subtract(BASE, BASE) == IDENTITY
    assert add(IDENTITY, BASE) == times_base(scalar(1)) == BASE
    assert times_base(scalar(ORDER - 1)) == subtract(IDENTITY, BASE)


@given(st.lists(st.tuples(numbers, st.integers(1, 1000)), max_size=5))
def test_a_weighted_sum_is_one(terms):
    total = weighted_sum([scalar(weight) for weight, _ in terms], [times_base(scalar(own)) for _, own in terms])
    assert total == times_base(scalar(sum(weight * own for weight, own in terms)))


def test_points_and_weights_come_in_pairs():
    with pytest.raises(ValueError, match="shorter"):
        weighted_sum([scalar(1), scalar(2)], [BASE])


@pytest.mark.parametrize("point", NO_POINTS, ids=bytes.hex)
def test_what_is_not_of_the_group_is_refused(point):
    with pytest.raises(EvidenceError, match="not a point of the group"):
        read_point(point.hex(), "it")
    with pytest.raises(EvidenceError, match="not a point of the group"):
        times(scalar(8), point)
    with pytest.raises(EvidenceError, match="not a point of the group"):
        weighted_sum([scalar(1), scalar(3)], [BASE, point])


def test_the_planted_points_are_what_they_should_be():
    double = lambda point: bindings.crypto_core_ed25519_add(point, point)  # noqa: E731
    for point in TORSION:
        assert double(double(double(point))) == IDENTITY
    for point in OUTSIDE:
        assert point != BASE
        assert double(double(double(point))) == times_base(scalar(8))


def test_good_points_are_read():
    point = times_base(random_scalar())
    assert read_point(point.hex(), "it") == point
    for text in (point.hex().upper(), point.hex()[:-2], point.hex() + "00", None):
        with pytest.raises(EvidenceError):
            read_point(text, "it")


def test_scalars_have_one_form():
    assert read_scalar(scalar(ORDER - 1).hex(), "it") == scalar(ORDER - 1)
    for number in (ORDER, ORDER + 1, 2**256 - 1):
        with pytest.raises(EvidenceError, match="not below the order"):
            read_scalar(number.to_bytes(32, "little").hex(), "it")


def test_hashes_are_sha_512_modulo_the_order_and_kept_apart_by_kind():
    record = {"a": 1}
    wide = int.from_bytes(hashlib.sha512(tagged("kind", record)).digest(), "little")
    assert whole(hash_to_scalar("kind", record)) == wide % ORDER
    assert len({hash_to_scalar("kind", record), hash_to_scalar("kin", record), hash_to_scalar("kind", {})}) == 3


def test_random_scalars_differ_and_are_reduced():
    drawn = {random_scalar() for _ in range(100)}
    assert len(drawn) == 100
    assert all(whole(each) < ORDER for each in drawn)


@pytest.fixture
def loading():
    group._sodium.cache_clear()
    yield
    group._sodium.cache_clear()


@pytest.mark.usefixtures("loading")
def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "nacl", None)
    with pytest.raises(MissingExtraError, match=r"PyNaCl, .*kantor\[market\]"):
        random_scalar()


@pytest.mark.usefixtures("loading")
@pytest.mark.parametrize(("name", "value"), [("is_valid_point", lambda _: True), ("", False)])
def test_a_library_with_the_hole_of_2025_is_refused(monkeypatch, name, value):
    if name:
        monkeypatch.setattr(bindings, f"crypto_core_ed25519_{name}", value)
    else:
        monkeypatch.setattr(bindings, "has_crypto_core_ed25519", value)
    with pytest.raises(MissingExtraError, match=r"PyNaCl 1\.6\.2 or later"):
        random_scalar()
