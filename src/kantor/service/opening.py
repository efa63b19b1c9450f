"""Opening a closed set: what each envelope holds, from what the trustees have posted."""

from __future__ import annotations

from typing import Any

from kantor.errors import EvidenceError, PartyError
from kantor.sealing.envelope import open_envelope
from kantor.sealing.keys import MarketKey
from kantor.sealing.opening import open_set
from kantor.service.statements import context_of

__all__ = ["opened_by"]


def opened_by(
    key: MarketKey, closed: dict[str, Any], openings: dict[int, dict[str, Any]]
) -> tuple[dict[str, bytes | EvidenceError] | None, dict[int, str]]:
    """What each envelope holds, or why it holds nothing; None while too few trustees have posted good parts.

    Also which trustees posted what is no good, and why.
    """
    signed = [entry["bid"] for entry in closed["bids"]]
    envelopes = [(bid["envelope"], context_of(bid)) for bid in signed]
    try:
        opening = open_set(key, envelopes, closed["root"], openings)
    except PartyError as fault:
        return None, {0: str(fault)}
    found: dict[str, bytes | EvidenceError] = {}
    for bid, (envelope, context), point in zip(signed, envelopes, opening.points, strict=True):
        try:
            found[bid["owner"]] = open_envelope(key, envelope, context, point)
        except EvidenceError as fault:
            found[bid["owner"]] = fault
    return found, opening.faulty
