"""A market in one file, for whoever wants to check it without trusting anybody.

The public bundle has the terms, the whole log, the trustees' board, the leaves under the root and the public outcome.
The auditor's has besides what the salted digests in the log stand for: every counted bid as its owner signed it, the
trustees' openings, the distances, the whole outcome, the ledger and the deliveries' statements. Bids that were replaced
or withdrawn are in neither: they stay sealed.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from sqlalchemy import Connection, select

from kantor.evidence.canonical import digest
from kantor.service.exchange import Exchange
from kantor.service.failures import ConflictError
from kantor.service.held import digest_of, document_of, transfers_of
from kantor.service.store import tables as t
from kantor.service.trustee_rounds import OPENING
from kantor.service.trustees import board, closed_set
from kantor.service.verify import VERSION

__all__ = ["bundle_of"]


def bundle_of(x: Exchange, connection: Connection, market: str, kind: Literal["public", "auditor"]) -> dict[str, Any]:
    """The bundle of a market that has closed."""
    row = connection.execute(select(t.markets).where(t.markets.c.id == market)).mappings().one()
    closed = document_of(connection, market, "closed")
    if closed is None:
        raise ConflictError(
            f"market {market} has not closed", remedy="There is something to verify after it has.", value=row["state"]
        )
    posted = _texts(board(connection, market))
    opening = posted.pop(OPENING, {})
    content: dict[str, Any] = {
        "version": VERSION,
        "kind": kind,
        "market": market,
        "server": x.signer.public,
        "state": row["state"],
        "terms": json.loads(row["terms"]),
        "key": json.loads(row["market_key"]),
        "board": posted,
        "events": _events(connection, market),
        "leaves": closed["leaves"],
        "public": document_of(connection, market, "public"),
    }
    if kind == "auditor":
        content.update(_private(connection, market), opening=opening)
    return {**content, "seal": x.signer.sign("bundle", digest("bundle", content))}


def _texts(found: dict[str, dict[int, Any]]) -> dict[str, dict[str, Any]]:
    return {stage: {str(trustee): message for trustee, message in each.items()} for stage, each in found.items()}


def _events(connection: Connection, market: str) -> list[dict[str, Any]]:
    rows = connection.execute(select(t.events).where(t.events.c.market == market).order_by(t.events.c.seq)).mappings()
    return [{**row, "body": json.loads(row["body"])} for row in rows]


def _private(connection: Connection, market: str) -> dict[str, Any]:
    enrolments = connection.execute(
        select(t.enrolments).where(t.enrolments.c.market == market).order_by(t.enrolments.c.owner)
    )
    deliveries = connection.execute(
        select(t.deliveries).where(t.deliveries.c.market == market).order_by(t.deliveries.c.owner)
    )
    salts = dict(
        connection.execute(select(t.transfers.c.key, t.transfers.c.salt).where(t.transfers.c.market == market)).all()
    )
    return {
        "bids": closed_set(connection, market)["bids"],
        "enrolments": [{"said": json.loads(row.statement), "signature": row.signature} for row in enrolments],
        "valued": document_of(connection, market, "valued"),
        "outcome": document_of(connection, market, "outcome"),
        "handover": document_of(connection, market, "handover"),
        "deliveries": [
            {"said": json.loads(row.statement), "signature": row.signature, "findings": json.loads(row.findings)}
            for row in deliveries
        ],
        "transfers": [
            {**each.as_dict(), "salt": salts[each.key], "digest": digest_of(market, each, salts[each.key])}
            for each in transfers_of(connection, market)
        ],
    }
