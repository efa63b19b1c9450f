"""An agent that is stopped anywhere says the same again: nothing counts twice, no bid is lost, no epsilon either."""

import pytest

from kantor.errors import BalanceError, InputError
from kantor.service.client import ServiceError
from service.agent.stops import again, stopped_after, stopped_before


def reserved(agent):
    """What the market has set aside of the balance."""
    return [entry.promise.epsilon for entry in agent.reservations.entries() if entry.state == "reserved"]


def test_enrolling_again_after_a_restart_is_the_same_enrolment(shared):
    market = shared.market()
    agent = shared.owner(market)
    with stopped_after(agent.client, "enrol"):
        agent.enrol()
    place = again(agent).enrol()
    assert place == again(agent).enrol()
    assert shared.operator.market(market)["owners"] == 1


def test_a_refused_enrolment_may_be_tried_otherwise(shared):
    market = shared.market(valuation={"way": "declared", "target": []}, most_owners=1, least_owners=1)
    first, second = shared.owner(market, 0), shared.owner(market, 1)
    first.enrol("1.5")
    with pytest.raises(ServiceError, match="full"):
        second.enrol("2.5")
    assert second.notes.known["enrolment"] is None
    with pytest.raises(ServiceError, match="full"):
        second.enrol("3.5")


def test_a_bid_whose_answer_was_lost_is_found_again(shared):
    market, (agent, _) = shared.bidding(2, schedule={"early": False})
    with stopped_after(agent.client, "bid"):
        agent.bid(10, "50")
    fresh = again(agent)
    receipt = fresh.bid(10, "50")
    assert receipt["number"] == 1
    assert shared.operator.market(market)["bids"] == 1
    assert reserved(fresh) == [50.0]
    assert fresh.check()


def test_another_bid_after_a_lost_answer_counts_both_in_their_order(shared):
    market, (agent, other) = shared.bidding(2, schedule={"early": False})
    with stopped_after(agent.client, "bid"):
        agent.bid(90, "50")
    fresh = again(agent)
    assert fresh.bid(10, "40")["number"] == 2
    assert [bid["ask"]["reserve"] for bid in fresh.notes.known["bids"]] == [90, 10]
    assert reserved(fresh) == [40.0]
    other.bid(10, "40")
    shared.wait(60)
    shared.until(market, "delivering")
    assert fresh.result()["epsilon"] == "40"
    assert fresh.check()


def test_a_bid_that_was_never_sent_leaves_nothing_set_aside_once_it_is_too_late(shared):
    market, (agent, other) = shared.bidding(2, schedule={"early": False})
    other.bid(10, "50")
    with stopped_before(agent.client, "bid"):
        agent.bid(10, "50")
    assert reserved(agent) == [50.0]
    shared.wait(60)
    shared.until(market, "delivering")
    fresh = again(agent)
    with pytest.raises(ServiceError, match="Bidding is over"):
        fresh.bid(10, "50")
    assert reserved(fresh) == []
    assert fresh.check()


def test_a_bid_that_arrived_in_time_is_found_when_bidding_is_over(shared):
    market, (agent, other) = shared.bidding(2, schedule={"early": False})
    other.bid(10, "50")
    with stopped_after(agent.client, "bid"):
        agent.bid(10, "50")
    shared.wait(60)
    shared.until(market, "delivering")
    fresh = again(agent)
    assert fresh.bid(10, "50")["number"] == 1
    assert fresh.check()
    assert fresh.result()["bought"]


def test_a_withdrawal_whose_answer_was_lost(shared):
    _market, (agent, _) = shared.bidding(2, schedule={"early": False})
    agent.bid(10, "50")
    with stopped_after(agent.client, "withdraw"):
        agent.withdraw()
    fresh = again(agent)
    assert fresh.withdraw()["what"] == "withdrawn"
    assert reserved(fresh) == []
    assert fresh.check()
    with pytest.raises(InputError, match="no bid to withdraw"):
        fresh.withdraw()


def test_a_new_price_needs_no_second_epsilon(shared):
    _, (agent, _) = shared.bidding(2, schedule={"early": False}, privacy={"epsilon_high": "150"})
    agent.bid(10, "120")
    agent.bid(20, "120")
    assert agent.bid(30, "120")["number"] == 3
    assert reserved(agent) == [120.0]
    with pytest.raises(BalanceError, match="Withdraw it first: kantor owner withdraw"):
        agent.bid(30, "110")
    agent.withdraw()
    assert agent.bid(30, "110")["number"] == 4
    assert reserved(agent) == [110.0]


def test_a_delivery_whose_answer_was_lost_is_sent_again_with_the_same_noise(shared):
    _market, owners = shared.delivering()
    agent = next(owner for owner in owners if owner.result()["bought"])
    with stopped_after(agent.client, "deliver"):
        agent.deliver()
    left = agent.home.balance.left()
    fresh = again(agent)
    receipt = fresh.deliver()
    assert receipt == fresh.deliver()
    assert fresh.home.balance.left() == left
    assert fresh.check()


def test_nothing_is_charged_for_a_delivery_that_comes_too_late(shared):
    market, owners = shared.delivering(schedule={"deliver_within": 60, "dispute_within": 60})
    agent = next(owner for owner in owners if owner.result()["bought"])
    shared.wait(60)
    with pytest.raises(ServiceError, match="Nothing was charged"):
        agent.deliver()
    assert reserved(agent) == [50.0]
    shared.until(market, "delivering")
    shared.turn()
    shared.wait(60)
    shared.until(market, "settled")
    agent.finish()
    assert agent.home.balance.left() == 200.0


def test_what_is_set_aside_stays_until_the_market_is_over(shared):
    _market, owners = shared.delivering()
    for owner in owners:
        owner.finish()
        assert reserved(owner) == ([50.0] if owner.result()["bought"] else [])
    cancelled, (agent, _) = shared.bidding(2, schedule={"early": False})
    agent.bid(10, "50")
    agent.finish()
    assert reserved(agent) == [50.0]
    shared.buyer.cancel(cancelled, "No need")
    agent.finish()
    assert reserved(agent) == []


def test_lost_notes_are_fetched_again(shared):
    market, (agent, other) = shared.bidding(2, schedule={"early": False})
    agent.bid(90, "40")
    agent.withdraw()
    agent.bid(9, "40")
    agent.bid(10, "40")
    other.bid(10, "50")
    agent.notes.file.unlink()
    fresh = again(agent)
    with pytest.raises(InputError, match="you have not enrolled"):
        fresh.fetch_receipts()
    fresh.enrol()
    assert fresh.fetch_receipts() == 3
    assert fresh.fetch_receipts() == 0
    shared.wait(60)
    shared.until(market, "delivering")
    assert fresh.check()
    fresh.deliver()
    assert fresh.home.balance.left() == pytest.approx(160.0)
    shared.until(market, "delivering")


def test_other_data_than_those_enrolled_with_are_noticed(shared):
    _, (agent, _) = shared.bidding(2)
    file = agent.home.series.file
    rows = file.read_text().splitlines()
    file.write_text("\n".join([rows[0], "7.7", *rows[2:]]) + "\n")
    with pytest.raises(InputError, match="not those that you enrolled with"):
        agent.bid(10, "50")
    assert reserved(agent) == []
