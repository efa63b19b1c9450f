"""An owner's errand: its whole part in a market, wherever it is stopped and however often it is started."""

import threading
import time
from contextlib import suppress

import pytest

from kantor.errors import BalanceError, InputError
from kantor.service.agent import running
from kantor.service.agent.running import Errand, Orders
from kantor.service.client import ServiceError
from service.agent.stops import StoppedError, again

ORDERS = Orders("0.10", "50")


class Companions:
    """Everybody else in town goes on while errands run."""

    def __init__(self, place):
        self.place, self._over = place, threading.Event()
        self._thread = threading.Thread(target=self._turn, daemon=True)

    def _turn(self):
        while not self._over.is_set():
            self.place.turn()
            time.sleep(0.02)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join(20)


def together(place, agents, orders=None, patience=60.0):
    """Run the errands of several owners, each in a thread; how they ended, and what each said.

    An errand that is stopped is begun again, with what is on the disk.
    """
    endings, said, faults = {}, {agent.name: [] for agent in agents}, []

    def one(agent, order):
        try:
            while agent.name not in endings:
                with suppress(StoppedError):
                    errand = Errand(again(agent), order, lambda *told: said[agent.name].append(told), every=0.05)
                    endings[agent.name] = errand.run()
        except Exception as fault:  # noqa: BLE001  raised below, in the test's own thread
            faults.append(fault)

    given = orders or [ORDERS] * len(agents)
    threads = [threading.Thread(target=one, args=pair, daemon=True) for pair in zip(agents, given, strict=True)]
    with Companions(place):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(patience)
    assert not faults, faults
    assert not any(thread.is_alive() for thread in threads), said
    return endings, said


def test_from_enrolment_to_payment_without_anybody(shared):
    market = shared.market(most_owners=3)
    agents = [shared.owner(market, number) for number in range(3)]
    orders = [Orders("0.10", "50"), Orders("0.20", "50"), Orders("1.00", "1")]
    endings, said = together(shared, agents, orders)
    outcomes = [endings[agent.name].outcome for agent in agents]
    assert outcomes[:2] == ["paid", "paid"]
    assert outcomes[2] in ("paid", "not bought")
    steps = [step for step, _ in said[agents[0].name]]
    assert [step for step in steps if step in ("enrolled", "bid", "bought", "delivered")] == [
        "enrolled",
        "bid",
        "bought",
        "delivered",
    ]
    assert len(steps) == len(set(steps))
    assert agents[0].home.balance.left() == 150.0
    if outcomes[2] == "not bought":
        assert agents[2].home.balance.left() == 200.0


def test_stopped_after_every_step_it_goes_on(shared, monkeypatch):
    """It is broken off after each request that changes something, before the answer is heard."""
    market = shared.market(most_owners=2)
    agents = [shared.owner(market, number) for number in range(2)]
    stops = []

    def breaking(name, ask):
        def lost(*arguments, **more):
            answer = ask(*arguments, **more)
            if name not in stops:
                stops.append(name)
                raise StoppedError
            return answer

        return lost

    for name in ("enrol", "bid", "deliver"):
        monkeypatch.setattr(agents[0].client, name, breaking(name, getattr(agents[0].client, name)))
    endings, _ = together(shared, agents)
    assert stops == ["enrol", "bid", "deliver"]
    assert endings[agents[0].name].outcome == "paid"
    log = [event["kind"] for event in shared.operator.log(market)]
    assert [log.count(kind) for kind in ("enrolled", "bid", "delivered")] == [2, 2, 2]
    assert agents[0].home.balance.left() == 150.0


def test_a_server_that_is_away_is_waited_for(shared, monkeypatch):
    market = shared.market(most_owners=2)
    agents = [shared.owner(market, number) for number in range(2)]
    monkeypatch.setattr(running, "_MOST", 0.05)
    ask, failures = agents[0].client.market, iter([True] * 3)

    def away(name):
        if next(failures, False):
            raise ServiceError(0, "unreachable", "it cannot be reached.")
        return ask(name)

    monkeypatch.setattr(agents[0].client, "market", away)
    endings, said = together(shared, agents)
    assert endings[agents[0].name].outcome == "paid"
    waits = [text for step, text in said[agents[0].name] if step == "waiting"]
    assert waits == ["it cannot be reached. Trying again."]


def test_what_cannot_be_right_is_said_before_anything_leaves(shared):
    market = shared.market()
    agent = shared.owner(market)
    for orders, fault, words in (
        (Orders("9.00", "50"), InputError, "cannot win"),
        (Orders("0.1", "500"), InputError, "outside the market's limits"),
        (Orders("ten", "50"), InputError, "is no amount in EUR"),
        (Orders("0.1", "50", "1.5"), InputError, "does not let owners declare"),
    ):
        with pytest.raises(fault, match=words):
            Errand(agent, orders, lambda *_: None).run()
    poor = shared.owner(market, 1, epsilon=10.0)
    with pytest.raises(BalanceError, match="epsilon 50 is more than is left"):
        Errand(poor, ORDERS, lambda *_: None).run()
    assert shared.operator.market(market)["owners"] == 0


def test_a_bid_that_was_withdrawn_by_hand_is_not_made_again(shared):
    market, (agent, other) = shared.bidding(2, schedule={"early": False})
    errand = Errand(agent, ORDERS, lambda *_: None)
    errand._step(agent.about())
    agent.withdraw()
    said = []
    fresh = Errand(again(agent), ORDERS, lambda step, text: said.append(step))
    fresh._step(agent.about())
    assert said == ["withdrawn"]
    other.bid(10, "50")
    shared.wait(60)
    shared.until(market, "delivering", "settled")
    assert fresh._step(agent.about()).outcome == "no bid"


def test_a_bid_that_was_replaced_by_hand_is_left_alone(shared):
    _, (agent, _) = shared.bidding(2, schedule={"early": False})
    Errand(agent, ORDERS, lambda *_: None)._step(agent.about())
    agent.bid(77, "50")
    Errand(again(agent), ORDERS, lambda *_: None)._step(agent.about())
    assert [bid["ask"]["reserve"] for bid in agent.notes.known["bids"]] == [10, 77]
    Errand(again(agent), Orders("0.30", "50"), lambda *_: None)._step(agent.about())
    assert [bid["ask"]["reserve"] for bid in agent.notes.known["bids"]] == [10, 77, 30]


def test_too_late_called_off_and_missed(shared):
    market, (agent, _) = shared.bidding(2, schedule={"early": False})
    late = shared.owner(market, 7)
    with pytest.raises(InputError, match="enrolment is over"):
        Errand(late, ORDERS, lambda *_: None).run()
    shared.buyer.cancel(market, "The need is gone")
    ending = Errand(agent, ORDERS, lambda *_: None).run()
    assert (ending.outcome, ending.well) == ("cancelled", True)
    assert "The need is gone" in ending.text
    missed, owners = shared.delivering(schedule={"deliver_within": 60})
    shared.wait(60)
    shared.until(missed, "settled")
    ending = Errand(owners[0], Orders("0.10", "50"), lambda *_: None).run()
    assert (ending.outcome, ending.well) == ("missed", False)
    assert owners[0].home.balance.left() == 200.0


def test_looking_away_is_short_before_an_end_and_long_for_a_crowd():
    about = {"state": "bidding", "now": "2026-11-20T12:00:00.000000Z", "bid_until": "2026-11-20T13:00:00.000000Z"}

    class Terms:
        class schedule:  # noqa: N801
            early = False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "terms_of", lambda _: Terms)
        errand = Errand.__new__(Errand)
        errand.every = None
        assert errand._pause({**about, "owners": 10}) == 30.0
        assert errand._pause({**about, "owners": 10, "bid_until": "2026-11-20T12:05:00.000000Z"}) == 5.0
        assert errand._pause({**about, "owners": 10, "bid_until": "2026-11-20T12:00:10.000000Z"}) == 0.5
        assert errand._pause({**about, "owners": 2000, "bid_until": "2026-11-20T12:00:10.000000Z"}) == 4.0
        Terms.schedule.early = True
        assert errand._pause({**about, "owners": 10}) == 0.5
