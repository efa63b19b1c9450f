"""A log line and a measurement for every request, whatever becomes of it.

A log line says what was asked (the route, not the path), by which account, with what answer and how long it took: never
a body, a token, a price or a value. The same holds for the metrics. This stands before everything else, so that what
the limits refuse is seen too, and an answer goes out whatever fails behind it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.requests import ClientDisconnect

from kantor.service.failures import place_of
from kantor.service.http.problems import problem

__all__ = ["Measured", "Measures", "account_in"]

_LOG = structlog.get_logger("kantor")
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")
Message = MutableMapping[str, Any]


class Measures:
    """What /metrics tells."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ["method", "route", "status"]
        self.requests = Counter("kantor_requests", "Requests answered.", labels, registry=self.registry)
        self.seconds = Histogram(
            "kantor_request_seconds", "How long answers took.", ["method", "route"], registry=self.registry
        )
        self.markets = Gauge("kantor_markets", "Markets by state.", ["state"], registry=self.registry)

    def seen(self, method: str, route: str, status: int, seconds: float) -> None:
        """One more answer."""
        self.requests.labels(method, route, str(status)).inc()
        self.seconds.labels(method, route).observe(seconds)


class Measured:
    """Sees every request and its answer."""

    def __init__(self, app: Any, measures: Measures) -> None:
        self.app, self.measures = app, measures

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Answer, and write down that it was answered."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noted)
        except ClientDisconnect:
            status = status or 400  # nobody hears it
        except Exception as fault:  # noqa: BLE001  the caller gets an answer, the log the kind and place of the failure
            _LOG.error("failed", error=type(fault).__name__, where=place_of(fault))
            if not status:
                answer = problem(500, "broken", "The service failed. Send the same again, or tell the operator.")
                await answer(scope, receive, noted)
        self._tell(scope, status, time.perf_counter() - start)

    def _tell(self, scope: MutableMapping[str, Any], status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = getattr(scope.get("route"), "path", "none")
        self.measures.seen(method, route, status, seconds)
        _LOG.info(
            "answered",
            method=method,
            route=route,
            account=account_in(scope),
            status=status,
            ms=round(1000 * seconds, 2),
        )


def account_in(scope: MutableMapping[str, Any]) -> str | None:
    """The account that a request was signed in as, once its token has been checked."""
    return scope.get("state", {}).get("account")
