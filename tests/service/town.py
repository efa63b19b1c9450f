"""A town with a market: a server, its worker, a trustee, a buyer and owners, all talking HTTP, in one process.

The server is the real one on a real socket, the worker and the trustee are threads. `Town` is what tests of the service
share; tests of crashes run the same parts as processes instead.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn

from kantor.service.agent.home import Home
from kantor.service.agent.owner import OwnerAgent
from kantor.service.agent.trustee import TrusteeAgent
from kantor.service.client import Client
from kantor.service.exchange import Exchange
from kantor.service.http.app import make_app
from kantor.service.http.limits import Limits
from kantor.service.settings import OPERATOR_TOKEN, Settings
from kantor.service.worker import Worker

RECORDS = 60
TARGET = [round(3 + 0.1 * place, 3) for place in range(60)]


class Town:
    """One server and the people around it."""

    def __init__(self, folder: Path, exchange: Exchange, worker: Worker, url: str) -> None:
        self.folder, self.exchange, self.worker, self.url = folder, exchange, worker, url
        self.operator = Client(url, (exchange.folder / OPERATOR_TOKEN).read_text().strip(), patience=5)
        self._clients = [self.operator]
        self.buyer = self.client("buyer")
        self.trustees: list[TrusteeAgent] = []

    def client(self, role: str, name: str = "", patience: float = 5, **more: Any) -> Client:
        """A client with a fresh account of a role."""
        account = self.operator.add_account(name or f"a {role}", role)
        found = Client(self.url, self.operator.add_token(account["id"], **more)["token"], patience=patience)
        self._clients.append(found)
        return found

    def trustee(self, number: int = 1) -> TrusteeAgent:
        """A trustee; `turn` lets it act."""
        found = TrusteeAgent(self.folder / f"trustee{number}", self.client("trustee"), now=self.exchange.clock.moment)
        self.trustees.append(found)
        return found

    def terms(self, trustees: int = 1, threshold: int = 1, **changed: Any) -> dict[str, Any]:
        """Terms of a market that is over in a moment; parts are replaced by name."""
        while len(self.trustees) < trustees:
            self.trustee(len(self.trustees) + 1)
        chosen = enumerate(self.trustees[:trustees], 1)
        members = [each.identity.public(f"Trustee {place}").as_dict() for place, each in chosen]
        terms: dict[str, Any] = {
            "title": "A year of loads",
            "rule": {"mechanism": "exogenous", "limit": 500, "prior": "uniform:0:100", "payments": "clock"},
            "valuation": {"way": "public", "target": [str(value) for value in TARGET]},
            "data": {"what": "kWh a day", "records": RECORDS, "low": "0", "high": "20"},
            "privacy": {"epsilon_low": "1", "epsilon_high": "100"},
            "trustees": {"threshold": threshold, "members": members},
            "schedule": {
                "enrol_until": self.later(60),
                "bid_until": self.later(120),
                "dispute_within": 0,
                "early": True,
            },
            "least_owners": 2,
            "most_owners": 4,
        }
        for name, part in changed.items():
            terms[name] = {**terms[name], **part} if isinstance(part, dict) else part
        return terms

    def later(self, seconds: float) -> str:
        """So many seconds from now, by the server's clock."""
        return self.exchange.clock.later(seconds)

    def wait(self, seconds: float) -> None:
        """Let time pass for everybody in town."""
        self.exchange.clock.ahead += timedelta(seconds=seconds)

    def market(self, **changed: Any) -> str:
        """An open market."""
        made = self.buyer.create(self.terms(**changed))
        deposit = self.buyer.deposit(made["id"], max(made["funds"]["needed"], 1))
        self.operator.confirm(made["id"], deposit["id"])
        self.buyer.open(made["id"])
        return str(made["id"])

    def owner(self, market: str, number: int = 0, epsilon: float = 200.0) -> OwnerAgent:
        """An owner with data of its own and a home; the same number, the same data."""
        rng = np.random.default_rng(number)
        name = f"owner-{market}-{number}"
        file = self.folder / f"{name}.csv"
        values = rng.normal(6 + 0.3 * number, 1.0, RECORDS).clip(0, 20).round(4)
        file.write_text("kwh\n" + "\n".join(map(str, values)) + "\n")
        client = self.client("owner", name)
        token = client._http.headers["Authorization"].removeprefix("Bearer ")
        unit: Any = "record"
        home = Home.make(
            self.folder / name, server=self.url, token=token, data=file, epsilon=epsilon, delta=0.0, unit=unit
        )
        return OwnerAgent(home, client, market)

    def turn(self, times: int = 1) -> None:
        """Let trustees and worker do what is to be done now, without waiting for their next look."""
        for _ in range(times):
            for trustee in self.trustees:
                trustee.round()
            self.worker.round()

    def until(self, market: str, *states: str) -> str:
        """Turn until the market is in one of these states."""
        for _ in range(60):
            state = str(self.operator.market(market)["state"])
            if state in states:
                return state
            self.turn()
        raise TimeoutError(f"market {market} stays {state}: {self.operator.market(market)['trouble']}")

    def bidding(self, owners: int = 4, **changed: Any) -> tuple[str, list[OwnerAgent]]:
        """A market in which bidding has begun, and its owners."""
        market = self.market(**{"most_owners": owners, **changed})
        agents = [self.owner(market, number) for number in range(owners)]
        for agent in agents:
            agent.enrol()
        if not changed.get("schedule", {}).get("early", True):
            self.wait(60)
        self.until(market, "bidding")
        return market, agents

    def delivering(self, prices: list[int] | None = None, **changed: Any) -> tuple[str, list[OwnerAgent]]:
        """A market that is cleared, and its owners."""
        asked = prices or [10, 20, 30, 40]
        market, agents = self.bidding(len(asked), **changed)
        for agent, price in zip(agents, asked, strict=True):
            agent.bid(price, "50")
        self.until(market, "delivering", "settled", "cancelled")
        return market, agents

    def settled(self, prices: list[int] | None = None, **changed: Any) -> tuple[str, list[OwnerAgent]]:
        """A market from beginning to end."""
        market, agents = self.delivering(prices, **changed)
        for agent in agents:
            if agent.result().get("bought"):
                agent.deliver()
        self.until(market, "settled")
        return market, agents

    def close(self) -> None:
        """Hang up."""
        for client in self._clients:
            client.close()


@contextmanager
def town(folder: Path, url: str, limits: Limits | None = None, parties: Path | None = None) -> Iterator[Town]:
    """A town whose server keeps its markets in this database."""
    settings = Settings(folder / "server", database=url, parties=parties)
    exchange = settings.exchange()
    config = uvicorn.Config(make_app(exchange, limits or Limits(rate=1e6, burst=1e6)), port=0, log_level="critical")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    found = Town(folder, exchange, Worker(exchange), f"http://127.0.0.1:{port}")
    try:
        yield found
    finally:
        found.close()
        server.should_exit = True
        thread.join(10)
        exchange.store.close()
