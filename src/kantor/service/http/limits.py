"""How much one caller may send: a size for each request, and a rate.

The rate is a bucket for each token (or address, without one) that refills steadily; who empties it is told how long to
wait. Sizes are counted as they arrive, so a false or missing length does not help.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from kantor.service.http.problems import problem

__all__ = ["Limits", "Rate", "RateLimit", "SizeLimit"]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
_CALLERS = 100_000


@dataclass(frozen=True)
class Limits:
    """What a server allows."""

    body: int = 16 << 20
    rate: float = 100.0
    """Requests a second, for each caller, in the long run."""
    burst: float = 400.0
    """How many at once."""


class Rate:
    """Buckets that refill."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate, self.burst = rate, burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, caller: str, now: float) -> float:
        """Take one; returns how long to wait if there is none."""
        with self._lock:
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

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer, or say how long to wait."""
        if scope["type"] != "http" or scope["path"] in ("/livez", "/readyz", "/metrics"):
            await self.app(scope, receive, send)
            return
        wait = self.rate.wait(_caller(scope), time.monotonic())
        if wait > 0:
            answer = problem(429, "busy", f"Too many requests. Wait {wait:.2f} seconds.")
            answer.headers["Retry-After"] = str(int(wait) + 1)
            await answer(scope, receive, send)
            return
        await self.app(scope, receive, send)


def _caller(scope: MutableMapping[str, Any]) -> str:
    for name, value in scope["headers"]:
        if name == b"authorization":
            return hashlib.sha256(value).hexdigest()
    return str((scope.get("client") or ("unknown",))[0])


class _TooLarge(Exception):  # noqa: N818  a signal between the two functions below
    pass


class SizeLimit:
    """Refuses what is too large, as soon as that is known."""

    def __init__(self, app: Any, most: int) -> None:
        self.app, self.most = app, most

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer, or say how large a request may be."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, seen = False, 0
        stated = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.most:
                raise _TooLarge
            return message

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            if stated.isdigit() and int(stated) > self.most:
                raise _TooLarge  # noqa: TRY301  one answer for both ways of finding out
            await self.app(scope, counted, noted)
        except _TooLarge:
            if not begun:
                answer = problem(413, "large", f"A request may have {self.most:,} bytes. Send less.")
                await answer(scope, receive, send)
