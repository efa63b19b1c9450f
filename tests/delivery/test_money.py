"""Amounts as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kantor.delivery.money import Currency
from kantor.errors import InputError


@given(st.integers(0, 10**12), st.integers(0, 6))
def test_what_is_shown_can_be_read(amount, digits):
    currency = Currency("EUR", digits)
    assert currency.parse(currency.show(amount)) == currency.parse(currency.plain(amount)) == amount


@pytest.mark.parametrize("text", ["", "1,50", "1.234", "-3", "1e3", "USD 3", "3 EUR", "1.", "٣", "9" * 16])
def test_what_is_no_amount_is_refused(text):
    with pytest.raises(InputError, match=r"amount|more than"):
        Currency("EUR").parse(text)


@pytest.mark.parametrize(("code", "digits"), [("eur", 2), ("EURO", 2), ("EUR", 7), ("EUR", -1)])
def test_what_is_no_currency_is_refused(code, digits):
    with pytest.raises(InputError, match="currency"):
        Currency(code, digits)


def test_debts_are_shown_with_a_minus():
    assert Currency("EUR").show(-5) == "EUR -0.05"
