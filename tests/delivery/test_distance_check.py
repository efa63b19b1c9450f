"""Tests on the stated distance: each bounds it from below, for every data and every target."""

import numpy as np
import pytest
import scipy.stats as st
from hypothesis import given, settings
from hypothesis import strategies as hs

import kantor as kt
from kantor.delivery import distance_check
from kantor.delivery.distance_check import distance_tests
from kantor.delivery.form import Delivery
from kantor.delivery.noise_law import Gaussian, Laplace, Setting
from kantor.delivery.reference import others, target
from kantor.errors import InputError
from kantor.owners.distributions import Mixture
from kantor.owners.release import promise

points = hs.lists(hs.floats(-2, 3), min_size=1, max_size=12)
UNIT = Setting(0.0, 1.0, Laplace(0.3))


def laplace(scale, size, seed):
    return np.random.default_rng(seed).laplace(0, scale, size)


@given(points, points)
def test_clipping_brings_data_and_target_no_further_apart(data, goal):
    made = target(goal, UNIT)
    assert kt.wasserstein(np.clip(data, 0, 1), made.atoms) <= kt.wasserstein(data, goal) + made.lost + 1e-12


@pytest.mark.parametrize("goal", [np.random.default_rng(0).gamma(2, 0.2, 3000), st.beta(2, 3), st.norm(0.5, 0.2)])
def test_few_points_stand_for_a_large_target(goal):
    made = target(goal, Setting(-5.0, 5.0, Laplace(0.3)))
    assert made.atoms.size == 256
    assert made.lost < 0.005
    assert kt.wasserstein(made.atoms, goal) == pytest.approx(made.lost)


def test_weights_of_a_target_count():
    from kantor.owners.samples import Sample

    made = target(Sample(np.array([0.0, 1.0]), np.array([0.25, 0.75])), UNIT)
    assert made.mean == pytest.approx(0.75)
    assert made.lost == pytest.approx(0, abs=1e-12)


def test_a_target_without_a_mean_is_refused():
    with pytest.raises(InputError, match="no finite mean"):
        target(st.cauchy(), UNIT)


@given(points, hs.lists(hs.floats(0, 1), min_size=1, max_size=5), hs.floats(0.05, 3))
@settings(max_examples=15)
def test_the_shape_shows_no_more_than_the_distance(values, atoms, scale):
    """Against quadrature: never above W(values, atoms + noise), and near it for many values."""
    law = Mixture([st.laplace(atom, scale) for atom in atoms])
    exact = kt.wasserstein(values, law)
    assert distance_check._least_distance(np.sort(values), np.array(atoms), Laplace(scale)) <= exact + 1e-6


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
@pytest.mark.parametrize("value", [-2.0, 0.3, 4.0])
def test_the_shape_shows_all_of_it_for_one_value(kind, value):
    """W(one value, atom + noise) is E|atom + noise - value|, tails on both sides."""
    law = (st.laplace if kind is Laplace else st.norm)(0.4, 0.3)
    exact = kt.wasserstein([value], law)
    assert distance_check._least_distance(np.array([value]), np.array([0.4]), kind(0.3)) == pytest.approx(exact)


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_the_shape_shows_nearly_all_of_it_for_many_values(kind):
    atoms, values = np.array([0.2, 0.7]), np.sort(0.5 + laplace(0.8, 5000, 3))
    law = Mixture([(st.laplace if kind is Laplace else st.norm)(atom, 0.3) for atom in atoms])
    exact = kt.wasserstein(values, law)
    assert distance_check._least_distance(values, atoms, kind(0.3)) == pytest.approx(exact, rel=1e-3)


@given(points, points, hs.floats(0.1, 30))
def test_waves_and_means_differ_by_no_more_than_the_distance(data, goal, frequency):
    far = kt.wasserstein(data, goal)
    wave = [np.exp(1j * frequency * np.array(side)).mean() for side in (data, goal)]
    assert abs(wave[0] - wave[1]) <= frequency * far + 1e-9
    assert abs(np.mean(data) - np.mean(goal)) <= far + 1e-9


def doubts(values, setting, stated, goal, alpha=1e-6):
    return {test.name for test in distance_tests(values, setting, stated, goal, 0.0, alpha) if test.doubt}


def test_data_to_one_side_are_found_by_the_mean():
    goal = target([0.2], UNIT)
    values = 0.8 + laplace(0.3, 2000, 1)
    assert "mean" in doubts(values, UNIT, 0.3, goal)
    assert doubts(values, UNIT, 0.6, goal) == set()


def test_another_shape_with_the_same_mean_is_found_by_shape_and_waves():
    goal = target([0.5], UNIT)
    x = np.tile([0.0, 1.0], 20_000)
    fine = Setting(0.0, 1.0, Laplace(0.1))
    assert doubts(x + laplace(0.1, x.size, 1), fine, 0.25, goal) == {"shape", "waves of the data"}
    assert doubts(x + laplace(0.3, x.size, 1), UNIT, 0.25, goal) == {"waves of the data"}
    coarse = Setting(0.0, 1.0, Laplace(3.0))
    assert doubts(x + laplace(3.0, x.size, 1), coarse, 0.25, goal) == set()


def test_details_finer_than_the_noise_are_not_seen_either_way():
    """Honest data at a distance of 0.05 whose delivery looks like the target: too large a statement cannot be shown."""
    x = np.tile([0.45, 0.55], 5000)
    values = x + laplace(0.3, x.size, 5)
    shown = [test.statistic for test in distance_tests(values, UNIT, 0.05, target([0.5], UNIT), 0.0, 1e-6)]
    assert max(shown[:2]) < 0.01


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_honest_owners_on_the_very_edge_are_doubted_no_more_often_than_stated(kind):
    """The stated distance is exact and all of it in the mean: 1,200 deliveries for each test, at a rate of 0.2."""
    one = Setting(0.0, 1.0, kind(0.3))
    goal = target(np.linspace(0.2, 1.0, 40), one)
    found = {"mean": 0, "shape": 0, "waves of the data": 0}
    for seed in range(1200):
        rng = np.random.default_rng(seed)
        noise = rng.laplace(0, 0.3, 40) if kind is Laplace else rng.normal(0, 0.3, 40)
        for name in doubts(np.linspace(0.0, 0.8, 40) + noise, one, 0.2, goal, alpha=0.2):
            found[name] += 1
    assert max(found.values()) <= st.binom.isf(1e-6, 1200, 0.2)
    assert found["mean"] > 0


@given(hs.lists(points, min_size=2, max_size=6), points)
def test_the_mixture_of_the_others_lies_within_their_mean_distance_of_any_target(owners, goal):
    """And so owner 0 lies within its own distance and that of the mixture of the rest."""
    far = [kt.wasserstein(owner, goal) for owner in owners]
    mixture = kt.aggregate(owners[1:], "mixture")
    assert kt.wasserstein(mixture.values, owners[0], mixture.weights) <= far[0] + np.mean(far[1:]) + 1e-9


def made_others(count, low, high, scale=0.3, size=1500):
    promised = promise("laplace", size, bounds=(0, 1), unit="record", epsilon=1 / scale)
    return [
        Delivery(str(k), np.full(size, x) + laplace(scale, size, k), promised)
        for k, x in enumerate(np.linspace(low, high, count))
    ]


def test_others_are_a_reference_with_their_distances_as_slack():
    those = made_others(10, 0.35, 0.45)
    reference = others(those, {one.owner: 0.05 for one in those})
    assert reference.slack == pytest.approx(0.05)
    assert reference.mean == pytest.approx(0.4, abs=0.05)
    assert "mean" in doubts(0.9 + laplace(0.3, 1500, 99), UNIT, 0.1, reference)
    assert doubts(0.5 + laplace(0.3, 1500, 99), UNIT, 0.1, reference) == set()


def test_noise_of_the_others_is_undone_and_counted():
    """Others with noise of another kind and size: their waves estimate the mixture's, and add to what is chance."""
    few, many = made_others(3, 0.4, 0.4, size=60), made_others(3, 0.4, 0.4, scale=0.8)
    values = 0.4 + laplace(0.3, 1500, 9)
    thresholds = [
        [
            test.threshold
            for test in distance_tests(values, UNIT, 0.1, others(those, dict.fromkeys("012", 0.1)), 0.0, 1e-6)
        ]
        for those in (few, many)
    ]
    assert all(more > 0.2 for row in thresholds for more in row)
    assert thresholds[0][0] > thresholds[1][0]
    frequencies = np.array([1.0, 2.0])
    assert others(many, dict.fromkeys("012", 0.1)).waves(frequencies) == pytest.approx(
        np.exp(0.4j * frequencies), abs=0.25
    )


def test_others_need_distances():
    with pytest.raises(InputError, match="no other"):
        others([], {})
    with pytest.raises(InputError, match="owner 0"):
        others(made_others(1, 0.4, 0.4), {})


def test_the_sentence_says_how_far_at_least():
    found = distance_tests(0.8 + laplace(0.3, 2000, 1), UNIT, 0.1, target([0.2], UNIT), 0.05, 1e-5)
    assert [test.name for test in found] == ["mean", "shape", "waves of the data"]
    for test in found:
        assert f"at least {test.statistic - (test.threshold - 0.15):.4g}, and 0.15 is allowed" in test.sentence
