"""A server of its own processes, and the people around it, all of whose words are kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from kantor.service.agent.home import Home
from kantor.service.agent.owner import OwnerAgent
from kantor.service.agent.trustee import TrusteeAgent
from kantor.service.client import Client
from kantor.service.settings import OPERATOR_TOKEN
from service.databases import wait_until
from service.http.leaks import Canary, dump
from service.http.server import Server

PLAIN = [3 + place / 10 for place in range(60)]


class Street:
    """The people around a server; `sent` has what left them, `told` what they were answered."""

    def __init__(self, server: Server, url: str, series: list[float]) -> None:
        self.server, self.database, self.series = server, url, series
        self.sent: list[bytes] = []
        self.told: list[tuple[int, bytes, bytes]] = []
        self.secrets: list[Canary] = []
        self.everybody: list[Client] = []
        self.operator = self._client((server.folder / "server" / OPERATOR_TOKEN).read_text().strip())
        self.buyer, self.stranger, self.auditor = map(self.client, ("buyer", "owner", "auditor"))
        self.trustee = TrusteeAgent(server.folder / "trustee", self.client("trustee"))

    def client(self, role: str) -> Client:
        """Somebody with an account of a role."""
        account = self.operator.add_account(f"a {role}", role)
        return self._client(self.operator.add_token(account["id"])["token"])

    def _client(self, token: str) -> Client:
        self.secrets.append(Canary(token.rpartition("_")[2]))
        found = Client(self.server.url, token, patience=10)
        found._http.event_hooks = {
            "request": [lambda request: self.sent.append(request.read())],
            "response": [self._hear],
        }
        self.everybody.append(found)
        return found

    def _hear(self, answer: httpx.Response) -> None:
        self.told.append((answer.status_code, answer.read(), str(answer.headers).encode()))

    def market(self) -> str:
        """An open market and its two owners, the first of whom has the series."""
        made = self.buyer.create(self.terms())
        deposit = self.buyer.deposit(made["id"], made["funds"]["needed"])
        self.operator.confirm(made["id"], deposit["id"])
        self.buyer.open(made["id"])
        self.owners = [self.owner(made["id"], number) for number in range(2)]
        return str(made["id"])

    def terms(self) -> dict[str, Any]:
        """Terms that let any price be bid."""

        def later(seconds: int) -> str:
            return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()

        return {
            "title": "A year of loads",
            "rule": {"mechanism": "exogenous", "limit": 10**15, "prior": "uniform:0:1e15"},
            "valuation": {"way": "public", "target": [str(value + 1) for value in range(60)]},
            "data": {"what": "kWh a day", "records": 60, "low": "0", "high": "60"},
            "privacy": {"epsilon_low": "1", "epsilon_high": "100"},
            "trustees": {"threshold": 1, "members": [self.trustee.identity.public("One").as_dict()]},
            "schedule": {"enrol_until": later(3600), "bid_until": later(7200), "dispute_within": 0, "early": True},
            "least_owners": 2,
            "most_owners": 2,
        }

    def owner(self, market: str, number: int) -> OwnerAgent:
        """An owner that has enrolled."""
        file = self.server.folder / f"data{number}.csv"
        file.write_text("kwh\n" + "\n".join(map(repr, self.series if number == 0 else PLAIN)) + "\n")
        client = self.client("owner")
        folder, token, unit = self.server.folder / f"home{number}", "kept elsewhere", "record"
        home = Home.make(folder, server=self.server.url, token=token, data=file, epsilon=200.0, delta=0.0, unit=unit)
        agent = OwnerAgent(home, client, market)
        agent.enrol()
        return agent

    def until(self, market: str, *states: str) -> None:
        """Wait for a state; the trustee does its part."""

        def there() -> bool:
            self.trustee.round()
            return self.operator.market(market)["state"] in states

        wait_until(there, 60)

    def everything(self) -> dict[str, bytes]:
        """All that could tell somebody something, by where it was found."""
        metrics = httpx.get(self.server.url + "/metrics").content
        return {
            "log": self.server.output,
            "database": dump(self.database),
            "metrics": metrics,
            "answers": b"\n".join(b"%d %s %s" % each for each in self.told),
        }

    def close(self) -> None:
        """Hang up."""
        for client in self.everybody:
            client.close()
