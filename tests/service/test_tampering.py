"""Nothing in a bundle can be changed unnoticed: not by a stranger, and not by the operator who can seal it again."""

import json
import random

import pytest

from kantor.evidence.signing import Signer
from kantor.service.verify import verify
from service.tampering import changed_bytes, rewritten, same, sealed


@pytest.fixture(scope="module")
def bundles(shared):
    """The bundles of a market in which everything has happened, and the key they are sealed with."""
    market, owners = shared.bidding(5, schedule={"early": False, "dispute_within": 60, "deliver_within": 60})
    for owner, price in zip(owners, (10, 20, 30, 5, 40), strict=True):
        owner.bid(price, "50")
    owners[0].bid(12, "40")
    owners[4].withdraw()
    shared.wait(60)
    shared.until(market, "delivering")
    winners = [owner for owner in owners if owner.result().get("bought")]
    assert len(winners) >= 3
    for owner in winners[1:]:
        owner.deliver()
    shared.wait(60)
    shared.turn()
    shared.buyer.dispute(market, "It is last year's", owner=winners[1].name)
    doubt = shared.operator.doubts(market)[0]
    shared.operator.decide(market, doubt["id"], "refuse", "It is")
    shared.wait(60)
    shared.until(market, "settled")
    auditor = shared.client("auditor")
    found = {kind: auditor.bundle(market, kind) for kind in ("public", "auditor")}
    assert all(verify(content).passed for content in found.values())
    return found, shared.exchange.signer


@pytest.mark.parametrize("kind", ["public", "auditor"])
def test_a_changed_byte_is_noticed(bundles, kind):
    content, chance = bundles[0][kind], random.Random(kind)
    for _ in range(100):
        changed = changed_bytes(content, chance)
        assert changed == content or not verify(changed).passed


def test_another_key_is_noticed(bundles):
    content = json.loads(bundles[0]["public"])
    stranger = Signer.new()
    assert not verify(sealed({**content, "server": stranger.public}, stranger)).passed
    assert not verify(bundles[0]["public"], stranger.public).passed
    assert verify(bundles[0]["public"], bundles[1].public).passed


@pytest.mark.parametrize("kind", ["public", "auditor"])
def test_the_operator_cannot_rewrite_a_market(bundles, kind):
    content, signer = json.loads(bundles[0][kind]), bundles[1]
    chance = random.Random(f"{kind} rewritten")
    tried = 0
    while tried < 150:
        what, changed = rewritten(content, chance)
        if not same(changed, content):
            tried += 1
            assert not verify(sealed(changed, signer)).passed, what


def test_the_detector_is_not_always_alarmed(bundles):
    for content in bundles[0].values():
        assert verify(sealed(json.loads(content), bundles[1])).passed
