"""What time brings: each market is moved on as far as it can go.

`advance` is called again and again by the worker, for every market that is not at rest. Each step is one commit that
looks at the state it finds under the lock, so steps can be tried by any number of workers, or after a crash, and happen
once. What takes long (a valuation, a clearing) is computed before the lock.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, func, select

from kantor.errors import PartyError
from kantor.evidence.canonical import canonical
from kantor.sealing.keys import MarketKey
from kantor.service import clearing, closing, delivering, markets, valuing
from kantor.service.exchange import Exchange
from kantor.service.held import Held, document_of, read_terms
from kantor.service.promises import fixed
from kantor.service.states import OPEN_ENDED
from kantor.service.store import tables as t
from kantor.service.trustee_rounds import OPENING, key_on
from kantor.service.trustees import board

__all__ = ["advance", "due"]


def due(x: Exchange) -> list[str]:
    """Markets that may have to move on."""
    with x.store.read() as connection:
        query = select(t.markets.c.id).where(t.markets.c.state.in_(OPEN_ENDED)).order_by(t.markets.c.created_at)
        return list(connection.execute(query).scalars())


def advance(x: Exchange, market: str) -> str:
    """Move a market on by one step, if there is one; returns its state afterwards."""
    with x.store.read() as connection:
        state = connection.execute(select(t.markets.c.state).where(t.markets.c.id == market)).scalar()
    step = _STEPS.get(str(state))
    return str(state) if step is None else step(x, market)


def _locked(x: Exchange, market: str, work: Callable[[Held], Any]) -> str:
    def piece(connection: Connection) -> str:
        held = x.held(connection, market)
        work(held)
        return held.state

    return x.store.write(piece)


def _enrolling(x: Exchange, market: str) -> str:
    """Enrolment, then the valuation and the trustees' key; bidding begins when both are there."""
    with x.store.read() as connection:
        row = connection.execute(select(t.markets).where(t.markets.c.id == market)).mappings().one()
        owners = _owners(connection, market)
        valued = document_of(connection, market, "valued")
        key = _key(connection, market)
    terms, now = read_terms(row["terms"]), x.clock.now()
    full = terms.schedule.early and len(owners) >= terms.most_owners
    if now < row["enrol_until"] and not full:
        return "enrolling"
    if len(owners) < terms.least_owners:
        return _locked(
            x, market, lambda held: _give_up(held, f"{len(owners)} owners enrolled, {terms.least_owners} needed")
        )
    if valued is None and terms.valuation.way != "private":
        return _locked(x, market, _by_statement)
    if valued is None and now < row["bid_until"]:
        return _by_parties(x, row, owners)
    if valued is not None and key is not None:
        return _locked(x, market, lambda held: _begin_bidding(held, key))
    if now >= row["bid_until"]:
        missing = "distances" if valued is None else "the trustees' key"
        return _locked(x, market, lambda held: _give_up(held, f"{missing} could not be had in time"))
    return "enrolling"


def _give_up(held: Held, reason: str) -> None:
    if held.state in ("enrolling", "bidding", "closed"):
        markets.stop(held, "market", reason)


def _by_statement(held: Held) -> None:
    if held.state != "enrolling" or held.document("valued") is not None:
        return
    found = valuing.stated(held.connection, held.id)
    held.change(enrol_until=min(held.row["enrol_until"], held.now))
    valuing.record(held, found, {}, len(found), "0")


def _by_parties(x: Exchange, row: Any, owners: list[str]) -> str:
    """Open the parties' session, wait for the shares, compute."""
    market, method = row["id"], read_terms(row["terms"]).valuation.method_object()
    about = None if row["session"] is None else json.loads(row["session"])
    try:
        if about is None:
            return _begin_session(x, market, method, owners, 1)
        session = valuing.open_session(x, market, method, about["owners"], about["attempt"])
        patient = x.clock.now() < about["until"]
        if patient and session.sent() < len(about["owners"]):
            return "enrolling"
        found = session.compute()
    except PartyError as fault:
        return _valuation_failed(x, market, method, owners, about, fault)
    distances = {owner: fixed(value) for owner, value in found.distances.items()}
    error = fixed(found.error_bound)
    return _locked(x, market, lambda held: _record(held, distances, found.left_out, found.owners, error))


def _begin_session(x: Exchange, market: str, method: Any, owners: list[str], attempt: int) -> str:
    session = valuing.open_session(x, market, method, owners, attempt)
    about = {
        "session": session.session,
        "attempt": attempt,
        "owners": owners,
        "until": x.clock.later(valuing.VALUING_TIME),
    }

    def write(held: Held) -> None:
        if held.state == "enrolling":
            text = canonical(about).decode()
            held.change(session=text, enrol_until=min(held.row["enrol_until"], held.now), trouble=None)

    return _locked(x, market, write)


def _valuation_failed(x: Exchange, market: str, method: Any, owners: list[str], about: Any, fault: PartyError) -> str:
    """Tell the operator, and begin again in a new session: parties keep nothing over a failure."""
    state = _locked(x, market, lambda held: held.change(trouble=str(fault)))
    if about is not None and "cannot be reached" not in fault.problem:
        return _begin_session(x, market, method, owners, about["attempt"] + 1)
    return state


def _record(held: Held, distances: dict[str, str], left_out: dict[str, str], owners: int, error: str) -> None:
    if held.state == "enrolling" and held.document("valued") is None:
        valuing.record(held, distances, left_out, owners, error)
        held.change(trouble=None)


def _begin_bidding(held: Held, key: MarketKey) -> None:
    if held.state != "enrolling":
        return
    owners = len((held.document("valued") or {})["distances"])
    if owners < held.terms.least_owners:
        markets.stop(held, "market", f"{owners} owners could be valued, {held.terms.least_owners} are needed")
        return
    held.become("bidding", market_key=canonical(key.as_dict()).decode())
    held.log("bidding", "market", {"key": key.digest, "owners": owners})


def _key(connection: Connection, market: str) -> MarketKey | None:
    """The market's key, once every trustee has signed the same."""
    row = connection.execute(select(t.markets.c.terms).where(t.markets.c.id == market)).scalar()
    terms = read_terms(str(row)).trustees.sealing(market)
    return key_on(board(connection, market), terms)


def _bidding(x: Exchange, market: str) -> str:
    with x.store.read() as connection:
        row = connection.execute(select(t.markets).where(t.markets.c.id == market)).mappings().one()
        over = x.clock.now() >= row["bid_until"]
        early = read_terms(row["terms"]).schedule.early and _everybody_bid(connection, market)
    return _locked(x, market, _close) if over or early else "bidding"


def _close(held: Held) -> None:
    if held.state != "bidding":
        return
    early = held.terms.schedule.early and _everybody_bid(held.connection, held.id)
    if held.now < held.row["bid_until"] and not early:
        return
    held.change(bid_until=min(held.row["bid_until"], held.now))
    closing.close(held)
    if not (held.document("closed") or {})["leaves"]:
        markets.stop(held, "market", "nobody bid")


def _everybody_bid(connection: Connection, market: str) -> bool:
    """Whether no owner is left who might still bid for the first time."""
    having = select(t.bids.c.owner).where(t.bids.c.market == market)
    query = (
        select(func.count())
        .select_from(t.enrolments)
        .where(t.enrolments.c.market == market, t.enrolments.c.excluded.is_(None), t.enrolments.c.owner.not_in(having))
    )
    return connection.execute(query).scalar() == 0


def _closed(x: Exchange, market: str) -> str:
    with x.store.read() as connection:
        row = connection.execute(select(t.markets).where(t.markets.c.id == market)).mappings().one()
        posted = len(board(connection, market).get(OPENING, {}))
    if row["state"] != "closed" or posted < read_terms(row["terms"]).trustees.threshold:
        return str(row["state"])
    outcome, faults = clearing.clear_case(clearing.case_of(x, market))
    if outcome is None:
        return _locked(x, market, lambda held: _note_trustees(held, faults))
    return _locked(x, market, lambda held: clearing.write_outcome(x, held, outcome) if held.state == "closed" else None)


def _note_trustees(held: Held, faults: dict[int, str]) -> None:
    trouble = "; ".join(f"trustee {trustee}: {fault}" for trustee, fault in faults.items()) or None
    if held.row["trouble"] != trouble:
        held.change(trouble=trouble)


def _cleared(x: Exchange, market: str) -> str:
    def write(held: Held) -> None:
        if held.state == "cleared":
            until = max(x.clock.later(held.terms.schedule.deliver_within), held.now)
            held.become("delivering", deliver_until=until)
            held.log("delivering", "market", {"until": until})

    return _locked(x, market, write)


def _delivering(x: Exchange, market: str) -> str:
    with x.store.read() as connection:
        row = connection.execute(select(t.markets).where(t.markets.c.id == market)).mappings().one()
        here = set(delivering.delivered(connection, market))
        complete = set(delivering.winners_of(connection, market)) <= here
    now = x.clock.now()
    if row["settle_at"] is None:
        return (
            _locked(x, market, lambda held: _end_delivery(x, held))
            if complete or now >= row["deliver_until"]
            else "delivering"
        )
    return _locked(x, market, _settle) if now >= row["settle_at"] else "delivering"


def _end_delivery(x: Exchange, held: Held) -> None:
    if held.state == "delivering" and held.row["settle_at"] is None:
        delivering.end_delivery(x, held)


def _settle(held: Held) -> None:
    if held.state == "delivering" and held.now >= held.row["settle_at"]:
        delivering.settle(held)


def _owners(connection: Connection, market: str) -> list[str]:
    query = select(t.enrolments.c.owner).where(t.enrolments.c.market == market).order_by(t.enrolments.c.owner)
    return list(connection.execute(query).scalars())


_STEPS: dict[str, Callable[[Exchange, str], str]] = {
    "enrolling": _enrolling,
    "bidding": _bidding,
    "closed": _closed,
    "cleared": _cleared,
    "delivering": _delivering,
}
