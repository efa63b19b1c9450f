"""Who may ask what: for each operation and each object that it can be asked about, what everybody is answered.

The columns are the seven who have a token: the operator; the buyer whose market it is, and a rival; an owner who takes
part, and a stranger; an auditor; a trustee. Whoever has no token, or a bad one, is refused everywhere but for health.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from service.http.world import World

ROLES = ("operator", "buyer", "rival", "owner", "stranger", "auditor", "trustee")


@dataclass(frozen=True)
class Row:
    """An operation, asked about the market of a state; body and numbers are made when it is asked."""

    method: str
    path: str
    state: str
    answers: tuple[int, ...]
    scopes: frozenset[str] = frozenset()
    body: Callable[[World], Any] | None = None
    fill: Callable[[World], dict[str, str]] | None = None

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.method} {self.path} [{self.state}]"

    @property
    def allowed(self) -> tuple[str, ...]:
        """The roles that are answered well."""
        return tuple(role for role, status in zip(ROLES, self.answers, strict=True) if status < 300)

    def at(self, world: World, market: str | None = None) -> str:
        """The path with everything filled in."""
        known = {"market": market or world.markets.get(self.state, "")}
        return self.path.format(**{**known, **(self.fill(world) if self.fill else {})})


def _rows(method: str, path: str, scopes: str, *objects: tuple[Any, ...]) -> list[Row]:
    """Rows of one operation: for each object the state of its market and the seven answers, then how to ask."""
    found = []
    for state, answers, *more in objects:
        statuses = tuple(int(status) for status in answers.split())
        found.append(Row(method, path, state, statuses, frozenset(scopes.split()), *more))
    return found


ALL, OPERATOR, READERS = " ".join(["200"] * 7), "200" + " 403" * 6, "200 200 404 404 404 404 404"
MAKES, BUYS = "201" + " 403" * 6, "403 201 404 403 403 403 403"
OWNS, TAKES = "403 403 403 200 404 403 403", "403 403 403 201 404 403 403"
M = "/v1/markets/{market}"


def _ready(world: World) -> dict[str, str]:
    return {"market": world.ready()}


def _deposit(world: World) -> dict[str, str]:
    return {"number": world.town.operator.deposits(world.markets["settled"])[0]["id"]}


def _spare_token(world: World) -> dict[str, str]:
    account = world.stranger.me()["account"]
    return {"number": world.town.operator.add_token(account)["id"]}


def _first(name: str, value: str) -> Callable[[World], dict[str, str]]:
    return lambda _: {name: value}


def _said(state: str, kind: str) -> Callable[[World], Any]:
    return lambda world: world.said(state, kind)


def _withdrawal(state: str) -> Callable[[World], Any]:
    """Taking back the bid of the first owner, as it would sign that."""

    def make(world: World) -> Any:
        owner, bid = world.owners[world.markets[state]][0], world.said(state, "bids")["bid"]
        said = {name: bid[name] for name in ("market", "owner", "nonce")}
        return {"withdrawal": said, "signature": owner.signer.sign("withdrawal", said)}

    return make


_DISPUTE = lambda world: {"owner": world.owners[world.markets["disputed"]][0].name, "text": "Look again"}  # noqa: E731
_DECISION = lambda _: {"decision": "pay", "reason": "It is not"}  # noqa: E731
_DECIDED = lambda world: {"number": world.decided}  # noqa: E731

ROWS: list[Row] = [
    # ---- accounts
    *_rows("GET", "/v1/me", "", ("", ALL)),
    *_rows("GET", "/v1/accounts", "accounts", ("", OPERATOR)),
    *_rows("POST", "/v1/accounts", "accounts", ("", MAKES, lambda _: {"name": "one more", "role": "owner"})),
    *_rows("GET", "/v1/tokens", "accounts", ("", OPERATOR)),
    *_rows("POST", "/v1/tokens", "accounts", ("", MAKES, lambda w: {"account": w.stranger.me()["account"]})),
    *_rows("POST", "/v1/tokens/{number}/revocation", "accounts", ("", MAKES, None, _spare_token)),
    # ---- the buyer's side
    *_rows("GET", "/v1/markets", "read", ("", ALL)),
    *_rows("POST", "/v1/markets", "buy", ("", "403 201 201 403 403 403 403", lambda w: w.terms())),
    *_rows("GET", M, "read", ("draft", READERS), ("enrolling", ALL), ("settled", ALL)),
    *_rows("POST", M + "/terms", "buy", ("draft", BUYS, lambda w: w.terms())),
    *_rows("POST", M + "/deposits", "buy", ("draft", BUYS, lambda _: {"amount": 5, "reference": "by transfer"})),
    *_rows("GET", M + "/deposits", "read", ("draft", READERS), ("settled", READERS)),
    *_rows("POST", M + "/deposits/{number}/confirmation", "deposits", ("settled", MAKES, None, _deposit)),
    *_rows("POST", M + "/opening", "buy", ("ready", BUYS, None, _ready)),
    *_rows(
        "POST", M + "/cancellation", "cancel",
        ("ready", "201 201 404 403 403 403 403", lambda _: {"reason": "no need"}, _ready),
    ),
    *_rows("GET", M + "/result", "read", ("draft", READERS), ("bidding", ALL), ("settled", ALL)),
    *_rows("GET", M + "/purchase", "purchase read", ("disputed", "403 200 404 403 403 403 403")),
    *_rows("GET", M + "/doubts", "doubts", ("disputed", OPERATOR)),
    *_rows("POST", M + "/doubts/{number}/decision", "doubts", ("disputed", MAKES, _DECISION, _DECIDED)),
    *_rows(
        "POST", M + "/disputes", "dispute",
        ("disputed", "403 201 404 201 404 403 403", _DISPUTE),
        ("draft", "403 409 404 404 404 403 403", _DISPUTE),
    ),
    # ---- the owner's side
    *_rows(
        "POST", M + "/enrolment", "enrol",
        ("enrolling", "403 403 403 201 409 403 403", _said("enrolling", "enrolment")),
        ("draft", "403 403 403 404 404 403 403", _said("enrolling", "enrolment")),
    ),
    *_rows("GET", M + "/enrolment", "enrol", ("enrolling", OWNS), ("draft", OWNS.replace("200", "404"))),
    *_rows("GET", M + "/valuation", "enrol", ("enrolling", OWNS), ("draft", OWNS.replace("200", "404"))),
    *_rows(
        "POST", M + "/bids", "bid",
        ("bidding", TAKES, _said("bidding", "bids")),
        ("draft", TAKES.replace("201", "404"), _said("bidding", "bids")),
    ),
    *_rows("GET", M + "/bids", "bid", ("bidding", OWNS), ("draft", OWNS.replace("200", "404"))),
    *_rows(
        "POST", M + "/withdrawals", "bid",
        ("bidding", TAKES, _withdrawal("bidding")),
        ("draft", TAKES.replace("201", "404"), _withdrawal("bidding")),
    ),
    *_rows("GET", M + "/inclusion", "bid", ("closed", OWNS), ("bidding", OWNS.replace("200", "404"))),
    *_rows(
        "POST", M + "/delivery", "deliver",
        ("disputed", TAKES, _said("disputed", "delivery")),
        ("draft", TAKES.replace("201", "404"), _said("disputed", "delivery")),
    ),
    # ---- records
    *_rows("GET", M + "/log", "read", ("draft", READERS), ("bidding", ALL)),
    *_rows("GET", M + "/board", "read", ("draft", READERS), ("bidding", ALL)),
    *_rows("GET", M + "/closed", "trustee read", ("closed", "403 403 403 403 403 403 200")),
    *_rows("GET", M + "/closed", "trustee read", ("draft", "403 403 403 403 403 403 404")),
    *_rows(
        "POST", M + "/board/{stage}/{trustee}", "trustee",
        *[
            (state, "403 403 403 403 403 403 201", _said(state, f"board/{stage}/1"), lambda _, stage=stage: {
                "stage": stage, "trustee": "1"
            })
            for state, stage in [
                ("enrolling", "commit"), ("enrolling", "shares"), ("enrolling", "confirm"), ("closed", "opening")
            ]
        ],
        (
            "draft", "403 403 403 403 403 403 404", _said("enrolling", "board/commit/1"),
            lambda _: {"stage": "commit", "trustee": "1"},
        ),
    ),
    *_rows(
        "GET", M + "/bundle", "read",
        ("settled", ALL), ("closed", ALL),
        ("draft", "409 409 404 404 404 404 404"), ("bidding", " ".join(["409"] * 7)),
    ),
    *_rows(
        "GET", M + "/bundle?kind=auditor", "audit read",
        ("settled", "403 403 403 403 403 200 403"),
        ("closed", "403 403 403 403 403 409 403"),
        ("draft", "403 403 403 403 403 404 403"),
    ),
]  # fmt: skip

HEALTH = ("/livez", "/readyz", "/metrics")
"""Anybody may ask these, with or without a token."""
