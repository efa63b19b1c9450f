"""What a buyer downloads is compared with its manifest, and that with the market's log."""

import base64

import numpy as np
import pytest

from kantor.errors import EvidenceError
from kantor.service.agent.purchase import is_logged, read_purchase
from service.agent.towns import one_town


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with one_town(tmp_path_factory.mktemp("town")) as found:
        yield found


@pytest.fixture(scope="module")
def bought(shared):
    plain = shared.terms
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared, "terms", lambda **changed: {**plain(**changed), "delivery": {"individual": True}})
        market, _ = shared.settled()
    return market, shared.buyer.purchase(market), list(shared.buyer.log(market))


def other_values(text):
    values = np.frombuffer(base64.b64decode(text), dtype="<f8").copy()
    values[0] += 1e-9
    return base64.b64encode(values.tobytes()).decode()


def test_what_fits_its_manifest_is_taken(bought):
    market, plain, log = bought
    found = read_purchase(plain)
    assert found.values.size == plain["manifest"]["values"]
    assert len(found.series) == len(plain["manifest"]["delivered"])
    assert sorted(np.concatenate(list(found.series.values()))) == sorted(found.values)
    assert is_logged(found.manifest, log, market)


def test_a_changed_value_is_noticed(bought):
    _, plain, _ = bought
    with pytest.raises(EvidenceError, match="the aggregate has the hash"):
        read_purchase({**plain, "values": other_values(plain["values"])})
    owner, text = next(iter(plain["series"].items()))
    with pytest.raises(EvidenceError, match=f"the series of owner {owner}"):
        read_purchase({**plain, "series": {owner: other_values(text)}})


def test_a_changed_manifest_is_noticed(bought):
    market, plain, log = bought
    with pytest.raises(EvidenceError, match="not the one in the market's log"):
        is_logged({**plain["manifest"], "bound": 0.5}, log, market)


def test_a_name_that_is_a_path_is_refused(bought):
    _, plain, _ = bought
    text = next(iter(plain["series"].values()))
    with pytest.raises(EvidenceError, match="is no owner's name"):
        read_purchase({**plain, "series": {"../../evil": text}})


def test_a_refused_delivery_is_left_out_and_that_is_known(shared):
    market, owners = shared.delivering(schedule={"dispute_within": 60})
    for owner in owners:
        if owner.result()["bought"]:
            owner.deliver()
    shared.turn(2)
    gone = owners[0].name
    shared.buyer.dispute(market, "Old", owner=gone)
    shared.operator.decide(market, shared.operator.doubts(market)[0]["id"], "refuse", "Old indeed")
    found = read_purchase(shared.buyer.purchase(market))
    assert gone in found.manifest["missing"]
    assert not is_logged(found.manifest, shared.buyer.log(market), market)
    shared.wait(60)
    shared.until(market, "settled")


def test_nothing_delivered_is_nothing():
    assert read_purchase({"manifest": None, "values": None, "weights": None, "series": None}) is None
