import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl import bindings

from kantor.errors import EvidenceError, InputError
from kantor.sealing import envelope as sealing
from kantor.sealing.envelope import BLOCK, LARGEST, SECOND, check_envelope, envelope_point, open_envelope, seal
from kantor.sealing.group import BASE, Point, product, random_scalar, read_unchecked, scalar, times, times_base
from kantor.sealing.locking import lock
from kantor.sealing.opening import combine
from kantor.sealing.proofs import prove
from sealing.planted import NO_POINTS, changed, context, key_of, sealed_set, shares_of, shifted

KEY = key_of()
ENVELOPE, CONTEXT = sealed_set()[0]

records = st.dictionaries(st.text(max_size=8), st.one_of(st.integers(), st.text(max_size=8), st.none()), max_size=4)


def shared(envelope):
    """The point that opens it, as two trustees would compute it."""
    point = envelope_point(envelope)
    values = {i: [times(shares_of()[i - 1].scalar_for(KEY), point)] for i in (1, 3)}
    return combine(KEY, values)[0]


def refused(envelope, key=KEY, about=CONTEXT):
    with pytest.raises(EvidenceError):
        check_envelope(key, envelope, about)
    return True


@given(st.binary(max_size=1000), records)
def test_what_is_sealed_is_opened(message, about):
    envelope = json.loads(json.dumps(seal(KEY, message, about)))
    check_envelope(KEY, envelope, about)
    assert open_envelope(KEY, envelope, about, shared(envelope)) == message


def test_the_second_base_is_nobodys_choice():
    seed = hashlib.sha256(b"kantor 1 second base").digest()
    assert bindings.crypto_core_ed25519_from_uniform(seed) == SECOND
    assert bindings.crypto_core_ed25519_is_valid_point(SECOND)


def test_the_length_says_nothing_about_a_price():
    for count in (1, 2, 3):
        sizes = BLOCK * (count - 1), BLOCK * count - 100, BLOCK * count - 1
        assert {len(seal(KEY, bytes(size), {})["sealed"]) for size in sizes} == {2 * (BLOCK * count + 16)}


def test_a_bid_has_its_largest_size():
    envelope = seal(KEY, bytes(LARGEST), {})
    check_envelope(KEY, envelope, {})
    assert open_envelope(KEY, envelope, {}, shared(envelope)) == bytes(LARGEST)
    with pytest.raises(InputError, match="Write it shorter"):
        seal(KEY, bytes(LARGEST + 1), {})


@pytest.mark.parametrize("message", [b"", b"\x80", b"\x80\x00\x00", b"a\x80", bytes(255), b"\x80" * 255, bytes(256)])
def test_padding_is_taken_off_exactly(message):
    envelope = seal(KEY, message, {})
    assert open_envelope(KEY, envelope, {}, shared(envelope)) == message


def test_two_envelopes_of_one_message_have_nothing_in_common():
    one, other = (seal(KEY, b"bid", CONTEXT) for _ in range(2))
    for name in ("point", "second", "sealed", "proof"):
        assert one[name] != other[name]


@given(changed(ENVELOPE))
def test_any_change_to_an_envelope_is_refused(envelope):
    assert refused(envelope)


@given(changed(CONTEXT))
def test_an_envelope_is_for_its_context(about):
    assert refused(ENVELOPE, about=about)
    with pytest.raises(EvidenceError, match="holds no bid"):
        open_envelope(KEY, ENVELOPE, about, shared(ENVELOPE))


def test_an_envelope_is_for_its_market_key():
    """Also for another key of the same trustees and the same context."""
    for key in (key_of(market="market 2"), key_of(3), key_of(1, 1)):
        assert refused(ENVELOPE, key=key)


@pytest.mark.parametrize(
    "envelope",
    [
        None,
        [],
        {},
        {**ENVELOPE, "more": 1},
        {**ENVELOPE, "proof": None},
        {**ENVELOPE, "sealed": ""},
        {**ENVELOPE, "sealed": "00" * 16},
        {**ENVELOPE, "sealed": ENVELOPE["sealed"][:-2]},
        {**ENVELOPE, "sealed": "00" * (LARGEST + 1 + BLOCK + 16)},
        {**ENVELOPE, "sealed": ENVELOPE["sealed"].upper()},
    ],
)
def test_what_is_no_envelope_is_refused(envelope):
    assert refused(envelope)
    with pytest.raises(EvidenceError):
        envelope_point(envelope)
    with pytest.raises(EvidenceError):
        open_envelope(KEY, envelope, CONTEXT, shared(ENVELOPE))


@pytest.mark.parametrize("size", [0, BLOCK - 1, BLOCK + 1, LARGEST + 1 + BLOCK])
def test_a_ciphertext_of_another_size_is_refused_although_its_proof_holds(size):
    assert refused(by_hand(b"", sealed=bytes(size + 16)))


def by_hand(padded, about=CONTEXT, secret=None, points=None, sealed=None):
    """An envelope that its owner makes with another program; its proof holds, as far as it can."""
    secret = secret or random_scalar()
    points = points or (times_base(secret), times(secret, SECOND))
    if sealed is None:
        sealed = lock(times(secret, KEY.point), sealing._about(KEY, points[0], about), padded)
    proof = prove(sealing._PROOF, secret, (BASE, SECOND), points, sealing._statement(KEY, about, sealed))
    return {"point": points[0].hex(), "second": points[1].hex(), "sealed": sealed.hex(), "proof": proof}


@pytest.mark.parametrize("point", NO_POINTS, ids=bytes.hex)
@pytest.mark.parametrize("name", ["point", "second"])
def test_points_outside_the_group_are_refused(point, name):
    with pytest.raises(EvidenceError, match="not a point of the group"):
        check_envelope(KEY, {**ENVELOPE, name: point.hex()}, CONTEXT)
    secret = random_scalar()
    points = {"point": times_base(secret), "second": times(secret, SECOND), name: Point(point)}
    planted = by_hand(b"", points=(points["point"], points["second"]), secret=secret, sealed=bytes(BLOCK + 16))
    with pytest.raises(EvidenceError, match="not a point of the group"):
        check_envelope(KEY, planted, CONTEXT)


def test_a_point_plus_one_of_small_order_never_passes():
    for _ in range(24):
        secret = random_scalar()
        points = shifted(times_base(secret)), times(secret, SECOND)
        assert refused(by_hand(b"", secret=secret, points=points, sealed=bytes(BLOCK + 16)))


def test_nobody_puts_anothers_point_into_an_envelope_of_their_own():
    """What a copied bid would look like: the same point, another context, and a proof from whatever the thief knows."""
    mine = {**CONTEXT, "owner": "a thief"}
    first, second = (read_unchecked(ENVELOPE[name], "") for name in ("point", "second"))
    sealed = bytes.fromhex(ENVELOPE["sealed"])
    guess = random_scalar()
    for points in ((first, second), (first, times(guess, SECOND))):
        assert refused(by_hand(b"", mine, guess, points, sealed), about=mine)
    assert refused({**ENVELOPE, "proof": by_hand(b"", mine)["proof"]}, about=mine)
    # Multiples of it, for which the thief would need r as well.
    doubled = tuple(times(scalar(2), point) for point in (first, second))
    assert refused(by_hand(b"", mine, product(guess, scalar(2)), doubled, sealed), about=mine)


def test_the_two_points_have_one_logarithm():
    secret = random_scalar()
    points = times_base(secret), times(random_scalar(), SECOND)
    assert refused(by_hand(b"", secret=secret, points=points, sealed=bytes(BLOCK + 16)))


@pytest.mark.parametrize(
    "padded",
    [bytes(BLOCK), b"bid" + bytes(BLOCK - 3), b"\x80" + b"\x01" * (BLOCK - 1), b"bid\x80" + bytes(2 * BLOCK - 4)],
)
def test_a_wrongly_padded_bid_is_none(padded):
    envelope = by_hand(padded)
    check_envelope(KEY, envelope, CONTEXT)
    with pytest.raises(EvidenceError, match="holds no bid"):
        open_envelope(KEY, envelope, CONTEXT, shared(envelope))


def test_an_owner_that_seals_rubbish_has_no_bid():
    envelope = by_hand(b"", sealed=bytes(BLOCK + 16))
    check_envelope(KEY, envelope, CONTEXT)
    with pytest.raises(EvidenceError, match="holds no bid"):
        open_envelope(KEY, envelope, CONTEXT, shared(envelope))


def test_another_point_opens_nothing():
    others = [shared(each) for each, _ in sealed_set()[1:]]
    for point in (*others, times_base(scalar(3)).hex(), ENVELOPE["point"]):
        with pytest.raises(EvidenceError, match="holds no bid"):
            open_envelope(KEY, ENVELOPE, CONTEXT, point)
    assert open_envelope(KEY, ENVELOPE, CONTEXT, shared(ENVELOPE)) == b"bid 0"
    assert context(0) == CONTEXT
