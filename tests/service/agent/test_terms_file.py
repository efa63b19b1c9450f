"""A buyer's terms file: what the template begins reads, and each mistake is told with its line and its name."""

import re
from datetime import UTC, datetime

import pytest

from kantor.errors import InputError
from kantor.service.agent.template import template
from kantor.service.agent.terms_file import read_terms_file


def filled(way="private"):
    """The template with trustees' keys in it."""
    text, number = template(way, datetime(2026, 11, 20, 15, 30, tzinfo=UTC)), 0
    while "PASTE" in text:
        text, number = re.sub('"PASTE[^"]*"', f'"{str(number) * 64}"', text, count=1), number + 1
    return text


@pytest.fixture
def read(tmp_path):
    def run(text, name="terms.toml"):
        (tmp_path / name).write_text(text)
        return read_terms_file(tmp_path / name)

    return run


@pytest.mark.parametrize("way", ["private", "public", "declared"])
def test_the_template_is_good_once_its_keys_are_filled_in(read, tmp_path, way):
    (tmp_path / "target.csv").write_text("kwh\n1.5\n2.25\n")
    terms = read(filled(way))
    assert terms.valuation.way == way
    assert terms.rule.limit == 50000
    assert terms.schedule.enrol_until.isoformat() == "2026-11-27T12:00:00+00:00"
    if way == "public":
        assert [float(value) for value in terms.valuation.target] == [1.5, 2.25]


def test_json_reads_too(read):
    import json

    plain = read(filled()).plain
    assert read(json.dumps(plain), "terms.json").plain == plain


MISTAKES = [
    ('limit = "EUR 500.00" ', "limit = 500.00 ", r"line 13, field rule\.limit: the limit is 500\.0: it could mean two"),
    ('limit = "EUR 500.00" ', 'limit = "500" ', r"the limit is '500': it could mean two things\. Write limit = \"EUR"),
    ('limit = "EUR 500.00" ', 'limit = "USD 5" ', "it could mean two things"),
    ('limit = "EUR 500.00" ', "limit = -5 ", r"line 13, field rule\.limit: it is -5, and it should be greater"),
    ('limit = "EUR 500.00" ', "", r"field rule\.limit: it is missing\. rule\.limit: The budget"),
    ('"uniform:0:500"', '"unifrm:0:500"', r"line 17, field rule\.prior: .*uniform"),
    ('"uniform:0:500"', '"answers:/etc/passwd"', r"line 17, field rule\.prior: the prior names a file"),
    ('payments = "clock"', 'payments = "clocks"', r"'clocks', and it should be 'threshold', 'clock' or 'virtual'"),
    ('unit = "record"', 'unit = "recrd"', r"field privacy\.unit: it is 'recrd'"),
    ("title =", "titel =", r"line 4, field titel: there is no such term\. Did you mean title\?"),
    ("records = 365", 'records = "many"', r"field data\.records: it is 'many'"),
    ("high = 40   ", "high = -1   ", r"field data: low has to be below high"),
    ("threshold = 2", "threshold = 3", "more trustees are needed to open bids than there are"),
    ("early = false", "early = perhaps", "it cannot be read"),
    ('method = "histogram"', 'method = "histgram"', "method 'histgram' is not known. Choose one of: histogram"),
    ("[delivery]", "[delivry]", r"field delivry: there is no such term\. Did you mean delivery\?"),
    ("Z\nbid_until", "\nbid_until", "give a time with its zone"),
]


@pytest.mark.parametrize(("good", "bad", "said"), MISTAKES)
def test_mistakes_are_told_with_place_and_remedy(read, good, bad, said):
    text = filled()
    assert good in text
    with pytest.raises(InputError, match=said):
        read(text.replace(good, bad, 1))


def test_a_missing_key_says_where_it_comes_from(read):
    with pytest.raises(
        InputError, match=r"members\[1\]\.signing: this is no trustee's key\. Paste what `kantor trustee"
    ):
        read(template("private"))


def test_other_files_are_refused(read, tmp_path):
    with pytest.raises(InputError, match=r"from \.toml and \.json files"):
        read("a", "terms.yaml")
    with pytest.raises(InputError, match="it cannot be read"):
        read_terms_file(tmp_path / "missing.toml")
    with pytest.raises(InputError, match="there are no terms in it"):
        read("[1]", "terms.json")
    with pytest.raises(InputError, match="there is no such file"):
        read(filled("public"))
