"""What came out, told to each by its role.

Everybody may know what the market bought as a whole and what is proved about it. An owner is told its own result,
signed; the buyer is told what each winner is paid, and the operator, who has to pay it, whose account that is; prices
that were asked for go to nobody but the auditor, in its bundle.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, select

from kantor.service.accounts import Caller
from kantor.service.delivering import delivered, doubts_of
from kantor.service.exchange import Exchange
from kantor.service.held import book_of, document_of
from kantor.service.markets import seen
from kantor.service.store import tables as t

__all__ = ["result_for"]


def result_for(x: Exchange, connection: Connection, caller: Caller, market: str) -> dict[str, Any]:
    """The result of a market as the caller may see it; `cleared` says whether there is one."""
    about = seen(x, connection, caller, market)
    public = document_of(connection, market, "public")
    found: dict[str, Any] = {"market": market, "state": about["state"], "cleared": public is not None, "public": public}
    if caller.role == "owner":
        found["own"] = _own(x, connection, caller, market)
    if public is not None and "funds" in about:
        found["winners"] = _winners(connection, market)
        if caller.role == "operator":
            _name_accounts(connection, market, found["winners"])
        found["balances"] = dict(sorted(book_of(connection, market).balances.items()))
    return found


def _own(x: Exchange, connection: Connection, caller: Caller, market: str) -> dict[str, Any] | None:
    owner = connection.execute(
        select(t.enrolments).where(t.enrolments.c.market == market, t.enrolments.c.account == caller.account)
    ).first()
    if owner is None:
        return None
    outcome = document_of(connection, market, "outcome")
    row = next((each for each in (outcome or {"bids": []})["bids"] if each["owner"] == owner.owner), None)
    if outcome is None or (row is None and owner.excluded is None):
        return {"owner": owner.owner, "excluded": owner.excluded}
    said = {
        "market": market,
        "root": outcome["root"],
        "owner": owner.owner,
        "excluded": owner.excluded,
        "bought": bool(row and row["selected"]),
        "payment": 0 if row is None else row["payment"],
        "epsilon": None if row is None else row["epsilon"],
        "distance": None if row is None else row["distance"],
        "noise": None if row is None else row["noise"],
    }
    book = book_of(connection, market)
    return {
        **said,
        "signature": x.signer.sign("result", said),
        "delivered": owner.owner in delivered(connection, market),
        "paid": book.balances[f"owner:{owner.owner}"],
        "doubts": [
            {name: doubt[name] for name in ("id", "raised_by", "text", "decision", "reason")}
            for doubt in doubts_of(connection, market, t.doubts.c.owner == owner.owner)
        ],
    }


def _winners(connection: Connection, market: str) -> list[dict[str, Any]]:
    outcome, here = document_of(connection, market, "outcome"), set(delivered(connection, market))
    assert outcome is not None  # noqa: S101  kept together with the public part
    return [
        {"owner": row["owner"], "payment": row["payment"], "epsilon": row["epsilon"], "delivered": row["owner"] in here}
        for row in outcome["bids"]
        if row["selected"]
    ]


def _name_accounts(connection: Connection, market: str, winners: list[dict[str, Any]]) -> None:
    """Who is behind a winner's name: the operator has to know whom to pay, and nobody else is told."""
    rows = connection.execute(
        select(t.enrolments.c.owner, t.accounts.c.id, t.accounts.c.name)
        .join_from(t.enrolments, t.accounts)
        .where(t.enrolments.c.market == market)
    )
    known = {row.owner: (row.id, row.name) for row in rows}
    for winner in winners:
        winner["account"], winner["name"] = known[winner["owner"]]
