"""Writes are whole or not there, whoever else writes in the same commit, and whatever becomes of the connection."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, insert, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from kantor.errors import InputError
from kantor.service.failures import RefusedError, StoreError
from kantor.service.store import tables as t
from kantor.service.store.store import Store

AT = "2026-11-20T00:00:00.000000Z"


@pytest.fixture
def store(url):
    found = Store(url)
    found.migrate()
    yield found
    found.close()


def account(number):
    return {"id": f"{number:020x}", "name": f"number {number}", "role": "owner", "created_at": AT}


def adding(number):
    def work(connection):
        connection.execute(insert(t.accounts), account(number))
        return number

    return work


def there(store):
    with store.read() as connection:
        return [
            int(each, 16) for each in connection.execute(select(t.accounts.c.id).order_by(t.accounts.c.id)).scalars()
        ]


# ---- writing


def together(store, *pieces):
    """Write pieces as one group: whoever leads waits until all are there. Returns results and failures in order."""
    outcomes = [None] * len(pieces)

    def write(place):
        try:
            outcomes[place] = store.write(pieces[place])
        except Exception as fault:  # noqa: BLE001  looked at by the test
            outcomes[place] = fault

    threads = [threading.Thread(target=write, args=(place,)) for place in range(len(pieces))]
    with store._writer._lock:
        for place, thread in enumerate(threads, 1):
            thread.start()
            while len(store._writer._waiting) < place:
                pass
    for thread in threads:
        thread.join(60)
    return outcomes


def commits(store, monkeypatch):
    """How many transactions the writer makes from now on."""
    found = []
    true = store._writer._transaction
    monkeypatch.setattr(store._writer, "_transaction", lambda *a: found.append(len(a[0])) or true(*a))
    return found


def test_a_group_is_one_transaction(store, monkeypatch):
    made = commits(store, monkeypatch)
    assert together(store, *map(adding, range(8))) == list(range(8))
    assert there(store) == list(range(8))
    assert made == [8]


def failing_after(number, fault):
    def work(connection):
        adding(number)(connection)
        raise fault

    return work


@pytest.mark.parametrize("fault", [RefusedError("no", remedy="no"), KeyError("no"), MemoryError()])
def test_a_piece_that_fails_leaves_no_trace_and_disturbs_nobody(store, fault):
    pieces = [adding(1), failing_after(2, fault), adding(3), failing_after(4, fault), adding(5)]
    assert together(store, *pieces) == [1, fault, 3, fault, 5]
    assert there(store) == [1, 3, 5]


def test_a_piece_that_collides_leaves_no_trace_and_disturbs_nobody(store):
    def colliding(connection):
        adding(9)(connection)
        adding(1)(connection)

    first, collided, last = together(store, adding(1), colliding, adding(3))
    assert (first, last) == (1, 3)
    assert isinstance(collided, IntegrityError)
    assert there(store) == [1, 3]


def test_a_piece_that_spoils_the_transaction_is_alone_in_its_failure(store):
    def spoiling(connection):
        adding(9)(connection)
        connection.execute(text("SELECT * FROM nothing_of_the_kind"))

    first, spoiled, last = together(store, adding(1), spoiling, adding(3))
    assert (first, last) == (1, 3)
    assert isinstance(spoiled, StoreError)
    assert "nothing_of_the_kind" not in str(spoiled)
    assert there(store) == [1, 3]


def test_a_piece_that_is_run_again_has_one_effect(store):
    """A failure in the group has the others run once more; what they did before was rolled back."""
    runs = []

    def counted(connection):
        runs.append(1)
        return adding(7)(connection)

    assert together(store, counted, failing_after(8, KeyError()), counted)[0] == 7
    assert there(store) == [7]
    assert len(runs) >= 2


def test_many_writers_at_once_lose_nothing(store):
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda number: _tried(store, number), range(200)))
    assert [number for number, kept in enumerate(found) if kept] == there(store)
    assert found.count(False) == 40


def _tried(store, number):
    try:
        store.write(failing_after(number, KeyError()) if number % 5 == 0 else adding(number))
    except KeyError:
        return False
    return True


# ---- a store that goes away


def cut(store, connection):
    """End the connection under a transaction."""
    if store.dialect == "sqlite":
        connection.connection.driver_connection.close()
    else:
        pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
        with store.engine.connect() as other:
            other.exec_driver_sql(f"SELECT pg_terminate_backend({pid})")


def losing(store, number):
    def work(connection):
        adding(number)(connection)
        cut(store, connection)
        return adding(number + 100)(connection)

    return work


def test_a_lost_connection_is_a_store_error_and_nothing_is_half_written(store):
    with pytest.raises(StoreError, match="same Idempotency-Key"):
        store.write(losing(store, 1))
    assert there(store) == []
    assert store.write(adding(2)) == 2
    assert there(store) == [2]


def test_a_lost_connection_ends_no_other_writer(store):
    found = together(store, adding(1), losing(store, 2), adding(3))
    assert isinstance(found[1], StoreError)
    kept = [number for number, outcome in zip((1, 3), (found[0], found[2]), strict=True) if outcome == number]
    assert all(
        outcome == number or isinstance(outcome, StoreError) for number, outcome in ((1, found[0]), (3, found[2]))
    )
    assert there(store) == kept
    assert store.write(adding(4)) == 4


def test_a_connection_that_is_lost_at_the_commit_says_so(store, monkeypatch):
    """Nobody knows then whether it was kept: the answer is to ask again with the same key."""
    from sqlalchemy import Connection

    true = Connection.exec_driver_sql

    def dropping(connection, statement, *more):
        if statement == "COMMIT":
            cut(store, connection)
        return true(connection, statement, *more)

    monkeypatch.setattr(Connection, "exec_driver_sql", dropping)
    with pytest.raises(StoreError):
        store.write(adding(1))
    monkeypatch.undo()
    assert there(store) == []


def test_reading_from_a_store_that_is_gone_is_a_store_error(store):
    def read_and_lose():
        with store.read() as connection:
            cut(store, connection)
            connection.execute(select(t.accounts))

    with pytest.raises(StoreError):
        read_and_lose()
    assert there(store) == []


def test_a_reader_writes_nothing(store):
    """PostgreSQL refuses it; SQLite lets it, and rolls it back."""
    try:
        with store.read() as connection:
            adding(1)(connection)
    except StoreError:
        pass
    assert there(store) == []


def test_a_reader_sees_one_moment(store):
    store.write(adding(1))
    with store.read() as connection:
        count = select(func.count()).select_from(t.accounts)
        assert connection.execute(count).scalar() == 1
        store.write(adding(2))
        assert connection.execute(count).scalar() == 1
    assert there(store) == [1, 2]


@pytest.mark.parametrize(
    "address", ["", "nonsense", "mysql://x@y/z", "sqlite://", "sqlite:////no/such/folder/market.db", "redis://x"]
)
def test_an_address_of_no_use_is_refused(address):
    with pytest.raises(InputError):
        Store(address)


def test_an_address_keeps_its_password_to_itself():
    with pytest.raises(InputError) as refused:
        Store("mysql://somebody:hunter2@host/name")
    assert "hunter2" not in str(refused.value)


def test_what_the_database_said_stays_out_of_the_error(store):
    with pytest.raises(DBAPIError) as said, store.engine.connect() as connection:
        connection.exec_driver_sql("SELECT 'hunter2' FROM nowhere")
    assert "hunter2" in str(said.value)
    assert "hunter2" not in str(StoreError.of(said.value))
