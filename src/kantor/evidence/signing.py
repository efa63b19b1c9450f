"""Who said it: Ed25519 keys, and signatures on records.

A signature is on a record in its canonical form together with its kind. The same key signs the same record to the same
bytes, so a receipt that was lost on the way can be made again.
"""

from __future__ import annotations

import os
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from kantor.errors import EvidenceError, InputError, MissingExtraError
from kantor.evidence.canonical import tagged

__all__ = ["Signer", "check_signature", "is_signed", "write_secret"]


class Signer:
    """A private key that signs records."""

    def __init__(self, secret: bytes) -> None:
        self._key = _library().Ed25519PrivateKey.from_private_bytes(secret)

    @classmethod
    def new(cls) -> Signer:
        """A fresh key."""
        return cls(os.urandom(32))

    @classmethod
    def at(cls, file: Path) -> Signer:
        """The key in a file; made on first use, readable by its owner alone."""
        if not file.exists():
            write_secret(file, os.urandom(32).hex().encode() + b"\n")
        try:
            return cls(bytes.fromhex(file.read_text().strip()))
        except (OSError, ValueError) as fault:
            raise InputError(
                f"this is no signing key ({fault})", remedy="Put the key back from a copy.", file=file
            ) from fault

    @cached_property
    def public(self) -> str:
        """The key to check signatures with, in hexadecimal."""
        return str(self._key.public_key().public_bytes_raw().hex())

    def sign(self, kind: str, record: Any) -> str:
        """The signature on a record of this kind, in hexadecimal."""
        return str(self._key.sign(tagged(kind, record)).hex())


def check_signature(public: str, kind: str, record: Any, signature: str) -> None:
    """An error unless this key signed this record as this kind."""
    if not is_signed(public, kind, record, signature):
        raise EvidenceError(
            f"the signature on this {kind} is not that of the key {public[:16]}",
            remedy="It was changed after it was signed, or somebody else signed it. Do not rely on it.",
        )


def is_signed(public: str, kind: str, record: Any, signature: str) -> bool:
    """Whether this key signed this record as this kind."""
    library = _library()
    from cryptography.exceptions import InvalidSignature

    try:
        _public(library, public).verify(bytes.fromhex(signature), tagged(kind, record))
    except (InvalidSignature, ValueError, TypeError):
        return False
    return signature == signature.lower()


@lru_cache(maxsize=1024)
def _public(library: Any, key: str) -> Any:
    if key != key.lower():
        raise ValueError(key)
    return library.Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))


def write_secret(file: Path, content: bytes) -> None:
    """A new file that its owner alone may read, on the disk before this returns; never over an existing one."""
    try:
        handle = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except OSError as fault:
        raise InputError(
            f"the secret cannot be written ({fault.strerror})",
            remedy="Choose a folder that exists, may be written to, and holds no such file.",
            file=file,
        ) from fault
    with os.fdopen(handle, "wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


def _library() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as missing:
        raise MissingExtraError("Signing", "cryptography", "market") from missing
    return ed25519
