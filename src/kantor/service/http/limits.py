"""How much one caller may send: a size for each request, and a rate.

The rate is a bucket for each caller that refills steadily; who empties it is told how long to wait. A caller is a token
that was answered to before; whoever comes without one, or with one that nobody knows yet, is its address, so that
guessing tokens gives nobody a bucket of its own. Behind an address there may be many, so it has ten times as much.
Sizes are counted as they arrive, so a false or missing length does not help.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from starlette.exceptions import HTTPException

from kantor.service.http.measuring import account_in
from kantor.service.http.problems import problem

__all__ = ["Limits", "Rate", "RateLimit", "SizeLimit"]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
_CALLERS = 100_000
_CROWD = 10
_DIGITS = 18


@dataclass(frozen=True)
class Limits:
    """What a server allows."""

    body: int = 16 << 20
    rate: float = 100.0
    """Requests a second, for each caller, in the long run."""
    burst: float = 400.0
    """How many at once."""


class Rate:
    """Buckets that refill. They are for one thread, the one that takes requests in."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate, self.burst = rate, burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, caller: str, now: float) -> float:
        """Take one; returns how long to wait if there is none."""
        level, since = self._buckets.pop(caller, (self.burst, now))
        level = min(self.burst, level + (now - since) * self.rate)
        short = max(0.0, 1.0 - level)
        self._buckets[caller] = (level if short else level - 1.0, now)
        if len(self._buckets) > _CALLERS:
            self._buckets.popitem(last=False)
        return short / self.rate


class RateLimit:
    """Refuses who asks too often."""

    def __init__(self, app: Any, rate: Rate) -> None:
        self.app, self.rate = app, rate
        self.crowd = Rate(_CROWD * rate.rate, _CROWD * rate.burst)
        self._known: OrderedDict[str, None] = OrderedDict()

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer, or say how long to wait."""
        if scope["type"] != "http" or scope["path"] in ("/livez", "/readyz", "/metrics"):
            await self.app(scope, receive, send)
            return
        token = _token(scope)
        address = str((scope.get("client") or ("unknown",))[0])
        known = token in self._known
        now = time.monotonic()
        wait = self.rate.wait(token, now) if known else self.crowd.wait(address, now)
        if wait > 0:
            answer = problem(429, "busy", f"Too many requests. Wait {wait:.2f} seconds.")
            answer.headers["Retry-After"] = str(ceil(wait))
            await answer(scope, receive, send)
            return

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._note(token, account_in(scope))
            await send(message)

        await self.app(scope, receive, noted)

    def _note(self, token: str, account: str | None) -> None:
        """Tokens that sign somebody in have a bucket of their own from then on, until they do not any more."""
        self._known.pop(token, None)
        if account is not None:
            self._known[token] = None
            if len(self._known) > _CALLERS:
                self._known.popitem(last=False)


def _token(scope: MutableMapping[str, Any]) -> str:
    """What stands for the token of a request: not the header, which can be written in many ways."""
    for name, value in scope["headers"]:
        if name == b"authorization":
            return hashlib.sha256(value.partition(b" ")[2].strip()).hexdigest()
    return ""


class _TooLargeError(HTTPException):
    """Raised where the body is read, and passed on by whoever reads it."""

    def __init__(self, most: int) -> None:
        super().__init__(413, f"A request may have {most:,} bytes")


class SizeLimit:
    """Refuses what is too large, as soon as that is known."""

    def __init__(self, app: Any, most: int) -> None:
        self.app, self.most = app, most

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer, or say how large a request may be."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        seen = 0
        stated = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if stated.isdigit() and (len(stated) > _DIGITS or int(stated) > self.most):
            fault = _TooLargeError(self.most)
            await problem(413, "large", f"{fault.detail}. Send less.")(scope, receive, send)
            return

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.most:
                raise _TooLargeError(self.most)
            return message

        await self.app(scope, counted, send)
