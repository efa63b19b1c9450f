"""Accounts and tokens."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from sqlalchemy import Connection, select

from kantor.service.http.asking import Asked, Who, X
from kantor.service.http.models import AccountIn, AccountOut, Me, Page, Revoked, TokenIn, TokenOut, TokenSeen
from kantor.service.http.paging import After, Limit, Number, follow, part
from kantor.service.store import tables as t

__all__ = ["router"]

router = APIRouter(tags=["accounts"])


@router.get("/v1/me")
def me(caller: Who) -> Me:
    """Who the token stands for."""
    return Me(account=caller.account, role=caller.role, scopes=sorted(caller.scopes), market=caller.market)


@router.post("/v1/accounts", status_code=201, response_model=AccountOut)
def add_account(asked: Asked, body: AccountIn) -> dict[str, Any]:
    """Add an account (operator)."""
    asked.caller.need("accounts")

    def work(connection: Connection) -> dict[str, Any]:
        now = asked.x.clock.now()
        return asked.x.tokens.add_account(connection, body.name, body.role, asked.caller.account, now)

    return asked.do(work)


@router.get("/v1/accounts", response_model=Page[AccountOut])
def accounts(x: X, caller: Who, limit: Limit = 50, after: After = None) -> dict[str, Any]:
    """All accounts, in the order of their ids (operator)."""
    caller.need("accounts")
    query = follow(select(t.accounts), (t.accounts.c.id,), after)
    with x.store.read() as connection:
        rows = connection.execute(query.limit(limit + 1)).mappings().all()
    return part([dict(row) for row in rows], limit, "id")


@router.post("/v1/tokens", status_code=201, response_model=TokenOut)
def add_token(asked: Asked, body: TokenIn) -> dict[str, Any]:
    """Make a token for an account (operator). Its text is in the answer, and nowhere else."""
    asked.caller.need("accounts")

    def work(connection: Connection) -> dict[str, Any]:
        clock = asked.x.clock
        return asked.x.tokens.add_token(
            connection,
            body.account,
            clock.now(),
            label=body.label,
            scopes=None if body.scopes is None else tuple(body.scopes),
            market=body.market,
            expires_at=None if body.expires_in is None else clock.later(body.expires_in),
        )

    row = asked.do(work)
    return {**row, "token": asked.x.tokens.text_of(row["id"])}


@router.get("/v1/tokens", response_model=Page[TokenSeen])
def tokens(
    x: X,
    caller: Who,
    limit: Limit = 50,
    after: After = None,
    account: Annotated[str | None, Query(max_length=40, pattern="^[0-9a-f]+$", description="Of this account.")] = None,
) -> dict[str, Any]:
    """All tokens, without their texts, in the order of their ids (operator)."""
    caller.need("accounts")
    query = select(*[column for column in t.tokens.c if column.name != "hash"])
    if account is not None:
        query = query.where(t.tokens.c.account == account)
    with x.store.read() as connection:
        rows = connection.execute(follow(query, (t.tokens.c.id,), after).limit(limit + 1)).mappings().all()
    return part([dict(row) for row in rows], limit, "id")


@router.post("/v1/tokens/{number}/revocation", status_code=201, response_model=Revoked)
def revoke(asked: Asked, number: Number) -> dict[str, Any]:
    """Revoke a token (operator): the next request with it is refused."""
    asked.caller.need("accounts")

    def work(connection: Connection) -> dict[str, Any]:
        asked.x.tokens.revoke(connection, number, asked.x.clock.now())
        return {"id": number, "revoked": True}

    return asked.do(work)
