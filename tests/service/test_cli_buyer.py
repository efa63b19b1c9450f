"""`kantor buyer` against a live market: from a template to the data, and the mistakes that are likeliest."""

import hashlib
import json

import numpy as np
import polars as pl
import pytest

from kantor.service.agent.template import template
from service.agent.commands import done, kantor, plain, refused, token, token_file
from service.town import TARGET


@pytest.fixture
def at(shared, tmp_path):
    """The option that names a buyer's folder with server and token in it."""
    done(
        "buyer",
        "init",
        "--server",
        shared.url,
        "--token-file",
        token_file(shared.buyer, tmp_path),
        "--home",
        tmp_path / "b",
    )
    return ["--home", str(tmp_path / "b")]


@pytest.fixture
def terms(shared, tmp_path):
    """A terms file, filled in from the template as a buyer would; parts are replaced."""

    def write(**changed):
        start = json.loads(json.dumps(shared.terms(most_owners=2)))
        (tmp_path / "target.csv").write_text("kwh\n" + "\n".join(map(str, TARGET)) + "\n")
        text = template("public")
        head, rest = text.split("[[trustees.members]]", 1)
        tail = rest[rest.index("[schedule]") :]
        member = start["trustees"]["members"][0]
        keys = "".join(f'{name} = "{member[name]}"\n' for name in ("name", "signing", "receiving"))
        text = f"{head}[[trustees.members]]\n{keys}\n{tail}"
        given = {
            "threshold = 2": "threshold = 1",
            "early = false": "early = true",
            "records = 365": "records = 60",
            "high = 40": "high = 20",
            "least_owners = 20": "least_owners = 2",
            "most_owners = 1000": "most_owners = 2",
            "EUR 500.00": "EUR 5.00",
            "uniform:0:500": "uniform:0:100",
            "epsilon_high = 10": "epsilon_high = 100",
            "dispute_within = 259200": "dispute_within = 60",
            "individual = false": "individual = true",
            **changed,
        }
        for old, new in given.items():
            assert old in text, old
            text = text.replace(old, new, 1)
        (tmp_path / "terms.toml").write_text(text)
        return tmp_path / "terms.toml"

    return write


def drafted(terms, at):
    return plain("buyer", "create", terms(), *at)["id"]


def opened(shared, terms, at):
    market = drafted(terms, at)
    deposit = plain("buyer", "fund", market, "5.00", "--reference", "a transfer", *at)["id"]
    shared.operator.confirm(market, deposit)
    done("buyer", "open", market, *at)
    return market


def test_from_a_template_to_the_data(shared, terms, at, tmp_path):
    said = done("buyer", "create", terms(), *at)
    market = said.split()[2].rstrip(":")
    assert f"Drafted market {market}: A year of daily household loads" in said
    assert "Prices that owners can ask for: from EUR 0.00 to EUR 1.00" in said
    assert "Deposit: EUR 5.00. The descending clock never pays more than EUR 5.00 in all." in said
    assert f"kantor buyer fund {market} 5.00" in said
    assert "EUR 0.00 is paid in and confirmed, and EUR 5.00 is needed" in refused("buyer", "open", market, *at)
    said = done("buyer", "fund", market, "5.00", "--reference", "a transfer", *at)
    assert said == done("buyer", "fund", market, "5.00", "--reference", "a transfer", *at)
    assert "nothing: the operator confirms your deposit" in done("buyer", "status", market, *at)
    (deposit,) = shared.operator.deposits(market)
    shared.operator.confirm(market, deposit["id"])
    assert plain("buyer", "status", market, *at)["next"] == f"kantor buyer open {market}"
    assert f"Market {market} is open" in done("buyer", "open", market, *at)
    assert "There is no result yet" in done("buyer", "result", market, *at)
    owners = [shared.owner(market, number) for number in range(2)]
    for owner in owners:
        owner.enrol()
    shared.until(market, "bidding")
    for owner in owners:
        owner.bid(10, "50")
    shared.until(market, "delivering")
    assert (
        "the winners' data are not all in yet"
        in refused("buyer", "download", market, "--out", tmp_path / "d", *at).lower()
    )
    for owner in owners:
        owner.deliver()
    shared.turn(2)
    found = plain("buyer", "result", market, "--bundle", tmp_path / "bundle.json", *at)
    assert (found["signed"], len(found["winners"])) == (True, 2)
    assert "Everything holds" in done("verify", tmp_path / "bundle.json")
    assert done("buyer", "result", market, *at).startswith("owner,payment,epsilon,delivered\n")
    check_download(market, at, tmp_path / "purchase")
    assert "waits; the others go on" in done(
        "buyer", "dispute", market, "--owner", owners[0].name, "--text", "Old", *at
    )
    assert shared.operator.doubts(market)[0]["text"] == "Old"
    shared.wait(60)


def check_download(market, at, out):
    """The files are what the manifest says, to the last bit."""
    assert "The manifest is the one in the market's log" in done("buyer", "download", market, "--out", out, *at)
    manifest = json.loads((out / "manifest.json").read_text())
    table = pl.read_csv(out / "aggregate.csv")
    content = b"".join(table.get_column(name).to_numpy().astype("<f8").tobytes() for name in table.columns)
    assert hashlib.sha256(content).hexdigest() == manifest["sha256"]
    for line in manifest["delivered"]:
        values = pl.read_csv(out / "series" / f"{line['owner']}.csv").get_column("value").to_numpy()
        assert hashlib.sha256(np.ascontiguousarray(values, dtype="<f8").tobytes()).hexdigest() == line["sha256"]
    assert plain("buyer", "download", market, "--out", out, *at)["verified"] is True


def test_a_download_that_does_not_fit_is_exit_code_1(shared, at, tmp_path, monkeypatch):
    from kantor.service.client import Client

    market, _ = shared.settled()
    ask = Client.purchase

    def changed(client, name):
        found = ask(client, name)
        return {**found, "manifest": {**found["manifest"], "sha256": "0" * 64}}

    monkeypatch.setattr(Client, "purchase", changed)
    found = kantor("buyer", "download", market, "--out", tmp_path / "purchase", *at)
    assert found.returncode == 1
    assert "WRONG: the aggregate has the hash" in found.stdout
    assert not (tmp_path / "purchase").exists()


def test_server_and_token_from_the_environment(shared, terms):
    around = {"KANTOR_SERVER": shared.url, "KANTOR_TOKEN": token(shared.buyer), "KANTOR_BUYER_HOME": "/nowhere"}
    assert plain("buyer", "create", terms(), **around)["state"] == "draft"
    assert "there is no token" in refused("buyer", "status", KANTOR_SERVER=shared.url, KANTOR_BUYER_HOME="/nowhere")
    assert "there is no server. Give --server" in refused("buyer", "status", KANTOR_BUYER_HOME="/nowhere")


def test_a_kept_token_goes_to_its_own_server_alone(at):
    assert "there is no token" in refused("buyer", "status", "--server", "http://127.0.0.1:9", *at)


def test_init_replaces_only_when_told(shared, at, tmp_path):
    init = ["buyer", "init", "--server", shared.url, *at]
    buyers, owners = (token_file(shared.client(role), tmp_path) for role in ("buyer", "owner"))
    assert "kept already. Add --replace" in refused(*init, "--token-file", buyers)
    assert "this is the token of a market's owner" in refused(*init, "--replace", "--token-file", owners)
    done(*init, "--replace", "--token-file", buyers)
    assert (tmp_path / "b" / "token").read_text() == buyers.read_text()
    assert (tmp_path / "b" / "token").stat().st_mode & 0o077 == 0


def test_terms_that_are_wrong_name_the_line_and_the_term(terms, at):
    said = refused("buyer", "create", terms(**{'payments = "clock"': 'payments = "clocks"'}), *at)
    assert "terms.toml, line 14, field rule.payments: it is 'clocks', and it should be" in said
    said = json.loads(refused("buyer", "create", terms(**{"confidence = 0.95": "confidence = 2"}), "--json", *at))
    assert said["where"]["field"] == "rule.confidence"


def test_a_draft_may_be_revised(terms, at):
    market = drafted(terms, at)
    assert "Deposit: EUR 7.00" in done("buyer", "create", terms(**{"EUR 5.00": "EUR 7.00"}), "--revise", market, *at)


def test_money_that_is_none(terms, at):
    market = drafted(terms, at)
    assert "argument AMOUNT: '5,00' is no amount in EUR" in refused("buyer", "fund", market, "5,00", *at)
    assert "is no market's id" in refused("buyer", "fund", "Loads", "5.00", *at)


def test_cancelling_asks(shared, terms, at):
    market = opened(shared, terms, at)
    cancel = ["buyer", "cancel", market, "--reason", "The need is gone", *at]
    assert "no terminal to ask at" in refused(*cancel)
    refused(*cancel, typed="n\n", code=1)
    assert shared.operator.market(market)["state"] == "enrolling"
    assert "EUR 5.00 goes back to you" in done(*cancel, typed="y\n")
    assert "it was called off" in done("buyer", "status", market, *at)
    assert market in done("buyer", "status", *at)


def test_another_buyers_market_is_not_ones_own(shared, tmp_path):
    market, _ = shared.settled()
    other = shared.client("buyer")
    around = {"KANTOR_SERVER": shared.url, "KANTOR_TOKEN": token(other), "KANTOR_BUYER_HOME": tmp_path}
    for command in (["status"], ["result"], ["open"], ["cancel", "--reason", "x", "--yes"]):
        assert "is another buyer's" in refused("buyer", command[0], market, *command[1:], **around)
    assert "You have no markets" in done("buyer", "status", **around)
