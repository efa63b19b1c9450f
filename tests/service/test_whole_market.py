"""Markets from beginning to end, as their owners, buyer and auditor see them."""

import json

import pytest

from kantor.errors import EvidenceError
from kantor.service.client import ServiceError
from kantor.service.verify import verify


@pytest.mark.parametrize("payments", ["clock", "threshold", "virtual"])
def test_from_enrolment_to_settlement(shared, payments):
    market, owners = shared.settled(rule={"payments": payments})
    result = shared.buyer.result(market)
    winners = {row["owner"]: row["payment"] for row in result["winners"]}
    assert winners
    assert result["public"]["spend"] == sum(winners.values())
    balances = result["balances"]
    assert sum(balances.values()) == 0
    assert balances["outside"] == -sum(winners.values())
    for owner, price in zip(owners, [10, 20, 30, 40], strict=True):
        own = owner.result()
        assert own["bought"] == (owner.name in winners)
        assert own["paid"] == winners.get(owner.name, 0)
        assert own["paid"] == 0 or own["paid"] >= price
        assert len(owner.check()) >= 4
    purchase = shared.buyer.purchase(market)
    assert purchase["manifest"]["delivered"]
    auditor = shared.client("auditor")
    for kind in ("public", "auditor"):
        found = verify(auditor.bundle(market, kind), shared.exchange.signer.public)
        assert found.passed, found.steps


def test_three_trustees_two_of_whom_open(shared):
    market, owners = shared.bidding(3, trustees=3, threshold=2)
    for owner, price in zip(owners, (5, 15, 25), strict=True):
        owner.bid(price, "20")
    gone = shared.trustees.pop(1)
    try:
        assert shared.until(market, "delivering") == "delivering"
    finally:
        shared.trustees.insert(1, gone)
    found = verify(shared.client("auditor").bundle(market, "auditor"))
    assert found.passed, found.steps
    assert "3 trustee(s), 2 of whom" in next(step.said for step in found.steps if step.name == "key")


def test_a_replaced_bid_counts_and_a_withdrawn_one_does_not(shared):
    market, owners = shared.bidding(3, schedule={"early": False})
    first, second, third = owners
    first.bid(90, "50")
    first.bid(5, "40")
    second.bid(5, "50")
    second.withdraw()
    third.bid(6, "50")
    shared.wait(60)
    shared.until(market, "delivering")
    closed = json.loads(shared.client("auditor").bundle(market, "auditor"))
    assert {leaf["owner"]: leaf["number"] for leaf in closed["leaves"]} == {first.name: 2, third.name: 1}
    row = next(row for row in closed["outcome"]["bids"] if row["owner"] == first.name)
    assert (row["reserve"], row["epsilon"]) == (5, "40")
    for owner in owners:
        owner.check()
    assert second.home.balance.left() == 200.0
    assert first.home.balance.left() == pytest.approx(160.0)
    with pytest.raises(ServiceError) as late:
        third.bid(7, "50")
    assert late.value.kind == "late"


def test_who_does_not_deliver_is_not_paid_and_the_others_are(shared):
    market, owners = shared.delivering(schedule={"deliver_within": 60})
    winners = [owner for owner in owners if owner.result()["bought"]]
    assert len(winners) >= 2
    missing, here = winners[0], winners[1:]
    for owner in here:
        owner.deliver()
    shared.wait(60)
    shared.until(market, "settled")
    assert missing.result()["paid"] == 0
    assert all(owner.result()["paid"] > 0 for owner in here)
    with pytest.raises(ServiceError):
        missing.deliver()
    manifest = shared.buyer.purchase(market)["manifest"]
    assert manifest["missing"] == [missing.name]
    assert manifest["bound"] != manifest["bound_of_all_winners"]
    assert verify(shared.client("auditor").bundle(market, "auditor")).passed


def test_a_disputed_payment_waits_for_the_operator(shared):
    market, owners = shared.delivering(schedule={"dispute_within": 60})
    winners = [owner for owner in owners if owner.result()["bought"]]
    for owner in winners:
        owner.deliver()
    shared.turn(2)
    doubted = winners[0].name
    shared.buyer.dispute(market, "It is last year's", owner=doubted)
    assert winners[-1].result()["paid"] == 0
    shared.wait(60)
    shared.turn()
    assert winners[-1].result()["paid"] > 0
    assert winners[0].result()["paid"] == 0
    assert shared.operator.market(market)["state"] == "delivering"
    doubt = shared.operator.doubts(market)[0]
    shared.operator.decide(market, doubt["id"], "refuse", "It is last year's indeed")
    shared.until(market, "settled")
    assert winners[0].result()["paid"] == 0
    assert verify(shared.client("auditor").bundle(market, "auditor")).passed


def test_a_market_that_is_called_off_pays_back(shared):
    market, _ = shared.bidding(2)
    shared.buyer.cancel(market, "The need is gone")
    assert shared.operator.market(market)["state"] == "cancelled"
    assert shared.buyer.result(market)["cleared"] is False
    assert shared.operator.market(market)["funds"]["there"] == 0


def test_nobody_calls_a_market_off_who_could_have_seen_its_prices(shared):
    market, owners = shared.bidding(2)
    for owner in owners:
        owner.bid(10, "50")
    shared.worker.round()
    assert shared.operator.market(market)["state"] == "closed"
    shared.trustees[0].round()
    for caller in (shared.buyer, shared.operator):
        with pytest.raises(ServiceError, match="have been opened"):
            caller.cancel(market, "These are too dear")
    assert shared.until(market, "delivering") == "delivering"


def test_too_few_owners_and_no_bids_call_a_market_off(shared):
    lonely = shared.market(schedule={"early": False})
    shared.owner(lonely).enrol()
    shared.wait(60)
    assert shared.until(lonely, "cancelled", "bidding") == "cancelled"
    market, _ = shared.bidding(2, schedule={"early": False})
    shared.wait(60)
    assert shared.until(market, "cancelled", "closed") == "cancelled"
    assert "nobody bid" in json.dumps(list(shared.buyer.log(market)))


def test_an_owner_notices_another_server(shared):
    _, owners = shared.bidding(2)
    owners[0].notes.keep(server_key="0" * 64)
    with pytest.raises(EvidenceError, match="server key is not the one"):
        owners[0].bid(10, "50")
