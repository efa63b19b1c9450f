"""Bids: what is accepted, what is refused and how it is told, and what never depends on the order of rows."""

import dataclasses
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.stats as st
from hypothesis import given
from hypothesis import strategies as hs

import kantor as kt
from kantor.bids.bids import Bids
from kantor.bids.priors import EmpiricalPrior, IroningWarning
from kantor.errors import InputError
from kantor.owners.distributions import Mixture


def market(**changed):
    return Bids(**{"distance": [0.3, 0.1, 0.2], "reserve": [0.2, 0.4, 0.2], "owner": ["ann", "bo", "cy"], **changed})


def test_defaults():
    bids = Bids(distance=[0.3, 0.1], reserve=[0.2, 0.4])
    assert len(bids) == 2
    assert bids.owner == ("0", "1")
    assert bids.epsilon is None
    assert bids.virtual.tolist() == [0.4, 0.8]
    assert bids.prior.support() == (0, 1)
    assert repr(bids) == "Bids(2 owners, prior uniform:0.0:1.0)"


def test_one_prior_each():
    bids = market(prior=[st.uniform(0, 1), "expon:0:2", st.uniform(0, 1)])
    assert bids.virtual == pytest.approx([0.4, 0.4 + 2 * np.expm1(0.2), 0.4])
    assert [prior.dist.name for prior in bids.prior] == ["uniform", "expon", "uniform"]


def test_nothing_can_be_changed():
    distance = np.array([0.3, 0.1, 0.2])
    bids = market(distance=distance, epsilon=[1, 2, 3])
    distance[0] = 99
    assert bids.distance[0] == 0.3
    with pytest.raises(dataclasses.FrozenInstanceError):
        bids.reserve = [1, 2, 3]
    for array in (bids.distance, bids.reserve, bids.epsilon, bids.virtual, bids.canonical):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_canonical_order_by_hand():
    """Virtual costs 0.4, 0.8, 0.4, 0.4: of the three cheap ones the nearer first, then by name as a text."""
    bids = Bids(distance=[0.3, 0.1, 0.2, 0.2], reserve=[0.2, 0.4, 0.2, 0.2], owner=["a", "b", "9", "10"])
    assert bids.canonical.tolist() == [3, 2, 0, 1]


few = hs.sampled_from([0.0, 0.25, 0.5])


@given(hs.lists(hs.tuples(few, few, hs.sampled_from([0.5, 1.0])), min_size=1, max_size=12), hs.randoms())
def test_the_order_of_rows_never_matters(rows, random):
    names = [f"o{i}" for i in range(len(rows))]
    places = list(range(len(rows)))
    random.shuffle(places)

    def made(order):
        distance, reserve, epsilon = zip(*[rows[i] for i in order], strict=True)
        prior = [st.uniform(0, 1) if rows[i][2] == 1 else st.expon() for i in order]
        owner = [names[i] for i in order]
        return Bids(distance=distance, reserve=reserve, epsilon=epsilon, prior=prior, owner=owner)

    one, other = made(range(len(rows))), made(places)
    listed = [[bids.owner[i] for i in bids.canonical] for bids in (one, other)]
    assert listed[0] == listed[1]
    order = sorted(range(len(rows)), key=lambda i: (one.virtual[i], one.distance[i], names[i]))
    assert one.canonical.tolist() == order
    assert one.hash == other.hash


def test_the_hash_covers_everything_said():
    base = market(epsilon=[1, 2, 3])
    others = [
        market(),
        market(epsilon=[1, 2, 4]),
        market(epsilon=[1, 2, 3], distance=[0.3, 0.1, 0.2000001]),
        market(epsilon=[1, 2, 3], reserve=[0.2, 0.4, 0.3]),
        market(epsilon=[1, 2, 3], owner=["ann", "bo", "di"]),
        market(epsilon=[1, 2, 3], owner=["bo", "ann", "cy"]),
        market(epsilon=[1, 2, 3], prior="uniform:0:2"),
        market(epsilon=[1, 2, 3], prior=["uniform:0:2", "uniform:0:1", "uniform:0:1"]),
        market(epsilon=[1, 2, 3], prior=["uniform:0:1", "uniform:0:2", "uniform:0:1"]),
    ]
    assert len({bids.hash for bids in [base, *others]}) == len(others) + 1
    assert base.hash == market(epsilon=[1, 2, 3], prior=["uniform:0:1"] * 3).hash
    assert Bids(distance=[1.0], reserve=[0.0]).hash == Bids(distance=[1.0], reserve=[-0.0], owner=["0"]).hash


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"distance": [0.3, -0.1, 0.2]}, "argument distance, owner 'bo': distance is -0.1"),
        ({"distance": [0.3, 0.1, np.nan]}, "owner 'cy': distance is nan"),
        ({"distance": [np.inf, 0.1, 0.2]}, "owner 'ann': distance is inf"),
        ({"distance": ["a", "b", "c"]}, "argument distance: these are not numbers"),
        ({"distance": [[0.3, 0.1, 0.2]]}, "distances have shape"),
        ({"distance": 0.3}, "distances have shape"),
        ({"distance": [], "reserve": [], "owner": []}, "there are no bids"),
        ({"reserve": [0.2, -0.4, 0.2]}, "argument reserve, owner 'bo': reserve is -0.4"),
        ({"reserve": [0.2, 1.5, 0.2]}, "owner 'bo': reserve is 1.5, outside the prior's support from 0 to 1"),
        ({"reserve": [0.2, 0.4, 0.2], "prior": "uniform:0.3:1"}, "owner 'ann': reserve is 0.2.*, outside"),
        ({"reserve": [0.2, 0.4]}, "3 distances and 2 values of reserve"),
        ({"reserve": 0.2}, "reserve has shape"),
        ({"owner": ["ann", "bo", "ann"]}, "owner 'ann': the owner bids a second time, after bid 0"),
        ({"owner": [1, "1", 2]}, "owner '1': the owner bids a second time"),
        ({"owner": ["ann", "", "cy"]}, "bid 1 .* has no owner"),
        ({"owner": ["ann", None, "cy"]}, "bid 1 .* has no owner"),
        ({"owner": ["ann", "bo"]}, "3 distances and 2 values of owner"),
        ({"owner": "abc"}, "owner is the text 'abc'"),
        ({"epsilon": [1, 0, 2]}, "argument epsilon, owner 'bo': epsilon is 0"),
        ({"epsilon": [1, 2, -1]}, "owner 'cy': epsilon is -1"),
        ({"epsilon": [1, 2]}, "3 distances and 2 values of epsilon"),
        ({"prior": ["uniform:0:1"]}, "3 owners and 1 priors"),
    ],
)
def test_bad_bids_are_named(changed, message):
    with pytest.raises(InputError, match=message) as caught:
        market(**changed)
    assert caught.value.remedy.endswith(".")


def test_any_price_may_be_asked_where_the_prior_is_a_survey():
    bids = market(prior=EmpiricalPrior([0.2, 0.3]))
    assert bids.virtual.tolist() == pytest.approx([0.2, np.inf, 0.2])
    assert bids.canonical.tolist() == [2, 0, 1]


def test_ironing_is_said_at_the_bids_and_not_again():
    with pytest.warns(IroningWarning, match="arcsine") as caught:
        bids = market(prior=st.arcsine())
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bids.replace(reserve=[0.7, 0.8, 0.9]).virtual.tolist() == [bids.priors.costs(0).ironed[0].cost] * 3


def test_replace_reports():
    bids = market(epsilon=[1, 2, 3])
    other = bids.replace(reserve=[0.9, 0.8, 0.7])
    assert other.virtual.tolist() == [1.8, 1.6, 1.4]
    assert bids.virtual.tolist() == [0.4, 0.8, 0.4]
    assert other.distance is bids.distance
    assert other.owner == bids.owner
    nearer = bids.replace(distance=[0.0, 0.1, 0.2])
    assert nearer.virtual is bids.virtual
    assert bids.canonical.tolist() == [2, 0, 1]
    assert nearer.canonical.tolist() == [0, 2, 1]
    with pytest.raises(InputError, match="owner 'bo': reserve is 2"):
        bids.replace(reserve=[0.1, 2, 0.1])
    with pytest.raises(InputError, match="owner 'cy': distance is nan"):
        bids.replace(distance=[0.1, 0.1, np.nan])


@pytest.mark.parametrize("known", [False, True])
def test_one_other_report(known):
    bids = market(prior=["uniform:0:1", "expon:0:2", "uniform:0:2"])
    if known:
        assert bids.virtual.size == 3
    other = bids.with_report(1, reserve=0.7, distance=0.9)
    whole = bids.replace(reserve=[0.2, 0.7, 0.2], distance=[0.3, 0.9, 0.2])
    assert other.virtual.tolist() == whole.virtual.tolist()
    assert other.hash == whole.hash
    assert bids.reserve[1] == 0.4
    with pytest.raises(InputError, match=r"owner 'ann': reserve is 1.5, outside"):
        bids.with_report(0, reserve=1.5)
    with pytest.raises(InputError, match="owner 'cy': distance is -1"):
        bids.with_report(2, distance=-1.0)


def test_some_of_the_bids():
    bids = market(epsilon=[1, 2, 3], prior=["uniform:0:1", "expon:0:2", "uniform:0:2"])
    for places in ([2, 1], np.array([2, 1])):
        some = bids.take(places)
        assert some.owner == ("cy", "bo")
        assert some.epsilon.tolist() == [3, 2]
        assert some.virtual.tolist() == bids.virtual[[2, 1]].tolist()
    assert bids.take(np.array([True, False, True])).owner == ("ann", "cy")
    with pytest.raises(InputError, match="no owner is left"):
        bids.take([False, False, False])


@pytest.mark.parametrize(
    ("mechanism", "how"),
    [
        ("laplace", {}),
        ("gaussian", {"delta": 1e-5}),
        ("gaussian", {"delta": 1e-5, "calibration": "analytic"}),
    ],
)
def test_noise_is_that_of_each_owner(mechanism, how):
    widths, budgets = [1.0, 2.0, 0.5], [0.5, 1.0, 8.0]
    bids = market(epsilon=budgets).with_noise(mechanism, sensitivity=widths, **how)
    expected = [
        distance + kt.noise_distance(mechanism, sensitivity=width, epsilon=epsilon, **how)
        for distance, width, epsilon in zip([0.3, 0.1, 0.2], widths, budgets, strict=True)
    ]
    assert bids.distance == pytest.approx(expected, rel=1e-13)
    assert bids.noise == mechanism
    assert "noise included" in repr(bids)
    assert market(epsilon=budgets).distance.tolist() == [0.3, 0.1, 0.2]
    with pytest.raises(InputError, match=f"include {mechanism} noise already"):
        bids.with_noise(mechanism, sensitivity=1, **how)


@pytest.mark.parametrize(
    ("epsilon", "call", "message"),
    [
        (None, {"mechanism": "laplace", "sensitivity": 1}, "argument epsilon: noise was asked for"),
        ([1, 2, 3], {"mechanism": "laplace", "sensitivity": 0}, "owner 'ann': sensitivity is 0"),
        ([1, 2, 3], {"mechanism": "laplace", "sensitivity": [1, -1, 1]}, "owner 'bo': sensitivity is -1"),
        ([1, 2, 3], {"mechanism": "laplace", "sensitivity": [1, 1]}, "3 distances and 2 values of sensitivity"),
        ([1, 2, 3], {"mechanism": "gaussian", "sensitivity": 1}, "delta None"),
        ([1, 2, 3], {"mechanism": "cauchy", "sensitivity": 1}, "'cauchy' is not known"),
        ([1, 2, 3], {"mechanism": "gaussian", "sensitivity": 1, "calibration": "x", "delta": 0.1}, "calibration 'x'"),
    ],
)
def test_noise_that_cannot_be_added(epsilon, call, message):
    mechanism = call.pop("mechanism")
    with pytest.raises(InputError, match=message):
        market(epsilon=epsilon).with_noise(mechanism, **call)


WRONG = {
    "no owner": ("name,distance,reserve\na,1,0.5\n", "there is no column 'owner'. The columns owner, distance"),
    "no reserve": ("owner,distance,reserv\na,1,0.5\n", "no column 'reserve'.*'reserv' may be meant"),
    "near miss": ("owner,distance,reserve,priors\na,1,0.5,uniform\n", "row 1: column 'priors' is not known.*'prior'"),
    "twice": ("owner,distance,reserve,Reserve\na,1,0.5,0.5\n", "column reserve: there are 2 columns 'reserve'"),
    "no rows": ("owner,distance,reserve\n", "there are no bids"),
    "text": ("owner,distance,reserve\na,1,0.5\nb,far,0.5\n", "row 3, column distance: 'far' is not a number"),
    "NaN": ("owner,distance,reserve\na,1,0.5\nb,NaN,0.5\n", "row 3, column distance: the value is nan"),
    "negative": ("owner,distance,reserve\na,1,0.5\nb,-2,0.5\n", "row 3, column distance, owner 'b': distance is -2.0"),
    "too dear": ("owner,distance,reserve\na,1,3\n", "row 2, column reserve, owner 'a': reserve is 3, outside"),
    "empty number": ("owner,distance,reserve\na,1,0.5\nb,,0.5\n", "row 3, column distance: the cell is empty"),
    "empty owner": ("owner,distance,reserve\na,1,0.5\n,1,0.5\n", "row 3, column owner: the cell is empty"),
    "same owner": ("owner,distance,reserve\na,1,0.5\nb,1,0.5\na,2,0.1\n", "row 4, .*'a'.* second time, after row 2"),
    "budget": ("owner,distance,reserve,epsilon\na,1,0.5,0\n", "row 2, column epsilon, owner 'a': epsilon is 0.0"),
    "empty budget": ("owner,distance,reserve,epsilon\na,1,0.5,\nb,1,0.5,1\n", "row 2, column epsilon: the cell"),
    "prior": ("owner,distance,reserve,prior\na,1,0.5,\nb,1,0.5,unifrm:0:1\n", "row 3, column prior: .*'unifrm'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_files_are_named(case, tmp_path):
    text, message = WRONG[case]
    path = tmp_path / "bids.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        Bids.read(path)
    assert str(path) in str(caught.value)
    assert caught.value.remedy.endswith(".")


def test_files_as_users_have_them(tmp_path):
    path = tmp_path / "bids.csv"
    path.write_text("Reserve, Owner ,distance,prior,note\n0.5,007,1, uniform:0:2 ,x\n0.25,7,2,,y\n")
    bids = Bids.read(path)
    assert bids.owner == ("007", "7")
    assert bids.virtual.tolist() == [1.0, 0.5]
    assert [prior.support()[1] for prior in bids.prior] == [2, 1]
    assert [prior.support()[1] for prior in Bids.read(path, prior="uniform:0:3").prior] == [2, 3]
    with pytest.raises(InputError, match="a prior for each owner was given"):
        Bids.read(path, prior=["uniform:0:1", "uniform:0:1"])
    path.write_text("owner;distance;reserve\n01;1,5;0,5\n")
    assert Bids.read(path).owner == ("01",)
    assert Bids.read(path, prior="uniform:0:3").prior.support() == (0, 3)


def full():
    two = Mixture([st.uniform(0, 1), st.uniform(0, 3)], [0.5, 0.5])
    return market(epsilon=[0.1, 2, 3], prior=[two, "lognorm:0.5:0:1", EmpiricalPrior([0.1, 0.7])])


@pytest.mark.parametrize("form", ["csv", "parquet", "polars", "pandas", "lazy"])
def test_round_trips(form, tmp_path):
    bids = full()
    table = bids.to_frame()
    assert table.columns == ["owner", "distance", "reserve", "epsilon", "prior"]
    path = tmp_path / f"bids.{form}"
    if form == "csv":
        table.write_csv(path)
    elif form == "parquet":
        table.write_parquet(path)
    frames = {"polars": table, "lazy": table.lazy(), "pandas": pd.DataFrame(table.to_dict(as_series=False))}
    again = Bids.from_frame(frames[form]) if form in frames else Bids.read(path)
    assert again.hash == bids.hash
    assert again.owner == bids.owner
    assert again.virtual.tolist() == bids.virtual.tolist()


def test_frames_are_told_by_row():
    frame = pl.DataFrame({"owner": ["a", "b"], "distance": [1.0, -1.0], "reserve": [0.1, 0.2]})
    with pytest.raises(InputError, match=r"row 3, column distance, owner 'b': distance is -1.0"):
        Bids.from_frame(frame)
    with pytest.raises(InputError, match="cannot be read from list"):
        Bids.from_frame([[1, 2]])


def test_a_million_owners():
    rng = np.random.default_rng(0)
    size = 1_000_000
    reserve = rng.integers(0, 1000, size) / 1000
    bids = Bids(distance=rng.uniform(0.1, 3, size), reserve=reserve, prior=st.uniform(0, 1))
    assert np.array_equal(bids.virtual, 2 * reserve)
    assert np.array_equal(bids.canonical, np.lexsort((bids.distance, bids.virtual)))
    assert np.array_equal(bids.priors.inverse(bids.virtual), reserve)
