"""A price that can be recognised is bid, and looked for everywhere: nobody may find it before the market closes.

The server is a process as its operator starts it. Between right requests there are wrong ones that show the price where
it does not belong. The data of the owners, which can be recognised too, reach the server at no time at all. That the
detector would find a leak is shown in `test_canaries_detector.py`.
"""

import json
import uuid

import pytest

from kantor.evidence.canonical import canonical
from kantor.sealing.envelope import seal
from kantor.service.statements import context_of
from service.http.leaks import Canary, found_in
from service.http.rows import ROWS
from service.http.server import running
from service.http.street import Street

PRICE, EPSILON = 739_117_391_173_911, "47.331147331"
SERIES = [17.739117391 + 0.000317 * place for place in range(60)]
PRICES = [Canary(PRICE), Canary(EPSILON), Canary(float(EPSILON))]
VALUES = [Canary(value) for value in SERIES[::8]]
KINDS = ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-16", "image/png"]
JSON = {"Content-Type": "application/json"}
ELSEWHERE = ["accounts", "tokens", "markets", "nothing/here"]


@pytest.fixture
def street(url, tmp_path):
    with running(tmp_path, url) as server:
        found = Street(server, url, SERIES)
        yield found
        found.close()


def new_key():
    return {"Idempotency-Key": str(uuid.uuid4())}


def where(canaries, places):
    """The places in which any of them stands."""
    return {place for place, content in places.items() if found_in(content, canaries)}


def wrong_requests(street, market, agent):
    """A price where it does not belong: in bodies that are no bids, in headers, in too much of everything."""
    client, said = agent.client._http, agent.notes.known["bids"][-1]["said"]
    path, price = f"/v1/markets/{market}/bids", str(PRICE)
    signed = {"bid": said, "signature": agent.signer.sign("bid", said)}

    def bid(**changed):
        return {**signed, "bid": {**said, **changed}}

    bodies = [
        {"reserve": PRICE}, {"bid": PRICE, "signature": price}, bid(reserve=PRICE), {**signed, price: 1},
        {**signed, "x": price},
        bid(nonce=price), bid(owner=price), bid(envelope={"reserve": PRICE}), bid(envelope={price: "x"}),
        bid(envelope={"reserve": PRICE + 0.5, "epsilon": float(EPSILON)}), bid(envelope=price),
        bid(envelope={**said["envelope"], "sealed": price}), bid(envelope={**said["envelope"], "point": PRICE}),
        bid(envelope={**said["envelope"], "proof": {"challenge": price, "response": EPSILON, price: price}}),
        {**signed, "signature": price}, fresh_bid(agent), [price], price, PRICE,
    ]  # fmt: skip
    raw = [b'{"bid": {"reserve": %d' % PRICE, b"reserve=%d" % PRICE, b"\x80%d" % PRICE, b"%d" % PRICE * 2_000_000]
    asked = [client.post(path, json=body, headers=new_key()) for body in bodies]
    asked += [client.post(path, content=body, headers={**new_key(), **JSON}) for body in raw]
    asked += [client.post(path, content=raw[0], headers={**new_key(), "Content-Type": kind}) for kind in KINDS]
    asked += [client.post(path, content=iter([raw[3]]), headers={**new_key(), **JSON})]
    asked += [client.post("/v1/accounts", json={"name": price, "role": "owner"}, headers=new_key())]
    asked += [
        client.post(f"/v1/{rest}", json={"reserve": PRICE, "name": price}, headers=new_key()) for rest in ELSEWHERE
    ]
    headers = {"X-Reserve": price, "User-Agent": price, "Cookie": f"reserve={price}"}
    asked += [client.post(path, json=bid(nonce=price), headers={**new_key(), **headers})]
    asked += [client.post(path, json=bid(nonce=price), headers={**new_key(), "Authorization": f"Bearer {price}"})]
    asked += [client.get(path, params={"reserve": price}, headers={"If-None-Match": price})]
    asked += [client.post(path, json=signed, headers={"Idempotency-Key": f"bid {price}"})]
    right = client.post(path, json=signed, headers={"Idempotency-Key": f"bid-{price}"})
    assert {answer.status_code for answer in asked} == {200, 400, 401, 403, 404, 413, 422}
    assert right.status_code == 201


def fresh_bid(agent):
    """A bid that is right but for its signature."""
    key, said = agent.market_key(agent.about()), agent.notes.known["bids"][-1]["said"]
    bound = {**context_of(said), "nonce": uuid.uuid4().hex}
    envelope = seal(key, canonical({"reserve": PRICE, "epsilon": EPSILON}), bound)
    return {"bid": {**bound, "envelope": envelope}, "signature": "00" * 64}


def look_around(street, market):
    """Every GET of everybody, about this market."""
    for row in ROWS:
        if row.method == "GET":
            for client in street.everybody:
                client._http.get(row.path.format(market=market))


@pytest.mark.slow
def test_nobody_can_find_a_price_before_the_closing_nor_data_ever(street):
    market = street.market()
    bidder, other = street.owners
    street.until(market, "bidding")
    bidder.bid(PRICE, EPSILON)
    said = len(street.sent)
    wrong_requests(street, market, bidder)
    del street.sent[said:]  # an agent would not say that
    look_around(street, market)
    known = street.everything()
    assert where(PRICES, known) == set()

    other.bid(5, "50")
    street.until(market, "delivering")
    for owner in (bidder, other):
        if owner.result()["bought"]:
            owner.deliver()
    street.until(market, "settled")
    look_around(street, market)
    known = {**street.everything(), "sent": b"\n".join(street.sent)}
    assert where(VALUES, known) == set()
    assert where(PRICES, known) == {"database", "answers"}  # whom it concerns is told, after the closing
    assert where(street.secrets, known) == {"answers"}  # where each token was made
    lines = [json.loads(line) for line in known["log"].splitlines() if line.startswith(b"{")]
    assert {"answered", "moved on"} <= {line["event"] for line in lines}
