"""Looking for what must not be there: a number in any form in which a program may have written it down.

A number is looked for as text (with and without separators, as money), as bytes of an integer and of a float, and all
of that again in hexadecimal and in base64, where it may begin at any of three places.
"""

from __future__ import annotations

import base64
import struct
from pathlib import Path

import psycopg
from psycopg.sql import SQL, Identifier
from sqlalchemy.engine import make_url

from kantor.service.store.store import Store
from kantor.service.store.tables import METADATA


class Canary:
    """A number or a text that is recognised wherever it is."""

    def __init__(self, value: int | float | str) -> None:
        plain = _plain(value)
        self.forms = {*plain, *(part for each in plain for part in _in_base64(each))}
        self.folded = {each.hex().encode() for each in plain}
        """Forms in which capitals and small letters are one."""

    def within(self, content: bytes) -> bool:
        """Whether it stands there in some form."""
        return found_in(content, [self])


def found_in(content: bytes, canaries: list[Canary]) -> bool:
    """Whether any of them stands there."""
    small = content.lower()
    return any(
        any(form in content for form in canary.forms) or any(form in small for form in canary.folded)
        for canary in canaries
    )


def _plain(value: int | float | str) -> list[bytes]:
    if isinstance(value, str):
        return [value.encode()]
    if isinstance(value, int):
        texts = [str(value), f"{value:,}", f"{value / 100:.2f}", f"{value / 100:,.2f}"]
        return [*map(str.encode, texts), value.to_bytes(8, "little"), value.to_bytes(8, "big"), *_float(float(value))]
    return [repr(value).encode(), *_float(value)]


def _float(value: float) -> list[bytes]:
    return [struct.pack("<d", value), struct.pack(">d", value)]


def _in_base64(plain: bytes) -> list[bytes]:
    """The part of its base64 that does not depend on what stands beside it, for each place where it may begin."""
    texts = [(before, base64.b64encode(bytes(before) + plain)) for before in range(3)]
    return [text[(before * 8 + 5) // 6 : (before + len(plain)) * 8 // 6] for before, text in texts]


def dump(url: str) -> bytes:
    """Everything that a database holds: all rows as we read them, and as they are kept."""
    store = Store(url)
    try:
        with store.read() as connection:
            rows = [
                repr(tuple(row)) + "".join(bytes(part).hex() for part in row if isinstance(part, bytes | memoryview))
                for table in METADATA.sorted_tables
                for row in connection.execute(table.select())
            ]
    finally:
        store.close()
    return "\n".join(rows).encode(errors="replace") + _raw(url)


def _raw(url: str) -> bytes:
    """What is in the files, or in every table that there is, ours or not."""
    if url.startswith("sqlite"):
        file = Path(str(make_url(url).database))
        return b"".join(part.read_bytes() for part in sorted(file.parent.glob(f"{file.name}*")))
    with psycopg.connect(url) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        found = []
        for (name,) in names:
            with connection.cursor().copy(SQL("COPY {} TO STDOUT").format(Identifier(name))) as rows:
                found += [bytes(row) for row in rows]
    return b"".join(found)
