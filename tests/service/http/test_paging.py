"""Lists in parts: complete, in order, each row once, also while rows are added between the parts."""

import uuid

import httpx
import pytest

LISTS = {
    "accounts": ("/v1/accounts", "id"),
    "tokens": ("/v1/tokens", "id"),
    "markets": ("/v1/markets", "id"),
    "deposits": ("/v1/markets/{market}/deposits", "id"),
    "log": ("/v1/markets/{market}/log", "seq"),
}


@pytest.fixture(scope="module")
def lists(world):
    """A dozen rows of everything."""
    for number in range(12):
        world.town.buyer.deposit(world.markets["draft"], number + 1)
        world.town.buyer.create(world.terms())
        world.town.operator.add_account(f"number {number}", "owner")
    return world


@pytest.fixture(scope="module")
def operator(http, shared):
    """Requests of the operator."""
    headers = {"Authorization": shared.operator._http.headers["Authorization"]}
    with httpx.Client(base_url=shared.url, headers=headers, timeout=30) as found:
        yield found


def path_of(world, name):
    return LISTS[name][0].format(market=world.markets["draft"])


def parts(http, path, **more):
    """Every part of a list."""
    after: dict[str, str] = {}
    while True:
        answer = http.get(path, params={**more, **after})
        assert answer.status_code == 200, answer.text
        found = answer.json()
        yield found["items"]
        if found["next"] is None:
            return
        after = {"after": found["next"]}


def add(world, name):
    """One more row of a list."""
    town, market = world.town, world.markets["draft"]
    {
        "accounts": lambda: town.operator.add_account("one more", "owner"),
        "tokens": lambda: town.operator.add_token(world.stranger.me()["account"]),
        "markets": lambda: town.buyer.create(world.terms()),
        "deposits": lambda: town.buyer.deposit(market, 7),
        "log": lambda: town.buyer.revise(market, world.terms()),
    }[name]()


@pytest.mark.parametrize("name", LISTS)
def test_parts_of_any_size_are_the_whole(lists, operator, name):
    path, by = path_of(lists, name), LISTS[name][1]
    (whole,) = parts(operator, path, limit=500)
    assert len({item[by] for item in whole}) == len(whole)
    assert len(whole) >= (1 if name == "log" else 12)
    for limit in (1, 3, len(whole) - 1, len(whole), len(whole) + 1):
        found = list(parts(operator, path, limit=max(limit, 1)))
        assert [item for part in found for item in part] == whole
        assert all(len(part) == max(limit, 1) for part in found[:-1])
        assert 0 < len(found[-1]) <= max(limit, 1)


@pytest.mark.parametrize("name", LISTS)
def test_rows_that_are_added_meanwhile_shift_nothing(lists, operator, name):
    path, by = path_of(lists, name), LISTS[name][1]
    before = [item[by] for part in parts(operator, path, limit=500) for item in part]
    seen = []
    for number, part in enumerate(parts(operator, path, limit=2)):
        seen += [item[by] for item in part]
        if number < 4:
            add(lists, name)
    assert len(seen) == len(set(seen))
    assert [place for place in seen if place in set(before)] == before


def test_a_row_that_is_as_old_as_another_is_not_lost(lists, operator, monkeypatch):
    """Two markets of one moment: their names decide."""
    moment = lists.town.exchange.clock.now()
    monkeypatch.setattr(lists.town.exchange.clock, "now", lambda: moment)
    made = {lists.town.buyer.create(lists.terms())["id"] for _ in range(5)}
    deposits = {lists.town.buyer.deposit(lists.markets["draft"], 3)["id"] for _ in range(5)}
    assert made <= {item["id"] for part in parts(operator, "/v1/markets", limit=1) for item in part}
    assert deposits <= {item["id"] for part in parts(operator, path_of(lists, "deposits"), limit=1) for item in part}


def test_a_list_can_be_of_one_account(lists, operator):
    account = lists.stranger.me()["account"]
    found = [item for part in parts(operator, "/v1/tokens", limit=1, account=account) for item in part]
    assert found
    assert {item["account"] for item in found} == {account}
    assert not {"hash", "token"} & set(found[0])


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": 501}, {"limit": "x"}, {"after": ""}, {"after": "a b"}])
def test_a_part_that_cannot_be_is_refused(lists, operator, name, wrong):
    answer = operator.get(path_of(lists, name), params=wrong)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")


@pytest.mark.parametrize("name", LISTS)
def test_after_the_end_there_is_nothing(lists, operator, name):
    last = {"log": str(2**31 - 1), "markets": "0/0"}.get(name, f"{'z' * 40}/{uuid.uuid4()}")
    assert operator.get(path_of(lists, name), params={"after": last}).json() == {"items": [], "next": None}
