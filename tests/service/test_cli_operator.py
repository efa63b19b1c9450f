"""`kantor operator` against a live market."""

import json

import pytest

from kantor.service.client import Client
from kantor.service.settings import OPERATOR_TOKEN
from service.agent.commands import done, plain, refused, token_file


@pytest.fixture
def at(shared):
    """The options that sign the operator in."""
    return ["--server", shared.url, "--token-file", str(shared.exchange.folder / OPERATOR_TOKEN)]


def test_adding_somebody_and_taking_it_back(shared, at, tmp_path):
    made = plain("operator", "add", "Household 17", "--role", "owner", "--days", "2", *at)
    with Client(shared.url, made["token"]) as client:
        assert client.me()["role"] == "owner"
    file = tmp_path / "17.token"
    said = done("operator", "token", made["id"], "--market", "0123456789abcdef", "--out", file, *at)
    assert said == ""
    assert file.stat().st_mode & 0o077 == 0
    with Client(shared.url, file.read_text().strip()) as client:
        assert client.me()["market"] == "0123456789abcdef"
    assert "there is such a file already" in refused("operator", "add", "A", "--role", "owner", "--out", file, *at)
    row = next(row for row in done("operator", "accounts", *at).splitlines() if row.startswith(made["id"]))
    assert "Household 17,owner," in row
    assert made["token_id"] in row
    assert "is revoked" in done("operator", "revoke", made["token_id"], *at)
    assert made["token_id"] not in done("operator", "accounts", *at)
    account = next(each for each in plain("operator", "accounts", *at) if each["id"] == made["id"])
    assert len(account["tokens"]) == 2


def test_a_token_is_printed_alone_so_that_it_can_be_piped(at):
    said = done("operator", "add", "A buyer", "--role", "buyer", *at)
    assert said.startswith("kantor_")
    assert len(said.split()) == 1


def test_deposits(shared, at):
    made = shared.buyer.create(shared.terms())
    shared.buyer.deposit(made["id"], 500, "a transfer")
    (row,) = plain("operator", "deposits", made["id"], *at)
    assert f"{made['id']},{row['id']},EUR 5.00,a transfer," in done("operator", "deposits", *at)
    said = done("operator", "confirm", made["id"], row["id"], *at)
    assert "Confirmed: EUR 5.00. EUR 5.00 is there now, and EUR 5.00 is needed." in said
    assert plain("operator", "confirm", made["id"], row["id"], *at)["funds"]["there"] == 500
    assert "is no deposit's id" in refused("operator", "confirm", made["id"], "first", *at)
    assert "has no deposit '00'" in refused("operator", "confirm", made["id"], "00", *at)


def test_doubts_decisions_and_payouts(shared, at, tmp_path):
    market, owners = shared.delivering(schedule={"dispute_within": 60})
    winners = [owner for owner in owners if owner.result()["bought"]]
    for owner in winners:
        owner.deliver()
    shared.turn(2)
    shared.buyer.dispute(market, "These are last year's", owner=winners[0].name)
    assert "the market is delivering" in refused("operator", "payouts", market, *at)
    (doubt,) = plain("operator", "doubts", market, *at)
    assert "These are last year's" in done("operator", "doubts", *at)
    decide = ["operator", "decide", market, doubt["id"]]
    said = done(*decide, "refuse", "--reason", "They are", *at)
    assert "Decided: refuse" in said
    assert "decided already: refuse" in refused(*decide, "pay", "--reason", "No", *at)
    assert "is no doubt's id" in refused("operator", "decide", market, "x", "pay", "--reason", "No", *at)
    shared.wait(60)
    shared.until(market, "settled")
    file = tmp_path / "payouts.csv"
    found = plain("operator", "payouts", market, "--out", file, *at)
    owed = {row["owner"]: row["amount"] for row in found["payouts"]}
    paid = {owner.name: owner.result()["paid"] for owner in winners[1:]}
    assert owed == {owner: f"{amount / 100:.2f}" for owner, amount in paid.items()}
    assert file.read_text() == done("operator", "payouts", market, *at)
    accounts = {owner.name: owner.client.me()["account"] for owner in winners[1:]}
    assert {row["owner"]: row["account"] for row in found["payouts"]} == accounts
    assert "account" not in json.dumps(shared.buyer.result(market)["winners"])


def test_who_may_not(shared, tmp_path):
    at = ["--server", shared.url, "--token-file", token_file(shared.buyer, tmp_path)]
    said = json.loads(refused("operator", "accounts", "--json", *at))
    assert (said["kind"], said["status"]) == ("forbidden", 403)
    assert "there is no token" in refused("operator", "accounts", "--server", shared.url)


def test_every_command_has_an_example():
    for group, commands in {
        "owner": "init status inspect enrol bid withdraw deliver receipts check run",
        "buyer": "init template create fund open status result download dispute cancel",
        "operator": "accounts add token revoke deposits confirm doubts decide payouts",
    }.items():
        for command in commands.split():
            assert f"Example: kantor {group} {command}" in done(group, command, "--help")
