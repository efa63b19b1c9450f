"""What an epsilon would mean: the noise, the distance and the balance are those that a bid and a delivery have."""

import pytest

from kantor.errors import BalanceError
from kantor.owners.release import promise
from kantor.service.agent.outlook import check_affordable, left_now, outlook, outlooks
from kantor.service.terms import Terms


@pytest.fixture
def agent(place):
    return place.owner(place.market(privacy={"epsilon_low": "0.3", "epsilon_high": "70"}), epsilon=10.0)


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/market.db"


def test_the_ends_and_round_numbers_between_them(agent):
    found = outlooks(agent.terms(), agent.home, agent.market)
    assert [float(one.epsilon) for one in found] == [0.3, 0.5, 2, 10, 50, 70]
    assert (found[0].epsilon, found[-1].epsilon) == ("0.3", "70")
    deviations = [one.deviation for one in found]
    assert deviations == sorted(deviations, reverse=True)


def test_the_noise_is_the_one_that_is_promised(agent):
    one = outlook(agent.terms(), agent.home, agent.market, "2")
    sure = promise("laplace", 60, bounds=(0.0, 20.0), unit="record", epsilon=2.0)
    assert one.deviation == pytest.approx(sure.scale * 2**0.5)
    assert (one.noise, one.total("1.500000"), one.left) == ("10.000000", "11.500000", 8.0)
    assert one.total(None) is None


def test_what_does_not_fit_is_said(agent):
    seen = outlook(agent.terms(), agent.home, agent.market, "50")
    assert seen.left is None
    with pytest.raises(BalanceError, match="epsilon 50 is more than is left of your balance: 10"):
        check_affordable(agent, seen)


def test_a_bid_of_the_same_market_is_not_counted_against_itself(place):
    market, (agent, _) = place.bidding(2, schedule={"early": False})
    agent.bid(10, "60")
    terms = agent.terms()
    assert left_now(agent.home, market) == 200.0
    assert outlook(terms, agent.home, market, "60").left == 140.0
    assert outlook(terms, agent.home, "another", "60").left == 80.0


def test_gaussian_noise_needs_a_balance_with_a_delta(agent):
    plain = agent.terms().plain
    privacy = {**plain["privacy"], "noise": "gaussian", "delta": "0.00001"}
    terms = Terms.model_validate({**plain, "privacy": privacy})
    assert outlook(terms, agent.home, agent.market, "1").left is None
