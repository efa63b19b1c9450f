"""Records that strangers sign and send: plain data of a modest shape, before anything else looks at them.

What reads them further on names in its errors what it found. Here nothing is named: a price that somebody has put into
the wrong place, unsealed, must not come back in an answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, StringConstraints

from kantor.service.statements import Bid, Delivery

__all__ = ["LongText", "Plain", "PlainBid", "PlainDelivery", "Text", "plain"]

_DEEPEST = 6
_NAME = re.compile("[a-z_]{1,40}")
_ENVELOPE = {"point": str, "second": str, "sealed": str, "proof": dict}
_NUMBERS = ("epsilon", "delta", "low", "high", "sensitivity", "scale")


def _writable(text: str) -> str:
    """Text that any database keeps and any file can hold."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError("the text has half a character") from None
    return text


# No control characters: databases refuse some, and terminals obey others.
_LINE = StringConstraints(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")
_LINES = StringConstraints(max_length=2000, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]*$")
Text: TypeAlias = Annotated[str, _LINE, AfterValidator(_writable)]
LongText: TypeAlias = Annotated[str, _LINES, AfterValidator(_writable)]


def plain(value: Any, depth: int = 0) -> Any:
    """The record, if it has names in small letters, texts, whole numbers and lists, and is not deep."""
    if depth > _DEEPEST:
        raise ValueError("the record is nested too deeply")
    if isinstance(value, dict):
        if not all(_NAME.fullmatch(name) for name in value):
            raise ValueError("a record's names are of small letters")
        parts = list(value.values())
    else:
        parts = value if isinstance(value, list) else []
    for part in parts:
        if isinstance(part, float):
            raise ValueError("records hold whole numbers and texts: write other numbers as text")  # noqa: TRY004
        if isinstance(part, str):
            _writable(part)
        elif isinstance(part, dict | list):
            plain(part, depth + 1)
    return value


def _of_form(check: Callable[[Any], object]) -> AfterValidator:
    def checked(value: Any) -> Any:
        check(value)
        return value

    return AfterValidator(checked)


def _check_envelope(said: Bid) -> None:
    envelope = said.envelope
    plain(envelope)
    if {name: type(part) for name, part in envelope.items()} != _ENVELOPE:
        raise ValueError("an envelope has point, second, sealed and proof, as `seal` made them")


def _check_manifest(said: Delivery) -> None:
    plain(said.manifest)
    for name in _NUMBERS:
        stated = said.manifest.get(name)
        try:
            float(0 if stated is None else stated)
        except ValueError:
            raise ValueError(f"the manifest's {name} is no number") from None


Plain: TypeAlias = Annotated[dict[str, Any], AfterValidator(plain)]
PlainBid: TypeAlias = Annotated[Bid, _of_form(_check_envelope)]
PlainDelivery: TypeAlias = Annotated[Delivery, _of_form(_check_manifest)]
