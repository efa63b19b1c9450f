import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kantor.errors import EvidenceError, MissingExtraError
from kantor.sealing.locking import TAG, lock, unlock

LOCKED = lock(b"secret", b"about this", b"a bid")


@given(st.binary(max_size=600), st.binary(), st.binary(min_size=1))
def test_what_is_locked_unlocks(content, about, secret):
    locked = lock(secret, about, content)
    assert len(locked) == len(content) + TAG
    assert unlock(secret, about, locked) == content


def test_nothing_else_unlocks():
    for secret, about, locked in (
        (b"Secret", b"about this", LOCKED),
        (b"secret", b"about that", LOCKED),
        (b"secret", b"about this", LOCKED[:-1]),
        (b"secret", b"about this", b""),
        (b"secret", b"about this", LOCKED + b"\0"),
    ):
        with pytest.raises(EvidenceError, match="does not unlock"):
            unlock(secret, about, locked)


@given(st.integers(0, 8 * len(LOCKED) - 1))
def test_any_changed_bit_is_noticed(bit):
    changed = bytearray(LOCKED)
    changed[bit // 8] ^= 1 << bit % 8
    with pytest.raises(EvidenceError):
        unlock(b"secret", b"about this", bytes(changed))


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.kdf.hkdf", None)
    with pytest.raises(MissingExtraError, match=r"kantor\[market\]"):
        lock(b"secret", b"", b"")
