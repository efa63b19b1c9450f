"""The HTTP interface, put together: routes, limits, measurements, health."""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse
from prometheus_client import generate_latest
from sqlalchemy import func, select

import kantor
from kantor.service.exchange import Exchange
from kantor.service.failures import StoreError
from kantor.service.http import accounts, markets, owners, records
from kantor.service.http.limits import Limits, Rate, RateLimit, SizeLimit
from kantor.service.http.measuring import Measured, Measures
from kantor.service.http.problems import PROBLEMS, add_handlers
from kantor.service.store import tables as t

__all__ = ["make_app"]

_ABOUT = """Owners keep their data at home and sell noised copies; a market chooses whom to buy from and what to pay.

Send a token with every request (`Authorization: Bearer kantor_...`), and an `Idempotency-Key` with every POST: a
request that is sent again with the same key has one effect and the same answer. Failures are problem details."""


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
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.exchange, app.state.measures = exchange, Measures()
    for part in (accounts, markets, owners, records):
        app.include_router(part.router, responses=PROBLEMS)
    _add_health(app)
    add_handlers(app)
    app.add_middleware(SizeLimit, most=allowed.body)
    app.add_middleware(RateLimit, rate=Rate(allowed.rate, allowed.burst))
    app.add_middleware(Measured, measures=app.state.measures)
    return app


def _add_health(app: FastAPI) -> None:
    @app.get("/livez", tags=["health"])
    def livez() -> dict[str, str]:
        """The process answers."""
        return {"status": "alive"}

    @app.get("/readyz", tags=["health"], responses={503: PROBLEMS[503]})
    def readyz(request: Request) -> dict[str, str]:
        """The store answers too."""
        with request.app.state.exchange.store.read() as connection:
            connection.execute(select(func.count()).select_from(t.accounts)).scalar()
        return {"status": "ready"}

    @app.get("/metrics", tags=["health"], response_class=PlainTextResponse)
    def metrics(request: Request) -> PlainTextResponse:
        """Measurements, as Prometheus reads them."""
        measures: Measures = request.app.state.measures
        with suppress(StoreError):  # what is measured in memory is told all the same; /readyz tells that it is away
            with request.app.state.exchange.store.read() as connection:
                found = connection.execute(select(t.markets.c.state, func.count()).group_by(t.markets.c.state)).all()
            measures.markets.clear()  # or a state would keep its last number when no market is in it any more
            for state, count in found:
                measures.markets.labels(state).set(count)
        return PlainTextResponse(generate_latest(measures.registry), media_type="text/plain; version=0.0.4")
