"""The ledger: debits equal credits, no key twice, no account below nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kantor.delivery.ledger import Book, Transfer, deposit, hold, pay, refund, unhold
from kantor.errors import EvidenceError

AMOUNTS = st.lists(st.integers(0, 100), min_size=1, max_size=6)


@given(AMOUNTS, st.lists(st.booleans(), min_size=6, max_size=6))
def test_a_market_from_deposit_to_refund(payments, delivered):
    moves = [deposit("1", 600)]
    moves += [hold(str(owner), amount) for owner, amount in enumerate(payments)]
    moves += [(pay if delivered[at] else unhold)(str(at), amount) for at, amount in enumerate(payments)]
    book = Book.of(moves)
    assert not book.settled
    paid = sum(amount for at, amount in enumerate(payments) if delivered[at])
    book.add(refund(600 - paid))
    assert book.settled
    assert sum(book.balances.values()) == 0
    assert book.balances["outside"] == -paid


@given(AMOUNTS)
def test_nothing_is_booked_twice_or_without_cover(payments):
    book = Book.of([deposit("1", sum(payments))])
    for owner, amount in enumerate(payments):
        book.add(hold(str(owner), amount))
        with pytest.raises(EvidenceError, match="already"):
            book.add(hold(str(owner), amount))
        with pytest.raises(EvidenceError, match="takes"):
            book.add(pay(str(owner), amount + 1))
    before = dict(book.balances)
    with pytest.raises(EvidenceError, match="takes"):
        book.add(hold("late", 1))
    assert dict(book.balances) == before


def test_what_does_not_add_up_is_no_transfer():
    for postings in ({"deposit": 3, "outside": -2}, {}):
        with pytest.raises(EvidenceError, match="add up"):
            Transfer("x", postings)
    with pytest.raises(EvidenceError, match="not negative"):
        deposit("1", -1)
