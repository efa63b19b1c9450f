"""The demo's story: forty households, a buyer, three computing parties, a trustee, a server and its worker.

Every one of them is a process of its own that talks over the network, as on many machines; only the stage manager (this
process) knows them all. It plays the operator too: it hands out tokens, sees the buyer's money come in, and at the
end lets an auditor who trusts nobody check everything from one file.
"""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kantor.demo.people import DAYS, HIGH, Household, households, write_series
from kantor.demo.processes import Cast, StoppedError
from kantor.demo.scene import Scene
from kantor.demo.view import View
from kantor.errors import InputError
from kantor.private.client import wait_for_parties
from kantor.private.identity import make_keys
from kantor.private.sharing import PARTIES
from kantor.private.trio import free_addresses
from kantor.service.agent.home import Home
from kantor.service.client import Client
from kantor.service.settings import OPERATOR_TOKEN
from kantor.service.verify import Verified, verify
from kantor.writing import make_folder

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Told", "tell"]

_OURS = ("homes", "logs", "server", "parties", "trustee", "buyer", "purchase")
_BUDGET = 3000
_PATIENCE = 240.0
_AT_ONCE = 10


@dataclass(frozen=True)
class Told:
    """What is left when the story is told."""

    folder: Path
    market: str
    people: list[Household]
    names: dict[str, str]
    """Households by their name in the market."""
    terms: dict[str, Any]
    result: dict[str, Any]
    outcome: dict[str, Any]
    manifest: dict[str, Any]
    scene: Scene
    verified: list[Verified]
    processes: int


def tell(folder: Path, console: Console, owners: int = 40) -> Told:
    """Run the whole market in this folder."""
    _clear(make_folder(folder))
    people = households(owners)
    with Cast(folder / "logs") as cast, View(console) as view:
        stage = _Stage(folder, cast, view, people)
        return stage.play()


def _clear(folder: Path) -> None:
    """Remove what an earlier demo has left, and nothing else."""
    mark = folder / ".kantor-demo"
    others = [name for name in _OURS if (folder / name).exists()]
    if others and not mark.exists():
        raise InputError(
            f"there is a folder {others[0]} that no demo has made", remedy="Choose another --out.", file=folder
        )
    for name in others:
        shutil.rmtree(folder / name)
    mark.touch()


class _Stage:
    """Everything that the stage manager keeps in hand."""

    def __init__(self, folder: Path, cast: Cast, view: View, people: list[Household]) -> None:
        self.folder, self.cast, self.view, self.people = folder, cast, view, people
        self.start = time.monotonic()

    def play(self) -> Told:
        """From the first process to the auditor's last word."""
        url = self._servers()
        with Client(url, (self.folder / "server" / OPERATOR_TOKEN).read_text().strip()) as operator:
            self.operator = operator
            market = self._open(url)
            names = self._owners(url, market)
            scene = Scene(len(self.people), names, start=self.start)
            self._watch(market, scene)
            return self._after(url, market, scene)

    def _servers(self) -> str:
        """Parties, server, worker."""
        parties = make_folder(self.folder / "parties")
        roster = make_keys(parties, free_addresses())
        for number in range(1, PARTIES + 1):
            self.cast.start(f"party{number}", "party", "start", str(parties), "--number", str(number), "--quiet")
        self.cast.start("server", "serve", str(self.folder / "server"), "--port", "0", "--parties", str(parties))
        said = self.cast.wait_for("server", lambda text: " is at " in text)
        wait_for_parties(roster)
        url = said.partition(" is at ")[2].partition(",")[0]
        self.view.note(f"A market server at {url}, its worker, and three computing parties are up.")
        return url

    def _token(self, role: str, name: str) -> str:
        account = self.operator.add_account(name, role)
        return str(self.operator.add_token(account["id"], label=name)["token"])

    def _open(self, url: str) -> str:
        """A trustee, and a buyer that drafts terms, pays in and opens."""
        self.cast.start("trustee", "trustee", "run", str(self.folder / "trustee"), "--server", url,
                        KANTOR_TOKEN=self._token("trustee", "Consumers' association"))  # fmt: skip
        trustee = json.loads(
            self.cast.run("trustee-keys", "trustee", "init", str(self.folder / "trustee"), "--json", "--name",
                          "Consumers' association").strip().splitlines()[-1]
        )  # fmt: skip
        terms = make_folder(self.folder / "buyer") / "terms.json"
        terms.write_text(json.dumps(_terms(trustee, len(self.people)), indent=2), encoding="utf-8")
        self.buyer = {"KANTOR_TOKEN": self._token("buyer", "Energy retailer"), "KANTOR_SERVER": url}
        made = self._buyer("create", str(terms))
        market = str(made["id"])
        self._buyer("fund", market, f"{_BUDGET / 100:.2f}", "--reference", "demo transfer")
        for deposit in self.operator.deposits(market):
            self.operator.confirm(market, deposit["id"])
        self._buyer("open", market)
        self.view.note(
            f"The buyer has opened market {market}: {_BUDGET / 100:.2f} euros for half a year of daily loads."
        )
        return market

    def _buyer(self, *arguments: str) -> dict[str, Any]:
        said = self.cast.run(f"buyer-{arguments[0]}", "buyer", *arguments, "--json", **self.buyer)
        return dict(json.loads(said.strip().splitlines()[-1]))

    def _owners(self, url: str, market: str) -> dict[str, str]:
        """Each household's own machine: its data, its home, its agent."""
        homes = make_folder(self.folder / "homes")
        names: dict[str, str] = {}
        for person in self.people:
            data = write_series(person, homes)
            token = self._token("owner", person.name)
            home = Home.make(
                homes / person.name, server=url, token=token, data=data, epsilon=50.0, delta=0.0, unit="record"
            )
            names[_name_in(home, market)] = person.name
        self._homes = homes
        return names

    def _watch(self, market: str, scene: Scene) -> None:
        """Start the agents, a few at a time, and look on until the market is settled."""
        waiting = list(self.people)
        until = time.monotonic() + _PATIENCE
        while scene.state not in ("settled", "cancelled"):
            begun = len(self.people) - len(waiting)
            while waiting and begun - scene.counts["enrolled"] < _AT_ONCE:
                self._start_agent(waiting.pop(0), market)
                begun += 1
            scene.look(self.operator, market)
            self.view.show(scene, self._at_work())
            self.cast.check()
            if time.monotonic() > until:
                raise StoppedError(f"the market is still {scene.state} after {_PATIENCE:.0f} s: see {self.folder}/logs")
            time.sleep(0.15)
        if scene.state == "cancelled":
            raise StoppedError(f"the market was called off: see {self.folder}/logs")

    def _start_agent(self, person: Household, market: str) -> None:
        home, price = str(self._homes / person.name), f"{person.price / 100:.2f}"
        options = ["--home", home, "--price", price, "--epsilon", str(person.epsilon), "--every", "1", "--yes"]
        self.cast.fork(person.name, "owner", "run", market, *options)

    def _at_work(self) -> dict[str, int]:
        return {
            "server": self.cast.running("server"),
            "worker": self.cast.running("server"),
            "parties": self.cast.running("party"),
            "trustee": self.cast.running("trustee"),
            "owners": self.cast.running("household"),
        }

    def _after(self, url: str, market: str, scene: Scene) -> Told:
        """The buyer fetches what it bought; an auditor fetches the bundles, and they are verified here, offline."""
        self._buyer("download", market, "--out", str(self.folder / "purchase"))
        with Client(url, self._token("auditor", "An auditor who trusts nobody")) as auditor:
            verified = []
            for kind in ("public", "auditor"):
                content = auditor.bundle(market, kind)
                (self.folder / f"market-{kind}.json").write_bytes(content)
                verified.append(verify(content))
        with Client(url, self.buyer["KANTOR_TOKEN"]) as buyer:
            result, purchase = buyer.result(market), buyer.purchase(market)
        about = self.operator.market(market)
        bundle = json.loads((self.folder / "market-auditor.json").read_bytes())
        self._wait_for_agents()
        return Told(
            self.folder, market, self.people, scene.names, about["terms"], result, bundle["outcome"],
            purchase["manifest"], scene, verified, len(self.cast.processes) + 1,
        )  # fmt: skip

    def _wait_for_agents(self) -> None:
        """The agents end by themselves when their market is settled and checked."""
        until = time.monotonic() + 30
        while self.cast.running("household") and time.monotonic() < until:
            time.sleep(0.1)
        self.cast.check()


def _name_in(home: Home, market: str) -> str:
    from kantor.service.statements import name_of

    return name_of(market, home.signer(market).public)


def _terms(trustee: dict[str, str], owners: int) -> dict[str, Any]:
    now = datetime.now(UTC)
    return {
        "title": "Half a year of daily household loads",
        "purpose": "An energy retailer wants to know the average household's days, to buy energy ahead.",
        "rule": {
            "mechanism": "exogenous",
            "limit": _BUDGET,
            "prior": "uniform:0:500",
            "payments": "clock",
        },
        "valuation": {
            "way": "private",
            "method": {"method": "aligned", "low": "0", "high": f"{HIGH:g}", "length": DAYS, "bits": 12},
        },
        "data": {"what": "kWh a day, the first 182 days of the year", "records": DAYS, "low": "0", "high": f"{HIGH:g}"},
        "privacy": {"noise": "laplace", "unit": "record", "epsilon_low": "1", "epsilon_high": "30"},
        "trustees": {"threshold": 1, "members": [trustee]},
        "schedule": {
            "enrol_until": (now + timedelta(minutes=10)).isoformat(),
            "bid_until": (now + timedelta(minutes=20)).isoformat(),
            "deliver_within": 600,
            "dispute_within": 2,
            "early": True,
        },
        "delivery": {"aggregate": "euclidean"},
        "least_owners": 3,
        "most_owners": owners,
    }
