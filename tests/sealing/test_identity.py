import stat

import pytest

from kantor.errors import EvidenceError, InputError
from kantor.sealing.identity import TrusteeIdentity, agree, public_half


def test_a_folder_keeps_a_trustee(tmp_path):
    folder = tmp_path / "trustee"
    made = TrusteeIdentity.at(folder).public("name")
    assert TrusteeIdentity.at(folder).public("name") == made
    assert made.signing != made.receiving
    for file in folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["signing.key", "receiving.key"])
@pytest.mark.parametrize("content", ["", "zz", "ab" * 31])
def test_a_broken_key_is_named(tmp_path, name, content):
    TrusteeIdentity.at(tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=name):
        TrusteeIdentity.at(tmp_path)


def test_two_sides_agree():
    identity = TrusteeIdentity.new()
    ephemeral = bytes(range(32))
    public = bytes.fromhex(identity.public("name").receiving)
    assert identity.agree(public_half(ephemeral)) == agree(ephemeral, public)


@pytest.mark.parametrize("public", [bytes(32), (1).to_bytes(32, "little")])
def test_a_key_that_agrees_with_everybody_is_refused(public):
    with pytest.raises(EvidenceError, match="keeps no secrets"):
        agree(bytes(range(32)), public)
