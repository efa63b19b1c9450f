"""A root for many records, and a short proof that one of them is among those.

When a market closes, it publishes one hash that stands for all bids that count. Each owner can then be shown, by a
dozen hashes and without seeing another bid, that its own is in. Leaves and inner nodes are hashed differently, and an
odd subtree is split at the largest power of two below its size, as in Certificate Transparency (RFC 6962), so that no
two lists of leaves have one root.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from kantor.errors import EvidenceError

__all__ = ["EMPTY", "check_inclusion", "inclusion", "root_of"]

EMPTY = hashlib.sha256(b"").hexdigest()
"""The root of no leaves."""


def root_of(leaves: Sequence[str]) -> str:
    """The root over leaves, each a digest in hexadecimal, in their order."""
    level = [_leaf(leaf) for leaf in leaves]
    if not level:
        return EMPTY
    while len(level) > 1:  # pairing neighbours and carrying the odd one up is RFC 6962's tree, from the leaves on
        pairs = [_node(level[at], level[at + 1]) for at in range(0, len(level) - 1, 2)]
        level = pairs + level[len(level) & ~1 :]
    return level[0].hex()


def inclusion(leaves: Sequence[str], index: int) -> list[str]:
    """The hashes beside the way from a leaf to the root."""
    level, proof = [_leaf(leaf) for leaf in leaves], []
    while len(level) > 1:
        beside = index ^ 1
        if beside < len(level):
            proof.append(level[beside].hex())
        pairs = [_node(level[at], level[at + 1]) for at in range(0, len(level) - 1, 2)]
        level, index = pairs + level[len(level) & ~1 :], index // 2
    return proof


def check_inclusion(root: str, leaf: str, index: int, size: int, proof: Sequence[str]) -> None:
    """An error unless the leaf stands at this place among `size` leaves under the root."""
    try:
        found = _climb(leaf, index, size, list(proof))
    except (ValueError, IndexError) as fault:
        raise _outside(index, size) from fault
    if found != root:
        raise _outside(index, size)


def _climb(leaf: str, index: int, size: int, proof: list[str]) -> str:
    if not 0 <= index < size:
        raise ValueError(index)
    here = _leaf(leaf)
    while size > 1:
        beside = index ^ 1
        if beside < size:
            other = bytes.fromhex(proof.pop(0))
            here = _node(other, here) if index & 1 else _node(here, other)
        index, size = index // 2, (size + 1) // 2
    if proof:
        raise ValueError(len(proof))
    return here.hex()


def _outside(index: int, size: int) -> EvidenceError:
    return EvidenceError(
        f"the record is not shown to be number {index} of {size} under this root",
        remedy="It was left out or changed, or the proof is another one's. Show it to the operator and an auditor.",
    )


def _leaf(leaf: str) -> bytes:
    return hashlib.sha256(b"\0" + bytes.fromhex(leaf)).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()
