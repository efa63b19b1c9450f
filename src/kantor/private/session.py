"""One valuation as a party keeps it: who may take part, whose shares have come, and what came of it.

It is kept in memory alone. A party that restarts has forgotten its shares, says so, and the valuation is begun again in
a new session: shares on a disk would be one more thing to protect.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import queue
import ssl
import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kantor.errors import PartyError
from kantor.private.engine import Engine
from kantor.private.identity import plain, token_hash
from kantor.private.methods import Method, method_from
from kantor.private.randomness import Words
from kantor.private.run import run_party
from kantor.private.sharing import PARTIES, expand
from kantor.private.wire import Wire

__all__ = ["RefusedError", "Result", "Session"]


class RefusedError(Exception):
    """A request that is not granted: the reason, and what to do."""

    def __init__(self, problem: str, remedy: str, party: int | None = None) -> None:
        self.problem, self.remedy, self.party = problem, remedy, party
        super().__init__(problem)


@dataclass(frozen=True)
class Result:
    """What a party ends with: whose numbers went in, who was left out and why, and its shares of the totals."""

    included: list[str]
    references: list[str]
    left_out: dict[str, str]
    opened: dict[str, int]
    rows: Words

    def about(self, session: str, terms: dict[str, Any]) -> dict[str, Any]:
        """All but the shares, with a digest of everything that parties must agree on."""
        said = {
            "included": self.included,
            "references": self.references,
            "left_out": self.left_out,
            "opened": self.opened,
        }
        return {**said, "view": hashlib.sha256(plain([session, terms, said]).encode()).hexdigest()}


@dataclass
class Session:
    """`terms`: the method's parameters, hashes of the owners' and references' tokens, the least number of owners."""

    name: str
    terms: dict[str, Any]
    method: Method = field(init=False)
    shares: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)
    state: str = "open"
    result: Result | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)
    _callers: dict[int, queue.Queue[ssl.SSLSocket]] = field(init=False)

    def __post_init__(self) -> None:
        self.method = method_from(self.terms["method"])
        self._callers = {party: queue.Queue() for party in range(PARTIES)}

    def arrived(self, party: int, patience: float) -> ssl.SSLSocket:
        """The connection on which this party sends, as soon as it has called."""
        try:
            return self._callers[party].get(timeout=patience)
        except queue.Empty as fault:
            raise TimeoutError from fault

    def called(self, party: int, stream: ssl.SSLSocket) -> None:
        """A party has called."""
        with self.lock:
            if self.state in ("done", "failed"):
                stream.close()
            else:
                self._callers[party].put(stream)

    def end(self, result: Result | None) -> None:
        """The computation is over: keep the result, forget the shares, hang up on who has called in vain."""
        with self.lock:
            self.result, self.state = result, "failed" if result is None else "done"
            self.shares.clear()
            for waiting in self._callers.values():
                while not waiting.empty():
                    waiting.get().close()

    def admit(self, name: str, token: str) -> None:
        """Refuse who is not on the list or does not have its token."""
        known = self.terms["owners"].get(name) or self.terms["references"].get(name)
        if known is None or not hmac.compare_digest(known, token_hash(token)):
            raise RefusedError(
                f"owner {name!r} is not enrolled in this session, or the token is another's",
                "Ask the market for yours.",
            )

    def accept(self, name: str, first: bytes, second: bytes) -> None:
        """An owner's two components; once."""
        for packed in (first, second):
            try:
                expand(packed, self.method.size)
            except ValueError as fault:
                raise RefusedError(f"owner {name!r} sent no shares ({fault})", "Use this version's agent.") from fault
        with self.lock:
            known = self.shares.get(name)
            if known is not None and known != (first, second):
                raise RefusedError(f"owner {name!r} has sent its shares already", "They cannot be replaced.")
            if known is None and self.state != "open":
                raise RefusedError("the computation has begun", "Ask the market for the next session.")
            self.shares[name] = (first, second)

    def compute(self, wire: Wire) -> Result:
        """Agree with the others on whose data take part, then run the method's program."""
        engine = Engine(wire)
        left_out = self._missing(wire)
        owners = sorted(name for name in self.terms["owners"] if name not in left_out)
        references = sorted(name for name in self.terms["references"] if name not in left_out)
        view = plain([self.name, self.terms, owners, references, left_out])
        views = _exchange(wire, {"view": _digest(view.encode())})
        if any(view != views[0] for view in views):
            raise PartyError("the parties disagree on who takes part", remedy="There is no result. Start again.")
        if len(owners) < self.terms["least_owners"]:
            raise PartyError(
                f"only {len(owners)} owners sent their data, and this session needs {self.terms['least_owners']}",
                remedy="Start again when more owners take part.",
            )
        rows = self._rows([*owners, *references], engine.holds)
        outcome = run_party(engine, self.method, rows[:, : len(owners)], rows[:, len(owners) :])
        for name, sound in zip([*owners, *references], outcome.sound, strict=True):
            if not sound:
                left_out[name] = "its numbers come from no data"
        included = [name for name in owners if name not in left_out]
        kept = [name for name in references if name not in left_out]
        return Result(included, kept, left_out, outcome.opened, outcome.totals)

    def _missing(self, wire: Wire) -> dict[str, str]:
        """Who cannot take part. One digest of everything tells whether all is well; only if not, one for each owner."""
        expected = [*self.terms["owners"], *self.terms["references"]]
        names = sorted(self.shares)
        sums = [_digest(b"".join(self.shares[name][place] for name in names)) for place in (0, 1)]
        heard = _exchange(
            wire, {"names": _digest(plain(names).encode()), "all": len(names) == len(expected), "sums": sums}
        )
        alike = all(each.get("names") == heard[0]["names"] and each.get("all") is True for each in heard)
        if alike and _matching([each.get("sums") for each in heard]):
            return {}
        return _left_out(
            expected, _exchange(wire, {name: [_digest(part) for part in both] for name, both in self.shares.items()})
        )

    def _rows(self, names: list[str], holds: tuple[int, int]) -> Words:
        rows = np.empty((len(holds), len(names), self.method.size), dtype=np.uint64)
        for place, name in enumerate(names):
            for row, packed in enumerate(self.shares[name]):
                rows[row, place] = expand(packed, self.method.size)
        return rows


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _exchange(wire: Wire, said: dict[str, Any]) -> list[dict[str, Any]]:
    """What each party says, in their order."""
    others = [party for party in range(PARTIES) if party != wire.index]
    for other in others:
        wire.send(other, "exchange", json.dumps(said).encode())
    heard: list[dict[str, Any]] = [said] * PARTIES
    for other in others:
        try:
            heard[other] = dict(json.loads(wire.receive(other, "exchange")))
        except (ValueError, TypeError) as fault:
            raise PartyError(
                f"party {other + 1} sent rubbish ({fault})", remedy="There is no result.", party=other + 1
            ) from fault
    return heard


def _left_out(names: list[str], inventories: list[dict[str, Any]]) -> dict[str, str]:
    """Who cannot take part, and why: nothing came, not everywhere, or two copies of a component differ."""
    reasons = {}
    for name in names:
        known = [inventory.get(name) for inventory in inventories]
        missing = [str(party + 1) for party, entry in enumerate(known) if entry is None]
        if len(missing) == PARTIES:
            reasons[name] = "it sent nothing"
        elif missing:
            reasons[name] = f"its shares have not reached party {' and party '.join(missing)}"
        elif not _matching(known):
            reasons[name] = "its shares contradict each other"
    return reasons


def _matching(digests: list[Any]) -> bool:
    """Whether each party's second component is the next party's first."""
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in digests):
        return False
    return all(digests[party][1] == digests[(party + 1) % PARTIES][0] for party in range(PARTIES))
