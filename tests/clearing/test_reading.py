"""A clearing that was written is read back as it was, with its own bids only."""

from __future__ import annotations

import json
from math import inf

import numpy as np
import pytest
import scipy.stats

import kantor as kt
from kantor.errors import InputError

PRIORS = [
    scipy.stats.uniform(0, 1),
    scipy.stats.expon(0, 0.5),
    kt.EmpiricalPrior([0.2, 0.4, 0.5, 1.0]),
    [scipy.stats.uniform(0, 1), scipy.stats.beta(2, 3), scipy.stats.uniform(0, 2), scipy.stats.expon(0, 1)],
]


def market(prior=PRIORS[0]) -> kt.Bids:
    rng = np.random.default_rng(3)
    return kt.Bids(
        distance=rng.uniform(0.3, 3, 4), reserve=rng.random(4), prior=prior, owner=["ash", "birch", "cedar", "oak"]
    )


@pytest.fixture
def written(tmp_path):
    def write(c: kt.Clearing):
        path = tmp_path / "clearing.json"
        path.write_text(c.to_json())
        return path

    return write


@pytest.mark.parametrize("prior", PRIORS, ids=["uniform", "expon", "survey", "each"])
@pytest.mark.parametrize("payments", ["threshold", "virtual", "clock"])
def test_what_was_written_is_read_and_audited(prior, payments, written):
    bids = market(prior)
    c = kt.clear(bids, kt.Endogenous(reference_loss=2.5, lipschitz=1.5), payments=payments, population_size=7)
    again = kt.read_clearing(written(c), bids)
    assert again.rules == c.rules
    for name in ("selected", "payments"):
        assert getattr(again, name).tolist() == getattr(c, name).tolist()
    assert (again.bound, again.objective, again.truthful) == (c.bound, c.objective, c.truthful)
    assert kt.audit(bids, again, draws=0, owners=["oak"], reports=2).reproducible


def test_the_order_of_rows_does_not_matter(written):
    bids = market()
    c = kt.clear(bids, kt.Joint(reference_loss=2.0))
    order = np.array([2, 0, 3, 1])
    again = kt.read_clearing(written(c), bids.take(order))
    assert again.payments.tolist() == c.payments[order].tolist()


def test_priors_come_from_the_clearing_where_bids_are_a_file(written, tmp_path):
    bids = market(scipy.stats.expon(0, 0.5))
    c = kt.clear(bids, kt.Joint(reference_loss=2.0))
    path = tmp_path / "bids.csv"
    rows = zip(bids.owner, bids.distance.tolist(), bids.reserve.tolist(), strict=True)
    path.write_text("owner,distance,reserve\n" + "".join(f"{a},{b!r},{c!r}\n" for a, b, c in rows))
    again = kt.read_clearing(written(c), path)
    assert again.bids.hash == bids.hash


def test_nothing_bought_is_read_as_infinity(written):
    bids = market()
    again = kt.read_clearing(written(kt.clear(bids, kt.Exogenous(budget=0.0))), bids)
    assert again.bound == again.objective == inf


def test_other_bids_are_refused(written):
    c = kt.clear(market(), kt.Joint(reference_loss=2.0))
    with pytest.raises(InputError, match="hash"):
        kt.read_clearing(written(c), market().with_report(0, distance=9.0))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda plain: plain.pop("owners"), "not a whole clearing|owners"),
        (lambda plain: plain.update(mechanism="lottery"), "lottery"),
        (lambda plain: plain["owners"].pop(), "owner"),
        (lambda plain: plain["owners"][0].update(payment="much"), "payment|much"),
    ],
)
def test_a_spoiled_file_is_refused(spoil, message, written, tmp_path):
    bids = market()
    plain = json.loads(kt.clear(bids, kt.Joint(reference_loss=2.0)).to_json())
    spoil(plain)
    path = tmp_path / "spoiled.json"
    path.write_text(json.dumps(plain))
    with pytest.raises(InputError, match=message) as caught:
        kt.read_clearing(path, bids)
    assert "spoiled.json" in str(caught.value)


NOTCLEARING = [("", "JSON"), ("{", "JSON"), ("[1]", "not a clearing"), ("\x00\x01", "JSON")]


@pytest.mark.parametrize(("text", "message"), NOTCLEARING)
def test_what_is_no_clearing_is_refused(text, message, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        kt.read_clearing(path, market())


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        kt.read_clearing(tmp_path / "none.json", market())
