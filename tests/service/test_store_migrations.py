"""Migrations make exactly the tables that the code says, however often and by however many they are run."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Column, Integer, Table, insert, text

from kantor.service.store import tables as t
from kantor.service.store.store import Store

OWNER = {"id": "01", "name": "somebody", "role": "owner", "created_at": "2026-11-20T00:00:00.000000Z"}


@pytest.fixture
def store(url):
    found = Store(url)
    found.migrate()
    yield found
    found.close()


def differences(store):
    with store.engine.connect() as connection:
        return compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), t.METADATA)


def test_migrations_make_what_the_code_says(store):
    assert differences(store) == []


def test_a_difference_would_be_seen(store):
    more = Table("more", t.METADATA, Column("id", Integer, primary_key=True))
    try:
        assert [found[0] for found in differences(store)] == ["add_table"]
    finally:
        t.METADATA.remove(more)
    with store.engine.connect() as connection:
        connection.exec_driver_sql("ALTER TABLE accounts ADD COLUMN more INTEGER")
    assert [found[0] for found in differences(store)] == ["remove_column"]


def test_migrating_again_changes_nothing(store):
    store.write(lambda connection: connection.execute(insert(t.accounts), OWNER))
    for _ in range(2):
        store.migrate()
    with store.read() as connection:
        assert connection.execute(t.accounts.select()).mappings().one()["name"] == "somebody"
    assert differences(store) == []


def test_migrating_at_once_is_harmless(url):
    stores = [Store(url) for _ in range(6)]
    try:
        with ThreadPoolExecutor(len(stores)) as pool:
            assert list(pool.map(Store.migrate, stores)) == [None] * len(stores)
        assert differences(stores[0]) == []
        with stores[0].read() as connection:
            assert connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all() == ["0001"]
    finally:
        for each in stores:
            each.close()
