"""Who may ask what: every role against every operation and object, with whole tokens and narrowed ones.

The expected answers stand in `http/rows.py`, one row for each operation and object. An operation without a row fails
here, so that nobody adds one without saying who may ask it.
"""

import uuid

import pytest

from kantor.service.accounts import SCOPES
from kantor.service.client import ServiceError
from service.http.rows import HEALTH, ROLES, ROWS

UNKNOWN = f"kantor_{'0' * 20}_{'0' * 64}"


def ask(world, http, row, token, market=None):
    """Ask, with a new key each time."""
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    body = {"json": row.body(world)} if row.body else {}
    return http.request(row.method, row.at(world, market), headers=headers, **body)


def token_of(client):
    return client._http.headers["Authorization"].removeprefix("Bearer ")


def person(world, role, row):
    return world.person(role, row.state if row.state in world.markets else "disputed")


def narrowed(world, role, row, **limits):
    """Another token of the same account."""
    account = person(world, role, row).me()["account"]
    return world.town.operator.add_token(account, **limits)["token"]


def operations(http):
    described = http.get("/openapi.json").json()["paths"]
    return {(method.upper(), path) for path, methods in described.items() for method in methods}


def test_every_operation_has_a_row(http):
    told = {(row.method, row.path.partition("?")[0]) for row in ROWS} | {("GET", path) for path in HEALTH}
    assert operations(http) == told


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_each_role_is_answered(world, http, row):
    found = {}
    for role in ROLES:
        before = world.town.operator.market(world.markets[row.state])["log"] if row.state in world.markets else None
        answer = ask(world, http, row, token_of(person(world, role, row)))
        found[role] = answer.status_code
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["status"] == answer.status_code
            if before is not None:
                assert world.town.operator.market(world.markets[row.state])["log"] == before
    assert found == dict(zip(ROLES, row.answers, strict=True))


@pytest.fixture(scope="module")
def worthless(world):
    """Tokens that sign nobody in, by what is wrong with them."""
    operator, known = world.town.operator, token_of(world.town.operator)
    account = operator.me()["account"]
    expired, revoked = operator.add_token(account, expires_in=1), operator.add_token(account)
    operator.revoke(revoked["id"])
    world.town.wait(2)
    forged = known[:-4] + ("0000" if known[-4:] != "0000" else "1111")
    return {
        "none": None, "nonsense": "nonsense", "unknown": UNKNOWN, "forged": forged, "shouted": known.upper(),
        "longer": f"{known}0", "shorter": known[:-1], "expired": expired["token"], "revoked": revoked["token"],
    }  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_whoever_is_not_signed_in_is_refused(world, http, worthless, row):
    answers = {name: ask(world, http, row, token) for name, token in worthless.items()}
    assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(worthless, 401)
    assert {answer.headers["www-authenticate"] for answer in answers.values()} == {"Bearer"}
    assert answers["unknown"].text == answers["forged"].text  # nothing tells that a guess came near


@pytest.mark.parametrize("row", [row for row in ROWS if row.allowed and row.scopes], ids=lambda row: row.name)
def test_a_token_does_what_its_scopes_say_and_no_more(world, http, row):
    role = row.allowed[0]
    needed = row.scopes
    kind = person(world, role, row).me()["role"]
    enough = ask(world, http, row, narrowed(world, role, row, scopes=sorted(needed)))
    assert enough.status_code < 300, enough.text
    for scope in needed:
        without = [each for each in SCOPES[kind] if each != scope]
        refused = ask(world, http, row, narrowed(world, role, row, scopes=without))
        assert refused.status_code == 403
        assert scope in refused.json()["detail"]


@pytest.mark.parametrize("row", [row for row in ROWS if row.allowed], ids=lambda row: row.name)
def test_a_token_for_one_market_is_for_that_one(world, http, row):
    role = row.allowed[0]
    here = world.ready() if row.state == "ready" else world.markets.get(row.state)
    there = world.markets["enrolling" if row.state != "enrolling" else "bidding"]
    elsewhere = ask(world, http, row, narrowed(world, role, row, market=there), here)
    if row.name in ("GET /v1/me []", "GET /v1/markets []"):
        assert elsewhere.status_code == 200
        assert "items" not in elsewhere.json() or [item["id"] for item in elsewhere.json()["items"]] == [there]
        return
    assert elsewhere.status_code == 403
    if here is not None and row.state != "ready":
        assert ask(world, http, row, narrowed(world, role, row, market=here), here).status_code < 300


@pytest.mark.parametrize("path", HEALTH)
def test_anybody_may_ask_how_the_server_is(world, http, path):
    tokens = [None, UNKNOWN, *[token_of(world.person(role, "settled")) for role in ROLES]]
    headers = [{} if token is None else {"Authorization": f"Bearer {token}"} for token in tokens]
    assert {http.get(path, headers=each).status_code for each in headers} == {200}


@pytest.mark.parametrize("role", ["rival", "stranger", "auditor", "trustee"])
def test_a_draft_is_like_a_market_that_is_not_there(world, http, role):
    draft, nothing = world.markets["draft"], "0" * 16
    for row in (row for row in ROWS if row.state == "draft"):
        there = ask(world, http, row, token_of(world.person(role, "draft")), draft)
        missing = ask(world, http, row, token_of(world.person(role, "draft")), nothing)
        assert there.text.replace(draft, "it") == missing.text.replace(nothing, "it"), row.name
    assert draft not in {market["id"] for market in world.person(role, "draft").markets()}
    assert draft in {market["id"] for market in world.town.buyer.markets()}


def test_everybody_is_shown_what_is_theirs_and_no_more(world):
    market, owners = world.markets["settled"], world.owners[world.markets["settled"]]
    payments = {row["owner"]: row["payment"] for row in world.town.buyer.result(market)["winners"]}
    assert set(payments) == {owner.name for owner in owners}
    for owner in owners:
        seen = owner.client.result(market)
        assert (seen["own"]["owner"], seen["own"]["payment"]) == (owner.name, payments[owner.name])
        other = next(each for each in owners if each is not owner)
        assert other.name not in str(seen)
        assert owner.client.enrolment(market)["owner"] == owner.name
    assert world.stranger.result(market)["own"] is None
    common = {"market", "state", "cleared", "public"}
    for client in (world.rival, world.auditor, world.outsider):
        assert set(client.result(market)) == common
        assert client.market(market)["funds"] is client.market(market)["trouble"] is None
    for client in (world.town.buyer, world.town.operator):
        assert set(client.result(market)) == common | {"winners", "balances"}
        assert client.market(market)["funds"]["there"] == 0


def test_an_owner_sees_its_own_bids_only(world):
    bidder, other = world.owners[world.markets["bidding"]]
    assert len(bidder.client.bids(bidder.market)) == 1
    assert other.client.bids(other.market) == []


def test_an_answer_from_before_is_for_those_who_may_ask(world, http):
    """A key that was used is no way round a token's limits."""
    operator, reader = world.town.operator, narrowed(world, "operator", ROWS[0], scopes=["read"])
    body = {"account": world.stranger.me()["account"]}
    made = operator.add_token(body["account"], key="a-key-that-leaked")
    headers = {"Idempotency-Key": "a-key-that-leaked", "Authorization": f"Bearer {reader}"}
    refused = http.post("/v1/tokens", json=body, headers=headers)
    assert refused.status_code == 403
    assert made["token"] not in refused.text


@pytest.mark.parametrize("stage", ["commit", "shares", "confirm", "opening"])
def test_nobody_posts_in_a_trustees_place(world, stage):
    """Who holds a trustee's account, but not the keys, can keep nothing off the board."""
    state = "closed" if stage == "opening" else "enrolling"
    market, true = world.markets[state], world.said(state, f"board/{stage}/1")["message"]
    other = world.markets["bidding"] if stage != "opening" else world.markets["settled"]
    foreign = world.heard[other, f"board/{stage}/1"]["message"]
    for false in ({"signature": "00" * 64}, {**true, "trustee": 2}, foreign, {}):
        with pytest.raises(ServiceError) as refused:
            world.outsider.post(market, stage, 1, false)
        assert refused.value.status == 422
    with pytest.raises(ServiceError) as missing:
        world.outsider.post(market, stage, 2, true)
    assert missing.value.status == 404
    assert world.outsider.post(market, stage, 1, true)["trustee"] == 1


def test_a_key_takes_part_once_in_a_market(world):
    said = world.said("enrolling", "enrolment")
    with pytest.raises(ServiceError, match="This key has enrolled") as refused:
        world.stranger.enrol(world.markets["enrolling"], said["enrolment"], said["signature"])
    assert refused.value.status == 409
