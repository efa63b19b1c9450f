"""A market of real processes that are killed and started again, and what has to hold at the end.

The director knows every process by name ("server", "worker", "trustee", "owner0", ...), starts each again when it is
gone, and lets the market go on to its settlement. Owners' agents run unattended, so they too go on where they were.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from kantor.owners.balance import Balance
from kantor.sealing.identity import TrusteeIdentity
from kantor.service.agent.home import Home
from kantor.service.client import Client, ServiceError
from kantor.service.settings import OPERATOR_TOKEN, Settings
from kantor.service.statements import name_of
from kantor.service.verify import verify

__all__ = ["Director"]

_TESTS = Path(__file__).parents[2]
_RECORDS = 40
_PRICES = [10, 25, 40, 60]


@dataclass
class Director:
    """One market on one database; `kill` and `crash_at` are what befalls it."""

    folder: Path
    database: str
    owners: int = 3
    crash_at: dict[str, list[int]] = field(default_factory=dict)
    """For a process: at which write point each of its lives ends; after the last it lives on."""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    kills: int = 0
    homes: dict[str, Home] = field(default_factory=dict)
    clients: list[Client] = field(default_factory=list)

    def __post_init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.commands: dict[str, list[str]] = {}
        self.environment: dict[str, dict[str, str]] = {}
        self.settings = Settings(self.folder / "server", database=self.database)
        self.settings.exchange().store.close()  # the keys and the tables are there before anything can be killed

    # ---- processes

    def cast(self, name: str, *command: str, **environment: str) -> None:
        """A process that is to run, and to run again."""
        self.commands[name] = list(command)
        self.environment[name] = environment
        self._start(name)

    def _start(self, name: str) -> None:
        lives = self.crash_at.get(name, [])
        point = lives.pop(0) if lives else 0
        log = (self.folder / f"{name}.log").open("ab")
        self.processes[name] = subprocess.Popen(
            [sys.executable, "-m", "service.faults.crashing", str(point), *self.commands[name]],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(_TESTS), os.environ.get("PYTHONPATH", "")]),
                "OMP_NUM_THREADS": "1",
                **self.environment[name],
            },
        )
        log.close()

    def kill(self, name: str) -> None:
        """kill -9."""
        self.processes[name].send_signal(signal.SIGKILL)
        self.processes[name].wait()

    def tend(self) -> None:
        """Start again who was killed; whoever ended otherwise, in failure, is an error."""
        for name, process in list(self.processes.items()):
            code = process.poll()
            if code == -signal.SIGKILL:
                self.kills += 1
                self._start(name)
            elif code not in (None, 0):
                raise AssertionError(f"{name} ended with {code}: {self.said(name)[-1500:]}")

    def said(self, name: str) -> str:
        """What a process has said."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def close(self) -> None:
        """End everything."""
        for client in self.clients:
            client.close()
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
            process.wait()

    # ---- the market

    def raise_curtain(self) -> None:
        """Server, worker, trustee, and a market that owners can join."""
        server = ["serve", str(self.settings.folder), "--port", str(self.port), "--rate", "100000"]
        where = {"KANTOR_DATABASE": self.settings.url}
        self.cast("server", *server, "--no-worker", **where)
        self.cast("worker", *server, "--worker-only", **where)
        token = (self.settings.folder / OPERATOR_TOKEN).read_text().strip()
        self.operator = self._client(token)
        self.buyer = self._client(self._token("buyer"))
        self.auditor = self._client(self._token("auditor"))
        identity = TrusteeIdentity.at(self.folder / "trustee")
        self.cast(
            "trustee",
            "trustee",
            "run",
            str(self.folder / "trustee"),
            "--server",
            self.url,
            KANTOR_TOKEN=self._token("trustee"),
        )
        terms = self._terms(identity)
        made = self._again(lambda: self.buyer.create(terms, key="create-the-market"))
        self.market = str(made["id"])
        deposit = self._again(lambda: self.buyer.deposit(self.market, made["funds"]["needed"], key="deposit-once"))
        self._again(lambda: self.operator.confirm(self.market, deposit["id"], key="confirm-once"))
        self._again(lambda: self.buyer.open(self.market, key="open-once"))
        for number in range(self.owners):
            self._owner(number)

    def _client(self, token: str) -> Client:
        self.clients.append(Client(self.url, token, patience=0.5))
        return self.clients[-1]

    def _again(self, ask: Any) -> Any:
        """Ask until there is an answer, starting again who was killed meanwhile."""
        until = time.monotonic() + 60
        while True:
            self.tend()
            try:
                return ask()
            except ServiceError as fault:
                if fault.status or time.monotonic() > until:
                    raise

    def _token(self, role: str) -> str:
        account = self._again(lambda: self.operator.add_account(role, role, key=f"account-{role}"))
        return str(self._again(lambda: self.operator.add_token(account["id"], key=f"token-of-{role}"))["token"])

    def _owner(self, number: int) -> None:
        name = f"owner{number}"
        account = self._again(lambda: self.operator.add_account(name, "owner", key=f"account-{name}"))
        token = str(self._again(lambda: self.operator.add_token(account["id"], key=f"token-of-{name}"))["token"])
        values = np.random.default_rng(number).normal(6 + number, 1, _RECORDS).clip(0, 20).round(3)
        data = self.folder / f"{name}.csv"
        data.write_text("kwh\n" + "\n".join(map(str, values)) + "\n")
        home = Home.make(
            self.folder / name, server=self.url, token=token, data=data, epsilon=100.0, delta=0.0, unit="record"
        )
        self.homes[name] = home
        price = f"{_PRICES[number % len(_PRICES)] / 100:.2f}"
        self.cast(
            name, "owner", "run", self.market, "--home", str(home.folder), "--price", price, "--epsilon", "20", "--yes"
        )

    def _terms(self, identity: TrusteeIdentity) -> dict[str, Any]:
        now = datetime.now(UTC)
        return {
            "title": "Faults",
            "rule": {"mechanism": "exogenous", "limit": 200, "prior": "uniform:0:100"},
            "valuation": {"way": "public", "target": [f"{6 + 0.1 * step:.1f}" for step in range(20)]},
            "data": {"what": "kWh a day", "records": _RECORDS, "low": "0", "high": "20"},
            "privacy": {"epsilon_low": "1", "epsilon_high": "50"},
            "trustees": {"threshold": 1, "members": [identity.public("T").as_dict()]},
            "schedule": {
                "enrol_until": (now + timedelta(minutes=5)).isoformat(),
                "bid_until": (now + timedelta(minutes=10)).isoformat(),
                "deliver_within": 600,
                "dispute_within": 0,
                "early": True,
            },
            "most_owners": self.owners,
        }

    def play(self, patience: float = 180.0, chance: random.Random | None = None, pause: float = 0.0) -> None:
        """Go on to the settlement, tending; with `chance`, somebody is killed every now and then."""
        until = time.monotonic() + patience
        while not self._over():
            if time.monotonic() > until:
                raise AssertionError(f"the market is not settled after {patience} s: {self._state()}")
            if chance is not None:
                time.sleep(chance.uniform(0, 2 * pause))
                alive = [name for name, process in self.processes.items() if process.poll() is None]
                if alive:
                    self.kill(chance.choice(alive))
            self.tend()
            time.sleep(0.05)

    def _state(self) -> str:
        try:
            with Client(self.url, self.operator_token, patience=0.2) as client:
                return str(client.market(self.market)["state"])
        except ServiceError:
            return "not reached"

    @property
    def operator_token(self) -> str:
        """The operator's token."""
        return (self.settings.folder / OPERATOR_TOKEN).read_text().strip()

    def _over(self) -> bool:
        agents = [process for name, process in self.processes.items() if name.startswith("owner")]
        return all(process.poll() == 0 for process in agents) and self._state() == "settled"

    # ---- what has to hold

    def faults(self, expected: dict[str, int] | None = None) -> list[str]:
        """What is wrong at the end. expected: what each owner is paid where nothing goes wrong."""
        bundle = self._again(lambda: self.auditor.bundle(self.market, "auditor"))
        checked = verify(bundle)
        faults = [f"{step.name}: {step.said}" for step in checked.steps if not step.passed]
        content = json.loads(bundle)
        paid = self.paid(content)
        if expected is not None and paid != expected:
            faults.append(f"paid {paid}, and {expected} without faults")
        leaves = {leaf["owner"]: leaf["bid"] for leaf in content["leaves"]}
        for name, home in self.homes.items():
            faults += self._owner_faults(name, home, leaves, paid)
        return faults

    def _owner_faults(self, name: str, home: Home, leaves: dict[str, str], paid: dict[str, int]) -> list[str]:
        known = home.notes(self.market).known
        receipts = [bid["receipt"] for bid in known.get("bids", [])]
        owner = name_of(self.market, home.signer(self.market).public)
        found = []
        if len(receipts) != 1 or leaves.get(owner) != receipts[0]["bid"]:
            found.append(f"{name} has {len(receipts)} receipts, and {owner in leaves} bid of it counts")
        charged = [entry for entry in Balance(home.folder / "balance.db").entries() if entry.state == "charged"]
        if len(charged) != (1 if paid.get(name) else 0):
            found.append(f"{name} was charged {len(charged)} times and paid {paid.get(name)}")
        return found

    def paid(self, content: dict[str, Any]) -> dict[str, int]:
        """What each household was paid, from the ledger."""
        names = {name_of(self.market, home.signer(self.market).public): name for name, home in self.homes.items()}
        found = dict.fromkeys(self.homes, 0)
        for transfer in content["transfers"]:
            for account, amount in transfer["postings"].items():
                if account.startswith("owner:"):
                    found[names[account[6:]]] += amount
        return found
