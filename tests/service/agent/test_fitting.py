"""Data, prices and terms are looked at on the owner's machine, and errors name the row and the value."""

from decimal import Decimal

import pytest

from kantor.errors import EvidenceError, InputError
from kantor.service.agent.fitting import ask_of, check_unit, decimal, distance_of, fitting_data, terms_of
from kantor.service.agent.home import Home
from kantor.service.terms import Terms

PLAIN = {
    "title": "Loads",
    "rule": {"mechanism": "exogenous", "limit": 500, "prior": "uniform:10:90"},
    "valuation": {"way": "declared"},
    "data": {"what": "kWh a day", "records": 3, "low": "0", "high": "20"},
    "privacy": {"epsilon_low": "0.5", "epsilon_high": "8"},
    "trustees": {"threshold": 1, "members": [{"name": "Uni", "signing": "1" * 64, "receiving": "2" * 64}]},
    "schedule": {"enrol_until": "2026-11-20T12:00:00Z", "bid_until": "2026-11-21T12:00:00Z"},
}
TERMS = Terms.model_validate(PLAIN)


@pytest.fixture
def home(tmp_path):
    def make(*rows, unit="record"):
        file = tmp_path / "meter.csv"
        file.write_text("\n".join(["kwh", *map(str, rows)]) + "\n")
        token = "kantor_a_b"  # noqa: S105  nobody's
        return Home.make(
            tmp_path / "home", server="http://there", token=token, data=file, epsilon=5.0, delta=0.0, unit=unit
        )

    return make


def test_data_that_fit(home):
    assert fitting_data(home(1, 2, 20), TERMS).tolist() == [1.0, 2.0, 20.0]


def test_a_value_outside_is_told_with_its_row(home):
    said = r"meter\.csv, row 3, column kwh: the value is 20\.5, outside the market's limits 0 to 20 \(and 1 more\)"
    with pytest.raises(InputError, match=said):
        fitting_data(home(1, 20.5, -1), TERMS)


def test_another_length_says_what_is_wanted(home):
    with pytest.raises(InputError, match=r"has 2 values, and this market asks for 3\. It wants: kWh a day"):
        fitting_data(home(1, 2), TERMS)


def test_a_balance_that_counts_something_else(home):
    with pytest.raises(InputError, match="hides any one value, and your balance counts losses of the whole series"):
        check_unit(home(1, 2, 3, unit="series"), TERMS)


@pytest.mark.parametrize("price", [9, 101])
def test_prices_that_cannot_win(price):
    with pytest.raises(InputError, match=r"prices from EUR 0\.10 to EUR 1\.00 possible"):
        ask_of(TERMS, price, "1")


@pytest.mark.parametrize(("epsilon", "said"), [("0.4", "from 0.5 to 8"), ("9", "from 0.5 to 8"), ("x", "is no number")])
def test_epsilons_that_are_not_allowed(epsilon, said):
    with pytest.raises(InputError, match=said):
        ask_of(TERMS, 50, epsilon)
    with pytest.raises(InputError, match="more than 9 digits"):
        ask_of(TERMS, 50, "1.0000000001")


@pytest.mark.parametrize(("written", "said"), [("2", "2"), ("2.50", "2.5"), ("1e0", "1"), (" 8 ", "8")])
def test_an_epsilon_has_one_written_form(written, said):
    assert ask_of(TERMS, 50, written).epsilon == said


def test_declared_distances():
    assert distance_of(TERMS, None, "1.25") == "1.250000"
    for stated in (None, "-1", "nan", "inf", "far", "1e13"):
        with pytest.raises(InputError):
            distance_of(TERMS, None, stated)
    assert decimal("1.50", "--distance") == Decimal("1.5")


def test_terms_that_are_not_those_of_their_digest():
    found = {"terms": TERMS.plain, "terms_digest": TERMS.digest}
    assert terms_of(found).digest == TERMS.digest
    with pytest.raises(EvidenceError, match="not those of their digest"):
        terms_of({**found, "terms_digest": "0" * 64})
    with pytest.raises(EvidenceError, match=r"cannot be read \(1 faults\)"):
        terms_of({**found, "terms": {**TERMS.plain, "new": 1}})


@pytest.mark.parametrize("prior", ["answers:/etc/passwd", " answers : notes.csv"])
def test_terms_that_would_read_a_file_here_are_refused_unread(prior):
    plain = {**TERMS.plain, "rule": {**TERMS.plain["rule"], "prior": prior}}
    with pytest.raises(EvidenceError, match="names a file to read on your machine"):
        terms_of({"terms": plain, "terms_digest": "0" * 64})
