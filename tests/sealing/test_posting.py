import pytest
from hypothesis import given
from hypothesis import strategies as st

from kantor.errors import EvidenceError
from kantor.sealing.group import scalar
from kantor.sealing.posting import post, receive
from sealing.planted import identities

ABOUT = {"dealer": 1, "recipient": 2}
SHARE = scalar(4711)
FIRST, SECOND = identities(2)
POSTED = post(SHARE, bytes(32), SECOND.public("").receiving, ABOUT)


def test_a_share_arrives_and_is_posted_again_to_the_same_bytes():
    assert receive(SECOND, POSTED, ABOUT) == SHARE
    assert post(SHARE, bytes(32), SECOND.public("").receiving, ABOUT) == POSTED
    assert SHARE.hex() not in POSTED


def test_nobody_else_reads_it_and_it_is_about_nothing_else():
    with pytest.raises(EvidenceError, match="does not unlock"):
        receive(FIRST, POSTED, ABOUT)
    with pytest.raises(EvidenceError, match="does not unlock"):
        receive(SECOND, POSTED, {"dealer": 1, "recipient": 3})


def test_one_key_never_locks_two_messages():
    """The same ephemeral key with another purpose locks with another key: the ciphertexts do not differ by a mask."""
    again = post(SHARE, bytes(32), SECOND.public("").receiving, {"dealer": 1, "recipient": 2, "seen": "x"})
    assert again[:64] == POSTED[:64]
    assert again[64:128] != POSTED[64:128]


@given(st.integers(0, len(POSTED) - 1), st.integers(0, 6))
def test_any_change_is_noticed(place, bit):
    changed = bytearray(POSTED.encode())
    changed[place] ^= 1 << bit
    with pytest.raises(EvidenceError):
        receive(SECOND, changed.decode(), ABOUT)


def test_what_is_posted_is_a_scalar():
    too_large = b"\xff" * 32
    with pytest.raises(EvidenceError, match="not below the order"):
        receive(SECOND, post(too_large, bytes(32), SECOND.public("").receiving, ABOUT), ABOUT)
