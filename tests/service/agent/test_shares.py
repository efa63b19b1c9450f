"""Shares: sent to the parties of the terms and to no others, and the same ones again after a stop."""

import json

import pytest

from kantor.errors import EvidenceError, PartyError
from kantor.private.identity import make_keys
from kantor.private.trio import free_addresses
from kantor.service.agent import shares
from kantor.service.agent.owner import OwnerAgent
from service.agent.stops import StoppedError, again
from service.agent.towns import PRIVATE, private_town


@pytest.fixture(scope="module")
def private(tmp_path_factory):
    """A town with three computing parties."""
    with private_town(tmp_path_factory.mktemp("private")) as found:
        yield found


def invited(place, owners=2):
    """A market whose parties wait for shares, and its owners."""
    market = place.market(valuation=PRIVATE, most_owners=owners)
    agents = [place.owner(market, number) for number in range(owners)]
    for agent in agents:
        agent.enrol()
        assert not agent.send_shares()
    place.turn(2)
    return market, agents


@pytest.mark.slow
def test_shares_that_were_sent_in_part_are_sent_again_the_same(private, monkeypatch):
    market, (agent, other) = invited(private)
    sent, ask = [], shares.call

    def once(roster, party, *rest):
        if sent:
            raise StoppedError
        sent.append(party)
        return ask(roster, party, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(shares, "call", once)
        with pytest.raises(StoppedError):
            agent.send_shares()
    fresh = again(agent)
    kept = fresh.notes.file.with_suffix(".shares")
    assert kept.stat().st_mode & 0o077 == 0
    assert fresh.send_shares()
    assert not kept.exists()
    assert fresh.send_shares()
    other.send_shares()
    private.until(market, "bidding")
    for each in (fresh, other):
        place = each.client.enrolment(market)
        assert place["excluded"] is None
        assert float(place["distance"]) > 0


@pytest.mark.slow
def test_other_parties_than_those_of_the_terms_get_nothing(private, tmp_path, monkeypatch):
    _, (agent, _) = invited(private)
    invitation = agent.client.invitation(agent.market)
    make_keys(tmp_path, free_addresses())
    invitation["roster"] = json.loads((tmp_path / "roster.json").read_text())
    monkeypatch.setattr(agent.client, "invitation", lambda _: invitation)
    with pytest.raises(EvidenceError, match="parties are not those of the terms"):
        agent.send_shares()
    assert "shares" not in agent.notes.known
    assert not agent.notes.file.with_suffix(".shares").exists()


@pytest.mark.slow
def test_parties_that_are_away_are_told_as_such(private, monkeypatch):
    _, (agent, _) = invited(private)

    def away(*_):
        raise PartyError("party 1 cannot be reached", remedy="Start it.", party=1)

    monkeypatch.setattr(shares, "OwnerSide", away)
    with pytest.raises(PartyError, match="cannot be reached"):
        OwnerAgent(agent.home, agent.client, agent.market).send_shares()
    assert "shares" not in agent.notes.known
