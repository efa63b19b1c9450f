"""What a buyer has bought, checked before it is kept: the values have to be those that the manifest names.

The manifest names every part by its hash, and its own digest stands in the market's log, where nobody can change it any
more. Where the operator has refused a delivery since, the manifest is made anew and is in no log.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kantor.errors import EvidenceError
from kantor.evidence.canonical import digest
from kantor.owners.distributions import Vector
from kantor.service.promises import as_text, values_from
from kantor.service.reading import read_log

__all__ = ["Purchase", "is_logged", "read_purchase"]

_AGAIN = "Download again; if it stays so, tell the operator, and object with: kantor buyer dispute"


@dataclass(frozen=True)
class Purchase:
    """The aggregate, its manifest, and the winners' own noised series where the terms allow them."""

    values: Vector
    weights: Vector | None
    series: dict[str, Vector]
    manifest: dict[str, Any]


def read_purchase(plain: Mapping[str, Any]) -> Purchase | None:
    """What the server sent, if it fits its manifest; None if nothing was delivered."""
    manifest = plain["manifest"]
    if manifest is None:
        return None
    values, content = values_from(plain["values"])
    weights = None
    if plain["weights"] is not None:
        weights, more = values_from(plain["weights"])
        content += more
    _same(content, manifest["sha256"], "the aggregate")
    stated = {line["owner"]: line["sha256"] for line in manifest["delivered"]}
    series = {}
    for owner, text in (plain["series"] or {}).items():
        if not re.fullmatch("[0-9a-f]{20}", owner):
            raise EvidenceError(f"{owner!r} is no owner's name", remedy=_AGAIN)
        series[owner], own = values_from(text)
        _same(own, stated.get(owner, ""), f"the series of owner {owner}")
    return Purchase(values, weights, series, dict(manifest))


def is_logged(manifest: Mapping[str, Any], log: Iterable[dict[str, Any]], market: str) -> bool:
    """Whether the manifest is the one in the market's log; an error if not, unless deliveries were refused since."""
    story = read_log(log, market)
    here = [line["owner"] for line in manifest["delivered"]]
    said = digest("handover", {"market": market, "delivered": here, "manifest": as_text(manifest)})
    if said == story.only("handed over").body["handover"]:
        return True
    if not any(event.body["decision"] == "refuse" for event in story.all("decided")):
        raise EvidenceError("the manifest is not the one in the market's log", remedy=_AGAIN)
    return False


def _same(content: bytes, stated: str, what: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != stated:
        raise EvidenceError(
            f"{what} has the hash {found[:16]}..., and the manifest says {stated[:16]}...", remedy=_AGAIN
        )
