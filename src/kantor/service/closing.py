"""Closing: one transaction fixes which bids count.

It takes the market's lock, so a bid is either committed before, and counts, or finds the market closed. The standing
bids, in the order of their owners' names, are the leaves of a tree; its root goes into the log. From then on everything
about the clearing follows from what is under that root.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, select

from kantor.evidence.tree import inclusion, root_of
from kantor.service.accounts import Caller
from kantor.service.enrolment import owner_of
from kantor.service.failures import MissingError
from kantor.service.held import Held, document_of
from kantor.service.store import tables as t

__all__ = ["close", "own_inclusion"]


def close(held: Held) -> None:
    """Fix the bids that count."""
    rows = held.connection.execute(
        select(t.bids.c.owner, t.bids.c.number, t.bids.c.digest)
        .where(t.bids.c.market == held.id, t.bids.c.state == "standing")
        .order_by(t.bids.c.owner)
    ).all()
    leaves = [{"owner": row.owner, "number": row.number, "bid": row.digest} for row in rows]
    root = root_of([leaf["bid"] for leaf in leaves])
    held.keep("closed", {"leaves": leaves, "root": root})
    held.become("closed", root=root)
    held.log("closed", "market", {"root": root, "bids": len(leaves)})


def own_inclusion(connection: Connection, caller: Caller, market: str) -> dict[str, Any]:
    """The proof that the caller's bid is among those that count."""
    owner = owner_of(connection, caller, market)
    closed = document_of(connection, market, "closed")
    leaves: list[dict[str, Any]] = [] if closed is None else closed["leaves"]
    place = next((at for at, leaf in enumerate(leaves) if leaf["owner"] == owner.owner), None)
    if closed is None or place is None:
        raise MissingError(
            "no bid of yours is in the closed set",
            remedy="The market has not closed yet, or you had no standing bid. A receipt would prove otherwise.",
        )
    digests = [leaf["bid"] for leaf in leaves]
    return {
        "root": closed["root"],
        "index": place,
        "size": len(leaves),
        "leaf": digests[place],
        "proof": inclusion(digests, place),
    }
