"""Terms in plain words: what is said follows the terms."""

import pytest

from kantor.service.agent.plain_words import leaving, never_leaving, truth_is_best, words_of
from kantor.service.terms import Terms

ABOUT = {
    "now": "2026-11-20T12:00:00.000000Z",
    "enrol_until": "2026-11-21T12:00:00.000000Z",
    "bid_until": "2026-11-22T12:00:00.000000Z",
    "deliver_until": None,
    "settle_at": None,
}


def terms(**changed):
    plain = {
        "title": "Loads",
        "rule": {"mechanism": "exogenous", "limit": 500, "prior": "uniform:0:100"},
        "valuation": {"way": "declared"},
        "data": {"what": "kWh a day", "records": 60, "low": "0", "high": "20"},
        "privacy": {},
        "trustees": {"threshold": 1, "members": [{"name": "Uni", "signing": "1" * 64, "receiving": "2" * 64}]},
        "schedule": {"enrol_until": ABOUT["enrol_until"], "bid_until": ABOUT["bid_until"]},
        "delivery": {},
    }
    return Terms.model_validate(
        {name: {**part, **changed[name]} if name in changed else part for name, part in plain.items()}
    )


def said(found, about=ABOUT):
    return "\n".join(
        line if isinstance(line, str) else ": ".join(line)
        for section in words_of(found, about)
        for line in section.lines
    )


@pytest.mark.parametrize(("payments", "honest"), [("clock", True), ("threshold", True), ("virtual", False)])
def test_whether_honesty_pays_is_said_as_it_is(payments, honest):
    found = terms(rule={"payments": payments})
    assert truth_is_best(found) is honest
    assert ("NOT best here" in said(found)) is not honest
    assert ("that is best for you here" in said(found)) is honest


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        ("exogenous", "the best data that EUR 5.00 can pay for"),
        ("endogenous", "better than buying nothing, which costs it EUR 5.00"),
        ("joint", "its loss and its payments together are least"),
    ],
)
def test_each_mechanism_has_its_words(mechanism, words):
    assert words in said(terms(rule={"mechanism": mechanism}))


@pytest.mark.parametrize(
    ("way", "more", "words"),
    [
        ("declared", {}, "nobody can check it"),
        ("public", {"target": ["1", "2"]}, "which is published with the terms"),
        ("private", {"method": {"method": "histogram", "low": "0", "high": "20"}}, "two together could put your data"),
    ],
)
def test_each_way_of_valuation_says_who_learns_what(way, more, words):
    found = terms(valuation={"way": way, **more})
    assert words in said(found)
    steps = dict(leaving(found, "1.500000"))
    assert ("To be valued" in steps) is (way == "private")
    assert ("1.500000" in steps["When you enrol"]) is (way != "private")
    assert "your data as they are" in never_leaving()


def test_singles_and_aggregates_are_told_apart():
    assert "and no winner's own series" in said(terms())
    alone = said(terms(delivery={"individual": True, "aggregate": "euclidean"}))
    assert "each winner's own noised series" in alone
    assert "the mean of the winners' noised series" in alone


def test_times_once_they_are_fixed():
    assert "within 7 days of the clearing" in said(terms())
    about = {**ABOUT, "deliver_until": "2026-11-23T12:00:00.000000Z", "settle_at": "2026-11-24T12:00:00.000000Z"}
    assert "Delivery ends: Mon 23 Nov 2026" in said(terms(), about)
    assert "in 4 days" in said(terms(), about)
