"""Notes: durable, and safe for several commands at once."""

import multiprocessing
import time

import pytest

from kantor.errors import InputError
from kantor.service.agent.notes import Notes


def test_two_readers_see_what_is_on_the_disk(tmp_path):
    one, other = Notes(tmp_path / "m.json"), Notes(tmp_path / "m.json")
    one.keep(bids=[1])
    other.keep(shares="s")
    assert one.known == {"bids": [1], "shares": "s"}
    assert one.known == other.known


def _add(file, count):
    notes = Notes(file)
    for _ in range(count):
        with notes.alone():
            notes.keep(number=notes.known.get("number", 0) + 1)


def test_changes_of_several_processes_are_all_kept(tmp_path):
    file = tmp_path / "m.json"
    start = multiprocessing.get_context("spawn")
    processes = [start.Process(target=_add, args=(file, 10)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert Notes(file).known == {"number": 20}


def _hold(file, ready):
    with Notes(file).alone():
        ready.set()
        time.sleep(60)


def test_a_killed_command_holds_nothing(tmp_path):
    file = tmp_path / "m.json"
    start = multiprocessing.get_context("spawn")
    ready = start.Event()
    holder = start.Process(target=_hold, args=(file, ready))
    holder.start()
    assert ready.wait(30)
    holder.kill()
    holder.join(10)
    with Notes(file).alone():
        Notes(file).keep(free=1)
    assert Notes(file).known == {"free": 1}


def test_broken_notes_say_how_to_go_on(tmp_path):
    notes = Notes(tmp_path / "m.json")
    notes.file.write_text("{")
    with pytest.raises(InputError, match="fetch your receipts with: kantor owner receipts"):
        _ = notes.known
