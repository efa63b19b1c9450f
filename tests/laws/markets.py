"""Random markets for the laws: every odd shape of distances and prices, several priors, limits that bind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.stats

import kantor as kt
from kantor.clearing.mechanisms import Optimal
from laws import Clear

KINDS = ("joint", "exogenous", "endogenous")
POPULATIONS = ("finite", "infinite")
SHAPES = (
    "random",
    "equal distances",
    "zero distances",
    "tiny distances",
    "huge distances",
    "equal prices",
    "zero prices",
    "infinite prices",
    "coarse prices",
    "coarse all",
    "rising",
    "falling",
    "heavy",
)
PLAIN = ("random", "equal distances", "zero distances", "equal prices", "zero prices", "coarse prices", "coarse all")


def shaped(rng: np.random.Generator, count: int, shape: str) -> tuple[np.ndarray, np.ndarray]:
    """Distances and prices of one shape; prices are in (0, 2) or so."""
    distances, prices = rng.uniform(0.1, 3, count), rng.uniform(0, 2, count)
    some = rng.random(count) < 0.4
    changes = {
        "equal distances": lambda: (np.full(count, rng.choice([0.0, 1.0, 1e-9, 1e9])), prices),
        "zero distances": lambda: (np.where(some, 0.0, distances), prices),
        "tiny distances": lambda: (distances * 1e-9, prices),
        "huge distances": lambda: (distances * 1e9, prices),
        "equal prices": lambda: (distances, np.full(count, rng.choice([0.0, 0.1, 1.0]))),
        "zero prices": lambda: (distances, np.where(some, 0.0, prices)),
        "infinite prices": lambda: (distances, np.where(some, np.inf, prices)),
        "coarse prices": lambda: (distances, np.round(prices, 1)),
        "coarse all": lambda: (np.round(distances), np.round(prices * 4) / 4),
        "rising": lambda: (distances, distances * 0.7),
        "falling": lambda: (distances, 3.5 - distances),
        "heavy": lambda: (np.exp(rng.normal(0, 2, count)), prices),
    }
    return changes[shape]() if shape in changes else (distances, prices)


@dataclass(frozen=True)
class Market:
    """Bids, and everything that is stated besides them."""

    bids: kt.Bids
    mechanism: Optimal
    population: Any
    population_size: int
    confidence: float
    shape: str

    def clear(self, how: Clear = kt.clear, **options: Any) -> kt.Clearing:
        """Cleared by the function under test."""
        about = (self.confidence, self.population, self.population_size)
        return how(self.bids, self.mechanism, *about, **options)

    def asking(self, place: int, reserve: float) -> Market:
        """The same market with another report."""
        return replace(self, bids=self.bids.with_report(place, reserve=reserve))

    @property
    def unit(self) -> float:
        """What tolerances are relative to, besides the objective."""
        return max(1.0, self.mechanism.limit)

    def __str__(self) -> str:
        kind, feasibility = self.mechanism.kind, self.mechanism.feasibility
        return f"{kind} {feasibility} {self.population}, {len(self.bids)} owners, {self.shape}"


def priors_for(rng: np.random.Generator, prices: np.ndarray) -> Any:
    """A prior whose support holds all these prices, or one for each owner."""
    top = max(float(prices.max()), 1e-3) * float(rng.uniform(1.0001, 1.6))
    choices = [
        scipy.stats.uniform(0, top),
        scipy.stats.expon(0, top),
        kt.EmpiricalPrior(np.append(rng.uniform(0, top, 30), top)),
        scipy.stats.beta(1.5, 2.5, 0, top),
        scipy.stats.truncexpon(2.0, 0, top / 2),
    ]
    kind = int(rng.choice(6, p=[0.45, 0.2, 0.2, 0.02, 0.02, 0.11]))
    return choices[kind] if kind < len(choices) else [choices[int(rng.integers(3))] for _ in prices]


def a_market(
    rng: np.random.Generator,
    kind: str,
    population: str,
    *,
    most: int = 12,
    least: int = 1,
    shapes: tuple[str, ...] = SHAPES,
    feasibility: Any = "pointwise",
    bounded: bool = False,
) -> Market:
    """A market whose limit binds more often than not, and sometimes allows nothing, or everything."""
    count, shape = int(rng.integers(least, most + 1)), str(rng.choice([s for s in shapes if s != "infinite prices"]))
    distance, prices = shaped(rng, count, shape)
    prior = priors_for(rng, prices)
    bids = kt.Bids(distance=distance, reserve=prices, prior=prior)
    while bounded and not np.isfinite(bids.priors.upper).all():
        bids = kt.Bids(distance=distance, reserve=prices, prior=priors_for(rng, prices))
    everything = float(bids.virtual.sum())
    absent = int(rng.integers(0, 5)) * int(rng.integers(0, 2))
    confidence = float(rng.choice([0.95, 0.5, 0.999]))
    lipschitz = float(rng.choice([1.0, 0.3, 5.0]))
    if kind == "exogenous":
        budget = float(rng.choice([0.0, everything, round(everything / 2, 1), *rng.uniform(0, everything, 5)]))
        bought_with = kt.Exogenous(budget=budget, feasibility=feasibility)
        return Market(bids, bought_with, population, count + absent, confidence, shape)
    typical = kt.hoeffding_bound(distance, count + 1, confidence, "infinite")
    if typical > 0 and rng.random() < 0.7:  # losses of the order of the prices, whatever the distances
        lipschitz *= max(float(prices.mean()), 0.1) / typical
    reference = lipschitz * typical * float(rng.choice([0.5, 1.0, 2.0, 4.0])) + everything * float(rng.random())
    mechanism: Optimal = kt.Joint(reference_loss=reference, lipschitz=lipschitz)
    if kind == "endogenous":
        mechanism = kt.Endogenous(reference_loss=reference, lipschitz=lipschitz, feasibility=feasibility)
    return Market(bids, mechanism, population, count + absent, confidence, shape)
