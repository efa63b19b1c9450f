"""The manifest that comes with noised values: what noise the owner says was added, in plain data.

The market knows what it must say before it arrives. The terms fix mechanism, calibration, unit, bounds and length, the
owner's bid fixes epsilon and delta, and `kantor.owners.release.promise` turns these into a scale and a lattice. So a
manifest is not believed, it is compared: a smaller scale would be less privacy than was promised to the owner, a larger
one more noise than the buyer pays for.

The version of the library that drew the noise is kept and not compared. The scale may differ by one part in a million,
since another version may round its own statement differently; everything else has to be the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from math import isclose
from typing import Any

from kantor.errors import InputError
from kantor.owners.release import Promise

__all__ = ["check_manifest", "read_manifest"]

_AGAIN = "Release again with what the market's terms and the bid ask for, and upload values and manifest together."
_NUMBERS = ("epsilon", "low", "high", "sensitivity", "scale")
_WHOLE = ("records", "granularity")
_ROUNDING = 1e-6


def read_manifest(manifest: Any, owner: str | None = None) -> Promise:
    """The promise that a manifest states, once every field is there and of its kind."""
    if not isinstance(manifest, Mapping):
        raise InputError(
            f"the manifest is {type(manifest).__name__}, not a table of names and values",
            remedy="Upload the manifest as it was written with the values.",
            owner=owner,
        )
    names = [field.name for field in fields(Promise)]
    for name in names:
        if name not in manifest:
            raise InputError(f"the manifest has no {name}", remedy=_AGAIN, owner=owner, field=name)
    unknown = [name for name in manifest if name not in (*names, "library")]
    if unknown:
        raise InputError(
            f"the manifest has {unknown[0]!r}, which no manifest has",
            remedy="Upload it as it was written with the values.",
            owner=owner,
            field=unknown[0],
        )
    return Promise(**{name: _field(name, manifest[name], owner) for name in names})


def _field(name: str, value: Any, owner: str | None) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    whole = number and isinstance(value, int)
    kinds = {
        "mechanism": isinstance(value, str),
        "calibration": value is None or isinstance(value, str),
        "delta": value is None or number,
        "unit": isinstance(value, str) or whole,
        **dict.fromkeys(_NUMBERS, number),
        **dict.fromkeys(_WHOLE, whole),
    }
    if not kinds[name]:
        raise InputError(
            f"the manifest's {name} is {value!r}, a {type(value).__name__}",
            remedy=_AGAIN,
            value=value,
            owner=owner,
            field=name,
        )
    return float(value) if name in _NUMBERS else value


def check_manifest(stated: Promise, asked: Promise, owner: str | None = None) -> None:
    """Refuse a promise that is not the one asked for, naming the first difference and both its sides."""
    for field in fields(Promise):
        here, there = getattr(stated, field.name), getattr(asked, field.name)
        close = field.name == "scale" and isclose(here, there, rel_tol=_ROUNDING)
        if here != there and not close:
            raise InputError(
                f"the manifest says {field.name} {here!r}, and {there!r} is asked for",
                remedy=_AGAIN,
                value=here,
                owner=owner,
                field=field.name,
            )
