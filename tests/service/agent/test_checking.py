"""What `check` notices: every way in which a server could cheat one owner has to end in an error that says so."""

import json

import pytest

from kantor.errors import EvidenceError
from kantor.evidence.chain import chained
from kantor.evidence.signing import Signer
from kantor.service.agent import checking
from service.agent.towns import one_town


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with one_town(tmp_path_factory.mktemp("town")) as found:
        yield found


class Cheating:
    """A client whose answers somebody changes on the way."""

    def __init__(self, honest, **changes):
        self._honest, self._changes = honest, changes

    def __getattr__(self, name):
        ask = getattr(self._honest, name)
        change = self._changes.get(name)
        return ask if change is None else lambda *a, **k: change(ask(*a, **k))


@pytest.fixture(scope="module")
def settled(shared):
    """A market from beginning to end, and an owner of it that was paid."""
    market, owners = shared.settled()
    return shared, market, next(owner for owner in owners if owner.result()["bought"])


def cheated(settled, **changes):
    _, _, agent = settled
    fresh = type(agent)(agent.home, Cheating(agent.client, **changes), agent.market)
    with pytest.raises(EvidenceError) as found:
        fresh.check()
    return str(found.value)


def test_an_honest_market_passes(settled):
    said = settled[2].check()
    assert len(said) == 8
    assert "paid what your signed result says" in said[-1]


def test_a_changed_log_is_noticed(settled):
    def shorter(log):
        events = list(log)
        return events[:3] + events[4:]

    def forged(log):
        events = json.loads(json.dumps(list(log)))
        events[5]["body"]["forged"] = True
        return events

    assert "does not follow" in cheated(settled, log=shorter)
    assert "does not follow" in cheated(settled, log=forged)


def test_a_log_that_was_written_anew_does_not_hold_the_receipts(settled):
    def anew(log):
        story = []
        for event in log:
            body = {**event["body"], "anew": 1} if event["kind"] == "valued" else event["body"]
            last = story[-1] if story else None
            story.append(chained(last, event["market"], event["at"], event["kind"], event["actor"], body))
        return [event.as_dict() for event in story]

    assert "is not the one that your receipt quotes" in cheated(settled, log=anew)


def sign_again(own, **changed):
    """A result that another key has signed."""
    names = ("market", "root", "owner", "excluded", "bought", "payment", "epsilon", "distance", "noise")
    said = {**{name: own[name] for name in names}, **changed}
    return {**own, **said, "signature": Signer.new().sign("result", said)}


def test_a_result_that_the_server_did_not_sign_is_refused(settled):
    change = lambda found: {**found, "own": sign_again(found["own"], payment=1)}  # noqa: E731
    assert "the signature on this result" in cheated(settled, result=change)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"payment": 1}, "less than the"),
        ({"epsilon": "60"}, "your epsilon was taken as 60, and you bid 50"),
        ({"distance": "9.000000"}, "your distance was taken as 9.000000"),
        ({"excluded": "it was late"}, "your bid counted and was then left out: it was late"),
    ],
)
def test_a_signed_result_that_breaks_a_promise_is_noticed(settled, changed, said):
    shared = settled[0]
    names = ("market", "root", "owner", "excluded", "bought", "payment", "epsilon", "distance", "noise")

    def change(found):
        own = {**found["own"], **changed}
        plain = {name: own[name] for name in names}
        return {**found, "own": {**own, "signature": shared.exchange.signer.sign("result", plain)}}

    assert said in cheated(settled, result=change)


def test_a_published_outcome_that_is_not_in_the_log_is_noticed(settled):
    shared = settled[0]

    def change(found):
        public = {name: part for name, part in found["public"].items() if name != "signature"}
        public["spend"] += 1
        return {**found, "public": {**public, "signature": shared.exchange.signer.sign("public", public)}}

    assert "not the one in the log" in cheated(settled, result=change)


def test_a_payment_that_did_not_come_is_noticed(settled):
    change = lambda found: {**found, "own": {**found["own"], "paid": 0}}  # noqa: E731
    assert "the market is settled, you delivered, and 0 of" in cheated(settled, result=change)


def test_a_proof_of_another_bid_is_noticed(settled):
    assert "another bid counts" in cheated(settled, inclusion=lambda found: {**found, "leaf": "0" * 64})
    assert cheated(settled, inclusion=lambda found: {**found, "index": found["index"] ^ 1})


def test_a_bid_that_is_not_counted_is_noticed(settled):
    _, _, agent = settled
    last = agent.notes.known["bids"][-1]
    later = {**last, "receipt": {**last["receipt"], "number": 2, "bid": "0" * 64}}
    agent.notes.keep(bids=[last, later])
    try:
        with pytest.raises(EvidenceError, match="not the last one that you have a receipt for"):
            agent.check()
    finally:
        agent.notes.keep(bids=[last])


def test_other_terms_than_were_read_are_noticed(settled, monkeypatch):
    _, _, agent = settled
    known = agent.notes.known
    agent.notes.keep(terms_digest="0" * 64)
    try:
        with pytest.raises(EvidenceError, match="other terms than you enrolled under"):
            checking.check(agent)
    finally:
        agent.notes.keep(terms_digest=known["terms_digest"])
