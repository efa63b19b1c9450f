"""Markets to measure on: shapes of distances and prices, and limits at which about so many owners are bought.

The shapes are those that matter to a solver: random ones, heavy tails, ties in either number or in both, and prices
that rise or fall exactly as distances rise.
"""

from __future__ import annotations

import numpy as np

from kantor.bids.bids import Bids
from kantor.clearing.problem import Kind, Problem
from kantor.valuation.hoeffding import Population, coefficient

RANDOM = ("uniform (1, 3)", "uniform (0.1, 3)", "heavy tails")
TIED = ("equal distances", "rising prices", "falling prices", "coarse prices", "coarse both")
SHAPES = (*RANDOM, *TIED)
SHARES = (0.001, 0.01, 0.05, 0.25)
POPULATIONS: tuple[Population, ...] = ("finite", "infinite")


def owners_of(shape: str, owners: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Distances, and virtual costs in (0, 2), in canonical order."""
    rng = np.random.default_rng(seed)
    costs, distances = rng.uniform(0, 2, owners), rng.uniform(0.1 if "0.1" in shape else 1, 3, owners)
    if shape == "heavy tails":
        distances = 1 + rng.pareto(1.5, owners)
    elif shape == "equal distances":
        distances[:] = 1.7
    elif shape in ("rising prices", "falling prices"):
        distances = 1 + costs if shape == "rising prices" else 3 - costs
    elif shape.startswith("coarse"):
        costs = np.round(costs, 2)
        distances = np.round(distances, 2) if shape == "coarse both" else distances
    order = np.lexsort((distances, costs))
    return distances[order], costs[order]


def a_market(kind: Kind, population: Population, shape: str, owners: int, winners: int, seed: int) -> Problem:
    """A problem whose limit pays for about so many of the owners who are nearest for their price.

    The Lipschitz constant of the two mechanisms with a reference loss is the one at which so many are worth buying.
    """
    distances, costs = owners_of(shape, owners, seed)
    coefficients = coefficient(np.arange(owners + 1), owners, 0.95, population)
    mu, spend, total = _price_of_money(costs, distances**2, population == "finite", winners)
    if kind == "exogenous":
        return Problem(kind, distances**2, costs, coefficients, spend)
    loss = float(coefficients[winners]) * float(np.sqrt(total))
    scale = 2 * total / (max(mu, 1e-12) * loss) if kind == "joint" else 2 * max(spend, 0.01) / loss
    limit = 3 * (scale * loss + spend) if kind == "joint" else 3 * max(spend, 0.01)
    return Problem(kind, distances**2, costs, scale * coefficients, limit)


def bids_of(problem: Problem) -> Bids:
    """The same owners as bids: their prior is uniform(0, 1), so that prices are half the virtual costs."""
    return Bids(distance=np.sqrt(problem.squares), reserve=problem.costs / 2)


def lipschitz_of(problem: Problem, population: Population) -> float:
    """The Lipschitz constant in a problem's coefficients."""
    return float(problem.coefficients[1]) / float(coefficient(1, problem.costs.size, 0.95, population))


def _price_of_money(costs: np.ndarray, squares: np.ndarray, finite: bool, winners: int) -> tuple[float, float, float]:
    """mu, Psi and A of the smallest keys a + mu p, with the mu at which one owner more is not worth its key.

    There c_n^2 A_n is stationary in n: the n-th key is A_n (2/n + 1/(N - n)), without the last for an infinite
    population.
    """
    low, high, mu, spend, total = 1e-9, 1e9, 1.0, 0.0, 0.0
    for _ in range(40):
        mu = float(np.sqrt(low * high))
        keys = squares + mu * costs
        chosen = np.argpartition(keys, winners - 1)[:winners]
        spend, total = float(costs[chosen].sum()), float(squares[chosen].sum())
        worth = total * (2 / winners + (1 / (costs.size - winners) if finite else 0.0))
        low, high = (low, mu) if float(keys[chosen].max()) > worth else (mu, high)
    return mu, spend, total
