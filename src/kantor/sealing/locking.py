"""Locking bytes with a secret that two sides have just come to share.

Both uses here (a bid in its envelope, a share on its way to a trustee) have a fresh shared secret for every message. So
a key is derived by HKDF-SHA256 (RFC 5869) from the secret and from all that is known about the message; it locks one
message with ChaCha20-Poly1305 (RFC 8439), and the nonce can be zero because no key is used twice. What is known about
the message is authenticated too: the same bytes about anything else do not unlock.
"""

from __future__ import annotations

from typing import Any

from kantor.errors import EvidenceError, MissingExtraError

__all__ = ["TAG", "lock", "unlock"]

TAG = 16
_NONCE = bytes(12)


def lock(secret: bytes, about: bytes, content: bytes) -> bytes:
    """The content, locked; longer by `TAG` bytes."""
    return bytes(_cipher(secret, about).encrypt(_NONCE, content, about))


def unlock(secret: bytes, about: bytes, locked: bytes) -> bytes:
    """The content; an error if it was not locked with this secret, about this."""
    cipher = _cipher(secret, about)
    from cryptography.exceptions import InvalidTag

    try:
        return bytes(cipher.decrypt(_NONCE, locked, about))
    except InvalidTag as fault:
        raise EvidenceError(
            "this does not unlock",
            remedy="It was changed, or locked for somebody or something else. It counts as if nothing had been sent.",
        ) from fault


def _cipher(secret: bytes, about: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    except ImportError as missing:
        raise MissingExtraError("Sealing bids", "cryptography", "market") from missing
    return ChaCha20Poly1305(HKDF(SHA256(), length=32, salt=None, info=about).derive(secret))
