"""Changing a bundle in every way that somebody might try, with or without the power to seal it again.

Without the server's key any change breaks the seal. The interesting liar has it: an operator who rewrites a market
after the fact, and seals the result. `sealed` does what that operator would do; `verify` has to see through it.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

from kantor.evidence.canonical import canonical, digest
from kantor.evidence.signing import Signer

__all__ = ["changed_bytes", "leaves", "rewritten", "sealed"]

Path = tuple[str | int, ...]


def changed_bytes(content: bytes, chance: random.Random) -> bytes:
    """A flipped, deleted, doubled or moved byte, or an end cut off."""
    place, other = chance.randrange(len(content)), chance.randrange(len(content))
    how = chance.choice(["flip", "delete", "insert", "swap", "truncate"])
    if how == "flip":
        return content[:place] + bytes([content[place] ^ (1 << chance.randrange(8))]) + content[place + 1 :]
    if how == "delete":
        return content[:place] + content[place + 1 :]
    if how == "insert":
        return content[:place] + content[other : other + 1] + content[place:]
    if how == "swap":
        changed = bytearray(content)
        changed[place], changed[other] = changed[other], changed[place]
        return bytes(changed)
    return content[:place]


def sealed(content: dict[str, Any], signer: Signer) -> bytes:
    """Sealed again, by whoever has the key."""
    plain = {name: part for name, part in content.items() if name != "seal"}
    return canonical({**plain, "seal": signer.sign("bundle", digest("bundle", plain))})


def leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    """The places of everything that is written in a bundle."""
    if isinstance(value, dict):
        for name in value:
            yield from leaves(value[name], (*path, name))
    elif isinstance(value, list):
        for place in range(len(value)):
            yield from leaves(value[place], (*path, place))
    else:
        yield path


def rewritten(content: dict[str, Any], chance: random.Random) -> tuple[str, dict[str, Any]]:
    """One thing changed: a number or text, an entry left out, doubled, or put elsewhere. Also says what."""
    changed = copy.deepcopy(content)
    path = chance.choice([path for path in leaves(changed) if path[0] != "seal"])
    lists = [path[:depth] for depth in range(1, len(path)) if isinstance(_at(changed, path[:depth]), list)]
    how = chance.choice(["value", "drop", "twice", "swap"]) if lists else "value"
    if how == "value":
        _set(changed, path, _other(_at(changed, path), chance))
        return f"value {path}", changed
    entries = _at(changed, chance.choice(lists))
    place = chance.randrange(len(entries))
    if how == "drop":
        del entries[place]
    elif how == "twice":
        entries.insert(place, copy.deepcopy(entries[place]))
    else:
        other = chance.randrange(len(entries))
        entries[place], entries[other] = entries[other], entries[place]
    return f"{how} {place} near {path}", changed


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _set(value: Any, path: Path, new: Any) -> None:
    _at(value, path[:-1])[path[-1]] = new


def _other(value: Any, chance: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + chance.choice([-1, 1, 10])
    if value is None:
        return 0
    if not value:
        return "x"
    place = chance.randrange(len(value))
    letter = chance.choice([each for each in "0123456789abcdef" if each != value[place]])
    return value[:place] + letter + value[place + 1 :]


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether a rewrite has changed nothing."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
