"""What a person sees: on narrow screens too, ids and commands can be copied whole."""

import pytest

from service.agent.commands import done, token
from service.agent.towns import one_town


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with one_town(tmp_path_factory.mktemp("town")) as found:
        yield found


@pytest.fixture(scope="module")
def settled(shared):
    """A settled market with a doubt that was decided, and homes of its owners."""
    market, owners = shared.delivering(schedule={"dispute_within": 60})
    for owner in owners:
        if owner.result()["bought"]:
            owner.deliver()
    shared.turn(2)
    shared.buyer.dispute(market, "These are last year's", owner=owners[0].name)
    shared.operator.decide(market, shared.operator.doubts(market)[0]["id"], "refuse", "They are")
    return market, owners


@pytest.fixture(params=[80, 120])
def screen(request):
    return request.param


def fits(said, screen):
    """Lines fit, but for those that hold a command to be copied."""
    return all(len(line.rstrip()) <= screen or "kantor " in line for line in said.splitlines())


def test_owners_screens(shared, settled, screen):
    market, owners = settled
    at = ["--home", str(owners[0].home.folder)]
    said = done("owner", "status", *at, screen=screen)
    assert f"│ {market} │" in said
    assert "neither spent nor set aside" in said.replace("\n", " ")
    assert fits(said, screen)
    said = done("owner", "inspect", market, *at, screen=screen)
    for heading in ("What is bought", "What an owner is paid", "When", "Who sees what", "Your data", "What never does"):
        assert f"\n{heading}" in said
    assert fits(said, screen)
    assert "delivered" in done("owner", "receipts", market, *at, screen=screen)
    assert fits(done("owner", "check", market, *at, screen=screen), 120)


def test_buyers_screens(shared, settled, screen, tmp_path):
    market, _ = settled
    around = {"KANTOR_SERVER": shared.url, "KANTOR_TOKEN": token(shared.buyer), "KANTOR_BUYER_HOME": str(tmp_path)}
    said = done("buyer", "status", screen=screen, **around)
    assert f"│ {market} │" in said
    said = done("buyer", "status", market, screen=screen, **around)
    assert "The server's clock decides" in said
    assert fits(said, screen)
    said = done("buyer", "result", market, screen=screen, **around)
    assert "signed by the market" in " ".join(said.split())
    assert fits(said, screen)
    assert "of 4 owners who bid" in said
    draft = shared.buyer.create(shared.terms())["id"]
    shared.buyer.deposit(draft, 500, "")
    said = done("buyer", "status", draft, screen=screen, **around)
    assert "announced, not confirmed yet: no reference" in " ".join(said.split())


def test_operators_screens(shared, settled, screen):
    market, owners = settled
    around = {"KANTOR_SERVER": shared.url, "KANTOR_TOKEN": token(shared.operator)}
    said = done("operator", "doubts", market, screen=screen, **around)
    assert "These are last year's" in said
    assert "refuse: They are" in said
    assert fits(said, screen)
    assert owners[0].name in said
    assert "buyer" in done("operator", "accounts", screen=screen, **around)
