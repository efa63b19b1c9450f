"""A crowd at one market: owners that have joined, their bids sealed and signed beforehand, ready to be sent at once.

Joining goes past HTTP, in a few large commits; bidding goes through a real server process. Benchmarks and tests of the
running market share it.
"""

from __future__ import annotations

import http.client
import json
import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import select

from kantor.evidence.canonical import canonical
from kantor.evidence.signing import Signer
from kantor.sealing.envelope import seal
from kantor.sealing.keys import MarketKey
from kantor.service import enrolment
from kantor.service.accounts import SCOPES, Caller
from kantor.service.agent.trustee import TrusteeAgent
from kantor.service.client import Client
from kantor.service.exchange import Exchange
from kantor.service.settings import OPERATOR_TOKEN, Settings
from kantor.service.statements import Bid, Enrolment, context_of, name_of
from kantor.service.store import tables as t

__all__ = ["Answered", "Crowd", "Request", "send", "server_process"]


class Request(NamedTuple):
    """A bid on its way: whose, with which key, and its bytes."""

    owner: str
    token: str
    key: str
    body: bytes


class Answered(NamedTuple):
    """What came back, and how long it took."""

    request: Request
    status: int
    body: dict[str, Any]
    seconds: float


@contextmanager
def server_process(settings: Settings, *more: str) -> Iterator[str]:
    """A server process with its worker, as `kantor serve` runs it; gives its address."""
    command = [sys.executable, "-m", "kantor", "serve", str(settings.folder), "--port", "0", "--rate", "1000000", *more]
    environment = {**os.environ, "KANTOR_DATABASE": settings.url}
    process = subprocess.Popen(  # noqa: S603  our own command
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        line = "" if process.stdout is None else process.stdout.readline()
        yield line.partition(" is at ")[2].partition(",")[0]
    finally:
        process.terminate()
        process.communicate()


@dataclass
class Crowd:
    """Owners, a trustee and a buyer around one market of one server."""

    folder: Path
    settings: Settings
    url: str
    count: int
    market: str = ""

    def __post_init__(self) -> None:
        self.x: Exchange = self.settings.exchange()
        self.operator = Client(self.url, (self.settings.folder / OPERATOR_TOKEN).read_text().strip())
        self.signers = [Signer(number.to_bytes(32, "big")) for number in range(1, self.count + 1)]
        self.trustee = TrusteeAgent(self.folder / "trustee", self._client("trustee"))
        self.buyer = self._client("buyer")

    def _client(self, role: str) -> Client:
        account = self.operator.add_account(role, role)["id"]
        return Client(self.url, self.operator.add_token(account)["token"])

    def open(self, **schedule: Any) -> str:
        """An open market that everybody has joined, with bidding begun."""
        made = self.buyer.create(self._terms(schedule))
        deposit = self.buyer.deposit(made["id"], made["funds"]["needed"])
        self.operator.confirm(made["id"], deposit["id"])
        about = self.buyer.open(made["id"])
        self.market = str(made["id"])
        self.tokens = self._join(about["terms_digest"])
        while self.buyer.market(self.market)["state"] != "bidding":
            self.trustee.round()
        return self.market

    def _terms(self, schedule: dict[str, Any]) -> dict[str, Any]:
        later = self.x.clock.later
        times = {"enrol_until": later(900), "bid_until": later(3600), "dispute_within": 0, "early": True}
        return {
            "title": "A crowd",
            "rule": {"mechanism": "exogenous", "limit": 100 * self.count, "prior": "uniform:0:500"},
            "valuation": {"way": "declared"},
            "data": {"what": "kWh a day", "records": 30, "low": "0", "high": "20"},
            "privacy": {"epsilon_low": "1", "epsilon_high": "100"},
            "trustees": {"threshold": 1, "members": [self.trustee.identity.public("T").as_dict()]},
            "schedule": {**times, **schedule},
            "most_owners": self.count,
        }

    def _join(self, terms: str) -> list[str]:
        rng = np.random.default_rng(7)
        distances = [f"{value:.6f}" for value in rng.uniform(0.1, 3, self.count)]
        tokens: list[str] = []

        def some(batch: Sequence[tuple[Signer, str]]) -> None:
            def work(connection: Any) -> list[str]:
                return [self._join_one(connection, terms, signer, distance) for signer, distance in batch]

            tokens.extend(self.x.store.write(work))

        pairs = list(zip(self.signers, distances, strict=True))
        for start in range(0, self.count, 500):
            some(pairs[start : start + 500])
        return tokens

    def _join_one(self, connection: Any, terms: str, signer: Signer, distance: str) -> str:
        now = self.x.clock.now()
        account = self.x.tokens.add_account(connection, "owner", "owner", None, now)["id"]
        token = str(self.x.tokens.add_token(connection, account, now)["id"])
        caller = Caller(account, "owner", token, frozenset(SCOPES["owner"]), None)
        said = Enrolment(
            market=self.market, terms=terms, key=signer.public, commitment="0" * 64, distance=distance, consent=True
        )
        enrolment.enrol(self.x, connection, caller, self.market, said, signer.sign("enrolment", said.plain()))
        return self.x.tokens.text_of(token)

    def bids(self, seed: int = 11) -> list[Request]:
        """A bid of every owner, sealed and signed."""
        rng = np.random.default_rng(seed)
        columns = t.markets.c.market_key, t.markets.c.terms_digest
        with self.x.store.read() as connection:
            row = connection.execute(select(*columns).where(t.markets.c.id == self.market)).one()
        key = MarketKey.read(json.loads(row.market_key))
        return [
            self._bid(key, row.terms_digest, signer, token, int(rng.integers(0, 500)), int(rng.integers(10, 90)))
            for signer, token in zip(self.signers, self.tokens, strict=True)
        ]

    def _bid(self, key: MarketKey, terms: str, signer: Signer, token: str, price: int, epsilon: int) -> Request:
        bound = {
            "market": self.market,
            "owner": name_of(self.market, signer.public),
            "terms": terms,
            "key": key.digest,
            "nonce": secrets.token_hex(16),
        }
        envelope = seal(key, canonical({"reserve": price, "epsilon": str(epsilon)}), context_of(bound))
        said = Bid.model_validate({**bound, "envelope": envelope}).plain()
        body = json.dumps({"bid": said, "signature": signer.sign("bid", said)}).encode()
        return Request(bound["owner"], token, secrets.token_hex(16), body)

    def close(self) -> None:
        """Hang up."""
        for client in (self.operator, self.buyer, self.trustee.client):
            client.close()
        self.x.store.close()


def send(
    url: str, market: str, requests: Sequence[Request], at_once: int, starts: Sequence[float] = ()
) -> list[Answered]:
    """Send bids over so many connections at once. starts: when each is sent, as `time.time()` counts."""
    host = url.removeprefix("http://")
    found: list[Answered] = []

    def some(places: range) -> None:
        connection = http.client.HTTPConnection(host, timeout=120)
        for place in places:
            if starts:
                time.sleep(max(0.0, starts[place] - time.time()))
            found.append(_sent(connection, market, requests[place]))
        connection.close()

    threads = [threading.Thread(target=some, args=(range(first, len(requests), at_once),)) for first in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def _sent(connection: http.client.HTTPConnection, market: str, request: Request) -> Answered:
    headers = {
        "Authorization": f"Bearer {request.token}",
        "Idempotency-Key": request.key,
        "Content-Type": "application/json",
    }
    start = time.perf_counter()
    connection.request("POST", f"/v1/markets/{market}/bids", request.body, headers)
    answer = connection.getresponse()
    body = json.loads(answer.read())
    return Answered(request, answer.status, body, time.perf_counter() - start)
