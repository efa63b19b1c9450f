"""Clearing a closed market: open what its trustees opened, decide, and write it down in one commit.

Everything that costs time happens before the lock. If a worker dies on the way nothing has happened, and the next one
comes to the same outcome, because it is a function of what is under the root. Were two to finish, the second finds the
market cleared and leaves it.
"""

from __future__ import annotations

import json
import secrets
from typing import Any

from sqlalchemy import Connection, select, update

from kantor.delivery.ledger import hold
from kantor.evidence.canonical import digest
from kantor.sealing.keys import MarketKey
from kantor.service.deciding import decide
from kantor.service.exchange import Exchange
from kantor.service.held import Held, document_of, read_terms
from kantor.service.opening import opened_by
from kantor.service.store import tables as t
from kantor.service.terms import Terms
from kantor.service.trustee_rounds import OPENING
from kantor.service.trustees import board, closed_set

__all__ = ["Case", "case_of", "clear_case", "write_outcome"]


class Case:
    """All that an outcome follows from."""

    def __init__(self, connection: Connection, market: str) -> None:
        row = connection.execute(select(t.markets).where(t.markets.c.id == market)).mappings().one()
        self.market = market
        self.terms: Terms = read_terms(row["terms"])
        self.key = MarketKey.read(json.loads(row["market_key"]))
        self.closed = closed_set(connection, market)
        self.openings = board(connection, market).get(OPENING, {})
        valued = document_of(connection, market, "valued") or {}
        self.distances: dict[str, str] = valued["distances"]
        self.owners = int(valued["owners"])

    @property
    def root(self) -> str:
        """What the bids are under."""
        return str(self.closed["root"])


def case_of(x: Exchange, market: str) -> Case:
    """A market's case, as it stands."""
    with x.store.read() as connection:
        return Case(connection, market)


def clear_case(case: Case) -> tuple[dict[str, Any] | None, dict[int, str]]:
    """The outcome of a case, or None while its bids cannot be opened; and the trustees at fault."""
    opened, faults = opened_by(case.key, case.closed, case.openings)
    if opened is None:
        return None, faults
    return decide(case.terms, case.root, opened, case.distances, case.owners), faults


def write_outcome(x: Exchange, held: Held, outcome: dict[str, Any]) -> None:
    """The market is cleared: the outcome, its public part, and the winners' money set aside."""
    document = {"market": held.id, "salt": secrets.token_hex(16), "terms": held.row["terms_digest"], **outcome}
    public = {
        name: document[name]
        for name in (
            "market", "terms", "root", "population_size", "excluded", "bought", "spend", "bound", "objective",
            "lower_bound", "truthful",
        )
    }  # fmt: skip
    public["bids"] = len(outcome["bids"])
    public["outcome"] = digest("outcome", document)
    held.keep("outcome", document)
    held.keep("public", {**public, "signature": x.signer.sign("public", public)})
    for owner, reason in outcome["excluded"].items():
        held.connection.execute(
            update(t.enrolments)
            .where(t.enrolments.c.market == held.id, t.enrolments.c.owner == owner)
            .values(excluded=reason)
        )
        held.log("excluded", "market", {"owner": owner, "reason": reason})
    held.become("cleared", trouble=None)
    held.log("cleared", "market", public)
    winners = [hold(row["owner"], row["payment"]) for row in outcome["bids"] if row["selected"]]
    if winners:
        held.book(*winners)
