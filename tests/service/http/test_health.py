"""How the server is: alive, ready or not, and its measurements."""

import shutil

import httpx
import psycopg
import pytest

from kantor.service.http.measuring import Measures
from service.town import town


@pytest.fixture
def http(place):
    with httpx.Client(base_url=place.url, timeout=30) as found:
        yield found


def away(place):
    """Take the database away from a running server."""
    store = place.exchange.store
    if store.dialect == "sqlite":
        store.engine.dispose()
        shutil.rmtree(place.folder / "away", ignore_errors=True)
        file = place.folder / store.url.rpartition("/")[2]
        for part in place.folder.glob(f"{file.name}*"):
            part.unlink()
        file.mkdir()
    else:
        name = store.url.rpartition("/")[2]
        with psycopg.connect(store.url.removesuffix(name) + "postgres", autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def test_a_server_that_works_is_alive_and_ready(http):
    assert http.get("/livez").json() == {"status": "alive"}
    assert http.get("/readyz").json() == {"status": "ready"}


def test_without_its_database_it_is_alive_and_not_ready(place, http):
    assert place.operator.me()
    away(place)
    assert http.get("/livez").status_code == 200
    for _ in range(3):
        ready = http.get("/readyz")
        assert (ready.status_code, ready.headers["content-type"]) == (503, "application/problem+json")
        assert ready.headers["retry-after"] == "1"
        assert ready.json()["type"] == "urn:kantor:unavailable"
    token = {"Authorization": place.operator._http.headers["Authorization"]}
    for answer in (
        http.get("/v1/me", headers=token),
        http.get("/v1/markets", headers=token),
        http.post("/v1/accounts", headers={**token, "Idempotency-Key": "x" * 8}, json={"name": "a", "role": "owner"}),
    ):
        assert answer.status_code == 503
        assert "same Idempotency-Key" in answer.json()["detail"]
    assert http.get("/metrics").status_code == 200


def values(http):
    """All measurements by name and labels."""
    lines = [line for line in http.get("/metrics").text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_what_is_measured(place, http):
    market = place.market()
    place.operator.market(market)
    http.get("/v1/me")
    http.get(f"/v1/nothing/{market}")
    found = values(http)
    assert found['kantor_markets{state="enrolling"}'] == 1
    asked = 'kantor_requests_total{method="%s",route="%s",status="%s"}'
    assert found[asked % ("GET", "/v1/markets/{market}", 200)] == 1
    assert found[asked % ("GET", "/v1/me", 401)] == 1
    assert found[asked % ("GET", "none", 404)] == 1
    assert found['kantor_request_seconds_count{method="GET",route="/v1/me"}'] == 1
    assert http.get("/metrics").headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"


def test_a_state_that_no_market_is_in_any_more_counts_none(place, http):
    market = place.market()
    assert values(http)['kantor_markets{state="enrolling"}'] == 1
    place.buyer.cancel(market, "no need")
    found = values(http)
    assert 'kantor_markets{state="enrolling"}' not in found
    assert found['kantor_markets{state="cancelled"}'] == 1


def test_no_market_or_account_is_named_in_what_is_measured(place, http):
    market = place.market()
    place.operator.market(market)
    text = http.get("/metrics").text
    assert "/v1/markets/{market}" in text
    assert market not in text
    assert place.buyer.me()["account"] not in text


def test_what_the_limits_refuse_is_measured_too(tmp_path, url):
    from kantor.service.http.limits import Limits

    with town(tmp_path, url, Limits(body=1000)) as place, httpx.Client(base_url=place.url) as http:
        http.post("/v1/accounts", content=b"x" * 1001)
        assert values(http)['kantor_requests_total{method="POST",route="none",status="413"}'] == 1


def test_strange_methods_are_one(place):
    measures = Measures()
    measures.seen("GET", "/", 200, 0.1)
    answer = httpx.request("PROPFIND", place.url + "/v1/me")
    assert answer.status_code == 405
    assert 'method="other"' in httpx.get(place.url + "/metrics").text
