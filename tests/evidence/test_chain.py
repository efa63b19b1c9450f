"""A chained log: nothing in it can be flipped, deleted, added or reordered unnoticed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kantor.errors import EvidenceError
from kantor.evidence.chain import chained, check_chain


def log(size):
    events = []
    for number in range(size):
        last = events[-1] if events else None
        at = f"2026-11-20T10:00:{number:02}Z"
        events.append(chained(last, "m", at, "bid", "owner:1", {"number": number, "nonce": "ab"}))
    return [event.as_dict() for event in events]


def test_a_log_is_whole():
    assert [event.seq for event in check_chain(log(5), "m")] == [1, 2, 3, 4, 5]
    assert check_chain([], "m") == []


@given(st.integers(2, 9), st.data())
def test_what_was_changed_is_named(size, data):
    events, place = log(size), data.draw(st.integers(0, size - 1))
    how = data.draw(st.sampled_from(["drop", "swap", "flip", "twice", "field"]))
    if how == "drop":
        del events[place]
        if place == size - 1:
            return  # the end is fixed by whoever quotes the last hash
    elif how == "swap":
        other = data.draw(st.integers(0, size - 1).filter(lambda at: at != place))
        events[place], events[other] = events[other], events[place]
    elif how == "twice":
        events.insert(place, events[place])
    elif how == "flip":
        name = data.draw(st.sampled_from(["at", "kind", "actor", "previous", "hash", "market"]))
        events[place] = {**events[place], name: events[place][name][:-1] + "!"}
    else:
        events[place] = {**events[place], "body": {**events[place]["body"], "number": -1}}
    with pytest.raises(EvidenceError, match=r"event|entry"):
        check_chain(events, "m")


def test_times_never_go_back_even_if_the_hashes_fit():
    first = chained(None, "m", "2026-11-20T10:00:05Z", "opened", "x", {})
    second = chained(first, "m", "2026-11-20T10:00:04Z", "closed", "x", {})
    with pytest.raises(EvidenceError, match="dated before"):
        check_chain([first.as_dict(), second.as_dict()], "m")


@pytest.mark.parametrize("entry", [{}, [], "event", {"seq": 1}])
def test_rubbish_is_no_event(entry):
    with pytest.raises(EvidenceError, match="no event"):
        check_chain([entry], "m")
