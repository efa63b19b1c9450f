"""The joint solver and its prices: against enumeration, against one clearing per winner, and in larger markets."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs

from kantor.clearing import joint_prices
from kantor.clearing.enumeration import all_objectives, solve_by_enumeration
from kantor.clearing.joint import JointSearch, solve_joint
from kantor.clearing.joint_prices import critical_costs_of_joint
from kantor.clearing.problem import Problem
from kantor.valuation.hoeffding import coefficient


def posed(distance, costs, limit, population="finite", size=None, lipschitz=1.0, kind="joint"):
    distance, costs = np.asarray(distance, float), np.asarray(costs, float)
    order = np.lexsort((distance, costs))
    sizes = np.arange(distance.size + 1)
    constants = lipschitz * coefficient(sizes, size or distance.size, 0.95, population)
    return Problem(kind, distance[order] ** 2, costs[order], constants, limit)


def random_problem(rng, most=10):
    count = int(rng.integers(1, most + 1))
    shapes = [
        rng.uniform(0.1, 3, count),
        np.ones(count),
        rng.integers(0, 3, count) * 1.0,
        np.exp(rng.normal(0, 3, count)),
        1e-9 * rng.random(count),
        1e9 * rng.random(count),
    ]
    distance = shapes[rng.integers(len(shapes))]
    scale = max(distance.mean(), 1e-12)
    prices = [
        rng.random(count) * 10 ** rng.uniform(-3, 0) * scale,
        np.zeros(count),
        rng.integers(0, 4, count) * 0.03 * scale,
        np.full(count, 0.1 * scale),
        np.where(rng.random(count) < 0.3, inf, 0.2 * rng.random(count) * scale),
    ]
    costs = prices[rng.integers(len(prices))]
    limit = 10 ** rng.uniform(-0.3, 1) * max(distance.max(), 1e-12)
    population = ["finite", "infinite"][rng.integers(2)]
    return posed(distance, costs, limit, population, count + int(rng.integers(0, 3)) * int(rng.integers(2)))


@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_enumeration(seed):
    rng = np.random.default_rng(seed)
    mixed = 0
    for _ in range(60):
        problem = random_problem(rng)
        exact, listed = solve_joint(problem), solve_by_enumeration(problem)
        assert exact.objective == pytest.approx(listed.objective, rel=1e-9, abs=1e-12)
        assert exact.proved
        assert exact.objective == problem.objective(*problem.totals(exact.members))
        mixed += 0 < exact.members.size < problem.costs.size
    assert mixed >= 15  # the comparison is worth something only where the answer is neither nothing nor everything


@settings(max_examples=80)
@given(
    hs.lists(hs.tuples(hs.integers(0, 6), hs.integers(0, 8)), min_size=1, max_size=8),
    hs.integers(0, 3),
    hs.sampled_from(["finite", "infinite"]),
    hs.floats(0.01, 10),
)
def test_grids_of_ties(owners, absent, population, limit):
    distance, costs = np.array(owners, float).T
    problem = posed(distance, costs / 20, limit, population, len(owners) + absent)
    exact, listed = solve_joint(problem), solve_by_enumeration(problem)
    assert exact.objective == pytest.approx(listed.objective, rel=1e-9, abs=1e-12)
    prices = critical_costs_of_joint(problem, exact)
    without = [all_objectives(_without(problem, place))[0].min() for place in exact.members]
    expected = problem.costs[exact.members] + without - listed.objective
    assert prices == pytest.approx(expected, rel=1e-9, abs=1e-9)


def _without(problem, place):
    squares, costs = np.delete(problem.squares, place), np.delete(problem.costs, place)
    return Problem(problem.kind, squares, costs, problem.coefficients[:-1], problem.limit)


@pytest.mark.parametrize(("seed", "most", "markets"), [(0, 30, 60), (1, 300, 15), (2, 3000, 4)])
def test_prices_together_are_prices_one_by_one(seed, most, markets, monkeypatch):
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(joint_prices, "_FEW", 0)
    winners = 0
    for _ in range(markets):
        count = int(rng.integers(3, most))
        distance = [rng.uniform(0.1, 3, count), np.ones(count), rng.integers(1, 4, count) * 1.0][rng.integers(3)]
        costs = [rng.random(count) * 10 ** rng.uniform(-4, -0.5), rng.integers(0, 6, count) * 0.01][rng.integers(2)]
        population = ["finite", "infinite"][rng.integers(2)]
        problem = posed(distance, costs, 5 * distance.max(), population, count + int(rng.integers(0, 2)))
        solved = solve_joint(problem)
        together = critical_costs_of_joint(problem, solved)
        some = rng.permutation(solved.members.size)[:40]
        without = np.array([solve_joint(_without(problem, int(solved.members[i]))).objective for i in some])
        expected = np.maximum(problem.costs[solved.members[some]] + without - solved.objective, 0)
        assert together[some] == pytest.approx(expected, rel=1e-9, abs=1e-10)
        winners += some.size
    assert winners > 50


@pytest.mark.parametrize("seed", range(3))
def test_a_winner_stays_below_its_critical_cost_and_leaves_above(seed):
    rng = np.random.default_rng(seed)
    distance, costs = rng.uniform(0.5, 2, 40), 0.05 * rng.random(40)
    problem = posed(distance, costs, 5.0)
    solved = solve_joint(problem)
    critical = critical_costs_of_joint(problem, solved)
    for place, limit in zip(solved.members, critical, strict=True):
        if not limit < 1:
            continue
        for factor, stays in ((1 - 1e-6, True), (1 + 1e-6, False)):
            changed = problem.costs.copy()
            changed[place] = limit * factor
            order = np.argsort(changed, kind="stable")
            moved = Problem("joint", problem.squares[order], changed[order], problem.coefficients, problem.limit)
            assert (place in order[solve_joint(moved).members]) == stays


def test_two_distant_optima_are_told_apart():
    """A small coalition of near and dear owners against a large one of far and cheap ones, with most in between bad."""
    near, far = np.full(20, 0.05), np.full(3000, 4.0)
    costs = np.concatenate([np.full(20, 4e-4), np.full(3000, 1e-6)])
    problem = posed(np.concatenate([near, far]), costs, 10.0, "infinite")
    solved = solve_joint(problem)
    sizes = np.arange(1, 3021)
    by_size = [
        problem.coefficients[n] * np.sqrt(k * 0.05**2 + (n - k) * 16.0) + k * 4e-4 + (n - k) * 1e-6
        for n in sizes
        for k in {0, min(n, 20)}
        if n - k <= 3000
    ]
    assert solved.proved
    assert solved.objective <= min(by_size) * (1 + 1e-12)


@pytest.mark.parametrize("population", ["finite", "infinite"])
@pytest.mark.parametrize("kind", ["uniform", "narrow", "heavy", "equal", "grid", "against"])
def test_larger_markets_are_proved(kind, population):
    """60,000 owners, sampled start and surveys included: the answer is proved, and no single swap improves it."""
    rng = np.random.default_rng(5)
    count = 60_000
    distance = {
        "uniform": rng.uniform(0.1, 3, count),
        "heavy": rng.pareto(1.5, count) + 0.1,
        "equal": np.ones(count),
    }.get(kind, rng.uniform(1, 3, count))
    costs = 2e-6 * rng.random(count)
    costs = {"grid": 1e-7 * rng.integers(1, 20, count), "against": 2e-6 * (1 - distance / 3.01)}.get(kind, costs)
    problem = posed(distance, costs, 10.0, population)
    solved = solve_joint(problem)
    assert solved.proved
    size, total, spend = problem.totals(solved.members)
    assert size > 0
    outside = np.setdiff1d(np.arange(count), solved.members)
    best = solved.objective * (1 - 1e-12)
    lam = problem.coefficients[size] / (2 * np.sqrt(total)) if size < count and total else 0.0
    ins, outs = (
        outside[np.argsort(lam * problem.squares[outside] + problem.costs[outside])[:30]],
        solved.members[:-40:-1],
    )
    for i in ins:
        assert problem.objective(size + 1, total + problem.squares[i], spend + problem.costs[i]) >= best
    for o in outs:
        assert problem.objective(size - 1, total - problem.squares[o], spend - problem.costs[o]) >= best
        for i in ins:
            swapped = total + problem.squares[i] - problem.squares[o], spend + problem.costs[i] - problem.costs[o]
            assert problem.objective(size, *swapped) >= best


def test_a_work_limit_is_honest_and_reproducible():
    rng = np.random.default_rng(9)
    problem = posed(rng.uniform(1, 3, 5000), 1e-4 * rng.random(5000), 10.0, "infinite")
    whole, cut = solve_joint(problem), solve_joint(problem, work_limit=3)
    assert whole.proved
    assert cut.lower_bound <= whole.objective * (1 + 1e-12)
    assert cut.objective >= whole.objective
    assert not cut.proved
    again = solve_joint(problem, work_limit=3)
    assert (again.objective, again.lower_bound) == (cut.objective, cut.lower_bound)


def test_a_planted_fault_in_the_bound_is_caught(monkeypatch):
    """If bounds were too high, optima would be pruned: the comparison with enumeration sees it."""
    honest = JointSearch.bounded

    def too_high(self, low, high, sizes, core):
        node = honest(self, low, high, sizes, core)
        return node._replace(bounds=node.bounds * 1.05)

    monkeypatch.setattr(JointSearch, "bounded", too_high)
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(200):
        problem = posed(rng.uniform(0.1, 3, 9), 0.2 * rng.random(9), 5.0, "infinite")
        wrong += solve_joint(problem).objective > solve_by_enumeration(problem).objective * (1 + 1e-9)
    assert wrong
