"""What every request brings: who asks, and the key that makes repeating it harmless."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

from fastapi import Depends, Header, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy import Connection

from kantor.service.accounts import Caller
from kantor.service.exchange import Answer, Exchange
from kantor.service.failures import UnauthorisedError

__all__ = ["Asked", "Key", "Who", "X", "exchange_of"]

_BEARER = HTTPBearer(auto_error=False, description="A token of an account: kantor_...")


def exchange_of(request: Request) -> Exchange:
    """The exchange that this server runs."""
    return request.app.state.exchange


X: TypeAlias = Annotated[Exchange, Depends(exchange_of)]


def _who(
    request: Request, x: X, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)]
) -> Caller:
    if credentials is None:
        raise UnauthorisedError("there is no token", remedy="Send one: Authorization: Bearer kantor_...")
    with x.store.read() as connection:
        caller = x.tokens.caller(connection, credentials.credentials, x.clock.now())
    request.state.account = caller.account
    return caller


Who: TypeAlias = Annotated[Caller, Depends(_who)]
Key: TypeAlias = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        min_length=8,
        max_length=200,
        pattern=r"^[!-~]+$",
        description="Names this request among yours: sent again with the same key it has one effect, and the same "
        "answer. With another body it is refused (422). A refused request has no effect and leaves its key free.",
        examples=["6f1c1b1e-4f0e-4f6c-9d53-1b2f0f3f2c11"],
    ),
]


class _Asked:
    """A request that changes something: `do` gives it one effect."""

    def __init__(self, x: Exchange, caller: Caller, key: str, digest: str) -> None:
        self.x, self.caller, self.key, self.digest = x, caller, key, digest

    def do(self, work: Callable[[Connection], dict[str, Any]], status: int = 201) -> dict[str, Any]:
        """The work's answer, now or from before."""
        return self.x.once(self.caller, self.key, self.digest, lambda c: Answer(status, work(c))).body


async def _asked(request: Request, x: X, caller: Who, key: Key) -> _Asked:
    body = await request.body()
    said = hashlib.sha256(f"{request.method} {request.url.path}?{request.url.query}\n".encode() + body).hexdigest()
    return _Asked(x, caller, key, said)


Asked: TypeAlias = Annotated[_Asked, Depends(_asked)]
