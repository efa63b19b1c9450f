"""Goods over the counter: what a winner was asked for, what was found of what it sent, what the buyer gets.

Here the market's terms meet `kantor.delivery`, which knows nothing of markets that run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, select

from kantor.delivery.checks import check_delivery
from kantor.delivery.form import Delivery, check_form
from kantor.delivery.handover import Handover, handover
from kantor.owners.distributions import Vector
from kantor.owners.release import Promise
from kantor.service.accounts import Caller
from kantor.service.exchange import Exchange
from kantor.service.failures import ConflictError
from kantor.service.held import document_of, no_market, read_terms
from kantor.service.markets import seen
from kantor.service.promises import as_text, promised, values_text
from kantor.service.store import tables as t
from kantor.service.terms import Terms
from kantor.terminal import plain

__all__ = ["Findings", "asked_of", "examined", "purchase", "summary_of"]

_ROUNDING = 1e-6
"""Stated distances are decimals with six digits."""


@dataclass(frozen=True)
class Asked:
    """What the terms and an owner's own bid ask of its delivery."""

    promise: Promise
    terms: Terms
    distance: str


@dataclass(frozen=True)
class Findings:
    """What the tests said, as it is kept, and the doubts among it in words."""

    plain: dict[str, Any]
    doubts: tuple[str, ...]


def asked_of(terms: str, winner: Mapping[str, Any]) -> Asked:
    """What a winner has to deliver. winner: its row of the outcome."""
    found = read_terms(terms)
    return Asked(promised(found, winner["epsilon"]), found, winner["distance"])


def examined(asked: Asked, values: Vector, manifest: Mapping[str, Any], owner: str) -> Findings:
    """Refuse what has not the form; say what the tests find in what has."""
    delivery = check_form(values, manifest, asked.promise, owner)
    target = [float(each) for each in asked.terms.valuation.target]
    found = check_delivery(
        delivery.values,
        delivery.promise,
        stated_distance=float(asked.distance) if target else None,
        reference=target or None,
        slack=_ROUNDING if target else 0.0,
        alpha=float(asked.terms.delivery.doubt_rate),
    )
    return Findings(dict(as_text(found.as_dict())), tuple(test.sentence for test in found.doubts))


def summary_of(connection: Connection, market: str, terms: Terms) -> dict[str, Any]:
    """What was delivered and what it is worth: the bound of those who delivered, computed again."""
    together = _together(connection, market, terms, ())
    if together is None:
        return {"market": market, "delivered": [], "manifest": None}
    found = {"market": market, "delivered": [each.owner for each in together.deliveries]}
    return {**found, "manifest": as_text(together.manifest())}


def purchase(x: Exchange, connection: Connection, caller: Caller, market: str) -> dict[str, Any]:
    """What the buyer bought, once delivery is over; deliveries that the operator refused are left out."""
    about = seen(x, connection, caller, market)
    if "funds" not in about:
        raise no_market(market)
    if about["settle_at"] is None:
        raise ConflictError(
            "the winners' data are not all in yet", remedy="Ask again when delivery is over.", value=about["state"]
        )
    terms = Terms.model_validate(about["terms"])
    refused = select(t.doubts.c.owner).where(t.doubts.c.market == market, t.doubts.c.decision == "refuse")
    together = _together(connection, market, terms, connection.execute(refused).scalars().all())
    if together is None:
        return {"market": market, "manifest": None, "values": None, "weights": None, "series": None}
    series = (
        {one.owner: values_text(one.values)[0] for one in together.deliveries} if terms.delivery.individual else None
    )
    values, weights = together.aggregate.values, together.aggregate.weights
    return {
        "market": market,
        "manifest": plain(together.manifest()),
        "values": values_text(values)[0],
        "weights": None if weights is None else values_text(weights)[0],
        "series": series,
    }


def _together(connection: Connection, market: str, terms: Terms, without: Sequence[str]) -> Handover | None:
    """The aggregate of what was delivered, or None if nothing was."""
    outcome = document_of(connection, market, "outcome") or {"bids": []}
    winners = {row["owner"]: row for row in outcome["bids"] if row["selected"]}
    here = [one for one in _deliveries(connection, market, terms, winners) if one.owner not in without]
    if not here:
        return None
    return handover(
        here,
        {owner: float(row["total"]) for owner, row in winners.items()},
        terms.delivery.aggregate,
        outcome["population_size"],
        float(terms.rule.confidence),
        terms.rule.population,
        float(terms.rule.lipschitz),
    )


def _deliveries(connection: Connection, market: str, terms: Terms, winners: Mapping[str, Any]) -> list[Delivery]:
    rows = connection.execute(
        select(t.deliveries).where(t.deliveries.c.market == market).order_by(t.deliveries.c.owner)
    )
    return [_delivery(row, promised(terms, winners[row.owner]["epsilon"])) for row in rows]


def _delivery(row: Row[Any], asked: Promise) -> Delivery:
    manifest = json.loads(row.statement)["manifest"]
    values = np.frombuffer(row.values, dtype="<f8").astype(np.float64)
    return Delivery(row.owner, values, asked, str(manifest.get("library", "")))
