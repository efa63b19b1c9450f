"""Shapley values: what each player adds, averaged over all orders of arrival.

In a game every coalition S of N players is worth v(S). Let the players enter a room in random order; player i is owed
the mean of v(those before it and i) - v(those before it). Grouped by the set before i, that is

    phi_i = sum over S without i of |S|! (N - 1 - |S|)! / N! (v(S with i) - v(S)),

the one division that is efficient (the phi_i sum to v(all) - v(nobody)), symmetric, linear, and gives a player who
never adds anything nothing.

With 2^N values in bitmask order the coalitions with and without player i are two halves of a reshaped array, so each
player costs one weighted difference: 20 players, a million coalitions, take a fraction of a second. Beyond 20 players
random orders of arrival take over. Each is walked together with its reverse (a player who came early then comes late),
and the spread between such pairs gives the standard errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy

from kantor.errors import InputError
from kantor.owners.distributions import Vector
from kantor.owners.samples import as_numbers
from kantor.valuation.coalitions import ENUMERATION_LIMIT, Members, check_enumerable, coalition_sizes, members

__all__ = ["Game", "Shapley", "shapley", "shapley_estimate"]

Game: TypeAlias = Callable[[Members], Any]
"""Rows of booleans, a coalition each, to their values."""

_CELLS = 2**20
"""How many booleans a game is given at once."""


@dataclass(frozen=True, eq=False)
class Shapley:
    """The players' values, their standard errors (0 when exact), and what there was to divide."""

    values: Vector
    standard_errors: Vector
    total: float
    permutations: int | None = None

    @property
    def exact(self) -> bool:
        """Whether every coalition was counted, rather than a sample of orders."""
        return self.permutations is None

    @property
    def efficiency_gap(self) -> float:
        """The sum of the values less v(all) - v(nobody): rounding, or something is wrong."""
        return float(self.values.sum() - self.total)

    @property
    def shares(self) -> Vector:
        """The values divided by their sum (Figure 5); refused where the sum is 0."""
        whole = self.values.sum()
        if whole == 0:
            raise InputError("the values sum to 0, so they have no shares", remedy="Use `values` themselves.")
        return self.values / whole

    def interval(self, level: float = 0.95) -> tuple[Vector, Vector]:
        """Lower and upper limits for every value; equal to it when exact. Student's t over pairs of orders."""
        if self.permutations is None:
            return self.values, self.values
        reach = scipy.special.stdtrit(self.permutations // 2 - 1, 0.5 + level / 2) * self.standard_errors
        return self.values - reach, self.values + reach


def shapley(game: Any, players: int | None = None) -> Shapley:
    """Exact Shapley values of a game of up to 20 players.

    game: the values of all 2^N coalitions in bitmask order (the first is nobody's), or a function from rows of
    booleans to values, which then needs `players`.

    >>> shapley([0, 1, 2, 6]).values.tolist()
    [2.5, 3.5]
    """
    worth = _every_value(game, players) if callable(game) else _given_values(game, players)
    count = worth.size.bit_length() - 1
    weights = _arrival_weights(count)[coalition_sizes(count)[: worth.size // 2]] if count > 1 else np.ones(1)
    values = np.array([_mean_addition(worth, weights, i) for i in range(count)])
    return Shapley(values, np.zeros(count), float(worth[-1] - worth[0]))


def shapley_estimate(game: Game, players: int, permutations: int = 1000, seed: int = 0) -> Shapley:
    """Shapley values from random orders of arrival, each walked forwards and backwards, with standard errors.

    game: a function from rows of booleans to values. It is asked for `permutations` times N - 1 coalitions in blocks,
    never for all of them. The same seed gives the same answer.
    """
    if permutations < 4 or permutations % 2:
        raise InputError(
            f"{permutations} permutations were asked for",
            remedy="Ask for an even number, at least 4: each order is walked with its reverse.",
            value=permutations,
            argument="permutations",
        )
    if players < 1:
        raise InputError(f"a game of {players} players was asked for", remedy="Give at least one player.")
    ends = _call(game, np.array([[False] * players, [True] * players]))
    pairs = permutations // 2
    total, squares = np.zeros(players), np.zeros(players)
    done = 0
    for orders in _orders(players, pairs, seed):
        both = np.stack([_additions(game, orders, ends), _additions(game, orders[:, ::-1], ends)]).mean(axis=0)
        done, total, squares = _update(done, total, squares, both)
    errors = np.sqrt(squares / (pairs - 1) / pairs)
    return Shapley(total, errors, float(ends[1] - ends[0]), permutations)


def _given_values(game: Any, players: int | None) -> Vector:
    worth = as_numbers(game, argument="game")
    count = worth.size.bit_length() - 1
    if worth.ndim != 1 or worth.size < 2 or worth.size != 1 << count:
        raise InputError(
            f"a game's values have shape {worth.shape}",
            remedy="Give 2^N values in bitmask order, the first for the empty coalition.",
            argument="game",
        )
    if players is not None and players != count:
        raise InputError(
            f"{worth.size} values belong to {count} players, and {players} were announced",
            remedy="Leave `players` out, or give the values of all 2^players coalitions.",
            value=players,
            argument="players",
        )
    check_enumerable(count)
    _check_values(worth, members(np.arange(worth.size), count) if not np.isfinite(worth).all() else None)
    return worth


def _every_value(game: Game, players: int | None) -> Vector:
    if players is None:
        raise InputError(
            "a game came as a function, without its number of players",
            remedy="Give `players`.",
            argument="players",
        )
    if players > ENUMERATION_LIMIT:
        raise InputError(
            f"exact values of {players} players need 2^{players} coalitions",
            remedy=f"Up to {ENUMERATION_LIMIT} players are exact; use shapley_estimate, which gives standard errors.",
            value=players,
            argument="players",
        )
    check_enumerable(players)
    return _call(game, members(np.arange(1 << players), players))


def _call(game: Game, rows: Members) -> Vector:
    """The game's values for all rows, asked for in blocks and checked."""
    step = max(1, _CELLS // rows.shape[1])
    blocks = [_answer(game, rows[start : start + step]) for start in range(0, len(rows), step)]
    return np.concatenate(blocks)


def _answer(game: Game, rows: Members) -> Vector:
    worth = as_numbers(game(rows), argument="game")
    if worth.shape != (len(rows),):
        raise InputError(
            f"the game was asked for {len(rows)} coalitions and answered with shape {worth.shape}",
            remedy="Return one number for each row of booleans.",
            argument="game",
        )
    _check_values(worth, rows)
    return worth


def _check_values(worth: Vector, rows: Members | None) -> None:
    finite = np.isfinite(worth)
    if rows is None or finite.all():
        return
    place = int(np.argmin(finite))
    whom = np.flatnonzero(rows[place]).tolist()
    raise InputError(
        f"the coalition of players {whom} is worth {worth[place]}",
        remedy="Every coalition needs a finite value, the empty one included: say what buying nothing is worth.",
        value=worth[place],
        argument="game",
    )


def _arrival_weights(count: int) -> Vector:
    """The chance s! (N - 1 - s)! / N! that exactly a given set of s players comes before a given other one."""
    s = np.arange(count)
    return 1.0 / (count * scipy.special.binom(count - 1, s))


def _mean_addition(worth: Vector, weights: Vector, player: int) -> float:
    """The weighted mean of v(S with i) - v(S): i's bit splits the bitmask order into blocks of 2^i."""
    halves = worth.reshape(-1, 2, 1 << player)
    return float(((halves[:, 1] - halves[:, 0]).ravel() * weights).sum())


def _orders(players: int, pairs: int, seed: int) -> Iterator[Any]:
    rng = np.random.default_rng(seed)
    step = max(1, _CELLS // players)
    for start in range(0, pairs, step):
        yield rng.permuted(np.tile(np.arange(players), (min(step, pairs - start), 1)), axis=1)


def _additions(game: Game, orders: Any, ends: Vector) -> Vector:
    """What each player adds on arrival: a row for each order, a column for each player."""
    count, players = orders.shape
    if players == 1:
        return np.full((count, 1), ends[1] - ends[0])
    rank = np.argsort(orders, axis=1)
    inner = np.empty(count * (players - 1))
    step = max(1, _CELLS // players)
    for start in range(0, inner.size, step):
        order, arrived = np.divmod(np.arange(start, min(start + step, inner.size)), players - 1)
        inner[start : start + step] = _answer(game, rank[order] <= arrived[:, None])
    edges = np.broadcast_to(ends, (count, 2))
    worth = np.column_stack([edges[:, :1], inner.reshape(count, -1), edges[:, 1:]])
    return np.take_along_axis(np.diff(worth, axis=1), rank, axis=1)


def _update(done: int, mean: Vector, squares: Vector, rows: Vector) -> tuple[int, Vector, Vector]:
    """Mean and sum of squared deviations with further rows (Chan, Golub and LeVeque's update)."""
    more = len(rows)
    gap = rows.mean(axis=0) - mean
    whole = done + more
    squares = squares + ((rows - rows.mean(axis=0)) ** 2).sum(axis=0) + gap**2 * done * more / whole
    return whole, mean + gap * more / whole, squares
