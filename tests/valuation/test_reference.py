"""Reference budgets from a bound and from history."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from kantor.errors import InputError
from kantor.valuation import tasks
from kantor.valuation.reference import reference_budget


def test_a_bound_in_money():
    budget = reference_budget(lipschitz=0.13, distance=2.0, money_per_loss=100)
    assert (float(budget), budget.value, budget.upper, budget.lower) == pytest.approx((26.0, 26.0, 26.0, -26.0))
    assert (budget.kind, budget.confidence) == ("bound", 1.0)


def test_a_bound_from_a_task_and_data_covers_the_excess():
    reference, target = scipy.stats.norm(12, 2), scipy.stats.norm(13, 0.5)
    for task in (tasks.newsvendor(), tasks.quantile(0.9), tasks.median):
        budget = reference_budget(task, reference, target, money_per_loss=10)
        assert budget.lower <= 10 * task.excess(reference, target) <= budget.upper
        assert (budget.lower == 0) == task.optimal
        assert task.name in budget.basis
    assert reference_budget(tasks.newsvendor(), distance=2.0).value == pytest.approx(0.26)
    assert reference_budget(tasks.quantile(0.9), [0.0], [2.0], lipschitz=0.9).value == pytest.approx(1.8)


def test_what_is_not_proved_has_to_be_asked_for():
    with pytest.raises(InputError, match="constant is inf: not Lipschitz"):
        reference_budget(tasks.mean, distance=2.0)
    assert reference_budget(tasks.mean, distance=2.0, lipschitz=tasks.mean.lipschitz).value == 2.0


def test_history_is_the_paired_t_interval():
    reference, target = [5.0, 7.0, 6.0, 9.0], [4.0, 4.0, 4.5, 4.0]
    budget = reference_budget(reference_losses=reference, target_losses=target, confidence=0.9, money_per_loss=3)
    expected = scipy.stats.ttest_rel(reference, target).confidence_interval(0.9)
    assert budget.value == pytest.approx(3 * 2.625)
    assert (budget.lower, budget.upper) == pytest.approx((3 * expected.low, 3 * expected.high))
    assert (budget.kind, budget.confidence) == ("history", 0.9)
    same = reference_budget(excesses=np.subtract(reference, target), confidence=0.9, money_per_loss=3)
    assert same == budget


def test_the_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(5)
    budgets = [reference_budget(excesses=rng.normal(2, 3, 6), confidence=0.8) for _ in range(2000)]
    covered = np.mean([budget.lower <= 2 <= budget.upper for budget in budgets])
    assert covered == pytest.approx(0.8, abs=0.03)


def test_no_confidence_is_the_mean_alone():
    budget = reference_budget(excesses=[1.0, 2.0], confidence=0.0)
    assert (budget.lower, budget.value, budget.upper) == (1.5, 1.5, 1.5)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "either from a Lipschitz bound or"),
        ({"lipschitz": 1.0, "distance": 1.0, "excesses": [1.0, 2.0]}, "either from a Lipschitz bound or"),
        ({"distance": 1.0}, "slope is not known"),
        ({"lipschitz": 1.0}, "distance from the reference"),
        ({"lipschitz": 1.0, "reference": [1.0]}, "distance from the reference"),
        ({"lipschitz": 1.0, "reference": [1.0], "target": [2.0], "distance": 1.0}, "both a distance and data"),
        ({"lipschitz": -1.0, "distance": 1.0}, "constant is -1"),
        ({"lipschitz": 1.0, "distance": float("nan")}, "distance is nan"),
        ({"lipschitz": 1.0, "distance": 1.0, "money_per_loss": 0.0}, "worth 0.0"),
        ({"reference_losses": [1.0, 2.0]}, "only one of"),
        ({"reference_losses": [1.0, 2.0], "target_losses": [1.0]}, "2 losses with the reference and 1"),
        ({"reference_losses": [1.0, 2.0], "excesses": [1.0, 2.0]}, "both excesses and losses"),
        ({"excesses": [1.0]}, "one period"),
        ({"excesses": [1.0, np.nan]}, "argument excesses"),
        ({"excesses": [1.0, 2.0], "confidence": 1.0}, "confidence is 1.0"),
    ],
)
def test_ambiguous_or_impossible_requests_are_refused(given, problem):
    with pytest.raises(InputError, match=problem):
        reference_budget(**given)
