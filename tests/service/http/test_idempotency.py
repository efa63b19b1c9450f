"""A request that is sent again with its key has one effect and the same answer, byte for byte.

A refusal is not kept: the key is free, and serves again for the request once it is mended.
"""

import json
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, insert, select

from kantor.service.exchange import Answer, Exchange
from kantor.service.failures import ConflictError, RefusedError
from kantor.service.settings import Settings
from kantor.service.store import tables as t
from service.http.leaks import Canary, dump
from service.http.rows import ROWS

POSTS = [row for row in ROWS if row.method == "POST" and row.allowed]
TOGETHER = 16


class Ask:
    """A request that is right, to be sent as often as wanted."""

    def __init__(self, world, http, row, role=None):
        self.http, self.world, self.row = http, world, row
        self.path = row.at(world)
        self.body = json.dumps(row.body(world)).encode() if row.body else b""
        state = row.state if row.state in world.markets else "disputed"
        self.client = world.person(role or row.allowed[0], state)
        self.key = str(uuid.uuid4())

    def send(self, key="", path="", body=None, client=None):
        token = {"Authorization": (client or self.client)._http.headers["Authorization"]}
        named = {"Content-Type": "application/json"}
        named |= {} if key is None else {"Idempotency-Key": key or self.key}
        content = self.body if body is None else body
        return self.http.post(path or self.path, content=content, headers={**token, **named})

    def counts(self):
        """How much there is of everything."""
        with self.world.town.exchange.store.read() as connection:
            return {
                name: connection.execute(select(func.count()).select_from(table)).scalar()
                for name, table in t.METADATA.tables.items()
            }


@pytest.mark.parametrize("row", POSTS, ids=lambda row: row.name)
def test_sent_again_it_has_one_effect_and_the_same_answer(world, http, row):
    ask = Ask(world, http, row)
    first = ask.send()
    assert first.status_code == 201, first.text
    before = ask.counts()
    for _ in range(3):
        again = ask.send()
        assert (again.status_code, again.content) == (201, first.content)
    assert ask.counts() == before


@pytest.mark.parametrize("row", POSTS, ids=lambda row: row.name)
def test_a_key_stands_for_one_request(world, http, row):
    ask = Ask(world, http, row)
    assert ask.send().status_code == 201
    before = ask.counts()
    others = [ask.send(path=f"{ask.path}?again=1")]
    if row.body:
        others.append(ask.send(body=ask.body + b" "))
    for other in others:
        assert other.status_code == 422
        assert "Idempotency-Key" in other.json()["detail"]
        assert ask.key not in other.text
    assert ask.counts() == before


@pytest.mark.parametrize("row", POSTS, ids=lambda row: row.name)
def test_without_a_proper_key_nothing_is_done(world, http, row):
    ask = Ask(world, http, row)
    before = ask.counts()
    for key in (None, "short", "has a space in it", "x" * 201, "tab\there it is", "ünïcödé-ünïcödé".encode()):
        refused = ask.send(key)
        assert refused.status_code == 422
        assert "Idempotency-Key" in refused.json()["detail"]
    assert ask.counts() == before
    for key in (uuid.uuid4().hex[:8], uuid.uuid4().hex.ljust(200, "~")):
        assert Ask(world, http, row).send(key).status_code == 201


def test_two_accounts_may_use_one_key(world, http):
    row = next(row for row in POSTS if row.path == "/v1/markets")
    ask = Ask(world, http, row, "buyer")
    mine, theirs = ask.send(), ask.send(client=world.rival)
    assert mine.status_code == theirs.status_code == 201
    assert mine.json()["id"] != theirs.json()["id"]
    assert ask.send(client=world.rival).content == theirs.content


def test_another_token_of_the_account_is_told_the_same(world, http):
    row = next(row for row in POSTS if row.path == "/v1/markets")
    ask = Ask(world, http, row, "buyer")
    first = ask.send()
    token = world.town.operator.add_token(world.town.buyer.me()["account"])["token"]
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": ask.key, "Content-Type": "application/json"}
    assert http.post(ask.path, content=ask.body, headers=headers).content == first.content


def test_a_refused_request_may_be_mended_under_its_key(world, http):
    row = next(row for row in POSTS if row.path.endswith("/deposits"))
    ask = Ask(world, http, row)
    right = ask.body
    for wrong in (b'{"amount": 0}', b"{", right.replace(b"}", b', "more": 1}')):
        assert ask.send(body=wrong).status_code == 422
    assert ask.send(path=f"/v1/markets/{'0' * 16}/deposits").status_code == 404
    assert ask.send(path=f"/v1/markets/{world.markets['settled']}/deposits").status_code == 409
    mended = ask.send()
    assert mended.status_code == 201
    assert ask.send().content == mended.content
    assert ask.send(body=b'{"amount": 0}').status_code == 422


def test_what_failed_in_the_service_may_be_sent_again(world, http, monkeypatch):
    from kantor.service import markets

    row = next(row for row in POSTS if row.path.endswith("/deposits"))
    ask, before = Ask(world, http, row), None

    def half(x, connection, caller, market, amount, reference):
        done(x, connection, caller, market, amount, reference)
        raise RuntimeError("after the effect, before the answer")

    done = markets.announce_deposit
    before = ask.counts()
    monkeypatch.setattr(markets, "announce_deposit", half)
    failed = ask.send()
    assert (failed.status_code, failed.headers["content-type"]) == (500, "application/problem+json")
    assert ask.counts() == before
    monkeypatch.undo()
    assert ask.send().status_code == 201
    assert ask.counts()["deposits"] == before["deposits"] + 1


@pytest.mark.parametrize("path", ["/v1/accounts", "/v1/tokens", "/v1/markets", "/v1/markets/{market}/deposits"])
def test_at_once_they_have_one_effect(world, http, path):
    ask = Ask(world, http, next(row for row in POSTS if row.path == path))
    before = ask.counts()
    with ThreadPoolExecutor(TOGETHER) as pool:
        answers = list(pool.map(lambda _: ask.send(), range(2 * TOGETHER)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    after = ask.counts()
    table = path.rpartition("/")[2]
    assert after[table] == before[table] + 1
    assert after["answers"] == before["answers"] + 1


def test_a_token_is_told_again_though_it_is_not_kept(world, http):
    ask = Ask(world, http, next(row for row in POSTS if row.path == "/v1/tokens"))
    first, again = ask.send().json(), ask.send().json()
    assert first["token"] == again["token"]
    headers = {"Authorization": f"Bearer {first['token']}"}
    assert http.get("/v1/me", headers=headers).json()["account"] == first["account"]
    secret = Canary(first["token"].rpartition("_")[2])
    content = dump(world.town.exchange.store.url)
    assert not secret.within(content)
    assert Canary(first["id"]).within(content)
    assert not Canary(ask.key).within(content)  # nor is the key, in which anything may stand


# ---- several processes on one database


@pytest.fixture
def two(url, tmp_path):
    """Two exchanges, as two processes have them, and a caller."""
    settings = Settings(tmp_path / "server", database=url)
    one, other = settings.exchange(), settings.exchange()
    text = (tmp_path / "server" / "operator.token").read_text().strip()
    with one.store.read() as connection:
        caller = one.tokens.caller(connection, text, one.clock.now())
    yield one, other, caller
    one.store.close()
    other.store.close()


def add_account(x: Exchange, name="twice"):
    def work(connection):
        return Answer(201, x.tokens.add_account(connection, name, "owner", None, x.clock.now()))

    return work


def test_two_processes_give_one_effect(two):
    *exchanges, caller = two
    for number in range(8):
        with ThreadPoolExecutor(TOGETHER) as pool:
            answers = list(
                pool.map(
                    lambda place, number=number: exchanges[place % 2].once(
                        caller, f"key {number}", "digest", add_account(exchanges[place % 2], f"name {number}")
                    ),
                    range(TOGETHER),
                )
            )
        assert len({answer.body["id"] for answer in answers}) == 1
    with exchanges[0].store.read() as connection:
        names = connection.execute(select(t.accounts.c.name).where(t.accounts.c.name.like("name %"))).scalars().all()
    assert sorted(names) == [f"name {number}" for number in range(8)]


def test_another_request_at_the_same_moment_is_refused(two):
    one, other, caller = two
    one.once(caller, "a key", "digest", add_account(one))
    with pytest.raises(RefusedError, match="stands for another request"):
        other.once(caller, "a key", "another digest", add_account(other))


def test_a_collision_that_is_no_repetition_is_a_refusal(two):
    """Something unique is there already, under another key: a conflict, not a failure of the service."""
    one, _, caller = two
    same = {"id": "0a" * 10, "name": "one", "role": "owner", "created_at": one.clock.now()}

    def work(connection):
        connection.execute(insert(t.accounts), same)
        return Answer(201, {})

    one.once(caller, "first key", "digest", work)
    with pytest.raises(ConflictError, match="there is something already"):
        one.once(caller, "other key", "digest", work)
