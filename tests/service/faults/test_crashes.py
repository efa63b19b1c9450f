"""kill -9 of every process of a market, at write points and at random moments: `make soak` goes through hundreds."""

import random

import pytest

from service.faults.director import Director
from service.faults.laws import _PAID, play

pytestmark = pytest.mark.slow

PLAN = {
    "server": [9, 14, 5, 8],
    "worker": [1, 3, 4],
    "trustee": [1, 4],
    "owner0": [1, 3, 4, 6, 8],
    "owner1": [9, 11],
}


def test_at_write_points(tmp_path, url):
    found = play(tmp_path, url, {name: list(points) for name, points in PLAN.items()})
    assert found.faults == []
    assert found.counts["kills"] >= 10


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_at_random_moments(tmp_path, url):
    found = play(tmp_path, url, {}, random.Random(3))
    assert found.faults == []
    assert found.counts["kills"] >= 3


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_lost_charge_and_a_wrong_payment_are_noticed(tmp_path, url, monkeypatch):
    director = Director(tmp_path, url)
    try:
        director.raise_curtain()
        director.play()
        assert director.faults(_PAID) == []
        assert "without faults" in director.faults({**_PAID, "owner0": 99})[0]
        monkeypatch.setattr("service.faults.director.Balance.entries", lambda _: [])
        assert "was charged 0 times" in director.faults(_PAID)[0]
    finally:
        director.close()
