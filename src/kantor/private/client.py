"""The market's and the owner's side of a private valuation.

The market opens a session with the three parties, gives each owner its token, waits, and starts the computation. An
owner reads the terms from all three parties, refuses if they differ, and sends each its two components. Both put a
result together from all three parties' shares, and refuse it where two copies of a component differ, or where the
parties do not agree on who took part.
"""

from __future__ import annotations

import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kantor.errors import InputError, PartyError
from kantor.owners.distributions import Vector
from kantor.private.frames import Frame, call
from kantor.private.identity import Identity, Roster, token_hash
from kantor.private.methods import Method, method_from
from kantor.private.randomness import Words
from kantor.private.sharing import PARTIES, combine, held_by, split

__all__ = ["Market", "OwnerSide", "Valuation", "send_shares", "wait_for_parties"]

_GRACE = 2.0


@dataclass(frozen=True)
class Valuation:
    """Distances by owner (and by reference), who was left out and why, and how far the distances can be off."""

    distances: dict[str, float]
    references: dict[str, float]
    left_out: dict[str, str]
    owners: int
    """How many owners make up the target."""
    error_bound: float
    opened: dict[str, int]
    """What everybody was told besides; empty unless the method says so."""


class Market:
    """One valuation, from the market's side. `tokens` go to the owners, each its own.

    A market that may be stopped and started gives the session's name and a rule for tokens: asking the parties to open
    the same session with the same terms again changes nothing.
    """

    def __init__(
        self,
        roster: Roster,
        own: Identity,
        method: Method,
        owners: Iterable[str],
        references: Iterable[str] = (),
        *,
        least_owners: int = 3,
        patience: float = 60.0,
        session: str | None = None,
        token_of: Callable[[str], str] | None = None,
    ) -> None:
        self.roster, self.own, self.method, self.patience = roster, own, method, patience
        self.session = session or secrets.token_hex(16)
        names, others = list(owners), list(references)
        self.tokens = {
            name: secrets.token_urlsafe(24) if token_of is None else token_of(name) for name in names + others
        }
        terms = {
            "method": method.as_dict(),
            "owners": {name: token_hash(self.tokens[name]) for name in names},
            "references": {name: token_hash(self.tokens[name]) for name in others},
            "least_owners": least_owners,
        }
        _all(self._ask, {"ask": "open", "terms": terms})

    def sent(self) -> int:
        """How many have sent their shares to all three parties, as far as the parties have noticed."""
        answers = _all(self._ask, {"ask": "about"})
        if all(answer.header["state"] == "done" for answer in answers):
            return len(self.tokens)
        return min(int(answer.header["sent"]) for answer in answers)

    def compute(self, patience: float = 3600.0) -> Valuation:
        """Start the computation at all three parties and put the result together. patience: for the whole of it."""
        answers = _all(self._ask, {"ask": "compute"}, patience)
        about = _agreed(answers)
        names = [*about["included"], *about["references"]]
        size = len(names) if answers[0].body else 0
        rows = [_rows(answer, (2, size)) for answer in answers]
        totals = combine(rows).view(np.int64)
        numbers = self.method.decode(totals, len(about["included"]), about["opened"])
        pairs = dict(zip(names, numbers.tolist(), strict=False))
        return Valuation(
            {name: pairs[name] for name in about["included"] if name in pairs},
            {name: pairs[name] for name in about["references"] if name in pairs},
            about["left_out"],
            len(about["included"]),
            self.method.error_bound,
            about["opened"],
        )

    def close(self) -> None:
        """End the session: the parties forget it."""
        _all(self._ask, {"ask": "forget"})

    def _ask(self, party: int, header: dict[str, Any], patience: float | None = None) -> Frame:
        said = {**header, "session": self.session}
        return call(self.roster, party, self.own, said, patience=patience or self.patience)


class OwnerSide:
    """One valuation, from an owner's side: what the terms are, sending shares, and the own distance."""

    def __init__(self, roster: Roster, session: str, name: str, token: str, patience: float = 60.0) -> None:
        self.roster, self.session, self.name, self.token, self.patience = roster, session, name, token, patience
        answers = _all(self._ask, {"ask": "about"})
        self.terms: dict[str, Any] = answers[0].header["terms"]
        if any(answer.header["terms"] != self.terms for answer in answers):
            raise PartyError(
                "the parties do not tell the same terms of this session",
                remedy="Nothing was sent. Ask the market what is going on.",
            )
        self.method = method_from(self.terms["method"])

    def submit(self, data: Any) -> None:
        """Split the data and send each party its part. Nothing is sent if the method cannot hold the data."""
        parts = {self.name: (self.token, self.method.encode(data, self.name))}
        send_shares(self.roster, self.session, parts, self.patience)

    def collect(self, data: Any = None) -> float:
        """The own distance. data: needed where the method opens the target's sums, and owners compute it themselves."""
        answers = _all(self._ask, {"ask": "collect", "owner": self.name, "token": self.token})
        about = answers[0].header
        if any(answer.header != about for answer in answers):
            raise PartyError("the parties do not agree on the result", remedy="There is no result. Tell the market.")
        if about["left_out"] is not None:
            raise PartyError(f"you were left out: {about['left_out']}", remedy="Ask the market for another session.")
        if about["opened"]:
            own = getattr(self.method, "own_distance", None)
            if own is None or data is None:
                raise InputError("the own distance is computed from the own data here", remedy="Give data.")
            return float(own(data, about["opened"], about["owners"]))
        totals = combine([_rows(answer, (2, 1)) for answer in answers]).view(np.int64)
        return float(self.method.decode(totals, about["owners"], about["opened"])[0])

    def _ask(self, party: int, header: dict[str, Any]) -> Frame:
        return call(self.roster, party, None, {**header, "session": self.session}, patience=self.patience)


def send_shares(
    roster: Roster, session: str, numbers: Mapping[str, tuple[str, Vector]], patience: float = 60.0
) -> None:
    """Split the numbers of some owners, each with its token, and send every party its parts."""
    shares = {name: split(values) for name, (_, values) in numbers.items()}

    def to(party: int, header: dict[str, Any]) -> Frame:
        first, second = held_by(party)
        listed = [[name, numbers[name][0], len(packed[first]), len(packed[second])] for name, packed in shares.items()]
        body = b"".join(packed[component] for packed in shares.values() for component in (first, second))
        return call(roster, party, None, {**header, "shares": listed}, body, patience)

    _all(to, {"ask": "submit", "session": session})


def wait_for_parties(roster: Roster, patience: float = 60.0) -> None:
    """Return when all three answer."""
    until = time.monotonic() + patience
    for party in range(PARTIES):
        while True:
            try:
                call(roster, party, None, {"ask": "ping"}, patience=5.0)
                break
            except PartyError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)


def _all(ask: Callable[..., Frame], *rest: Any) -> list[Frame]:
    """Ask all three at once. When one has failed, others have two seconds to fail too, and tell whose fault it is."""
    done: queue.Queue[tuple[int, Frame | Exception]] = queue.Queue()

    def one(party: int) -> None:
        try:
            done.put((party, ask(party, *rest)))
        except Exception as fault:  # noqa: BLE001  raised by whoever takes it from the queue
            done.put((party, fault))

    for party in range(PARTIES):
        threading.Thread(target=one, args=(party,), daemon=True).start()
    answers: dict[int, Frame | Exception] = {}
    patience = None
    while len(answers) < PARTIES:
        try:
            party, answer = done.get(timeout=patience)
        except queue.Empty:
            break
        answers[party] = answer
        if isinstance(answer, Exception):
            patience = _GRACE
    faults = [answer for answer in answers.values() if isinstance(answer, Exception)]
    if faults:
        raise _cause(faults, {party + 1 for party in answers})
    return [answer for _, answer in sorted(answers.items()) if isinstance(answer, Frame)]


def _cause(faults: list[Exception], answered: set[int]) -> Exception:
    """What to tell: of a party that could not be asked, or is blamed and silent itself, or else the first fault."""
    blaming = [fault for fault in faults if isinstance(fault, PartyError) and fault.party is not None]
    unreached = [fault for fault in blaming if fault.problem.startswith(f"party {fault.party} ")]
    silent = [fault for fault in blaming if fault.party not in answered]
    return (unreached or silent or blaming or faults)[0]


def _agreed(answers: list[Frame]) -> dict[str, Any]:
    about = answers[0].header
    if any(answer.header != about for answer in answers):
        raise PartyError(
            "the parties do not agree on who took part",
            remedy="There is no result. One of them is faulty; start again.",
        )
    return about


def _rows(answer: Frame, shape: tuple[int, int]) -> Words:
    if len(answer.body) != 8 * shape[0] * shape[1]:
        raise PartyError(
            f"a party sent {len(answer.body)} bytes of result, where {8 * shape[0] * shape[1]} belong",
            remedy="There is no result. See that all parties run the same version.",
        )
    return np.frombuffer(answer.body, dtype="<u8").astype(np.uint64, copy=False).reshape(shape)
