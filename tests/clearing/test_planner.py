"""The frontier: one clearing for each value, the point where buying nothing wins, and a figure."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
import scipy.stats

import kantor as kt
from kantor.errors import InputError
from markets import CONFIDENCE, MARKETS


def market(seed: int = 0, count: int = 30) -> kt.Bids:
    rng = np.random.default_rng(seed)
    distance, reserve = rng.uniform(0.3, 3, count), rng.random(count)
    return kt.Bids(distance=distance, reserve=reserve, prior=scipy.stats.uniform(0, 1))


def test_every_point_is_the_clearing_at_its_value():
    bids = market()
    found = kt.plan(bids, kt.Exogenous(budget=1.0), values=[0.5, 1.0, 2.0], payments="virtual")
    for place, budget in enumerate([0.5, 1.0, 2.0]):
        c = kt.clear(bids, kt.Exogenous(budget=budget), payments="virtual")
        assert (found.size[place], found.spend[place], found.bound[place]) == (c.size, c.spend, c.bound)
    assert found.to_frame().columns == ["budget", "size", "spend", "bound", "objective", "gap"]


@pytest.mark.parametrize("mechanism", [kt.Exogenous(budget=1.0), kt.Endogenous(reference_loss=1.0)])
def test_more_money_never_buys_worse_data(mechanism):
    found = kt.plan(market(), mechanism, values=12, payments="virtual")
    bought = found.size > 0
    assert found.values[0] == 0
    assert np.all(np.diff(found.bound[bought]) <= 1e-12)
    assert found.size[-1] == 30  # until more buys no more


def test_buying_nothing_wins_up_to_the_cheapest_owner():
    """An exogenous budget buys something as soon as it pays for the cheapest owner."""
    bids = market()
    found = kt.plan(bids, kt.Exogenous(budget=1.0), values=8)
    assert found.nothing == pytest.approx(bids.virtual.min(), rel=1e-3)
    assert "buying nothing" in found.said_of_nothing


def test_the_switch_of_a_hand_solved_market():
    """Of "one owner" (V = 1, virtual cost 0.5): it is bought from a reference loss of 1.5 on."""
    solved = next(market for market in MARKETS if market.name == "one owner")
    found = kt.plan(
        solved.bids, solved.mechanism, values=[0.5, 1.0, 2.0, 3.0], confidence=CONFIDENCE, population="infinite"
    )
    assert found.nothing == pytest.approx(1.5, rel=1e-3)
    assert found.size.tolist() == [0, 0, 1, 1]


def test_confidence_can_be_swept():
    found = kt.plan(market(), kt.Joint(reference_loss=0.9), sweep="confidence", values=6)
    assert found.to_frame().columns[0] == "confidence"
    bought = found.size > 0
    assert np.all(np.diff(found.objective[bought]) >= -1e-12)


def test_progress_is_told():
    steps = []
    kt.plan(market(), kt.Exogenous(budget=1.0), values=4, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize("mechanism", [kt.Exogenous(budget=1.0), kt.Joint(reference_loss=2.0)])
def test_the_figure_is_drawn(mechanism, tmp_path):
    found = kt.plan(market(), mechanism, values=5)
    found.draw(tmp_path / "plan.png")
    assert (tmp_path / "plan.png").stat().st_size > 10_000
    assert "<table" in found._repr_html_()


def test_plain_data_has_no_infinity():
    found = kt.plan(market(), kt.Exogenous(budget=1.0), values=[0.0, 1.0])
    assert found.bound[0] == inf
    assert found.as_dict()["points"][0]["bound"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sweep": "reference_loss"}, "exogenous has no reference_loss"),
        ({"sweep": "colour"}, "'colour' is not known"),
        ({"values": 1}, "1 values"),
        ({"values": [-1.0]}, "values is"),
        ({"values": []}, "values is"),
    ],
)
def test_mistakes_are_named(options, message):
    with pytest.raises(InputError, match=message):
        kt.plan(market(), kt.Exogenous(budget=1.0), **options)
    with pytest.raises(InputError, match="mechanism is"):
        kt.plan(market(), "joint")
