"""Reading what a stranger wrote.

Everything here travels as plain data through a server that nobody has to trust. Before any arithmetic, a record must
have exactly its fields, each of its type, and bytes in the one way in which we write them: lowercase hexadecimal of a
known length. What can be written in two ways could be changed without a proof or a signature noticing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kantor.errors import EvidenceError

__all__ = ["read_bytes", "read_list", "read_record"]

_AGAIN = "It was changed on the way, or written by something else. Get it again from whoever wrote it."


def read_record(value: Any, what: str, **fields: type) -> dict[str, Any]:
    """A dictionary with exactly these fields, each of exactly its type (a truth value is no number)."""
    if not isinstance(value, Mapping):
        raise EvidenceError(f"{what} is a {type(value).__name__}, not a record", remedy=_AGAIN)
    odd = sorted(str(name) for name in set(value) ^ set(fields))
    if odd:
        raise EvidenceError(f"{what} lacks, or should not have, {', '.join(odd)}", remedy=_AGAIN)
    for name, kind in fields.items():
        if type(value[name]) is not kind:
            found = type(value[name]).__name__
            raise EvidenceError(f"{name} of {what} is a {found}, not a {kind.__name__}", remedy=_AGAIN)
    return dict(value)


def read_list(value: Any, what: str, length: int) -> list[Any]:
    """A list of this length."""
    if not isinstance(value, list | tuple):
        raise EvidenceError(f"{what} is a {type(value).__name__}, not a list", remedy=_AGAIN)
    if len(value) != length:
        raise EvidenceError(f"{what} has {len(value)} entries, not {length}", remedy=_AGAIN)
    return list(value)


def read_bytes(text: Any, what: str, size: int | None = None) -> bytes:
    """Bytes from lowercase hexadecimal, of this length if one is given."""
    try:
        content = bytes.fromhex(text)
    except (ValueError, TypeError):
        content = None
    if content is None or content.hex() != text:
        raise EvidenceError(f"{what} is not lowercase hexadecimal", remedy=_AGAIN)
    if size is not None and len(content) != size:
        raise EvidenceError(f"{what} has {len(content)} bytes, not {size}", remedy=_AGAIN)
    return content
