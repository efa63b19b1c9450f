"""The HTTP interface, put together: routes, limits, measurements, and a log line for every request.

A log line says what was asked (the route, not the path), by which account, with what answer and how long it took: never
a body, a token, a price or a value. The same holds for the metrics.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import structlog
from fastapi import FastAPI, Request, Response
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from sqlalchemy import func, select

import kantor
from kantor.service.exchange import Exchange
from kantor.service.failures import StoreError, place_of
from kantor.service.http import accounts, markets, owners, records
from kantor.service.http.limits import Limits, Rate, RateLimit, SizeLimit
from kantor.service.http.problems import PROBLEMS, add_handlers, problem
from kantor.service.store import tables as t

__all__ = ["make_app"]

_LOG = structlog.get_logger("kantor")
_ABOUT = """Owners keep their data at home and sell noised copies; a market chooses whom to buy from and what to pay.

Send a token with every request (`Authorization: Bearer kantor_...`), and an `Idempotency-Key` with every POST: a
request that is sent again with the same key has one effect and the same answer. Failures are problem details."""


class _Measures:
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
        self.requests.labels(method, route, str(status)).inc()
        self.seconds.labels(method, route).observe(seconds)


def make_app(exchange: Exchange, limits: Limits | None = None) -> FastAPI:
    """The interface of an exchange."""
    allowed = limits or Limits()

    @asynccontextmanager
    async def life(_: FastAPI) -> Any:
        yield
        exchange.store.close()

    app = FastAPI(
        title="kantor",
        version=kantor.__version__,
        description=_ABOUT,
        lifespan=life,
        responses=PROBLEMS,
        redoc_url=None,
    )
    app.state.exchange, app.state.measures = exchange, _Measures()
    for part in (accounts, markets, owners, records):
        app.include_router(part.router)
    _add_health(app)
    add_handlers(app)
    app.middleware("http")(_measured)
    app.add_middleware(SizeLimit, most=allowed.body)
    app.add_middleware(RateLimit, rate=Rate(allowed.rate, allowed.burst))
    return app


async def _measured(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
    start = time.perf_counter()
    try:
        response = await answer(request)
    except Exception as fault:  # noqa: BLE001  the caller gets an answer, and the log the kind and place of the failure
        _LOG.error("failed", error=type(fault).__name__, where=place_of(fault))
        response = problem(500, "broken", "The service failed to answer. Nothing was changed; the operator can see it.")
    route, seconds = getattr(request.scope.get("route"), "path", "none"), time.perf_counter() - start
    request.app.state.measures.seen(request.method, route, response.status_code, seconds)
    _LOG.info("answered", method=request.method, route=route, status=response.status_code, ms=round(1000 * seconds, 2))
    return response


def _add_health(app: FastAPI) -> None:
    @app.get("/livez", tags=["health"], responses={})
    def livez() -> dict[str, str]:
        """The process answers."""
        return {"status": "alive"}

    @app.get("/readyz", tags=["health"])
    def readyz(request: Request) -> dict[str, str]:
        """The store answers too."""
        with request.app.state.exchange.store.read() as connection:
            connection.execute(select(func.count()).select_from(t.accounts)).scalar()
        return {"status": "ready"}

    @app.get("/metrics", tags=["health"])
    def metrics(request: Request) -> Response:
        """Measurements, as Prometheus reads them."""
        measures: _Measures = request.app.state.measures
        try:
            with request.app.state.exchange.store.read() as connection:
                found = connection.execute(select(t.markets.c.state, func.count()).group_by(t.markets.c.state))
                for state, count in found:
                    measures.markets.labels(state).set(count)
        except StoreError:
            pass  # what is measured in memory is told all the same; /readyz tells that the store is away
        return Response(generate_latest(measures.registry), media_type="text/plain; version=0.0.4")
