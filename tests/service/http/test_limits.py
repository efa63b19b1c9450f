"""How much one caller may send: sizes, however they are stated, and rates, caller by caller."""

import json
import socket
import time
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kantor.service.http.limits import Limits, Rate
from service.databases import database
from service.town import town

MOST = 2000


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A town that takes small requests."""
    folder = tmp_path_factory.mktemp("town")
    with town(folder, database("sqlite", folder), Limits(MOST, 1e6, 1e6)) as found:
        yield found


@pytest.fixture
def hurried(tmp_path):
    """A town in which everybody has ten requests, and then one in ten seconds."""
    with town(tmp_path, database("sqlite", tmp_path), Limits(rate=0.1, burst=10)) as found:
        yield found


def headers_of(client, **more):
    return {"Authorization": client._http.headers["Authorization"], "Content-Type": "application/json", **more}


def padded(size):
    """The body of a new account, so long."""
    body = json.dumps({"name": "somebody", "role": "owner"})
    return (body + " " * (size - len(body))).encode()


def raw(url, *chunks):
    """Send bytes as they are; the status of the answer, and what it says."""
    place = urlsplit(url)
    with socket.create_connection((place.hostname, place.port), timeout=10) as connection:
        for chunk in chunks:
            connection.sendall(chunk)
            time.sleep(0.05)
        answer = b""
        while b"\r\n\r\n" not in answer or b"}" not in answer:
            part = connection.recv(65536)
            if not part:
                break
            answer += part
    status = int(answer.split(b" ", 2)[1])
    return status, answer


# ---- sizes


@pytest.mark.parametrize(("size", "status"), [(MOST - 1, 201), (MOST, 201), (MOST + 1, 413), (50 * MOST, 413)])
@pytest.mark.parametrize("way", ["stated", "chunked"])
def test_a_body_may_have_so_many_bytes(small, size, status, way):
    content = padded(size)
    sent = content if way == "stated" else (content[at : at + 500] for at in range(0, size, 500))
    key = {"Idempotency-Key": f"size {size} {way}".replace(" ", "-")}
    before = len(accounts(small))
    answer = httpx.post(f"{small.url}/v1/accounts", content=sent, headers=headers_of(small.operator, **key))
    assert answer.status_code == status
    assert len(accounts(small)) == before + (status == 201)
    if status == 413:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["type"] == "urn:kantor:large"
        assert f"{MOST:,} bytes" in answer.json()["detail"]


def accounts(place):
    with httpx.Client(base_url=place.url, headers=headers_of(place.operator)) as http:
        return http.get("/v1/accounts", params={"limit": 500}).json()["items"]


def test_a_body_is_limited_where_none_is_expected(small):
    path = f"{small.url}/v1/tokens/{'0' * 20}/revocation"
    chunks = (b"x" * 500 for _ in range(10))
    answer = httpx.post(path, content=chunks, headers=headers_of(small.operator, **{"Idempotency-Key": "x" * 8}))
    assert answer.status_code == 413


def test_a_false_length_helps_nobody(small):
    head = f"POST /v1/accounts HTTP/1.1\r\nHost: x\r\nAuthorization: {headers_of(small.operator)['Authorization']}\r\n"
    head += "Content-Type: application/json\r\nIdempotency-Key: falsely-stated\r\n"
    before = len(accounts(small))
    for length in ("2001", "9" * 30, "9" * 19):
        status, answer = raw(small.url, f"{head}Content-Length: {length}\r\n\r\n".encode(), b"{}")
        assert status in (400, 413), answer
    stated = f"{head}Content-Length: 20\r\n\r\n".encode()
    assert raw(small.url, stated, padded(MOST * 3))[0] in (400, 422)  # the rest is no request of its own
    both = f"{head}Content-Length: 10\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    assert raw(small.url, both, b"FFFF\r\n" + padded(65535) + b"\r\n0\r\n\r\n")[0] in (400, 413)
    endless = [b"3E8\r\n" + b"x" * 1000 + b"\r\n"] * 5
    assert raw(small.url, f"{head}Transfer-Encoding: chunked\r\n\r\n".encode(), *endless)[0] == 413
    for length in ("-1", "1e3", "ten", ""):
        assert raw(small.url, f"{head}Content-Length: {length}\r\n\r\n".encode(), b"{}")[0] in (400, 422)
    assert len(accounts(small)) == before


# ---- rates


def test_who_asks_too_often_waits(hurried):
    client = httpx.Client(base_url=hurried.url, headers=headers_of(hurried.operator))
    with client:
        answers = [client.get("/v1/me") for _ in range(14)]
    refused = [answer for answer in answers if answer.status_code != 200]
    assert 3 <= len(refused) <= 8  # some were used to set the town up
    for answer in refused:
        assert answer.status_code == 429
        assert answer.headers["content-type"] == "application/problem+json"
        assert 1 <= int(answer.headers["retry-after"]) <= 10
        assert answer.json()["type"] == "urn:kantor:busy"


def empty(place, headers):
    """Ask until there is no more to be had."""
    for _ in range(150):
        if httpx.get(f"{place.url}/v1/me", headers=headers).status_code == 429:
            return
    raise AssertionError("nobody was refused")


def test_one_callers_haste_is_not_anothers(hurried):
    buyer = headers_of(hurried.buyer)
    assert httpx.get(f"{hurried.url}/v1/me", headers=buyer).status_code == 200
    empty(hurried, headers_of(hurried.operator))
    assert httpx.get(f"{hurried.url}/v1/me", headers=buyer).status_code == 200
    empty(hurried, {})  # somebody at the same address, without a token
    assert httpx.get(f"{hurried.url}/v1/me", headers=buyer).status_code == 200
    for path in ("/livez", "/readyz", "/metrics"):
        assert httpx.get(hurried.url + path, headers=headers_of(hurried.operator)).status_code == 200


def test_another_spelling_is_the_same_caller(hurried):
    token = headers_of(hurried.operator)["Authorization"].removeprefix("Bearer ")
    empty(hurried, {"Authorization": f"Bearer {token}"})
    for spelling in (f"bearer {token}", f"BEARER   {token}", f"bEaReR {token}"):
        assert httpx.get(f"{hurried.url}/v1/me", headers={"Authorization": spelling}).status_code == 429


def test_guessing_tokens_gives_nobody_more(hurried):
    """Nor does showing them where none is needed."""
    found = []
    for number in range(50):
        guess = {"Authorization": f"Bearer kantor_{number:020x}_{'0' * 64}"}
        paths = ("/docs", "/docs", "/v1/me")
        found += [httpx.get(hurried.url + path, headers=guess).status_code for path in paths]
    assert found.count(429) >= 40  # of 150, where an address has a hundred at once


def test_a_revoked_token_has_no_bucket_of_its_own(hurried):
    token = hurried.buyer._http.headers["Authorization"].removeprefix("Bearer ")
    assert hurried.buyer.me()
    hurried.operator.revoke(token.split("_")[1])
    found = [httpx.get(f"{hurried.url}/v1/me", headers=headers_of(hurried.buyer)).status_code for _ in range(3)]
    assert set(found) <= {401, 429}
    empty(hurried, {})
    assert httpx.get(f"{hurried.url}/v1/me", headers=headers_of(hurried.buyer)).status_code == 429


@given(st.floats(0.1, 100), st.floats(1, 50), st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 3)), max_size=60))
def test_a_bucket_gives_its_burst_and_its_rate_and_no_more(rate, burst, steps):
    """In any stretch of time a caller gets at most the burst and what flowed in; and after the wait told, one more."""
    bucket, now = Rate(rate, burst), 0.0
    given_at = {"a": [], "b": []}
    for caller, pause in steps:
        now += pause
        wait = bucket.wait(caller, now)
        if wait == 0:
            given_at[caller].append(now)
            for first, since in enumerate(given_at[caller]):
                assert len(given_at[caller]) - first <= burst + (now - since) * rate + 1e-6
        else:
            now += wait + 1e-9
            assert bucket.wait(caller, now) < 1e-6
            given_at[caller].append(now)
