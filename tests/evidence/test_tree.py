"""A root over leaves: every leaf can be shown, and nothing else."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kantor.errors import EvidenceError
from kantor.evidence.tree import EMPTY, check_inclusion, inclusion, root_of


def leaves(size):
    return [hashlib.sha256(bytes([place])).hexdigest() for place in range(size)]


def rfc6962(nodes):
    """The recursive definition of the standard."""
    if len(nodes) == 1:
        return hashlib.sha256(b"\0" + bytes.fromhex(nodes[0])).digest()
    split = 1 << (len(nodes) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + rfc6962(nodes[:split]) + rfc6962(nodes[split:])).digest()


@pytest.mark.parametrize("size", range(1, 34))
def test_every_leaf_is_shown_under_the_standard_root(size):
    all_of_them = leaves(size)
    root = root_of(all_of_them)
    assert root == rfc6962(all_of_them).hex()
    for place, leaf in enumerate(all_of_them):
        check_inclusion(root, leaf, place, size, inclusion(all_of_them, place))


def test_no_leaves():
    assert root_of([]) == EMPTY
    with pytest.raises(EvidenceError):
        check_inclusion(EMPTY, leaves(1)[0], 0, 0, [])


@given(st.integers(1, 20), st.data())
def test_what_is_not_there_cannot_be_shown(size, data):
    all_of_them, place = leaves(size), data.draw(st.integers(0, size - 1))
    root, proof = root_of(all_of_them), inclusion(all_of_them, place)
    other = hashlib.sha256(b"other").hexdigest()
    with pytest.raises(EvidenceError):
        check_inclusion(root, other, place, size, proof)
    with pytest.raises(EvidenceError):
        check_inclusion(root, all_of_them[place], place, size, [*proof, other])
    with pytest.raises(EvidenceError):
        check_inclusion(root, all_of_them[place], place + size, size, proof)
    if size > 1:
        with pytest.raises(EvidenceError):
            check_inclusion(root, all_of_them[place], place, size, proof[:-1])
        with pytest.raises(EvidenceError):
            check_inclusion(root, all_of_them[place], (place + 1) % size, size, proof)
