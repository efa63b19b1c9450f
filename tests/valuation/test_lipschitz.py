"""Checks of constants, on data made to keep them and data made to break them."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from kantor.errors import InputError
from kantor.valuation import tasks
from kantor.valuation.lipschitz import check_lipschitz, diameter_bounds, slope, slope_in_data

numbers = st.floats(-20, 20).map(lambda v: round(v, 6))
samples = st.lists(numbers, min_size=1, max_size=10)


def test_ratios_by_hand():
    check = check_lipschitz(tasks.median, {"near": [0.0, 1.0], "far": [5.0, 7.0], "same": [2.0, 0.0]}, [0.0, 2.0])
    np.testing.assert_allclose(check.excesses, [0.0, 4.0, 0.0])
    np.testing.assert_allclose(check.distances, [0.5, 5.0, 0.0])
    np.testing.assert_allclose(check.ratios, [0.0, 0.8, 0.0])
    assert (check.largest, check.where, check.holds, check.proved) == (pytest.approx(0.8), "far", True, True)
    assert check.constant == 1.0


def test_the_pinball_constant_of_the_paper_is_refuted_and_the_guarantee_is_not():
    target, tipped = [0.0] * 51 + [1.0] * 49, [0.0] * 49 + [1.0] * 51
    owners = [tipped, target, [0.5] * 3]
    refuted = check_lipschitz(tasks.quantile(0.4), owners, [0.0] * 41 + [1.0] * 59, constant=0.6)
    assert refuted.holds
    task = tasks.quantile(0.495)
    refuted = check_lipschitz(task, owners, target, constant=task.lipschitz)
    assert not refuted.holds
    assert not refuted.proved
    assert refuted.within == (False, True, True)
    assert refuted.where == 0
    assert check_lipschitz(task, owners, target).holds


def test_where_nothing_is_proved_the_papers_constant_is_checked():
    rare = [0.0] * 99 + [1.0]
    check = check_lipschitz(tasks.mean, [rare, [0.0]], [0.0])
    assert (check.constant, check.proved, check.holds) == (1.0, False, False)
    assert check.largest == pytest.approx(10.0)


def test_a_loss_that_moves_where_the_distance_does_not_has_an_infinite_ratio():
    drawn = iter(range(10))
    unstable = tasks.Task.of("unstable", decide=lambda x: next(drawn), loss=lambda q, y: q + 0 * y, lipschitz=1.0)
    check = check_lipschitz(unstable, [[1.0, 2.0]], [1.0, 2.0])
    assert check.largest == inf
    assert not check.holds


def test_distributions_and_the_table():
    owners = [scipy.stats.norm(1, 1), scipy.stats.expon(), np.array([0.0, 3.0])]
    check = check_lipschitz(tasks.newsvendor(), owners, scipy.stats.norm(0, 2))
    assert check.holds
    frame = check.to_frame()
    assert frame.columns == ["owner", "distance", "excess", "ratio", "holds"]
    assert frame["owner"].to_list() == [0, 1, 2]
    np.testing.assert_allclose(frame["excess"], check.excesses)
    assert check_lipschitz(tasks.median, np.array([[0.0, 1.0], [2.0, 3.0]]), [0.0]).owners == (0, 1)


def test_checks_need_owners_and_a_finite_constant():
    with pytest.raises(InputError, match="no owners"):
        check_lipschitz(tasks.median, [], [1.0])
    with pytest.raises(InputError, match="is inf"):
        check_lipschitz(tasks.median, [[1.0]], [1.0], constant=inf)


@settings(max_examples=60, deadline=None)
@given(points=st.lists(numbers, min_size=2, max_size=8, unique=True))
def test_neighbours_find_the_steepest_chord(points):
    found = slope(np.sin, points)
    pairs = [abs(np.sin(a) - np.sin(b)) / abs(a - b) for a in points for b in points if a != b]
    assert float(found) == pytest.approx(max(pairs), rel=1e-6)
    assert float(found) <= 1 + 1e-6


def test_slopes_of_the_losses_are_their_constants():
    data, decisions = np.linspace(-5, 5, 41), [-1.0, 0.0, 2.0]
    task = tasks.newsvendor()
    assert slope_in_data(task, decisions, data).value == pytest.approx(task.lipschitz_in_data)
    assert slope_in_data(task, decisions, data, difference=True).value == pytest.approx(task.guarantee)
    pinball = tasks.quantile(0.3)
    assert slope_in_data(pinball, decisions, data).value == pytest.approx(0.7)
    assert slope_in_data(pinball, decisions, data, difference=True).value == pytest.approx(1.0)
    square = slope_in_data(lambda q, y: (q - y) ** 2, [0.0, 5.0], [-5.0, -4.0, 0.0])
    assert (square.value, square.between, square.decision) == (pytest.approx(19.0), (-5.0, -4.0), 5.0)


def test_slopes_in_the_decision_are_their_constants():
    y = np.array([0.0])
    for task in (tasks.newsvendor(), tasks.quantile(0.3)):
        decisions = np.linspace(-2, 2, 9)
        steepest = slope(lambda q, task=task: np.array([task.pay(v, y)[0] for v in q]), decisions)
        assert steepest.value == pytest.approx(task.lipschitz_in_decision)


def test_slopes_need_something_to_join():
    with pytest.raises(InputError, match="two different points"):
        slope(np.sin, [1.0, 1.0])
    with pytest.raises(InputError, match="gave shape"):
        slope(np.mean, [1.0, 2.0])
    with pytest.raises(InputError, match="at least two decisions"):
        slope_in_data(tasks.median, [1.0], [1.0, 2.0], difference=True)
    with pytest.raises(InputError, match="at least one decision"):
        slope_in_data(tasks.median, [], [1.0, 2.0])


@settings(max_examples=60, deadline=None)
@given(x=samples, y=samples)
def test_the_three_bounds_are_in_order(x, y):
    bounds = diameter_bounds(2.0, x, y)
    assert abs(tasks.median.after(2.0, lambda v: 2 * v).excess(x, y)) <= bounds.wasserstein + 1e-9
    assert bounds.wasserstein <= bounds.kolmogorov + 1e-9
    assert bounds.kolmogorov <= bounds.total_variation + 1e-9


def test_bounds_by_hand():
    bounds = diameter_bounds(2.0, [0.0, 0.0, 1.0, 4.0], [0.0, 1.0, 1.0, 4.0], diameter=5.0)
    assert bounds.diameter == 5.0
    assert (bounds.wasserstein, bounds.kolmogorov, bounds.total_variation) == pytest.approx((0.5, 2.5, 2.5))
    between = diameter_bounds(1.0, scipy.stats.uniform(0, 1), scipy.stats.uniform(0.5, 1))
    assert (between.diameter, between.wasserstein) == pytest.approx((1.5, 0.5))
    assert (between.kolmogorov, between.total_variation) == pytest.approx((0.75, 0.75))
    assert diameter_bounds(1.0, [0.0, 1.0], scipy.stats.uniform(0, 1)).total_variation == 1.0
    assert diameter_bounds(1.0, [0.0, 1.0], [0.5, 2.0], total_variation=0.25).total_variation == 0.5


def test_diameter_bounds_say_nothing_on_unbounded_data():
    bounds = diameter_bounds(1.0, scipy.stats.norm(0, 1), scipy.stats.norm(1, 1))
    assert (bounds.diameter, bounds.kolmogorov, bounds.total_variation) == (inf, inf, inf)
    assert bounds.wasserstein == pytest.approx(1.0)
    same = diameter_bounds(1.0, scipy.stats.binom(3, 0.5), scipy.stats.binom(3, 0.5))
    assert (same.kolmogorov, same.total_variation) == (0.0, 0.0)
    assert same.wasserstein == pytest.approx(0.0, abs=1e-15)


def test_bounds_refuse_what_cannot_be():
    with pytest.raises(InputError, match="spread over 4"):
        diameter_bounds(1.0, [0.0], [4.0], diameter=3.0)
    with pytest.raises(InputError, match="constant is -1"):
        diameter_bounds(-1.0, [0.0], [4.0])
    with pytest.raises(InputError, match="between 0 and 1"):
        diameter_bounds(1.0, [0.0], [4.0], total_variation=2.0)
