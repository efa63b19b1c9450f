"""`kantor owner run`: unattended, in threads and as a process that is killed."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from service.agent.commands import kantor, refused
from service.agent.test_running import Companions

KANTOR = Path(sys.executable).with_name("kantor")


def homes(shared, market, count):
    """Homes of owners who have done nothing yet."""
    return [shared.owner(market, number).home.folder for number in range(count)]


def started(market, home, price, *more):
    """A process of its own, as a person would leave it running."""
    arguments = ["owner", "run", market, "--home", str(home), "--price", price, "--epsilon", "50", *more]
    return subprocess.Popen(
        [KANTOR, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_unattended_from_enrolment_to_payment(shared):
    market = shared.market(most_owners=2)
    one, other = homes(shared, market, 2)
    run = ["owner", "run", market, "--epsilon", "50", "--every", "0.05", "--yes"]
    with Companions(shared), started(market, other, "0.20", "--yes", "--every", "0.05") as beside:
        found = kantor(*run, "--home", one, "--price", "0.10", "--json")
        out, err = beside.communicate(timeout=60)
    assert found.returncode == 0, found.stderr
    steps = [json.loads(line) for line in found.stdout.splitlines()]
    assert [step["step"] for step in steps[:2]] == ["enrolled", "bid"]
    assert (steps[-1]["outcome"], steps[-1]["well"]) == ("paid", True)
    assert "kept its word in all 8 points" in steps[-1]["text"]
    assert (beside.returncode, err) == (0, "")
    lines = out.splitlines()
    assert any("Bid EUR 0.20 at epsilon 50, sealed" in line for line in lines)
    assert "Paid EUR" in lines[-1]


@pytest.mark.slow
def test_killed_and_started_again_it_takes_part_once(shared):
    """Killed once in every stage, always without warning."""
    market = shared.market(most_owners=2)
    one, other = homes(shared, market, 2)
    running = started(market, one, "0.10", "--yes", "--every", "0.05", "--json")
    for said in ("enrolled", "bid", "delivered"):
        with Companions(shared):
            next(line for line in running.stdout if json.loads(line)["step"] == said)
        running.send_signal(signal.SIGKILL)
        running.communicate(timeout=20)
        running = started(market, one, "0.10", "--yes", "--every", "0.05", "--json")
        if said == "enrolled":
            beside = started(market, other, "0.20", "--yes", "--every", "0.05")
    with Companions(shared):
        out, err = running.communicate(timeout=60)
        beside.communicate(timeout=60)
    assert (running.returncode, err) == (0, "")
    assert json.loads(out.splitlines()[-1])["outcome"] == "paid"
    kinds = [event["kind"] for event in shared.operator.log(market)]
    assert [kinds.count(kind) for kind in ("enrolled", "bid", "delivered")] == [2, 2, 2]


def test_orders_from_a_file(shared, tmp_path):
    market = shared.market()
    home = homes(shared, market, 1)[0]
    config = tmp_path / "run.toml"
    config.write_text(f'market = "{market}"\nprice = 9.5\nepsilon = 50\n')
    run = ["owner", "run", "--config", config, "--home", home, "--yes"]
    assert "a price of EUR 9.50 cannot win" in refused(*run)
    assert "a price of EUR 8.00 cannot win" in refused(*run, "--price", "8")
    config.write_text('marked = "x"\n')
    assert "marked = 'x' means nothing here. It may hold: market, price, epsilon, distance" in refused(*run)
    config.write_text("price = \n")
    assert "Write it as TOML" in refused(*run)
    config.write_text("price = 1\n")
    assert "there is no market. Give MARKET, or put market into a --config file" in refused(*run)


def test_it_asks_once_and_says_what_for(shared):
    market = shared.market()
    home = homes(shared, market, 1)[0]
    run = ["owner", "run", market, "--price", "0.10", "--epsilon", "50", "--home", home]
    assert "there is no terminal to ask at (Enrol in “A year of loads”, bid EUR 0.10 at epsilon 50" in refused(*run)
    found = kantor(*run, typed="n\n")
    assert found.returncode == 1
    assert "What leaves this machine" in found.stdout
    assert shared.operator.market(market)["owners"] == 0


def test_stopped_by_hand_it_says_that_it_goes_on(shared):
    market = shared.market()
    home = homes(shared, market, 1)[0]
    with started(market, home, "0.10", "--yes") as running:
        assert "Enrolled as" in running.stdout.readline()
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=20)
    assert running.returncode == 130
    assert "The same command goes on from here" in err


def test_a_market_that_breaks_its_word_is_exit_code_1(shared):
    market, owners = shared.settled()
    agent = owners[0]
    bid = agent.notes.known["bids"][0]
    agent.notes.keep(bids=[{**bid, "receipt": {**bid["receipt"], "log": "0" * 64}}])
    run = ["owner", "run", market, "--price", "0.10", "--epsilon", "50", "--home", agent.home.folder, "--yes"]
    found = kantor(*run)
    assert found.returncode == 1
    assert "The market has not kept its word: event" in found.stdout
