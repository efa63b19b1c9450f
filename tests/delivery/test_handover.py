"""What the buyer gets: the aggregate of what came, its bound, and a manifest that says what is in it."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs

import kantor as kt
from kantor.delivery.form import Delivery
from kantor.delivery.handover import handover
from kantor.errors import InputError
from kantor.owners.release import promise

FAR = {"anna": 1.0, "bert": 2.0, "carl": 1.5}


def delivery(owner, values, epsilon=1.0, kind="laplace"):
    made = promise(
        kind, len(values), bounds=(0, 1), unit="record", epsilon=epsilon, delta=None if kind == "laplace" else 1e-5
    )
    return Delivery(owner, np.asarray(values, dtype=float), made, "opendp 0.0")


TWO = [delivery("bert", [3.0, 5.0]), delivery("anna", [1.0, 0.0], 2.0)]


def test_three_aggregates_of_two_owners():
    got = {how: handover(TWO, FAR, how, 8).aggregate for how in ("euclidean", "mixture", "barycenter")}
    assert got["euclidean"].values.tolist() == [2.0, 2.5]
    assert sorted(got["mixture"].values) == [0.0, 1.0, 3.0, 5.0]
    assert got["barycenter"].values.tolist() == [1.5, 3.0]


def test_the_mixture_counts_owners_alike():
    got = handover([delivery("anna", [1.0]), delivery("bert", [2.0, 3.0])], FAR, "mixture", 8)
    assert dict(zip(got.aggregate.values, got.aggregate.weights, strict=True)) == {1.0: 0.5, 2.0: 0.25, 3.0: 0.25}
    assert got.manifest()["weighted"] is True


def test_the_bound_is_that_of_those_who_delivered():
    got = handover(TWO, FAR, "euclidean", 8, confidence=0.9, lipschitz=3.0)
    assert got.bound == pytest.approx(3 * kt.hoeffding_bound([1.0, 2.0], 8, 0.9))
    assert got.bound_of_all == pytest.approx(3 * kt.hoeffding_bound([1.0, 2.0, 1.5], 8, 0.9))
    assert got.missing == ("carl",)
    many = handover(TWO, FAR, "euclidean", population="infinite")
    assert many.bound == pytest.approx(kt.hoeffding_bound([1.0, 2.0], population="infinite"))


@pytest.mark.parametrize("how", ["mixture", "barycenter", "euclidean"])
@given(
    owners=hs.lists(
        hs.tuples(hs.integers(1, 40), hs.floats(0.2, 5), hs.sampled_from(["laplace", "gaussian"])),
        min_size=2,
        max_size=4,
    )
)
@settings(max_examples=4)
def test_the_noise_that_is_left_is_what_is_stated(owners, how):
    """Against draws: noise alone, on data that are all zero."""
    if how == "euclidean":
        owners = [(owners[0][0], *rest) for _, *rest in owners]
    rng = np.random.default_rng(0)
    names = [str(place) for place in range(len(owners))]
    blank = [delivery(n, np.zeros(m), e, kind) for n, (m, e, kind) in zip(names, owners, strict=True)]
    made = handover(blank, dict.fromkeys(names, 1.0), how, 9)
    means, spreads = [], []
    for _ in range(400):
        drawn = {
            one.owner: (rng.laplace if one.promise.mechanism == "laplace" else rng.normal)(
                0, one.promise.scale, one.values.size
            )
            for one in blank
        }
        together = kt.aggregate(drawn, how)
        means.append(np.average(together.values, weights=together.weights))
        spreads.append(np.average(together.values**2, weights=together.weights))
    assert np.std(means) == pytest.approx(made.noise_of_the_mean, rel=0.25)
    left = np.sqrt(np.mean(spreads))
    assert left <= made.noise_of_a_value * 1.15
    if how != "barycenter":
        assert left == pytest.approx(made.noise_of_a_value, rel=0.25)


def test_the_manifest_is_plain_and_says_who_and_how():
    got = handover(TWO, FAR, "euclidean", 8)
    told = json.loads(json.dumps(got.manifest()))
    assert [line["owner"] for line in told["delivered"]] == ["anna", "bert"]
    assert told["missing"] == ["carl"]
    assert told["delivered"][0]["promise"]["epsilon"] == 2.0
    assert told["delivered"][0]["promise"]["library"] == "opendp 0.0"
    assert told["delivered"][0]["sha256"] == TWO[1].digest
    assert told["sha256"] == got.digest
    assert told["noise_sd_of_a_value"] == got.noise_of_a_value


def test_an_anonymous_manifest_names_nobody_and_is_ordered_by_hash():
    told = handover(TWO, FAR, "euclidean", 8).manifest(anonymous=True)
    assert told["missing"] == 1
    assert not any(name in json.dumps(told) for name in FAR)
    assert [line["owner"] for line in told["delivered"]] == ["owner 1", "owner 2"]
    hashes = [line["sha256"] for line in told["delivered"]]
    assert hashes == sorted(hashes)


def test_the_order_of_deliveries_does_not_matter():
    one, other = handover(TWO, FAR, "mixture", 8), handover(TWO[::-1], FAR, "mixture", 8)
    assert one.manifest() == other.manifest()


@pytest.mark.parametrize(
    ("deliveries", "more", "told"),
    [
        ([], {}, "nothing was delivered"),
        ([*TWO, TWO[0]], {}, "owner bert: there are two"),
        ([delivery("dora", [1.0, 2.0])], {}, "owner dora"),
        ([delivery("anna", [1.0]), delivery("bert", [2.0, 3.0])], {}, "equally many"),
        (TWO, {"lipschitz": -1.0}, "Lipschitz"),
        (TWO, {"how": "median"}, "'median'"),
        (TWO, {"population_size": 1}, "1"),
    ],
)  # fmt: skip
def test_what_cannot_be_handed_over_is_refused(deliveries, more, told):
    with pytest.raises(InputError, match=told):
        handover(deliveries, FAR, **{"how": "euclidean", "population_size": 8, **more})
