"""Populations, prices and the values of coalitions."""

import numpy as np
import pytest
import scipy

import kantor as kt
from kantor.studies.metrics import METRICS, TASKS
from kantor.studies.normal_values import normal_values
from kantor.studies.populations import Population, population
from kantor.studies.prices import CORRELATIONS, correlated_prices
from kantor.studies.sampled_values import trial_values
from kantor.studies.setting import Setting


def test_populations_are_the_published_ones(published):
    ours = population(Setting())
    assert ours.location[:10] == pytest.approx(published["location"])
    assert ours.scale[:10] == pytest.approx(published["scale"])


def test_normal_values_are_the_published_ones(case, published):
    ours, theirs = case.values().table[:10], np.moveaxis(published["loss"], 1, 2)
    estimated = METRICS.index("KS")
    exact = [place for place in range(len(METRICS)) if place != estimated]
    assert np.abs(ours - theirs)[:, :, exact].max() < 1e-12
    assert np.abs(ours - theirs)[:, :, estimated].max() < 0.02


def test_kolmogorov_is_that_of_the_library():
    people = Population(np.array([[10.0, 12, 12, 15]]), np.array([[1.0, 2, 2, 1e-3]]))
    ours = normal_values(people).of("KS")[0]
    means, scales = (row[0] for row in people.normal_parameters())
    target = scipy.stats.norm(means[-1], scales[-1])
    theirs = [kt.ks(scipy.stats.norm(m, s), target) for m, s in zip(means, scales, strict=True)]
    assert ours == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("family", ["uniform", "exponential"])
def test_sampled_values_are_those_of_the_library(family):
    """The same samples through kt.distances and kt.tasks."""
    people = population(Setting(trials=1, owners=3))
    ours = trial_values(people, family, 7, 0, 0)
    rng = np.random.default_rng([7, 1 if family == "uniform" else 2, 0])
    unit = rng.random((3, 10_000)) if family == "uniform" else rng.standard_exponential((3, 10_000))
    owners = people.location[0][:, None] + people.scale[0][:, None] * unit
    target = owners.mean(axis=0)
    for coalition in (0, 3, 6):
        sample = owners[people.members[coalition]].mean(axis=0)
        row = dict(zip(METRICS, ours[coalition], strict=True))
        assert row["W"] == pytest.approx(kt.wasserstein(sample, target), abs=1e-12)
        assert row["KS"] == pytest.approx(kt.ks(sample, target), abs=1e-12)
        for name, task in TASKS.items():
            assert row[name] == pytest.approx(task.loss(sample, target), abs=1e-9), name


def test_kernel_estimates_are_those_of_scipy():
    """The binned kernels against scipy.stats.gaussian_kde on the same points."""
    people = population(Setting(trials=1, owners=3))
    ours = trial_values(people, "uniform", 7, 0, 0)[3, METRICS.index("TVD")]
    owners = people.location[0][:, None] + people.scale[0][:, None] * np.random.default_rng([7, 1, 0]).random(
        (3, 10_000)
    )
    sample, target = np.sort(owners[people.members[3]].mean(axis=0)), np.sort(owners.mean(axis=0))
    low, high = (min(sample[1], target[1]), max(sample[-2], target[-2]))
    points = np.arange(low, high, 1.0)
    f, g = (scipy.stats.gaussian_kde(values)(points) for values in (sample, target))
    assert ours == pytest.approx(0.5 * np.abs(f - g).sum(), abs=2e-3)


@pytest.mark.parametrize("correlation", CORRELATIONS.values())
def test_prices_have_their_correlation_and_span(case, correlation):
    for row in case.values().alone("W")[:5]:
        prices = correlated_prices(row, correlation, 1345)
        assert np.corrcoef(row, prices)[0, 1] == pytest.approx(correlation, abs=1e-9)
        assert (prices.min(), prices.max()) == (pytest.approx(0.1), pytest.approx(0.9))


def test_nothing_is_correlated_with_owners_that_are_alike():
    assert np.isnan(correlated_prices(np.full(8, 0.1), 0.0, 1345)).all()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"trials": 0}, "trials is 0"),
        ({"owners": 2}, "owners is 2"),
        ({"owners": 13}, "owners is 13"),
        ({"seed": -1}, "seed is -1"),
        ({"variant": "mine"}, "variant 'mine'"),
        ({"trials": 2.5}, "trials is 2.5"),
    ],
)
def test_unusable_settings(wrong, said):
    with pytest.raises(kt.errors.InputError, match=said):
        Setting(**wrong)
