"""`kantor owner` against a live market: each command's way, and the mistakes that are likeliest."""

import json

import pytest

from service.agent.commands import done, kantor, plain, refused, token, token_file


@pytest.fixture
def meter(tmp_path):
    file = tmp_path / "meter.csv"
    file.write_text("day,kwh\n" + "\n".join(f"{day},{5 + 0.05 * day:.2f}" for day in range(60)) + "\n")
    return file


@pytest.fixture
def init(shared, meter, tmp_path):
    """The arguments that make a home; parts are replaced by name."""

    def arguments(name="home", **changed):
        given = {
            "--server": shared.url,
            "--token-file": token_file(shared.client("owner"), tmp_path),
            "--data": meter,
            "--column": "kwh",
            "--epsilon": "100",
            "--home": tmp_path / name,
            **{f"--{part.replace('_', '-')}": value for part, value in changed.items()},
        }
        return ["owner", "init", *(part for pair in given.items() if pair[1] is not None for part in pair)]

    return arguments


# ---- init


def test_init_says_what_was_made_and_where(init, tmp_path):
    said = done(*init())
    assert f"Made {tmp_path / 'home'}" in said
    assert "60 values from 5 to 7.95, column kwh" in said
    assert "epsilon 100 in all, counted for any one value" in said
    assert "kantor_" not in said


def test_init_takes_the_token_from_the_environment_or_unseen(init, shared, tmp_path):
    secret = token(shared.client("owner"))
    assert plain(*init("a", token_file=None), KANTOR_TOKEN=secret)["home"] == str(tmp_path / "a")
    assert "there is no token. Give --token-file FILE" in refused(*init("b", token_file=None))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"column": None}, "has 2 columns (day, kwh). Say which holds your data: --column NAME"),
        ({"column": "watt"}, "there is no column 'watt'. The columns are: day, kwh"),
        ({"data": "nothing.csv"}, "nothing.csv: there is no such file"),
        ({"unit": "week"}, "the unit is 'week'. Choose record, series, or a whole number"),
        ({"epsilon": "0"}, "the limit is epsilon 0"),
        ({"server": "http://127.0.0.1:9"}, "http://127.0.0.1:9 cannot be reached"),
        ({"server": "nonsense"}, "argument --server: 'nonsense' is no address"),
    ],
)
def test_init_makes_nothing_of_what_is_wrong(init, tmp_path, monkeypatch, changed, said):
    monkeypatch.setattr("kantor.commands.owner.reaching._PATIENCE", 0.2)
    assert said in refused(*init(**changed))
    assert not (tmp_path / "home").exists()


def test_init_replaces_nothing(init):
    done(*init())
    assert "there is an owner's home already" in refused(*init())


def test_init_wants_an_owners_good_token(init, shared, tmp_path):
    buyers = token_file(shared.client("buyer"), tmp_path)
    assert "this is the token of a market's buyer" in refused(*init(token_file=buyers))
    (tmp_path / "made-up").write_text(token(shared.client("owner"))[:-4] + "0000\n")
    assert "does not accept your token: the token is not known" in refused(*init(token_file=tmp_path / "made-up"))
    (tmp_path / "none").write_text("hello\n")
    assert "this is no token" in refused(*init(token_file=tmp_path / "none"))


# ---- taking part


@pytest.fixture
def at(init, tmp_path):
    """The option that names a fresh home."""
    done(*init())
    return ["--home", str(tmp_path / "home")]


def test_inspect_says_everything_in_plain_words(shared, at):
    market = shared.market(purpose="To buy energy ahead")
    said = done("owner", "inspect", market, *at)
    for words in (
        f"A year of loads (market {market}, enrolling)",
        "To buy energy ahead",
        "the best data that EUR 5.00 can pay for",
        "Ask for the least that you would really accept",
        "Enrolment ends",
        "one trustee opens it (Trustee 1)",
        "They fit: 60 values from 5 to 7.95.",
        "your data as they are",
        "epsilon,noise_sd,noise_distance,distance,left",
        "epsilon 100 is left",
    ):
        assert words in said
    found = plain("owner", "inspect", market, *at)
    assert found["truth_is_best"] is True
    assert [row["epsilon"] for row in found["noise"]] == ["1", "2", "5", "10", "20", "50", "100"]
    assert found["noise"][-1]["left"] == 0.0
    assert shared.operator.market(market)["owners"] == 0


def test_inspect_shows_the_terms_and_then_what_does_not_fit(shared, at, meter):
    rows = meter.read_text().splitlines()
    meter.write_text("\n".join([*rows[:17], "16,25.5", *rows[18:]]) + "\n")
    found = kantor("owner", "inspect", shared.market(), *at)
    assert found.returncode == 2
    assert "What an owner is paid" in found.stdout
    assert "row 18, column kwh: the value is 25.5, outside the market's limits 0 to 20" in found.stderr


def test_a_whole_market_command_by_command(shared, at, tmp_path):
    market = shared.market(schedule={"dispute_within": 60}, most_owners=2)
    other = shared.owner(market, 1)
    assert "What leaves this machine" in done("owner", "enrol", market, *at, "--yes")
    assert "You are enrolled as" in done("owner", "enrol", market, *at)
    other.enrol()
    shared.until(market, "bidding")
    assert "Your bid is in, sealed: bid 1" in done(
        "owner", "bid", market, "--price", "0.30", "--epsilon", "50", "-y", *at
    )
    assert "Bid 1 is withdrawn" in done("owner", "withdraw", market, "--yes", *at)
    done("owner", "bid", market, "--price", "0.20", "--epsilon", "50", "--yes", *at)
    row = plain("owner", "status", *at)["markets"][0]
    assert (row["market"], row["state"], row["bid"]) == (market, "bidding", "EUR 0.20, epsilon 50")
    other.bid(10, "50")
    shared.until(market, "delivering")
    assert plain("owner", "status", market, *at)["markets"][0]["next"] == f"kantor owner deliver {market}"
    receipt = plain("owner", "deliver", market, "--yes", *at)
    assert receipt["what"] == "delivered"
    assert "You had delivered already" in done("owner", "deliver", market, *at)
    other.deliver()
    shared.turn(2)
    assert "wait for payment" in plain("owner", "status", *at)["markets"][0]["next"]
    shared.wait(60)
    shared.until(market, "settled")
    assert plain("owner", "status", *at)["markets"][0]["result"].startswith("paid EUR ")
    assert plain("owner", "status", *at)["left"] == 50.0
    said = done("owner", "check", market, *at)
    assert said.count("right") == 8
    assert "The market has kept its word" in said
    file = tmp_path / "receipts.json"
    done("owner", "receipts", market, "--out", file, *at)
    kept = json.loads(file.read_text())
    assert [each["what"] for each in kept["receipts"]] == ["bid", "withdrawn", "bid", "delivered"]
    assert kept["server"] == shared.exchange.signer.public


def test_receipts_that_are_lost_come_from_the_server(shared, at, tmp_path):
    market = shared.market(schedule={"early": False})
    done("owner", "enrol", market, "--yes", *at)
    shared.owner(market, 1).enrol()
    shared.wait(60)
    shared.until(market, "bidding")
    done("owner", "bid", market, "--price", "0.30", "--epsilon", "50", "--yes", *at)
    (tmp_path / "home" / "markets" / f"{market}.json").unlink()
    assert "you have not enrolled in this market" in refused("owner", "receipts", market, *at)
    done("owner", "enrol", market, *at)
    assert plain("owner", "receipts", market, *at)["fetched"] == 1
    assert done("owner", "receipts", market, *at).startswith("event,what,number,at,price,epsilon,log\n")


# ---- asking


def test_without_a_terminal_nothing_is_done_without_a_yes(shared, at):
    market = shared.market()
    said = refused("owner", "enrol", market, *at)
    assert "there is no terminal to ask at" in said
    assert "Add --yes if that is what you want" in said
    assert shared.operator.market(market)["owners"] == 0


def test_at_a_terminal_it_asks_and_no_is_an_answer(shared, at):
    market = shared.market()
    assert "Nothing was done" in refused("owner", "enrol", market, *at, typed="n\n", code=1)
    assert "Nothing was done" in refused("owner", "enrol", market, *at, typed="", code=1)
    assert shared.operator.market(market)["owners"] == 0
    done("owner", "enrol", market, *at, typed="y\n")
    assert shared.operator.market(market)["owners"] == 1


# ---- mistakes


def test_markets_that_are_none(shared, at):
    assert "'My market' is no market's id" in refused("owner", "inspect", "My market", *at)
    assert "There is no market '0123456789abcdef'" in refused("owner", "inspect", "0123456789abcdef", *at)
    assert plain("owner", "status", "0123456789abcdef", *at)["markets"][0]["state"] == "unknown"


def test_a_home_that_is_none(tmp_path):
    assert "this is no owner's home. Make one with: kantor owner init" in refused("owner", "status", "--home", tmp_path)


def test_a_token_that_was_revoked_says_where_to_put_the_next(shared, at, tmp_path):
    number = (tmp_path / "home" / "token").read_text().split("_")[1]
    shared.operator.revoke(number)
    said = refused("owner", "status", *at)
    assert "does not accept your token: the token was revoked" in said
    assert f"Put the right one into {tmp_path / 'home' / 'token'}" in said


def test_bids_that_cannot_be(shared, at):
    market = shared.market(schedule={"early": False})
    bid = ["owner", "bid", market, "--yes", *at]
    assert "Bidding has not begun" in refused(*bid, "--price", "0.10", "--epsilon", "2")
    done("owner", "enrol", market, "--yes", *at)
    shared.owner(market, 1).enrol()
    shared.wait(60)
    shared.until(market, "bidding")
    for price, epsilon, said in (
        ("9.00", "2", "a price of EUR 9.00 cannot win: this market holds prices from EUR 0.00 to EUR 1.00 possible"),
        ("1,50", "2", "argument --price: '1,50' is no amount in EUR"),
        ("0.10", "0.5", "epsilon 0.5 is outside the market's limits. Choose from 1 to 100"),
        ("0.10", "much", "argument --epsilon: 'much' is no number"),
    ):
        assert said in refused(*bid, "--price", price, "--epsilon", epsilon)
    assert "there is no bid to withdraw" in refused("owner", "withdraw", market, "--yes", *at)
    shared.wait(60)
    said = json.loads(refused(*bid, "--price", "0.10", "--epsilon", "2", "--json"))
    assert said["kind"] == "late"
    assert "Bidding is over" in said["message"]
    shared.until(market, "cancelled")
    late = shared.market()
    shared.wait(60)
    assert "enrolment in this market is over" in refused("owner", "enrol", late, "--yes", *at)


def test_a_bid_beyond_the_balance(init, shared, tmp_path):
    done(*init("poor", epsilon="3"))
    at = ["--home", str(tmp_path / "poor")]
    market = shared.market(most_owners=2)
    done("owner", "enrol", market, "--yes", *at)
    shared.owner(market, 1).enrol()
    shared.until(market, "bidding")
    said = refused("owner", "bid", market, "--price", "0.10", "--epsilon", "5", "--yes", *at)
    assert "epsilon 5 is more than is left of your balance: 3" in said
    assert "Nothing was sent" in said


def test_delivering_what_was_not_bought(shared, at):
    market = shared.market(most_owners=2)
    done("owner", "enrol", market, "--yes", *at)
    other = shared.owner(market, 1)
    other.enrol()
    shared.until(market, "bidding")
    assert "nothing is bought yet" in refused("owner", "deliver", market, "--yes", *at)
    done("owner", "bid", market, "--price", "0.10", "--epsilon", "2", "--yes", *at)
    done("owner", "withdraw", market, "--yes", *at)
    other.bid(10, "50")
    shared.until(market, "delivering", "settled")
    assert "nothing of yours was bought" in refused("owner", "deliver", market, "--yes", *at)


def test_check_says_no_when_something_is_wrong(shared, at, tmp_path):
    from kantor.service.agent.home import Home

    market = shared.market(most_owners=2)
    done("owner", "enrol", market, "--yes", *at)
    shared.owner(market, 1).enrol()
    shared.until(market, "bidding")
    done("owner", "bid", market, "--price", "0.10", "--epsilon", "2", "--yes", *at)
    notes = Home(tmp_path / "home").notes(market)
    bid = notes.known["bids"][0]
    notes.keep(bids=[{**bid, "receipt": {**bid["receipt"], "log": "0" * 64}}])
    found = kantor("owner", "check", market, *at)
    assert found.returncode == 1
    assert "WRONG: event" in found.stdout
    said = kantor("owner", "check", market, "--json", *at)
    assert (said.returncode, json.loads(said.stdout)["passed"]) == (1, False)
