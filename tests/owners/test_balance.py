"""The epsilon balance under contention, repetition, and kill -9 at every statement that it executes."""

import itertools
import multiprocessing
import os
import signal
import sqlite3
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from kantor.errors import BalanceError, InputError
from kantor.owners.accounting import Limit, cost_of
from kantor.owners.balance import Balance
from kantor.owners.release import promise

HOW = {"purpose": "a test", "bounds": (0, 1), "epsilon": 0.5}


@pytest.fixture
def balance(tmp_path):
    return Balance.create(tmp_path / "balance.db", epsilon=1.0, unit="series")


def small(epsilon=0.1, mechanism="laplace", delta=None, unit="series"):
    return promise(mechanism, 3, bounds=(0, 1), unit=unit, epsilon=epsilon, delta=delta)


def test_a_release_is_charged_once_for_each_key(balance):
    first = balance.release([0.1, 0.2], "laplace", key="a", **HOW)
    again = Balance(balance.path).release([0.1, 0.2], "laplace", key="a", **HOW)
    assert np.array_equal(first.values, again.values)
    assert first.promise == again.promise
    assert balance.spent() == 0.5
    other = balance.release([0.1, 0.2], "laplace", key="b", **HOW)
    assert not np.array_equal(first.values, other.values)
    with pytest.raises(BalanceError, match=r"epsilon 0\.5 is more than is left: 1 of 1 is spent"):
        balance.release([0.1, 0.2], "laplace", key="c", **HOW)
    assert [entry.state for entry in balance.entries()] == ["charged", "charged"]
    assert balance.left() == 0


def test_a_key_stands_for_one_release_of_one_data_set(balance):
    balance.release([0.1, 0.2], "laplace", key="a", **HOW)
    for data, how in (([0.1, 0.3], {}), ([0.1, 0.2], {"epsilon": 0.4})):
        with pytest.raises(BalanceError, match="stands for another release"):
            balance.release(data, "laplace", key="a", **{**HOW, **how})


def test_what_was_only_reserved_can_be_given_back_and_what_was_charged_cannot(balance):
    with pytest.raises(BalanceError, match="nothing is reserved under 'x'"):
        balance.cancel("x")
    balance.reserve(small(0.9), key="a", purpose="")
    assert not balance.affords(small(0.2))
    balance.cancel("a")
    assert balance.affords(small(0.2))
    balance.release([0.1], "laplace", key="b", **HOW)
    with pytest.raises(BalanceError, match="a charge is never given back"):
        balance.cancel("b")
    noised = balance.charged("b")
    assert noised is not None
    with pytest.raises(BalanceError, match="was cancelled"):
        balance.charge("a", noised)


def test_data_that_cannot_be_released_cost_nothing(balance):
    with pytest.raises(InputError, match="is nan"):
        balance.release([np.nan], "laplace", key="a", **HOW)
    assert balance.entries() == []


@pytest.mark.parametrize(
    "change",
    ["DELETE FROM entries", "UPDATE entries SET state = 'cancelled'", "UPDATE entries SET cost = '[]'"],
)
def test_the_file_itself_refuses_to_forget(balance, change):
    balance.release([0.1], "laplace", key="a", **HOW)
    with sqlite3.connect(balance.path) as store, pytest.raises(sqlite3.IntegrityError):
        store.execute(change)
    store.close()
    assert balance.spent() == 0.5


def test_other_units_do_not_add_up(balance):
    with pytest.raises(InputError, match="hides 'record', and this balance counts 'series'"):
        balance.reserve(small(unit="record"), key="a", purpose="")


def test_files_that_are_no_balance(tmp_path, balance):
    with pytest.raises(InputError, match="there is no balance"):
        Balance(tmp_path / "other.db")
    with pytest.raises(InputError, match="there is a file already"):
        Balance.create(balance.path, epsilon=9, unit="series")
    (tmp_path / "text.db").write_text("not a database at all, but text that is long enough to be read")
    with pytest.raises(BalanceError, match="cannot be used"):
        Balance(tmp_path / "text.db")


def _spend(path, start, count, promised):
    """Try `count` reservations with 8 threads; how many were admitted."""
    balance = Balance(path)

    def one(number):
        try:
            balance.reserve(promised, key=str(number), purpose="")
        except BalanceError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        return sum(pool.map(one, range(start, start + count)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("promised", "limit"),
    [(small(0.01), Limit(4.0)), (small(0.1, "gaussian", 1e-8), Limit(1.0, 1e-6)), (small(0.1), Limit(2.0, 1e-6))],
)
def test_a_thousand_spends_at_once_admit_exactly_the_affordable_number(tmp_path, promised, limit):
    balance = Balance.create(tmp_path / "b.db", epsilon=limit.epsilon, delta=limit.delta, unit="series")
    with ProcessPoolExecutor(4) as pool:
        jobs = [pool.submit(_spend, balance.path, 250 * i, 250, promised) for i in range(4)]
        admitted = sum(job.result() for job in jobs)
    cost = cost_of(promised)
    assert limit.affords([cost] * admitted)
    assert not limit.affords([cost] * (admitted + 1))
    assert 0 < admitted < 1000
    assert len(balance.entries()) == admitted


def test_thirty_spends_from_threads(tmp_path):
    balance = Balance.create(tmp_path / "b.db", epsilon=1.0, unit="series")
    assert _spend(balance.path, 0, 30, small(0.1)) == 10


def _victim(path, sent, fatal, seen):
    """Release once; die at the statement of this number (0: live, and say how many there were)."""
    count = 0

    def watch(statement):
        nonlocal count
        count += 1
        if count == fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    connect = sqlite3.connect

    def watched(*args, **kwargs):
        store = connect(*args, **kwargs)
        store.set_trace_callback(watch)
        return store

    sqlite3.connect = watched
    _send(Balance(path), sent, "k")
    seen.value = count


def _send(balance, sent, key):
    """The release: its values leave the machine, here into a file."""
    noised = balance.release([0.5], "laplace", key=key, purpose="", bounds=(0, 1), epsilon=0.25)
    with open(sent, "ab") as out:  # noqa: PTH123  as plain as can be
        out.write(noised.values.tobytes())
        out.flush()
        os.fsync(out.fileno())


def _spender(path, sent, run, ready):
    """Release again and again, each under a new key, until killed."""
    balance = Balance(path)
    for number in itertools.count():
        _send(balance, sent, f"{run}, {number}")
        ready.set()


@pytest.fixture(scope="module")
def processes():
    """Processes that start at once: they are forked from a server that has imported what they need."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["kantor.owners.balance", "opendp.prelude"])
    return context


@pytest.mark.slow
def test_kill_9_at_every_statement_loses_no_charge_that_was_followed_by_a_release(tmp_path, processes):
    seen = processes.Value("i", 0)

    def run(path, sent, fatal):
        victim = processes.Process(target=_victim, args=(path, sent, fatal, seen))
        victim.start()
        victim.join()
        return victim.exitcode

    Balance.create(tmp_path / "whole.db", epsilon=1.0, unit="record")
    assert run(tmp_path / "whole.db", tmp_path / "whole.out", 0) == 0
    assert seen.value > 10
    states = set()
    for fatal in range(1, seen.value + 1):
        balance = Balance.create(tmp_path / f"{fatal}.db", epsilon=1.0, unit="record")
        sent = tmp_path / f"{fatal}.out"
        assert run(balance.path, sent, fatal) == -signal.SIGKILL
        state = [entry.state for entry in balance.entries()]
        states.add(tuple(state))
        assert not (sent.exists() and state != ["charged"])
        # The owner comes back: the same key ends in one charge, and in one set of values only.
        finished = balance.release([0.5], "laplace", key="k", purpose="", bounds=(0, 1), epsilon=0.25)
        assert balance.spent() == 0.25
        assert [entry.state for entry in balance.entries()] == ["charged"]
        if sent.exists():
            assert np.array_equal(np.fromfile(sent), finished.values)
    assert states == {(), ("reserved",), ("charged",)}


@pytest.mark.slow
def test_kill_9_at_random_moments(tmp_path, processes):
    """Every value that left the machine was charged, whatever the moment; the balance goes on from there."""
    rng = np.random.default_rng(2)
    balance = Balance.create(tmp_path / "b.db", epsilon=1e6, unit="record")
    sent = tmp_path / "sent"
    for run in range(20):
        ready = processes.Event()
        spender = processes.Process(target=_spender, args=(balance.path, sent, run, ready))
        spender.start()
        assert ready.wait(60)
        time.sleep(rng.uniform(0.0, 0.1))
        spender.kill()
        spender.join()
        left = set(np.fromfile(sent).tolist()) if sent.exists() else set()
        charged = [balance.charged(entry.key) for entry in balance.entries() if entry.state == "charged"]
        assert left <= {float(release.values[0]) for release in charged}
        assert balance.spent() == 0.25 * len(balance.entries())
    assert len(left) >= 20
