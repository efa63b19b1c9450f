"""Terms as strangers write them: what could be computed with is taken, what could hang or pry is refused at once."""

import copy
import json
import time

import pytest
from pydantic import ValidationError

from kantor.service.beliefs import FAMILIES
from kantor.service.funds import funds_needed
from kantor.service.http.drafts import EXAMPLE, TermsIn
from kantor.service.terms import Terms


def draft(**rule):
    terms = copy.deepcopy(EXAMPLE)
    terms["rule"].update(rule)
    return terms


def refusal(terms):
    with pytest.raises(ValidationError) as refused:
        TermsIn.model_validate(terms)
    return str(refused.value.errors()[0]["msg"])


def test_the_example_of_the_description_is_right():
    found = TermsIn.model_validate(EXAMPLE)
    assert funds_needed(found).amount == EXAMPLE["rule"]["limit"]
    assert found.digest == Terms.model_validate(EXAMPLE).digest


@pytest.mark.parametrize("name", ["answers:/etc/hostname", "answers:prices.csv", " answers : market.csv"])
def test_no_file_of_the_server_is_read(name, tmp_path, monkeypatch):
    (tmp_path / "prices.csv").write_text("price\n7391\n7392\n")
    monkeypatch.chdir(tmp_path)
    told = refusal(draft(prior=name))
    assert "files are not read here" in told
    assert "7391" not in told


@pytest.mark.parametrize(
    "prior",
    [
        "studentized_range:3:10", " studentized_range :3:10", "levy_stable:1.5:0", "norm:0:1", "os.system", "",
        '{"name": "studentized_range", "parameters": [3, 10]}', '  {"n\\u0061me": "ksone", "parameters": [5]}',
        json.dumps({"name": "mixture", "parts": [{"name": "ksone", "parameters": [5]}], "weights": [1]}),
        json.dumps({"parts": [{"parts": [{"name": ["ksone"]}]}], "name": "mixture"}),
    ],
)  # fmt: skip
def test_a_family_that_computes_for_long_is_not_begun_with(prior):
    begun = time.process_time()
    refusal(draft(prior=prior))
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    "prior",
    ["uniform:0:100", "answers:4:7:9", "point:5", "lognorm:0.5:0:100", '{"name": "uniform", "parameters": [0, 9]}',
     json.dumps({"name": "mixture", "parts": [{"name": "expon", "parameters": []}], "weights": [1]})],
)  # fmt: skip
def test_what_is_quick_is_taken(prior):
    assert TermsIn.model_validate(draft(prior=prior)).rule.prior == prior
    assert "mixture" in FAMILIES


@pytest.mark.parametrize(
    "prior",
    [
        "{", "{}", "{" * 200, '{"name": {"a": 1}}', '{"name": "mixture"}', "answers", "answers:", "point", ":",
        "::", "uniform:",
        '{"name":"mixture","parts":[5],"weights":[1]}', '{"name":"mixture","parts":["ab"],"weights":[1]}',
        '{"name":"mixture","parts":[{}],"weights":[]}', '{"name":"uniform","parameters":[[]]}', "uniform:0:1:2:3",
        "uniform:0:-1", "uniform:1e400", "uniform:nan:1", "beta:0:0", "x" * 201,
    ],
)  # fmt: skip
def test_a_prior_that_is_none_is_refused(prior):
    refusal(draft(prior=prior))


@pytest.mark.parametrize("rule", [None, 5, [], {"prior": 5}, {"prior": None}, {}])
def test_a_rule_that_is_none_is_refused(rule):
    refusal({**EXAMPLE, "rule": rule})
    for whole in (None, 5, [], "terms"):
        refusal(whole)


@pytest.mark.parametrize(
    ("name", "moment", "why"),
    [
        ("bid_until", "9999-12-31T23:59:59-23:59", "beyond"),
        ("enrol_until", "0001-01-01T00:00:00+23:59", "beyond"),
        ("enrol_until", "0999-01-01T00:00:00Z", "years"),  # it would be written with three digits, and sort wrongly
        ("bid_until", "9500-01-01T00:00:00Z", "years"),
        ("enrol_until", "2030-01-01T00:00:00", "zone"),
        ("bid_until", "2029-01-01T00:00:00Z", "before bidding"),
    ],
)
def test_a_time_that_cannot_be_written_down_is_refused(name, moment, why):
    schedule = {"enrol_until": "2030-01-01T00:00:00Z", "bid_until": "2040-01-01T00:00:00Z"}
    assert TermsIn.model_validate({**EXAMPLE, "schedule": schedule})
    assert why in refusal({**EXAMPLE, "schedule": {**schedule, name: moment}})


@pytest.mark.parametrize("same", ["name", "signing", "receiving"])
def test_trustees_who_are_one_are_refused_before_the_market_opens(same):
    one = EXAMPLE["trustees"]["members"][0]
    other = {"name": "Another", "signing": "ab" * 32, "receiving": "cd" * 32, same: one[same]}
    refusal({**EXAMPLE, "trustees": {"threshold": 1, "members": [one, other]}})


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e400", "1e-400", "x", "", None, [], True, "9" * 31])
def test_numbers_that_are_none_are_refused(number):
    for part, name in (("data", "low"), ("privacy", "epsilon_low"), ("rule", "lipschitz"), ("rule", "confidence")):
        terms = copy.deepcopy(EXAMPLE)
        terms[part][name] = number
        try:
            TermsIn.model_validate(terms)
        except ValidationError:
            continue
        assert number is True  # taken for 1
