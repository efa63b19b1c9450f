"""`kantor owner enrol` and `run` in a market that values data privately, with three parties as processes."""

import threading

import pytest

from kantor.service.agent.running import Errand, Orders
from service.agent.commands import done, kantor, plain
from service.agent.test_running import Companions
from service.agent.towns import PRIVATE, private_town
from service.databases import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def private(tmp_path_factory):
    with private_town(tmp_path_factory.mktemp("private")) as found:
        yield found


def test_shares_are_sent_by_a_second_enrol_or_a_waiting_one(private):
    market = private.market(valuation=PRIVATE, most_owners=2)
    agents = [private.owner(market, number) for number in range(2)]
    one, other = (["--home", str(agent.home.folder)] for agent in agents)
    assert "three shares of your data" in done("owner", "inspect", market, *one)
    said = done("owner", "enrol", market, "--yes", *one)
    assert "three parties ask for shares of your data" in said
    assert f"kantor owner run {market}" in said
    assert "until the parties ask for shares" in plain("owner", "status", *one)["markets"][0]["next"]
    with Companions(private):
        waited = threading.Thread(target=done, args=("owner", "enrol", market, "--yes", "--wait", *other))
        waited.start()
        waited.join(60)
    assert not waited.is_alive()
    assert "sends your shares" in plain("owner", "status", *one)["markets"][0]["next"]
    assert "The three parties have their shares" in done("owner", "enrol", market, *one)
    private.until(market, "bidding")
    found = plain("owner", "inspect", market, *one)
    assert float(found["distance"]) > 0
    assert plain("owner", "enrol", market, *one)["distance"] == found["distance"]


def test_an_errand_sends_its_shares_and_who_sends_none_is_left_out(private):
    schedule = {"bid_until": private.later(3 * 3600)}
    market = private.market(valuation=PRIVATE, most_owners=3, schedule=schedule)
    agents = [private.owner(market, number) for number in range(3)]
    said, endings = [], []

    def run(agent):
        endings.append(Errand(agent, Orders("0.10", "50"), lambda *told: said.append(told), every=0.05).run())

    threads = [threading.Thread(target=run, args=(agent,), daemon=True) for agent in agents[:2]]
    agents[2].enrol()
    with Companions(private):
        for thread in threads:
            thread.start()
        wait_until(lambda: [step for step, _ in said].count("valued") == 2, 60)
        private.wait(3600)
        for thread in threads:
            thread.join(60)
    assert [ending.outcome for ending in endings] == ["paid", "paid"]
    run = ["owner", "run", market, "--price", "0.10", "--epsilon", "50", "--home", agents[2].home.folder, "--yes"]
    found = kantor(*run)
    assert found.returncode == 1
    assert "Left out of this market: it sent nothing" in found.stdout
