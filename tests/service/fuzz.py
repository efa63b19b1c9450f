"""Requests by the thousand against a town with a market in every state, each answer held against the OpenAPI.

Schemathesis makes requests from the interface's own description, good ones and bad ones. Alone they would find nothing
but `there is no market`, so most are moved to where something is: real markets and numbers in the path, the token of
somebody who is known, a body that an agent has sent with one part changed. Each operation is also asked rightly, so the
report can say which were reached. Nothing may be answered with 5xx, every answer has the form and the content type that
the description gives, and every refusal is a problem that says what to do.

    PYTHONPATH=tests python -m service.fuzz 10000 [seed] [sqlite|postgresql]
"""

from __future__ import annotations

import copy
import json
import sys
import tempfile
import uuid
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import hypothesis
import requests
import schemathesis
import structlog
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core import NOT_SET
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from service.databases import database
from service.http.rows import ROLES, ROWS, Row
from service.http.world import World
from service.town import town

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
OWN_DRAFT = ("/terms", "/opening", "/cancellation")
"""What would use a market up: asked about drafts only."""

ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=30), st.just("\x00"), st.just("\ud800"),
    st.just("9" * 400), st.integers(10**17, 10**40), st.lists(st.integers(), max_size=3), st.just({}),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
    st.sampled_from([
        "answers:server.key", "answers:/etc/hostname", "studentized_range:3:10", "uniform:0:0", "uniform:nan",
        '{"name":"mixture","parts":[5],"weights":[1]}', "point:1e300", "lognorm:0.5:0:100", "9999-12-31T23:59:59-23:59",
        "0001-01-01T00:00:00+23:59", "2030-01-01", "1e400", "NaN", "private", "0.000001", "-1", "threshold", "interim",
    ]),
)  # fmt: skip


class Fuzz:
    """Counts what was asked and answered. `faults` is empty if all is well."""

    def __init__(self, world: World, seed: int = 0) -> None:
        self.world, self.seed = world, seed
        self.session = requests.Session()
        self.session.trust_env = False
        self.answers: dict[str, Counter[int]] = defaultdict(Counter)
        self.faults: dict[str, str] = {}
        self.schema = schemathesis.openapi.from_dict(self._get("/openapi.json"))
        self.rows: dict[str, list[Row]] = defaultdict(list)
        for row in ROWS:
            self.rows[f"{row.method} {row.path.partition('?')[0]}"].append(row)

    def run(self, count: int) -> None:
        """Ask at least so many times in all, about as often about each operation."""
        operations = [found.ok() for found in self.schema.get_all_operations()]
        while self.requests < count and not self.faults:
            each = -(-(count - self.requests) // len(operations))
            for operation in operations:
                if self.world.town.operator.market(self.world.markets["draft"])["state"] != "draft":
                    self.world.markets["draft"] = self.world.ready()
                self._run_one(operation, each)
            self.seed += 1

    @property
    def requests(self) -> int:
        """How many were sent."""
        return sum(sum(found.values()) for found in self.answers.values())

    @property
    def reached(self) -> list[str]:
        """Operations that were answered with 2xx."""
        return [name for name, found in self.answers.items() if any(200 <= status < 300 for status in found)]

    def report(self) -> str:
        """All of it, for a person."""
        lines = [f"{name:62} {dict(sorted(found.items()))}" for name, found in sorted(self.answers.items())]
        lines += [f"FAULT {name}: {text}" for name, text in self.faults.items()]
        return "\n".join([*lines, f"{self.requests} requests, {len(self.reached)} of {len(self.answers)} operations"])

    # ---- one operation

    def _run_one(self, operation: Any, count: int) -> None:
        good = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
        takes = list(operation.iter_parameters())
        bad = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE) if takes else good
        kinds = ["right", "near", "near", "near", "placed", "made", "made"]

        @hypothesis.seed(self.seed)
        @hypothesis.settings(
            max_examples=count, database=None, deadline=None, suppress_health_check=list(hypothesis.HealthCheck),
            phases=[hypothesis.Phase.generate], print_blob=False,
        )  # fmt: skip
        @hypothesis.given(st.data(), st.one_of(good, good, bad), st.sampled_from(kinds))
        def one(data: st.DataObject, case: Any, kind: str) -> None:
            rows = [row for row in self.rows[operation.label] if row.allowed]
            row = data.draw(st.sampled_from(rows)) if rows else None
            role, state, body = data.draw(st.sampled_from(ROLES)), "disputed", None
            if kind != "made" and row is not None:
                state = self._move(case, data, row, kind)
                if kind != "placed":
                    role, body = data.draw(st.sampled_from(row.allowed)), self._body(data, row, kind)
            self._ask(case, self._token(role, state), body, kind == "right" or data.draw(st.booleans()))

        try:
            one()
        except BaseException as fault:
            if isinstance(fault, KeyboardInterrupt):
                raise
            self.faults[operation.label] = f"{type(fault).__name__}: {fault}"

    def _move(self, case: Any, data: st.DataObject, row: Row, kind: str) -> str:
        """Take a request to where something is; returns the state of that market."""
        fill = {} if kind == "placed" else (row.fill(self.world) if row.fill else {})
        states = ["draft"] if row.path.endswith(OWN_DRAFT) else list(self.world.markets)
        state = data.draw(st.sampled_from(states)) if kind == "placed" else row.state
        for name in case.path_parameters or {}:
            if name in fill or name == "market":
                case.path_parameters[name] = fill.get(name) or self.world.markets.get(state, "0")
        if kind == "right":
            case.query = dict(part.split("=") for part in row.path.partition("?")[2].split("&") if part)
        return state

    def _body(self, data: st.DataObject, row: Row, kind: str) -> str | None:
        """What an agent has sent, or nearly that; nothing where nothing is sent."""
        if row.body is None:
            return None
        body = copy.deepcopy(row.body(self.world))
        return json.dumps(body if kind == "right" else _changed(body, data))

    def _ask(self, case: Any, token: str, body: str | None, fresh: bool) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        if fresh and case.method == "POST":
            headers["Idempotency-Key"] = str(uuid.uuid4())
        more: dict[str, Any] = {"session": self.session, "allow_redirects": False}
        if body is not None:
            case.body, more["data"], headers["Content-Type"] = NOT_SET, body, "application/json"
        answer = case.call(base_url=self.world.town.url, headers=headers, **more)
        self.answers[case.operation.label][answer.status_code] += 1
        case.validate_response(answer, checks=CHECKS)
        check_problem(answer)

    def _token(self, role: str, state: str) -> str:
        whose = self.world.person(role, state if state in self.world.markets else "disputed")
        return str(whose._http.headers["Authorization"]).removeprefix("Bearer ")

    def _get(self, path: str) -> Any:
        return self.session.get(self.world.town.url + path, timeout=30).json()


def check_problem(answer: Any) -> None:
    """Whether a refusal says what it is, in the form that was promised."""
    if answer.status_code < 400:
        return
    if answer.headers["content-type"] != ["application/problem+json"]:
        raise AssertionError(f"{answer.status_code} comes as {answer.headers['content-type']}")
    said = answer.json()
    if said["status"] != answer.status_code or not said["type"].startswith("urn:kantor:"):
        raise AssertionError(f"this is another problem: {said}")
    if not (said["title"] and said["detail"]):
        raise AssertionError(f"it does not say what to do: {said}")


def _changed(body: Any, data: st.DataObject) -> Any:
    """The body with one part, somewhere in it, replaced, left out or added."""
    if not isinstance(body, dict | list) or not body or data.draw(st.integers(0, 9)) == 0:
        return data.draw(ODD)
    names = list(body) if isinstance(body, dict) else list(range(len(body)))
    name = data.draw(st.sampled_from(names))
    how = data.draw(st.integers(0, 9))
    if how == 0:
        del body[name]
    elif how == 1 and isinstance(body, dict):
        body[data.draw(st.text(max_size=10))] = data.draw(ODD)
    else:
        body[name] = _changed(body[name], data)
    return body


def main(count: int, seed: int, kind: str) -> int:
    """Run it, and say what was found."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    with tempfile.TemporaryDirectory() as folder, town(Path(folder), database(kind, Path(folder))) as place:
        fuzz = Fuzz(World(place), seed)
        fuzz.run(count)
    sys.stdout.write(fuzz.report() + "\n")
    return 1 if fuzz.faults or len(fuzz.reached) < len(fuzz.answers) else 0


if __name__ == "__main__":
    given = [*sys.argv[1:], *["10000", "0", "sqlite"][len(sys.argv) - 1 :]]
    sys.exit(main(int(given[0]), int(given[1]), given[2]))
