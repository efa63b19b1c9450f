"""Sending a share to a trustee through a server that must not read it.

The dealer makes an ephemeral X25519 key for each recipient and locks the share with what that key and the recipient's
long-lived one agree on. The ephemeral key is derived from the dealer's seed instead of drawn, so that a dealer who was
killed and comes back posts the same bytes; everything that the message says about itself enters the key, so that one
key never locks two messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kantor.evidence.canonical import tagged
from kantor.sealing.forms import read_bytes
from kantor.sealing.group import SIZE, Scalar, read_scalar
from kantor.sealing.identity import TrusteeIdentity, agree, public_half
from kantor.sealing.locking import TAG, lock, unlock

__all__ = ["POSTED", "post", "receive"]

POSTED = 2 * SIZE + TAG


def post(share: Scalar, ephemeral: bytes, receiving: str, about: Mapping[str, Any]) -> str:
    """A share locked for the trustee with this receiving key, in hexadecimal."""
    public = public_half(ephemeral)
    secret = agree(ephemeral, read_bytes(receiving, "a receiving key", 32))
    return (public + lock(secret, _about(public, about), share)).hex()


def receive(identity: TrusteeIdentity, posted: str, about: Mapping[str, Any]) -> Scalar:
    """The share; an error if it was not locked for this trustee, about this."""
    content = read_bytes(posted, "a posted share", POSTED)
    public, locked = content[:SIZE], content[SIZE:]
    share = unlock(identity.agree(public), _about(public, about), locked)
    return read_scalar(share.hex(), "a share")


def _about(public: bytes, about: Mapping[str, Any]) -> bytes:
    return tagged("ceremony share", {**about, "ephemeral": public.hex()})
