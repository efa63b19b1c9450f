"""The budgeted mechanisms against every coalition there is, in small markets of every odd shape."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations
from math import inf

import numpy as np
import pytest

from kantor.clearing.budgeted import critical_costs, solve_endogenous, solve_exogenous
from kantor.clearing.knapsack import chains, subsets
from kantor.clearing.problem import Allocation, Problem, tie, tolerance
from kantor.valuation.hoeffding import coefficient
from laws.markets import SHAPES, shaped


def solve(problem: Problem, work_limit: int | None = None) -> Allocation:
    return (solve_exogenous if problem.kind == "exogenous" else solve_endogenous)(problem, work_limit)


def a_market(seed: int, most: int) -> Problem:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, most + 1))
    distances, prices = shaped(rng, count, SHAPES[seed % len(SHAPES)])
    order = np.lexsort((distances, prices))
    distances, prices = distances[order], prices[order]
    absent = int(rng.integers(0, 5)) * int(rng.integers(0, 2))
    lipschitz = float(rng.choice([1.0, 0.3, 5.0]))
    population = "finite" if rng.random() < 0.5 else "infinite"
    coefficients = lipschitz * coefficient(np.arange(count + 1), count + absent, 0.95, population)
    whole = float(prices[np.isfinite(prices)].sum())
    limit = float(rng.choice([0.0, whole, round(whole / 2, 1), *rng.uniform(0, whole, 5)]))
    kind = "exogenous" if rng.random() < 0.5 else "endogenous"
    if kind == "endogenous":
        limit += float(np.median(distances)) * lipschitz * rng.uniform(0, 1)
    return Problem(kind, distances**2, prices, coefficients, limit)


def by_enumeration(problem: Problem) -> tuple[float, tuple[int, ...]]:
    """The objective and the members, ties broken as the design says."""
    count = problem.squares.size
    bits = (np.arange(1, 1 << count)[:, None] >> np.arange(count)) & 1 == 1
    losses = problem.coefficients[bits.sum(axis=1)] * np.sqrt(np.where(bits, problem.squares, 0).sum(axis=1))
    used = np.where(bits, problem.costs, 0).sum(axis=1) + (losses if problem.kind == "endogenous" else 0)
    allowed = np.flatnonzero(used <= problem.limit + 2 * tolerance(problem.limit))
    near = allowed[losses[allowed] <= losses[allowed].min(initial=inf) * (1 + 1e-9) + 1e-9]
    found = []
    for row in near.tolist():
        members = np.flatnonzero(bits[row])
        size, total, spend = problem.totals(members)
        found.append((problem.objective(size, total, spend), spend, tuple(members.tolist())))
    best = min((value for value, _, _ in found), default=inf)
    if best == inf or (problem.reference < inf and best >= problem.reference - tie(problem.reference)):
        return problem.reference, ()
    ties = [entry for entry in found if entry[0] <= best + tie(best)]
    least = min(spend for _, spend, _ in ties)
    return min(
        (entry for entry in ties if entry[1] <= least + tie(least)), key=lambda entry: (len(entry[2]), entry[2])
    )[::2]


def critical_by_enumeration(problem: Problem, owner: int) -> float:
    """The greatest cost at which a coalition with the owner wins, over all coalitions."""
    others = [place for place in range(problem.squares.size) if place != owner]
    market = replace(
        problem,
        squares=problem.squares[others],
        costs=problem.costs[others],
        coefficients=problem.coefficients[:-1],
    )
    rival, members = by_enumeration(market) if others else (problem.reference, ())
    spend = market.totals(members)[2] if members else inf
    best = 0.0
    for partners in chain.from_iterable(combinations(others, size) for size in range(len(others) + 1)):
        size, total, _ = problem.totals((*partners, owner))
        loss, paid = problem.loss(size, total), problem.totals(partners)[2]
        ties = rival < inf and loss >= rival - tie(rival)
        if paid == inf or (ties and (not members or loss > rival + tie(rival))):
            continue
        limit = problem.limit - (loss if problem.kind == "endogenous" else 0.0)
        best = max(best, (min(limit, spend) if ties else limit) - paid)
    return best


def check(problem: Problem) -> None:
    value, members = by_enumeration(problem)
    answer = solve(problem)
    assert answer.objective == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert tuple(answer.members.tolist()) == members
    assert answer.lower_bound == answer.objective


def check_prices(problem: Problem) -> int:
    answer = solve(problem)
    prices = critical_costs(problem, answer)
    for owner, value in zip(answer.members.tolist(), prices.values.tolist(), strict=True):
        assert value == pytest.approx(critical_by_enumeration(problem, owner), rel=1e-9, abs=1e-9)
    assert prices.proved.all()
    return answer.members.size


def test_small_markets_agree_with_enumeration() -> None:
    for seed in range(1000):
        check(a_market(seed, 9))


@pytest.mark.slow
def test_many_markets_agree_with_enumeration() -> None:
    for seed in range(2000, 10_000):
        check(a_market(seed, 12))


def test_critical_costs_agree_with_enumeration() -> None:
    assert sum(check_prices(a_market(seed, 5)) for seed in range(20_000, 20_130)) > 100


@pytest.mark.slow
def test_many_critical_costs_agree_with_enumeration() -> None:
    for seed in range(21_000, 23_000):
        check_prices(a_market(seed, 7))


def three_owners() -> Problem:
    """W = (2, 3, 2), psi = (1, 2, 2), B = 3, in canonical order (the two at 2 stand by distance)."""
    coefficients = coefficient(np.arange(4), 3, 0.95, "finite")
    return Problem("exogenous", np.array([4.0, 4.0, 9.0]), np.array([1.0, 2.0, 2.0]), coefficients, 3.0)


def test_the_critical_cost_is_that_of_the_cheapest_coalition_not_of_the_best() -> None:
    problem = three_owners()
    answer = solve(problem)
    assert answer.members.tolist() == [0, 1]
    assert critical_costs(problem, answer).values.tolist() == pytest.approx([2.0, 2.0])


def test_an_owner_who_asks_for_more_than_its_critical_cost_is_not_bought() -> None:
    """Seen from the clearing itself: a little below it wins, a little above it loses."""
    for seed in range(30_000, 30_040):
        problem = a_market(seed, 7)
        answer = solve(problem)
        for owner, value in zip(answer.members.tolist(), critical_costs(problem, answer).values, strict=True):
            little = 1e-7 * max(1.0, problem.limit)
            for cost, wins in ((value - little, True), (value + little, False)):
                if cost > problem.costs[owner] or not wins:
                    assert bought_at(problem, owner, cost) == wins


def bought_at(problem: Problem, owner: int, cost: float) -> bool:
    costs = problem.costs.copy()
    costs[owner] = cost
    order = np.lexsort((problem.squares, costs))
    moved = replace(problem, squares=problem.squares[order], costs=costs[order])
    return int(np.flatnonzero(order == owner)[0]) in solve(moved).members.tolist()


def test_nobody_can_be_afforded() -> None:
    coefficients = coefficient(np.arange(3), 5, 0.95, "infinite")
    problem = Problem("exogenous", np.ones(2), np.array([2.0, 3.0]), coefficients, 1.0)
    answer = solve(problem)
    assert answer.members.size == 0
    assert answer.objective == answer.lower_bound == inf


def test_the_whole_finite_population_has_no_loss() -> None:
    coefficients = coefficient(np.arange(4), 3, 0.95, "finite")
    problem = Problem("endogenous", np.array([1.0, 4.0, 9.0]), np.array([0.1, 0.2, 0.3]), coefficients, 0.6)
    answer = solve(problem)
    assert answer.members.tolist() == [0, 1, 2]
    assert answer.objective == answer.lower_bound == 0


def many(count: int, seed: int, kind: str = "exogenous") -> Problem:
    rng = np.random.default_rng(seed)
    costs = np.sort(rng.uniform(0, 2, count))
    coefficients = coefficient(np.arange(count + 1), count, 0.95, "finite") * (1 if kind == "exogenous" else 500)
    limit = 0.01 * count if kind == "exogenous" else 0.05 * count
    return Problem(kind, rng.uniform(1, 3, count) ** 2, costs, coefficients, limit)


@pytest.mark.parametrize("kind", ["exogenous", "endogenous"])
def test_ten_thousand_owners_are_proved_and_the_same_every_time(kind: str) -> None:
    problem = many(10_000, 1, kind)
    first, second = solve(problem), solve(problem)
    assert first.members.size > 100
    assert first.lower_bound == first.objective
    assert np.array_equal(first.members, second.members)
    assert first.nodes == second.nodes


def test_a_work_limit_leaves_a_bound_that_holds() -> None:
    for seed in range(20):
        problem = many(400, seed)
        best, hurried = solve(problem), solve(problem, 0)
        assert hurried.lower_bound <= best.objective <= hurried.objective
        assert best.lower_bound == best.objective


def test_unproved_allocations_have_no_proved_prices() -> None:
    problem = many(50, 3)
    answer = solve(problem)
    doubtful = replace(answer, lower_bound=answer.objective / 2)
    assert not critical_costs(problem, doubtful, doubtful.members[:2]).proved.any()


def test_chains_are_as_few_as_can_be_and_hold_everybody_once() -> None:
    rng = np.random.default_rng(5)
    squares, costs = rng.integers(0, 6, 60).astype(float), rng.integers(0, 6, 60).astype(float)
    found = list(chains(squares, costs))
    assert sorted(chain.from_iterable(found)) == list(range(60))
    for line in found:
        assert (np.diff(squares[line]) >= 0).all()
        assert (np.diff(costs[line]) >= 0).all()
    assert len(list(chains(np.ones(9), np.ones(9)))) == 1


def test_subsets_are_all_that_lose_at_most_the_allowance() -> None:
    losses = np.array([1.0, 2.0, 3.0])
    found = subsets([[0], [1], [2]], losses, losses, losses, 3.0, 100)
    assert found is not None
    assert sorted(tuple(sorted(found.members(state))) for state in range(found.loss.size)) == [
        (), (0,), (0, 1), (1,), (2,),
    ]  # fmt: skip
    assert subsets([[0], [1], [2]], losses, losses, losses, 3.0, 4) is None
