"""Some hundreds of requests, good and bad, against the description of the interface; see `fuzz.py` for thousands."""

import pytest
from fastapi.responses import JSONResponse

from kantor.service import delivering
from kantor.service.http.problems import Problem
from service.fuzz import Fuzz

pytestmark = pytest.mark.slow


def only(fuzz, *labels, count=12):
    """Run a few operations alone."""
    for found in fuzz.schema.get_all_operations():
        if found.ok().label in labels:
            fuzz._run_one(found.ok(), count)
    return fuzz


def test_every_answer_is_as_described_and_every_operation_is_reached(world):
    fuzz = Fuzz(world)
    fuzz.run(500)
    assert fuzz.faults == {}, fuzz.report()
    assert sorted(fuzz.reached) == sorted(fuzz.answers)
    assert len(fuzz.answers) == sum(len(methods) for methods in fuzz.schema.raw_schema["paths"].values())
    assert fuzz.requests >= 500


def test_the_same_seed_asks_the_same(world):
    first, again, other = (
        only(Fuzz(world, seed), "POST /v1/accounts", count=40).answers["POST /v1/accounts"] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_a_failure_of_the_service_is_found(world, monkeypatch):
    def failing(*_):
        raise KeyError("planted")

    monkeypatch.setattr(delivering, "doubts_of", failing)
    faults = only(Fuzz(world), "GET /v1/markets/{market}/doubts").faults
    assert "Server error" in faults["GET /v1/markets/{market}/doubts"]


def test_a_refusal_in_another_form_is_found(world, monkeypatch):
    monkeypatch.setattr(Problem, "media_type", "application/json")
    assert "Undocumented Content-Type" in only(Fuzz(world), "GET /v1/accounts").faults["GET /v1/accounts"]
    monkeypatch.undo()
    monkeypatch.setattr(Problem, "render", lambda self, _: JSONResponse.render(self, {"detail": "no"}))
    assert "required property" in only(Fuzz(world), "GET /v1/accounts").faults["GET /v1/accounts"]


def test_an_answer_of_another_shape_is_found(world):
    fuzz = Fuzz(world)
    described = fuzz.schema.raw_schema["components"]["schemas"]
    described["Me"]["properties"]["role"] = {"type": "integer"}
    assert "integer" in only(fuzz, "GET /v1/me").faults["GET /v1/me"]


def test_an_operation_that_is_never_answered_well_is_seen(world):
    fuzz = Fuzz(world)
    fuzz.rows.clear()
    only(fuzz, "GET /v1/markets/{market}/purchase")
    assert fuzz.answers
    assert fuzz.reached == []
