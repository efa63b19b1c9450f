"""Each method against `kantor.distances` of the same data in the clear, and within the bound that it states."""

import numpy as np
import pytest
import scipy.stats as st
from hypothesis import given, settings
from hypothesis import strategies as hs

import kantor as kt
from kantor.errors import InputError, KantorError
from kantor.private.aligned import Aligned
from kantor.private.histogram import Histogram
from kantor.private.methods import method_from
from kantor.private.nodes import nodes
from kantor.private.parameters import Parameters
from kantor.private.run import value_in_memory

RNG = np.random.default_rng(8)
CLOSED = ["norm", "expon", "uniform", "logistic", "gumbel_r", "gumbel_l", "laplace", "rayleigh", "halfnorm"]


@given(hs.integers(2, 12), hs.integers(1, 40), hs.integers(2, 30), hs.integers(0, 10**6))
@settings(max_examples=12)
def test_histograms_equal_the_distances_of_binned_data(owners, length, bins, seed):
    data = np.random.default_rng(seed).uniform(-3, 8, (owners, length))
    method = Histogram(-3, 8, bins=bins, levels=length)
    found = value_in_memory(method, data, [data[0]])
    binned = np.array([method.binned(row) for row in data])
    assert found.distances == pytest.approx(kt.distances(binned, aggregate="mixture"), abs=1e-12)
    assert np.abs(found.distances - kt.distances(data, aggregate="mixture")).max() <= method.error_bound
    assert found.references[0] == found.distances[0]  # a reference that happens to be the first owner's data


def test_histograms_of_unequal_lengths_stay_within_the_bound_and_references_are_no_part_of_the_target():
    data = [RNG.normal(k % 5, 1, 20 + k).clip(-10, 10) for k in range(15)]
    buyer = RNG.normal(4, 2, 33).clip(-10, 10)
    method = Histogram(-10, 10, bins=50)
    found = value_in_memory(method, data, [buyer])
    target = kt.aggregate(data, "mixture")
    assert np.abs(found.distances - kt.distances(data, target)).max() <= method.error_bound
    assert (
        abs(found.references[0] - kt.wasserstein(buyer, target.values, y_weights=target.weights)) <= method.error_bound
    )


@given(hs.integers(2, 8), hs.integers(1, 33), hs.integers(0, 10**6))
@settings(max_examples=8)
def test_aligned_series_are_exact_up_to_the_fixed_point(owners, length, seed):
    data = np.random.default_rng(seed).uniform(0, 100, (owners, length))
    method = Aligned(0, 100, length)
    found = value_in_memory(method, data, [data[-1]])
    assert np.abs(found.distances - kt.distances(data)).max() <= method.error_bound
    assert found.references[0] == found.distances[-1]


@pytest.mark.parametrize(
    ("family", "aggregate"), [("norm", "euclidean"), *((family, "barycenter") for family in CLOSED)]
)
@pytest.mark.parametrize("reveal", ["distances", "sums"])
def test_parameters(family, aggregate, reveal):
    owners = [getattr(st, family)(RNG.uniform(-3, 5), RNG.uniform(0.3, 2)) for _ in range(7)]
    method = Parameters(-5, 5, 2.5, family=family, aggregate=aggregate, reveal=reveal)
    found = value_in_memory(method, owners)
    exact = kt.distances(owners, aggregate=aggregate)
    mine = found.distances
    if reveal == "sums":
        assert mine.size == 0
        mine = np.array([method.own_distance(owner, found.outcomes[0].opened, 7) for owner in owners])
    assert np.abs(mine - exact).max() <= method.error_bound < 2e-3


@pytest.mark.parametrize("family", CLOSED)
def test_cells_lose_no_more_than_they_say(family):
    for count in (2, 16, 64):
        cells = nodes(family, count)
        base = getattr(st, family)
        for t in base.ppf(np.linspace(0.001, 0.999, 50)):
            exact = kt.wasserstein([t], base())
            assert -1e-9 <= exact - cells.probability @ np.abs(cells.place - t) <= cells.loss + 1e-9


def test_noised_sums_hide_an_owner_and_say_so():
    owners = [st.norm(RNG.uniform(-3, 5), RNG.uniform(0.3, 2)) for _ in range(5)]
    method = Parameters(-5, 5, 2.5, aggregate="euclidean", reveal="sums", epsilon=0.5)
    draws = np.array([list(value_in_memory(method, owners).outcomes[0].opened.values()) for _ in range(30)])
    plain = value_in_memory(Parameters(-5, 5, 2.5, aggregate="euclidean", reveal="sums"), owners).outcomes[0].opened
    noise = (draws - list(plain.values())) / (np.array([10, 2.5**2 * 2**16]) * 2**16 / 0.25)
    # Each of the three parties adds Laplace noise of scale 1 in these units: the mean absolute sum is 33/16.
    assert np.abs(noise).mean(axis=0) == pytest.approx([33 / 16] * 2, abs=1.6)
    assert len(np.unique(draws)) == 60


def lying(method, place, value):
    """The method with one owner's numbers changed after encoding, as a dishonest agent would."""

    class Lying(type(method)):
        calls = 0

        def encode(self, data, owner=None):
            numbers = super().encode(data, owner)
            if Lying.calls == 1:
                numbers = numbers.copy()
                numbers[place] = value
            Lying.calls += 1
            return numbers

    return Lying(**{k: v for k, v in method.as_dict().items() if k != "method"})


@pytest.mark.parametrize(
    ("method", "place", "value"),
    [
        (Histogram(0, 10, bins=5, levels=100), 3, 101),
        (Histogram(0, 10, bins=5, levels=100), 0, -1),
        (Histogram(0, 10, bins=5, levels=100), 0, 100),  # the next count falls
        (Histogram(0, 10, bins=5, levels=100), 1, -(2**63)),
        (Aligned(0, 10, 4), 0, -1),
        (Aligned(0, 10, 4), 2, 11 * 2**20),
        (Aligned(0, 10, 4), 4, 10 * 2**20),  # not sorted
        (Parameters(0, 10, 5, reveal="sums"), 1, -1),
        (Parameters(0, 10, 5), 0, 2**40),
    ],
)
def test_numbers_that_come_from_no_data_are_left_out_of_the_target(method, place, value):
    owners = [[1.0, 2, 3, 5], [2.0, 6, 4, 5], [3.0, 3, 1, 7], [1.0, 9, 9, 9]]
    found = value_in_memory(lying(method, place, value), owners)
    honest = value_in_memory(method, [owners[0], *owners[2:]])
    assert found.outcomes[0].sound.tolist() == [True, False, True, True]
    assert np.array_equal(found.distances, honest.distances)
    assert found.outcomes[0].opened == honest.outcomes[0].opened


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Histogram(1, 0), "the limits are 1 and 0"),
        (lambda: Histogram(0, 1, bins=1), "bins is 1"),
        (lambda: Histogram(0, 1, levels=2.5), r"levels is 2\.5"),
        (lambda: Histogram(0, 1).encode([0.5, 1.5], "anna"), r"owner anna: sample 1 .* is 1\.5, outside"),
        (lambda: Histogram(0, 1).encode([0.5, np.nan]), "is nan"),
        (lambda: Aligned(0, 1, 3).encode([0.5]), "has 1 values, and this market's have 3"),
        (lambda: Aligned(0, 1e9, 3, bits=30), "30 bits after the point are too many"),
        (lambda: Parameters(0, 1, 0), "the largest scale is 0"),
        (lambda: Parameters(0, 1, 1, family="beta"), "family 'beta' is not known"),
        (lambda: Parameters(0, 1, 1, family="expon", aggregate="euclidean"), "has no closed form"),
        (lambda: Parameters(0, 1, 1, epsilon=1.0), "Noise belongs to opened sums"),
        (lambda: Parameters(0, 1, 1).encode(st.expon()), "is expon, not norm"),
        (lambda: Parameters(0, 1, 1).encode(st.norm(5, 1)), "outside the market's limits"),
        (lambda: method_from({"method": "magic"}), "method 'magic' is not known"),
        (lambda: method_from({"method": "histogram", "low": 0}), "no parameters of histogram"),
        (
            lambda: value_in_memory(Parameters(0, 1e9, 1e8, bits=24), [st.norm(3, 1e7)] * 4),
            "do not fit the parties' 64-bit numbers",
        ),
    ],
)
def test_what_a_method_cannot_hold_is_refused(call, message):
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert isinstance(caught.value, KantorError)


def test_methods_are_plain_data():
    for method in (Histogram(0, 1), Aligned(0, 1, 3), Parameters(0, 1, 1)):
        assert method_from(method.as_dict()) == method
