"""Markets solved by hand, with the working: shared by the tests of solvers, payments and audit.

The confidence is chosen so that the factor sqrt(ln(2/(1-delta))/2) is exactly 1: delta = 1 - 2 exp(-2). Then the finite
bound of n of N owners is sqrt((N-n)/(N-1)) sqrt(A)/n, and the infinite one sqrt(A)/n, with A the sum of W^2.
The prior is uniform(0, 10) unless said otherwise, so a virtual cost is twice the price, and a critical virtual cost v
pays v/2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, inf, sqrt

import scipy.stats

from kantor.bids.bids import Bids
from kantor.clearing.mechanisms import Endogenous, Exogenous, Joint, Mechanism

CONFIDENCE = 1 - 2 * exp(-2)


@dataclass(frozen=True)
class Market:
    """A market and its solution: owners bought, the bound, the objective, and what threshold payments pay."""

    name: str
    distance: list[float]
    virtual: list[float]
    mechanism: Mechanism
    bought: list[int]
    bound: float
    objective: float
    paid: dict[int, float] = field(default_factory=dict)
    population: str = "infinite"
    population_size: int | None = None

    @property
    def bids(self) -> Bids:
        return Bids(distance=self.distance, reserve=[v / 2 for v in self.virtual], prior=scipy.stats.uniform(0, 10))


MARKETS = [
    # One owner at distance 1 for a virtual cost of 0.5: V + Psi = 1.5 beats 2. It stays until its virtual cost is
    # OPT without it (2, nothing) - V (1) = 1, which is a price of 0.5.
    Market("one owner", [1.0], [0.5], Joint(reference_loss=2.0), [0], 1.0, 1.5, {0: 0.5}),
    # The same owner, and a reference loss that it only equals: buying nothing wins the tie.
    Market("nothing wins ties", [1.0], [1.0], Joint(reference_loss=2.0), [], 2.0, 2.0),
    # Two alike at distance 1. Together V = sqrt(2)/2. One of them: 1 + 0.1 = 1.1; both: 0.7071 + 0.2 = 0.9071.
    # Without either, the other alone is 1.1, so each is critical at 0.1 + 1.1 - 0.9071 = 0.2929 = 1 - sqrt(2)/2 ...
    # in price half of it.
    Market(
        "two alike",
        [1.0, 1.0],
        [0.1, 0.1],
        Joint(reference_loss=5.0),
        [0, 1],
        sqrt(2) / 2,
        sqrt(2) / 2 + 0.2,
        {0: (1 - sqrt(2) / 2) / 2, 1: (1 - sqrt(2) / 2) / 2},
    ),
    # Finite population of two: buying both leaves no distance at all, V = 0, so the objective is 0.2. Without one,
    # the other alone costs sqrt(1/1) * 1 + 0.1 = 1.1: critical at 0.1 + 1.1 - 0.2 = 1.0, a price of 0.5.
    Market(
        "the whole population",
        [1.0, 1.0],
        [0.1, 0.1],
        Joint(reference_loss=5.0),
        [0, 1],
        0.0,
        0.2,
        {0: 0.5, 1: 0.5},
        population="finite",
    ),
    # Three define the target and two bid: c_2 = sqrt(1/2)/2, so both have V = sqrt(2) sqrt(1/2)/2 = 1/2, and the
    # bound of all bids is not 0. Objective 0.7. One alone: c_1 = 1, 1.1. Critical: 0.1 + 1.1 - 0.7 = 0.5, price 0.25.
    Market(
        "one did not bid",
        [1.0, 1.0],
        [0.1, 0.1],
        Joint(reference_loss=5.0),
        [0, 1],
        0.5,
        0.7,
        {0: 0.25, 1: 0.25},
        population="finite",
        population_size=3,
    ),
    # An owner at no distance for 0.3 is all that is needed: V = 0. Without it: the other alone, 1 + 0.2. Critical at
    # 0.3 + 1.2 - 0.3 = 1.2, price 0.6.
    Market("no distance", [0.0, 1.0], [0.3, 0.2], Joint(reference_loss=5.0), [0], 0.0, 0.3, {0: 0.6}),
    # The price cap: alone and worth 100 - 1, it is paid the most that a price can be, 10.
    Market("capped by the prior", [1.0], [2.0], Joint(reference_loss=100.0), [0], 1.0, 3.0, {0: 10.0}),
    # Budget 0.25 buys one of the two cheap ones or both: both, V = sqrt(2)/2. Each stays while the pair fits:
    # critical at 0.25 - 0.1 = 0.15, or alone (V = 1 is what the other gives without it): the cheapest coalition with
    # it that beats V*(-i) = 1 or ties with it at less Psi: alone at up to 0.1 (tie goes to less Psi). 0.15 it is.
    Market(
        "a budget for two",
        [1.0, 1.0, 1.0],
        [0.1, 0.1, 5.0],
        Exogenous(budget=0.25),
        [0, 1],
        sqrt(2) / 2,
        sqrt(2) / 2,
        {0: 0.075, 1: 0.075},
    ),
    # Nothing is affordable.
    Market("no money", [1.0, 2.0], [0.5, 0.5], Exogenous(budget=0.4), [], inf, inf),
    # Least V with V + Psi <= 1: both have V = 0.7071, Psi = 0.2; a third at distance 1 for 0.4 makes V = 0.5774 and
    # needs 0.5774 + 0.6 = 1.1774 > 1. So two of the three, the cheap ones.
    Market(
        "endogenous",
        [1.0, 1.0, 1.0],
        [0.1, 0.1, 0.4],
        Endogenous(reference_loss=1.0),
        [0, 1],
        sqrt(2) / 2,
        sqrt(2) / 2,
    ),
]
