"""A trustee's own keys: one that it signs with, one that it receives shares with.

Both are made once and live in a folder on the trustee's machine, readable by it alone; their public halves stand in the
market's terms. They are long-lived and serve many markets. The share of a market's secret is a third thing, made by a
ceremony for one market (`ceremony.py`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from kantor.errors import EvidenceError, InputError, MissingExtraError
from kantor.evidence.signing import Signer, write_secret
from kantor.sealing.terms import Terms, Trustee

__all__ = ["TrusteeIdentity", "agree", "public_half"]


class TrusteeIdentity:
    """A trustee, as it knows itself."""

    def __init__(self, signer: Signer, receiving: bytes) -> None:
        self.signer = signer
        self._receiving = receiving

    @classmethod
    def new(cls) -> TrusteeIdentity:
        """Fresh keys, in memory only."""
        return cls(Signer.new(), os.urandom(32))

    @classmethod
    def at(cls, folder: Path) -> TrusteeIdentity:
        """The keys in a folder; made on first use."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return cls(Signer.at(folder / "signing.key"), _kept(folder / "receiving.key"))

    def public(self, name: str) -> Trustee:
        """What stands in a market's terms."""
        return Trustee(name, self.signer.public, public_half(self._receiving).hex())

    def place(self, terms: Terms) -> int:
        """Its number among the trustees of a market."""
        return terms.place(self.signer.public, public_half(self._receiving).hex())

    def agree(self, ephemeral: bytes) -> bytes:
        """The secret that whoever made this ephemeral key has with this trustee."""
        return agree(self._receiving, ephemeral)


def agree(secret: bytes, public: bytes) -> bytes:
    """Diffie and Hellman's on X25519; an error for a public key of small order, which agrees with everybody."""
    x25519 = _library()
    try:
        key = x25519.X25519PrivateKey.from_private_bytes(secret)
        return bytes(key.exchange(x25519.X25519PublicKey.from_public_bytes(public)))
    except ValueError as fault:
        raise EvidenceError(
            f"the key {public.hex()[:16]}... keeps no secrets ({fault})", remedy="Do not send anything to it."
        ) from fault


def public_half(secret: bytes) -> bytes:
    """The X25519 public key of a secret one."""
    return bytes(_library().X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw())


def _kept(file: Path) -> bytes:
    if not file.exists():
        write_secret(file, os.urandom(32).hex().encode() + b"\n")
    try:
        secret = bytes.fromhex(file.read_text(encoding="ascii").strip())
        public_half(secret)
    except (OSError, ValueError) as fault:
        raise InputError(
            f"this is no receiving key ({fault})", remedy="Put the key back from a copy.", file=file
        ) from fault
    return secret


def _library() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import x25519
    except ImportError as missing:
        raise MissingExtraError("A trustee's identity", "cryptography", "market") from missing
    return x25519
