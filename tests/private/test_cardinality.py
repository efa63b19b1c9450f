"""The paper's route: the size of a set intersection is the distance, and little else comes out."""

import numpy as np
import pytest

import kantor as kt
from kantor.errors import InputError, PartyError
from kantor.private.cardinality import Asker, Holder
from kantor.private.histogram import Histogram

pytest.importorskip("private_set_intersection.python")

METHOD = Histogram(0, 10, bins=10, levels=20)
RNG = np.random.default_rng(4)
TARGET = RNG.uniform(0, 10, 20)


def ask(holder, data, owner="anna"):
    asker = Asker(METHOD, data, owner)
    return asker.distance(*holder.answer(owner, asker.request()))


def test_it_equals_the_distance_of_binned_data_and_that_by_histogram():
    holder = Holder(METHOD, TARGET)
    for name, data in (("anna", RNG.beta(2, 5, 20) * 10), ("ben", TARGET), ("carla", np.full(20, 9.9))):
        found = ask(holder, data, name)
        assert found == pytest.approx(kt.wasserstein(METHOD.binned(data), METHOD.binned(TARGET)), abs=1e-12)
        assert abs(found - kt.wasserstein(data, TARGET)) <= METHOD.error_bound


def test_the_size_of_what_is_sent_does_not_depend_on_the_data():
    requests = [Asker(METHOD, np.full(20, value)).request() for value in (0.0, 5.0, 10.0)]
    assert len({len(request) for request in requests}) == 1
    holder = Holder(METHOD, TARGET, queries=3)
    answers = [holder.answer("anna", request) for request in requests]
    assert len({(len(setup), len(response)) for setup, response in answers}) == 1
    assert len({setup for setup, _ in answers}) == 3  # a fresh key each time


def test_the_number_of_queries_is_limited_and_what_is_no_request_counts():
    holder = Holder(METHOD, TARGET, queries=2)
    ask(holder, TARGET)
    small = Asker(Histogram(0, 10, bins=3, levels=20), TARGET)
    with pytest.raises(PartyError, match="has 40 different elements of 40, where 180 belong"):
        holder.answer("anna", small.request())
    with pytest.raises(PartyError, match="owner anna has asked 2 times already"):
        ask(holder, TARGET)
    with pytest.raises(PartyError, match="the request of owner ben is none"):
        holder.answer("ben", b"rubbish")
    with pytest.raises(PartyError, match="the holder's answer cannot be read"):
        Asker(METHOD, TARGET).distance(b"rubbish", b"rubbish")


def test_what_it_cannot_hold_is_refused():
    with pytest.raises(InputError, match="make 6,488,064 elements"):
        Asker(Histogram(0, 10), TARGET)
    with pytest.raises(InputError, match="the limit is 0 queries"):
        Holder(METHOD, TARGET, queries=0)
