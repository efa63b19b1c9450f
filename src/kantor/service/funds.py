"""How much a buyer has to pay in before a market opens.

With `clock` payments the budget is enough: they never exceed it. Threshold payments keep the budget on average only,
and in the worst case each of the owners is paid the highest price at which anybody can be bought: no price above the
prior's upper end, and none whose virtual cost is above the limit, can win. With payments as printed (`virtual`) their
sum is within the limit. A market that promised less than its worst case could owe what it does not have.
"""

from __future__ import annotations

from math import floor, inf
from typing import NamedTuple

from kantor.errors import InputError
from kantor.service.terms import Terms

__all__ = ["Funds", "funds_needed"]


class Funds(NamedTuple):
    """The deposit, in minor units, and why it is that."""

    amount: int
    why: str


def funds_needed(terms: Terms) -> Funds:
    """What covers every outcome that these terms allow."""
    rule, money = terms.rule, terms.money
    if rule.payments == "clock":
        return Funds(rule.limit, f"The descending clock never pays more than {money.show(rule.limit)} in all.")
    if rule.payments == "virtual":
        return Funds(rule.limit, f"Virtual costs add up to at most {money.show(rule.limit)}.")
    price = _dearest(terms)
    amount = price * terms.most_owners
    return Funds(
        amount,
        f"Threshold payments keep {money.show(rule.limit)} on average, not always. No winner is paid more than "
        f"{money.show(price)}, and up to {terms.most_owners} owners may win: {money.show(amount)} covers every case. "
        "Admit fewer owners to lower it, or pay by clock, which needs the budget alone.",
    )


def _dearest(terms: Terms) -> int:
    """The highest whole price at which anybody can be bought."""
    import numpy as np

    from kantor.bids.priors import Priors

    priors = Priors.of(terms.rule.prior_distribution(), 1)
    limit = float(terms.rule.limit) * (1 + 1e-9) if terms.rule.feasibility == "pointwise" else inf
    highest = float(priors.inverse(np.array([limit]), np.array([0]))[0])
    if highest == inf:
        raise InputError(
            "no deposit covers threshold payments with an interim budget and a prior without an upper end",
            remedy="Choose a bounded prior, a pointwise budget, or payments by clock.",
            argument="rule",
        )
    return floor(highest + 1e-6)
