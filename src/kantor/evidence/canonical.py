"""One written form for everything that is hashed or signed.

Two programs that mean the same must write the same bytes, or a signature proves nothing. Here it is JSON with sorted
keys, no spaces, in UTF-8, and without floats: money is whole minor units, distances are fixed decimals written as text,
and times are text in UTC. `parse` accepts exactly what `canonical` writes, so that not a single byte of a written
record can be changed without being noticed.

A hash or signature names what it is about (its *kind*), so that a statement of one kind is never taken for another.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from kantor.errors import EvidenceError

__all__ = ["canonical", "digest", "parse", "tagged"]


def canonical(value: Any) -> bytes:
    """The bytes of plain data: dictionaries with text keys, lists, texts, whole numbers, booleans, None."""
    _plain(value, "the record")
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def parse(written: bytes) -> Any:
    """What was written, if it was written in this form; an error for any other bytes that mean the same."""
    try:
        value = json.loads(written)
        again = canonical(value)
    except (ValueError, RecursionError) as fault:
        raise EvidenceError(
            f"this is no record ({fault})", remedy="Get the file again from whoever wrote it; it may be cut short."
        ) from fault
    if again != written:
        raise EvidenceError(
            f"the record is not in canonical form (from byte {_first_difference(again, written)} on)",
            remedy="It was changed after it was written. Get it again from whoever wrote it.",
        )
    return value


def digest(kind: str, value: Any) -> str:
    """SHA-256 of a record of this kind, in hexadecimal."""
    return hashlib.sha256(tagged(kind, value)).hexdigest()


def tagged(kind: str, value: Any) -> bytes:
    """The bytes of a record with its kind before them: what is hashed and what is signed."""
    return b"kantor 1 " + kind.encode() + b"\0" + canonical(value)


def _plain(value: Any, where: str) -> None:
    if isinstance(value, dict):
        for name, part in value.items():
            if not isinstance(name, str):
                raise EvidenceError(f"{where} has the key {name!r}", remedy="Keys are texts.")
            _plain(part, f"{where}.{name}")
    elif isinstance(value, list | tuple):
        for place, part in enumerate(value):
            _plain(part, f"{where}[{place}]")
    elif isinstance(value, str):
        _text(value, where)
    elif value is not None and not isinstance(value, bool | int):
        raise EvidenceError(
            f"{where} is {value!r}, a {type(value).__name__}",
            remedy="Records hold whole numbers and texts: write money in minor units, other numbers as decimal text.",
        )


def _text(value: str, where: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as fault:
        raise EvidenceError(f"{where} has half a character ({fault.reason})", remedy="Give valid text.") from fault


def _first_difference(one: bytes, other: bytes) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
