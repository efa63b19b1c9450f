"""Sending the data to be valued: split into shares for three parties, none of whom alone learns anything.

Before anything is split, the parties have to be those of the terms (their roster's digest stands there), and they have
to run the method of the terms. The shares are written down before they are sent: an agent that is stopped in between
sends the same ones again, where fresh ones would contradict those that have arrived. They are removed as soon as all
three parties have theirs.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from kantor.errors import EvidenceError
from kantor.owners.distributions import Vector
from kantor.private.client import OwnerSide
from kantor.private.frames import call
from kantor.private.identity import Roster
from kantor.private.sharing import PARTIES, held_by, split
from kantor.sealing.storing import in_file, read_file
from kantor.service.terms import Terms

__all__ = ["forget_shares", "parties_of", "submit"]

_PATIENCE = 60.0


def parties_of(terms: Terms, roster: dict[str, Any]) -> Roster:
    """The parties that the server names, if they are those of the terms."""
    written = json.dumps(roster, indent=2) + "\n"
    if hashlib.sha256(written.encode()).hexdigest() != terms.valuation.roster:
        raise EvidenceError(
            "the computing parties are not those of the terms",
            remedy="Nothing was sent. Whoever changed them could have put your data together; ask the operator.",
        )
    return Roster.parse(roster)


def submit(terms: Terms, invitation: dict[str, Any], data: Vector, file: Path) -> None:
    """Send each party its shares. file: where they are kept until all parties have them."""
    roster, session, name = parties_of(terms, invitation["roster"]), invitation["session"], invitation["name"]
    side = OwnerSide(roster, session, name, invitation["token"])
    if side.method != terms.valuation.method_object():
        raise EvidenceError("the parties run another method than the terms say", remedy="Nothing was sent.")
    components = _components(side, data, file)
    for party in range(PARTIES):
        first, second = (components[place] for place in held_by(party))
        header = {
            "ask": "submit",
            "session": session,
            "shares": [[name, invitation["token"], len(first), len(second)]],
        }
        call(roster, party, None, header, first + second, _PATIENCE)


def _components(side: OwnerSide, data: Vector, file: Path) -> list[bytes]:
    """The shares for this session: those that were made before, or new ones, on the disk."""
    known = read_file(file) if file.exists() else {}
    if known.get("session") != side.session:
        parts = split(side.method.encode(data, side.name))
        known = {"session": side.session, "components": [part.hex() for part in parts]}
        in_file(file)(known)
    return [bytes.fromhex(part) for part in known["components"]]


def forget_shares(file: Path) -> None:
    """All parties have them."""
    file.unlink(missing_ok=True)
