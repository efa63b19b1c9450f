"""Composition: never more than the plain sum, tight for one release, and exact where it is known."""

import numpy as np
import pytest
import scipy.stats as st
from hypothesis import given, settings
from hypothesis import strategies as hs

from kantor.errors import InputError
from kantor.owners.accounting import Limit, cost_of, spent
from kantor.owners.release import promise


def cost(mechanism="laplace", epsilon=0.1, delta=None, unit="record", records=10):
    return cost_of(promise(mechanism, records, bounds=(0, 1), unit=unit, epsilon=epsilon, delta=delta))


def test_ten_tenths_are_one_exactly():
    assert Limit(1.0).affords([cost()] * 10)
    assert not Limit(1.0).affords([cost()] * 11)
    assert not Limit(1.0).affords([cost("gaussian", 0.1, 1e-9)])  # no delta was allowed


@pytest.mark.parametrize("count", [1, 7, 100])
def test_gaussian_releases_compose_as_one_with_the_root_of_their_number(count):
    one = cost("gaussian", 0.1, 1e-8)
    sigma = one.ratio / np.sqrt(count)

    def delta_at(epsilon):
        return st.norm.cdf(0.5 / sigma - epsilon * sigma) - np.exp(epsilon) * st.norm.cdf(
            -0.5 / sigma - epsilon * sigma
        )

    found = spent([one] * count, 1e-6)
    assert delta_at(found) == pytest.approx(1e-6, rel=2e-2)


@given(hs.lists(hs.sampled_from([cost(), cost(epsilon=0.3, unit="series"), cost("gaussian", 0.2, 1e-9)]), max_size=12))
@settings(max_examples=25)
def test_laws(costs):
    total = spent(costs, 1e-6)
    assert total <= sum(float(c.epsilon) for c in costs) * (1 + 1e-12)
    assert spent([*costs, cost()], 1e-6) >= total - 1e-9
    assert Limit(total * (1 + 1e-9) + 1e-12, 1e-6).affords(costs)
    if costs:
        assert not Limit(total * 0.99, 1e-6).affords(costs)


def test_several_values_at_once_are_counted_as_the_worst_private_release():
    """Randomised response, composed by hand: two of epsilon 1 at delta lose 2 except with the probability of a draw."""
    one = cost(epsilon=1.0, unit="series")
    honest = np.exp(1.0) / (1 + np.exp(1.0))
    delta = 1e-3
    # delta(e) = honest^2 (1 - exp(e - 2)) for e in (0, 2): the least e that it covers
    assert spent([one] * 2, delta) == pytest.approx(2 + np.log1p(-delta / honest**2), abs=2e-4)


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0), (np.inf, 0), (1, 1), (1, -1e-9), (np.nan, 0)])
def test_a_limit_is_a_limit(epsilon, delta):
    with pytest.raises(InputError, match="the limit is"):
        Limit(epsilon, delta)
