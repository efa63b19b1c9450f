"""Randomness that nobody outside can tell from fair coins, and that two parties can draw alike.

A `Stream` is AES-256 in counter mode under one key: whoever holds the key draws the same words in the same order, and
whoever does not sees uniform words. Keys for different uses are derived from one by hashing it with a label, so that no
word ever serves twice.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kantor.errors import MissingExtraError

__all__ = ["KEY", "Stream", "Words", "derived", "fresh_key"]

Words: TypeAlias = npt.NDArray[np.uint64]
"""Numbers modulo 2^64, or 64 bits each."""

KEY = 32


def fresh_key() -> bytes:
    """A key from the operating system."""
    return secrets.token_bytes(KEY)


def derived(key: bytes, label: str) -> bytes:
    """Another key, for another use."""
    return hashlib.sha256(label.encode() + b"\0" + key).digest()


class Stream:
    """Uniform words under a key."""

    def __init__(self, key: bytes) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
        except ImportError as missing:
            raise MissingExtraError("Private computation", "cryptography", "private") from missing
        self._cipher = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()

    def words(self, count: int) -> Words:
        """The next words."""
        return np.frombuffer(self._cipher.update(bytes(8 * count)), dtype="<u8").astype(np.uint64, copy=False)
