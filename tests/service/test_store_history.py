"""History is added to, and nothing else: the database refuses it, whoever asks, not only our own code."""

import pytest
from sqlalchemy import delete, insert, text, update
from sqlalchemy.exc import IntegrityError

from kantor.service.failures import StoreError
from kantor.service.store import tables as t
from kantor.service.store.store import Store

AT = "2026-11-20T00:00:00.000000Z"
HASH = "0" * 64
OWNER = {"id": "01", "name": "somebody", "role": "owner", "created_at": AT}


@pytest.fixture
def store(url):
    found = Store(url)
    found.migrate()
    yield found
    found.close()


@pytest.fixture
def history(store):
    """A row in each table, as few as the keys between them need."""
    market = {"id": "0a", "buyer": OWNER["id"], "state": "draft", "terms": "{}", "terms_digest": HASH}
    times = {"created_at": AT, "enrol_until": AT, "bid_until": AT, "last_at": AT}
    rows = {
        t.accounts: OWNER,
        t.markets: {**market, **times, "seq": 1, "head": HASH},
        t.events: {
            "market": "0a", "seq": 1, "at": AT, "kind": "created", "actor": "buyer", "body": "{}", "previous": HASH,
            "hash": HASH,
        },
        t.transfers: {"market": "0a", "key": "deposit:1", "number": 1, "salt": "00", "at": AT},
        t.postings: {"market": "0a", "key": "deposit:1", "account": "deposit", "amount": 5},
        t.outcomes: {"market": "0a", "kind": "closed", "document": "{}", "at": AT},
        t.messages: {"market": "0a", "round": "commit", "trustee": 1, "message": "{}", "at": AT},
    }  # fmt: skip

    def write(connection):
        for table, row in rows.items():
            connection.execute(insert(table), row)

    store.write(write)
    return store


def everything(store, table):
    with store.read() as connection:
        return connection.execute(table.select()).all()


def attempts(table, dialect):
    """Every way to change what is there, by its name; each leaves values as they are, and is refused all the same."""
    name, column = table.name, next(each.name for each in table.c if not each.primary_key)
    keys, first = ", ".join(each.name for each in table.primary_key), table.c.market == "0a"
    same = {column: table.c[column]}
    found = {
        "update": update(table).where(first).values(same),
        "update all": update(table).values(same),
        "delete": delete(table).where(first),
        "delete all": delete(table),
        "upsert": text(
            f"INSERT INTO {name} SELECT * FROM {name} WHERE true "  # noqa: S608  names of ours
            f"ON CONFLICT ({keys}) DO UPDATE SET {column} = excluded.{column}"
        ),
    }
    if dialect == "postgresql":  # whose triggers are for each statement
        found["update no row"] = update(table).where(table.c.market == "none").values(same)
        found["truncate"] = text(f"TRUNCATE {name} CASCADE")
    return found


@pytest.mark.parametrize("name", t.APPEND_ONLY)
def test_history_is_not_changed(history, name):
    table = t.METADATA.tables[name]
    before = everything(history, table)
    assert before
    for way, statement in attempts(table, history.dialect).items():
        with pytest.raises((StoreError, IntegrityError)):
            history.write(lambda connection, statement=statement: connection.execute(statement))
        assert everything(history, table) == before, way


@pytest.mark.parametrize("name", t.APPEND_ONLY)
@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_history_is_not_replaced(history, name):
    table = t.METADATA.tables[name]
    with pytest.raises((StoreError, IntegrityError)):
        history.write(
            lambda connection: connection.execute(insert(table).prefix_with("OR REPLACE"), [row_of(history, table)])
        )


def row_of(store, table):
    return dict(everything(store, table)[0]._mapping)


def test_what_is_no_history_may_change(history):
    history.write(lambda connection: connection.execute(update(t.accounts).values(name="another")))
    assert [row.name for row in everything(history, t.accounts)] == ["another"]


@pytest.mark.parametrize("name", t.APPEND_ONLY)
def test_without_its_trigger_a_table_would_be_changed(history, name):
    """So it is the database that refuses, and the test above would see it gone."""
    table = t.METADATA.tables[name]

    def free(connection):
        if history.dialect == "sqlite":
            for action in ("update", "delete"):
                connection.exec_driver_sql(f"DROP TRIGGER {name}_no_{action}")
        else:
            connection.exec_driver_sql(f"DROP TRIGGER {name}_only_added_to ON {name}")
        connection.execute(update(table).values(market="0a"))

    history.write(free)
