"""Shapley values: games solved by hand, the axioms, and the estimate against the exact values."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from kantor.errors import InputError
from kantor.valuation import shapley as module
from kantor.valuation.coalitions import coalition_distances, members, subset_sums
from kantor.valuation.shapley import Game, shapley, shapley_estimate

COSTS = np.array([1.0, 2.0, 4.0, 8.0])
ADDS = np.array([3.0, -1.0, 0.5])


def gloves(rows: Any) -> Any:
    """Players 0 and 1 hold a left glove, player 2 a right one; a pair is worth 1."""
    return np.minimum(rows[:, :2].sum(axis=1), rows[:, 2])


def airport(rows: Any) -> Any:
    """A runway costs what its longest plane needs."""
    return (rows * COSTS).max(axis=1)


def unanimity(rows: Any) -> Any:
    """6 once players 1, 2 and 4 of five are all there."""
    return 6.0 * rows[:, [1, 2, 4]].all(axis=1)


def additive(rows: Any) -> Any:
    return rows @ ADDS


def majority(rows: Any) -> Any:
    """Weights 3, 2, 1, 1 and a quota of 4: the textbook's (1/2, 1/6, 1/6, 1/6)."""
    return (rows @ np.array([3, 2, 1, 1]) >= 4).astype(float)


GAMES: list[tuple[Game, list[float]]] = [
    (gloves, [1 / 6, 1 / 6, 4 / 6]),
    # Segments of length 1, 1, 2, 4, each shared by the planes that need it.
    (airport, [1 / 4, 1 / 4 + 1 / 3, 1 / 4 + 1 / 3 + 2 / 2, 1 / 4 + 1 / 3 + 2 / 2 + 4]),
    (unanimity, [0, 2, 2, 0, 2]),
    (additive, ADDS.tolist()),
    (majority, [1 / 2, 1 / 6, 1 / 6, 1 / 6]),
]
by_name = pytest.mark.parametrize(("game", "solution"), GAMES, ids=[g.__name__ for g, _ in GAMES])
games = st.integers(1, 6).flatmap(lambda n: st.lists(st.floats(-1e3, 1e3), min_size=1 << n, max_size=1 << n))


@by_name
def test_games_solved_by_hand(game: Game, solution: list[float]) -> None:
    outcome = shapley(game, len(solution))
    assert outcome.values == pytest.approx(solution, abs=1e-14)
    assert outcome.exact
    assert outcome.standard_errors.tolist() == [0.0] * len(solution)
    assert outcome.total == pytest.approx(sum(solution))
    low, high = outcome.interval()
    assert low.tolist() == high.tolist() == outcome.values.tolist()


@by_name
def test_values_in_bitmask_order_say_the_same_as_a_function(game: Game, solution: list[float]) -> None:
    worth = game(members(np.arange(1 << len(solution)), len(solution)))
    assert shapley(worth).values == pytest.approx(solution, abs=1e-14)


@by_name
def test_the_estimate_comes_within_its_standard_errors(game: Game, solution: list[float]) -> None:
    outcome = shapley_estimate(game, len(solution), permutations=4000, seed=3)
    assert not outcome.exact
    assert np.all(np.abs(outcome.values - solution) <= 4 * outcome.standard_errors + 1e-12)
    assert outcome.standard_errors.max() < 0.05
    assert outcome.efficiency_gap == pytest.approx(0, abs=1e-10)


def test_somebody_alone_gets_everything() -> None:
    assert shapley([2.0, 5.0]).values.tolist() == [3.0]
    assert shapley_estimate(lambda rows: rows[:, 0] * 3.0, 1, 4).values.tolist() == [3.0]


@given(games)
def test_all_orders_of_arrival_by_definition(worth: list[float]) -> None:
    count = len(worth).bit_length() - 1
    if count > 4:
        return
    values, orders = np.zeros(count), list(permutations(range(count)))
    for order in orders:
        inside = 0
        for player in order:
            values[player] += worth[inside | 1 << player] - worth[inside]
            inside |= 1 << player
    assert shapley(worth).values == pytest.approx(values / len(orders), abs=1e-9)


@given(games)
def test_efficiency(worth: list[float]) -> None:
    outcome = shapley(worth)
    assert outcome.total == worth[-1] - worth[0]
    assert outcome.values.sum() == pytest.approx(worth[-1] - worth[0], abs=1e-9)
    assert outcome.efficiency_gap == pytest.approx(0, abs=1e-9)


@given(games)
def test_a_player_who_adds_nothing_gets_nothing_and_changes_nothing(worth: list[float]) -> None:
    values = shapley(worth + worth).values
    assert values[-1] == 0
    assert values[:-1] == pytest.approx(shapley(worth).values, abs=1e-9)


@given(games)
def test_symmetric_players_get_the_same(worth: list[float]) -> None:
    # Two more players whose arrival is worth the same whichever of them comes.
    extra = np.concatenate([worth, *[np.array(worth) + np.arange(len(worth))] * 2, np.array(worth) * 2])
    values = shapley(extra).values
    assert values[-1] == pytest.approx(values[-2], abs=1e-9)


@given(games, st.floats(-5, 5), st.integers(0, 2**32))
def test_linearity(worth: list[float], factor: float, seed: int) -> None:
    other = np.random.default_rng(seed).normal(size=len(worth))
    together = shapley(factor * np.array(worth) + other).values
    assert together == pytest.approx(factor * shapley(worth).values + shapley(other).values, abs=1e-8)


def test_standard_errors_are_honest() -> None:
    """Of 200 estimates, the intervals at 90 % hold the exact value in about 90 %."""
    worth = np.random.default_rng(5).normal(size=2**6)
    exact = shapley(worth).values
    place = 1 << np.arange(6)
    held = []
    for seed in range(200):
        low, high = shapley_estimate(lambda rows: worth[rows @ place], 6, 40, seed).interval(0.9)
        held.append((low <= exact) & (exact <= high))
    assert 0.86 < np.mean(held) < 0.94


def test_squared_standard_errors_are_unbiased_for_few_orders() -> None:
    worth = np.random.default_rng(5).normal(size=2**4)
    place = 1 << np.arange(4)
    runs = [shapley_estimate(lambda rows: worth[rows @ place], 4, 6, seed) for seed in range(600)]
    spread = np.var([run.values for run in runs], axis=0)
    assert np.mean([run.standard_errors**2 for run in runs], axis=0) == pytest.approx(spread, rel=0.2)


def test_the_same_seed_gives_the_same_answer_and_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    one = shapley_estimate(majority, 4, 100, seed=9)
    assert one.values.tolist() == shapley_estimate(majority, 4, 100, seed=9).values.tolist()
    assert one.values.tolist() != shapley_estimate(majority, 4, 100, seed=10).values.tolist()
    exact = shapley(majority, 4).values
    monkeypatch.setattr(module, "_CELLS", 24)
    assert shapley(majority, 4).values.tolist() == exact.tolist()
    small = shapley_estimate(majority, 4, 100, seed=9)
    assert small.values == pytest.approx(one.values, abs=1e-12)
    assert small.standard_errors == pytest.approx(one.standard_errors, abs=1e-12)


def test_beyond_twenty_players() -> None:
    with pytest.raises(InputError, match=r"2\^30 coalitions"):
        shapley(lambda rows: rows.sum(axis=1), 30)
    weights = np.arange(30.0)
    outcome = shapley_estimate(lambda rows: (rows @ weights) ** 2, 30, 2000, seed=1)
    # (sum of w)^2: player i is owed w_i^2 from itself and half of 2 w_i w_j from every j.
    assert np.all(np.abs(outcome.values - weights * weights.sum()) <= 1e-6 + 4 * outcome.standard_errors)
    assert outcome.efficiency_gap == pytest.approx(0, abs=1e-6)


def test_shares_sum_to_one_or_are_refused() -> None:
    assert shapley(gloves, 3).shares == pytest.approx([1 / 6, 1 / 6, 4 / 6])
    with pytest.raises(InputError, match="sum to 0"):
        _ = shapley([0.0, 0.0]).shares


def test_twenty_normal_owners() -> None:
    """Design, section 5: all 2^20 - 1 distances and exact Shapley values (benchmarks/shapley.py has the time)."""
    rng = np.random.default_rng(0)
    draws = zip(rng.uniform(10, 16, 20), rng.uniform(1, 3, 20), strict=True)
    owners = [scipy.stats.norm(a, b) for a, b in draws]
    distances = coalition_distances(owners)
    distances[0] = distances[1:].max()
    outcome = shapley(distances.max() - distances)
    assert outcome.efficiency_gap == pytest.approx(0, abs=1e-9)
    assert outcome.total == pytest.approx(distances.max())


def test_twenty_additive_players_keep_their_numbers() -> None:
    numbers = np.random.default_rng(2).normal(size=20)
    assert shapley(subset_sums(numbers)).values == pytest.approx(numbers, abs=1e-9)


@pytest.mark.parametrize(
    ("game", "players", "says"),
    [
        ([1.0, 2.0, 3.0], None, r"shape \(3,\)"),
        ([1.0], None, r"shape \(1,\)"),
        ([[1.0, 2.0]], None, r"shape \(1, 2\)"),
        ([0.0, 1.0], 2, "belong to 1 players, and 2"),
        ([0.0, 1.0, np.inf, 3.0], None, r"players \[1\] is worth inf"),
        ([np.nan, 1.0], None, r"players \[\] is worth nan"),
        (lambda rows: rows.sum(axis=1), None, "without its number of players"),
        (lambda rows: rows.sum(axis=1), 0, "all coalitions of 0"),
        (lambda rows: 1.0, 2, "asked for 4 coalitions"),
        (lambda rows: np.where(rows.all(axis=1), np.nan, 0), 2, r"players \[0, 1\] is worth nan"),
        (np.zeros(2**21), None, "all coalitions of 21"),
    ],
)
def test_what_is_refused_and_how(game: Any, players: int | None, says: str) -> None:
    with pytest.raises(InputError, match=says) as failure:
        shapley(game, players)
    assert failure.value.remedy


@pytest.mark.parametrize("permutations", [0, 2, 5])
def test_an_estimate_needs_pairs_of_orders(permutations: int) -> None:
    with pytest.raises(InputError, match=f"{permutations} permutations"):
        shapley_estimate(gloves, 3, permutations)


def test_an_estimate_needs_players() -> None:
    with pytest.raises(InputError, match="0 players"):
        shapley_estimate(gloves, 0)
