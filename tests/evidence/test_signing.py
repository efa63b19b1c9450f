"""Signatures: of one record, of one kind, by one key."""

import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kantor.errors import EvidenceError, InputError
from kantor.evidence.signing import Signer, check_signature, is_signed, write_secret

ONE = Signer(bytes(range(32)))


def test_a_key_knows_its_own():
    said = {"market": "m", "amount": 3}
    signature = ONE.sign("receipt", said)
    check_signature(ONE.public, "receipt", said, signature)
    assert signature == ONE.sign("receipt", said)
    for key, kind, record in (
        (Signer.new().public, "receipt", said),
        (ONE.public, "bid", said),
        (ONE.public, "receipt", {**said, "amount": 4}),
    ):
        with pytest.raises(EvidenceError, match="signature"):
            check_signature(key, kind, record, signature)


@given(st.integers(0, 127), st.sampled_from("0123456789abcdefABCDEF xyz"))
def test_a_changed_signature_is_none(place, letter):
    signature = ONE.sign("bid", {"a": 1})
    changed = signature[:place] + letter + signature[place + 1 :]
    assert is_signed(ONE.public, "bid", {"a": 1}, changed) == (changed == signature)


def test_a_key_is_kept_in_a_file_for_its_owner_alone(tmp_path):
    file = tmp_path / "key"
    first = Signer.at(file)
    assert Signer.at(file).public == first.public
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(InputError, match="cannot be written"):
        write_secret(file, b"other")
    file.write_text("rubbish")
    with pytest.raises(InputError, match="no signing key"):
        Signer.at(file)
