"""What it would take to be bought: tried by bidding it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import kantor as kt
from kantor.errors import InputError
from markets import CONFIDENCE, MARKETS

DESIGNS = [
    (kt.Joint(reference_loss=2.0), "threshold"),
    (kt.Exogenous(budget=0.5), "threshold"),
    (kt.Endogenous(reference_loss=1.6), "threshold"),
    pytest.param(kt.Exogenous(budget=0.5, feasibility="interim"), "threshold", marks=pytest.mark.slow),
    (kt.Joint(reference_loss=2.0), "virtual"),
    (kt.Exogenous(budget=0.9), "clock"),
]


def market(seed: int) -> kt.Bids:
    rng = np.random.default_rng(seed)
    return kt.Bids(distance=rng.uniform(0.3, 3, 6), reserve=0.3 * rng.random(6), prior=scipy.stats.uniform(0, 0.3))


@pytest.mark.parametrize(("mechanism", "payments"), DESIGNS, ids=lambda part: str(getattr(part, "kind", part)))
def test_just_below_is_bought_and_just_above_is_not(mechanism, payments):
    tried = 0
    for seed in range(1 if getattr(mechanism, "feasibility", "") == "interim" else 3):
        bids = market(seed)
        c = kt.clear(bids, mechanism, payments=payments)
        for place, name in enumerate(bids.owner):
            needed = kt.what_it_takes(c, name)
            assert needed.selected == c.selected[place]
            tried += _edges(bids, mechanism, payments, place, needed)
    assert tried >= 6


def _edges(bids, mechanism, payments, place, needed) -> int:
    """Bid on both sides of what is said, and count the sides that are possible bids."""

    def bought(**report) -> bool:
        changed = kt.clear(bids.with_report(place, **report), mechanism, payments=payments)
        return bool(changed.selected[place])

    tried = 0
    if needed.price is None:
        assert not bought(reserve=0.0)
    else:
        assert bought(reserve=max(0.0, needed.price * (1 - 1e-5)))
        if 0 < needed.price * (1 + 1e-5) <= 0.3:
            assert not bought(reserve=needed.price * (1 + 1e-5))
            tried += 1
    if needed.reach is not None:
        assert bought(distance=needed.reach * (1 - 1e-5))
        tried += 1
    return tried


def test_the_critical_prices_of_hand_solved_markets():
    for solved in MARKETS:
        options = {"confidence": CONFIDENCE, "population": solved.population, "population_size": solved.population_size}
        c = kt.clear(solved.bids, solved.mechanism, **options)
        for place, paid in solved.paid.items():
            assert kt.what_it_takes(c, solved.bids.name(place)).price == pytest.approx(paid, abs=1e-9)


def test_it_says_so_in_words():
    c = kt.clear(market(0), kt.Exogenous(budget=0.2))
    said = {str(kt.what_it_takes(c, name)) for name in c.bids.owner}
    assert any("it is bought" in text for text in said)
    assert any("is not bought" in text for text in said)


def test_an_unknown_owner_is_named():
    with pytest.raises(InputError, match="nobody"):
        kt.what_it_takes(kt.clear(market(0), kt.Exogenous(budget=0.2)), "nobody")
