"""Tokens: what is kept of them, what ends them, what they may be narrowed to."""

import hashlib
from datetime import timedelta

import argon2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from kantor.service import accounts
from kantor.service.accounts import SCOPES, Tokens
from kantor.service.client import Client, ServiceError
from kantor.service.failures import RefusedError, UnauthorisedError
from kantor.service.http.models import TokenIn
from kantor.service.store import tables as t
from service.http.leaks import Canary, dump

MARKET = "0123456789abcdef"


@pytest.fixture
def made(shared):
    """A token and its account, both new."""
    account = shared.operator.add_account("somebody", "owner")["id"]
    return shared.operator.add_token(account)


def with_token(place, text):
    return Client(place.url, text, patience=0)


def refusal(place, text):
    with with_token(place, text) as client, pytest.raises(ServiceError) as refused:
        client.me()
    return refused.value


def works(place, text):
    with with_token(place, text) as client:
        return bool(client.me())


# ---- what is kept


def test_a_hash_is_kept_and_nothing_else_of_the_secret(shared, made):
    secret = made["token"].rpartition("_")[2]
    with shared.exchange.store.read() as connection:
        rows = connection.execute(select(t.tokens)).mappings().all()
    hashes = [row["hash"] for row in rows]
    assert len(set(hashes)) == len(hashes)
    assert all(each.startswith("$argon2id$") for each in hashes)
    own = next(row for row in rows if row["id"] == made["id"])
    assert argon2.PasswordHasher().verify(own["hash"], secret)
    with pytest.raises(argon2.exceptions.VerifyMismatchError):
        argon2.PasswordHasher().verify(own["hash"], secret[::-1])
    assert works(shared, made["token"])
    content = dump(shared.exchange.store.url)
    assert not Canary(secret).within(content)
    assert not Canary(hashlib.sha256(secret.encode()).hexdigest()).within(content)


def test_what_is_remembered_signs_nobody_in(shared, made):
    secret = made["token"].rpartition("_")[2]
    assert works(shared, made["token"])
    remembered = shared.exchange.tokens._known
    assert made["id"] in remembered.values()
    assert all(len(each) == 64 and secret not in each for each in remembered)


def test_a_secret_has_256_bits_and_follows_from_the_servers(shared):
    one, other = Tokens(b"one"), Tokens(b"other")
    number = "0" * 20
    assert one.text_of(number) == Tokens(b"one").text_of(number)
    assert one.text_of(number) != other.text_of(number)
    assert len(one.text_of(number).rpartition("_")[2]) == 64
    assert len({one.text_of(f"{place:020x}") for place in range(100)}) == 100


# ---- whom it signs in


@given(st.integers(0, 91), st.sampled_from("0123456789abcdefXYZ_-"))
def test_any_other_text_signs_nobody_in(place, letter):
    tokens = Tokens(b"secret")
    number = "0a" * 10
    true = tokens.text_of(number)
    false = true[:place] + letter + true[place + 1 :]
    row = {"id": number, "hash": accounts._HASHER.hash(true.rpartition("_")[2])}
    if false == true:
        assert tokens._fits(row["hash"], number, true.rpartition("_")[2])
        return
    try:
        named, secret = accounts._parts(false)
    except UnauthorisedError:
        return
    assert named != number or not tokens._fits(row["hash"], named, secret)
    assert not tokens._known  # a guess is not remembered


def test_a_token_is_checked_once_and_looked_up_every_time(shared, made, monkeypatch):
    """Argon2 costs time, so what it found is remembered; whether the token still counts is asked each time."""
    checked = []
    true = accounts._HASHER.verify
    monkeypatch.setattr(accounts, "_HASHER", type("H", (), {"verify": lambda _, *a: checked.append(a) or true(*a)})())
    for _ in range(3):
        assert works(shared, made["token"])
    assert len(checked) == 1
    forged = made["token"][:-1] + ("0" if made["token"][-1] != "0" else "1")
    for _ in range(3):
        assert refusal(shared, forged).status == 401
    assert len(checked) == 4


def test_a_hash_that_was_changed_in_the_store_ends_what_is_remembered(shared, made):
    assert works(shared, made["token"])

    def change(connection):
        connection.execute(t.tokens.update().where(t.tokens.c.id == made["id"]).values(hash=accounts._HASHER.hash("x")))

    shared.exchange.store.write(change)
    assert refusal(shared, made["token"]).status == 401


# ---- what ends it


def test_a_revoked_token_is_refused_with_the_next_request(shared, made):
    other = shared.operator.add_token(made["account"])["token"]
    with with_token(shared, made["token"]) as client:
        assert client.me()
        shared.operator.revoke(made["id"])
        with pytest.raises(ServiceError, match="revoked") as refused:
            client.me()
        assert refused.value.status == 401
    assert works(shared, other)
    assert shared.operator.revoke(made["id"])["revoked"]
    seen = next(each for each in all_tokens(shared) if each["id"] == made["id"])
    assert seen["revoked_at"] is not None
    assert not {"hash", "token"} & set(seen)


def all_tokens(place):
    return list(place.operator._all("/v1/tokens"))


def test_a_token_that_is_not_there_cannot_be_revoked(shared):
    with pytest.raises(ServiceError) as missing:
        shared.operator.revoke("0" * 20)
    assert missing.value.status == 404


def test_a_token_expires_by_the_servers_clock(shared, made, monkeypatch):
    token = shared.operator.add_token(made["account"], expires_in=100)
    clock = shared.exchange.clock
    assert works(shared, token["token"])
    monkeypatch.setattr(clock, "ahead", clock.ahead + timedelta(seconds=90))
    assert works(shared, token["token"])
    monkeypatch.setattr(clock, "now", lambda: token["expires_at"])
    assert "expired" in refusal(shared, token["token"]).detail
    assert works(shared, made["token"])


@pytest.mark.parametrize("seconds", [0, -1, 10 * 366 * 86400 + 1, "60", 1.5, True])
def test_a_time_that_cannot_be_is_refused(shared, made, seconds):
    with pytest.raises(ServiceError) as refused:
        shared.operator.add_token(made["account"], expires_in=seconds)
    assert refused.value.status == 422


# ---- what it may be narrowed to


@pytest.mark.parametrize("role", SCOPES)
def test_a_token_has_its_roles_scopes_or_some_of_them(shared, role):
    account = shared.operator.add_account("somebody", role)["id"]
    whole = shared.operator.add_token(account)
    assert whole["scopes"].split() == list(SCOPES[role])
    for scope in SCOPES[role]:
        narrow = shared.operator.add_token(account, scopes=[scope, scope])
        with with_token(shared, narrow["token"]) as client:
            assert client.me()["scopes"] == [scope]
    for scope in {each for every in SCOPES.values() for each in every} - set(SCOPES[role]):
        with pytest.raises(ServiceError, match=f"no scope of {role}") as refused:
            shared.operator.add_token(account, scopes=["read", scope])
        assert refused.value.status == 422


@pytest.mark.parametrize("scopes", [[], ["everything"], [""], ["read "], "read", [None], ["read"] * 21])
def test_scopes_that_are_none_are_refused(shared, made, scopes):
    with pytest.raises(ServiceError) as refused:
        shared.operator.add_token(made["account"], scopes=scopes)
    assert refused.value.status == 422
    assert "everything" not in refused.value.detail


def test_every_scope_can_be_named_in_a_request():
    described = TokenIn.model_json_schema()
    named = described["properties"]["scopes"]["anyOf"][0]["items"]["enum"]
    assert set(named) == {scope for every in SCOPES.values() for scope in every}


def test_a_token_for_a_market_says_so(shared, made):
    token = shared.operator.add_token(made["account"], market=MARKET)
    assert token["market"] == MARKET
    with with_token(shared, token["token"]) as client:
        assert client.me()["market"] == MARKET
        assert list(client.markets()) == []
        with pytest.raises(ServiceError, match="for one market") as refused:
            client.market("0" * 16)
        assert refused.value.status == 403


def test_an_account_or_a_role_that_is_not_there(shared):
    with pytest.raises(ServiceError) as missing:
        shared.operator.add_token("0" * 20)
    assert missing.value.status == 404
    with pytest.raises(ServiceError) as refused:
        shared.operator.add_account("somebody", "king")
    assert refused.value.status == 422
    with pytest.raises(RefusedError, match="is no role"), shared.exchange.store.read() as connection:
        shared.exchange.tokens.add_account(connection, "somebody", "king", None, "now")


def test_the_operators_first_token_is_for_the_operator_alone(shared):
    file = shared.exchange.folder / "operator.token"
    assert file.stat().st_mode & 0o777 == 0o600
    assert works(shared, file.read_text().strip())
