"""Reserve prices with a given correlation to something else, as the published run made them.

Uniform draws are made orthogonal to the vector x that prices are to be correlated with, a multiple of x is added, and
the result is moved and stretched to run from 0.1 to 0.9 exactly (or over another span). So every trial has one owner
at 0.1 and one at 0.9, and with the generator seeded anew each time every trial has the same draws. Prices are then
multiplied by their upper bound; as they are believed to be uniform from 0 to that bound, the virtual cost is twice
the price.
"""

from __future__ import annotations

import numpy as np

from kantor.owners.distributions import Vector
from kantor.studies.setting import Setting

__all__ = ["CORRELATIONS", "SPAN", "correlated_prices", "prices_for_budgets", "prices_of_all"]

CORRELATIONS = {"rho=-1": -0.999, "rho=0": 0.0, "rho=1": 0.999}
SPAN = 0.1, 0.9
"""The lowest and the highest price of every trial of the published run, for an upper bound of 1."""


def correlated_prices(x: Vector, correlation: float, seed: int, span: tuple[float, float] = SPAN) -> Vector:
    """Prices for an upper bound of 1; not numbers where all of x are alike, for then nothing is correlated with it.

    >>> correlated_prices(np.array([1.0, 2.0, 4.0]), 0.999, 1345).round(3).tolist()
    [0.1, 0.399, 0.9]
    """
    draws = np.random.RandomState(seed).uniform(0, 1, x.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        along, free = _standard(x), _standard(draws)
        free = free - along * (free @ along) / (along @ along)
        mixed = free / np.linalg.norm(free) + along / np.linalg.norm(along) / np.tan(np.arccos(correlation))
        low, high = span
        return np.asarray(low + (high - low) * (mixed - mixed.min()) / (mixed.max() - mixed.min()))


def prices_of_all(x: Vector, correlation: float, seed: int) -> Vector:
    """The same for every trial, a row each."""
    return np.array([correlated_prices(row, correlation, seed) for row in x])


def prices_for_budgets(x: Vector, correlation: float, setting: Setting) -> Vector:
    """The prices of Figures 8 and 9: as published those of all figures; as described from 0 to 1, new for every trial.

    The published curves were evidently made with prices from 0 to 1 (docs/decisions/0022).
    """
    if not setting.described:
        return prices_of_all(x, correlation, setting.seed)
    rows = [correlated_prices(row, correlation, _seed(setting, trial), (0.0, 1.0)) for trial, row in enumerate(x)]
    return np.array(rows)


def _seed(setting: Setting, trial: int) -> int:
    return int(np.random.SeedSequence([setting.seed, trial]).generate_state(1)[0])


def _standard(values: Vector) -> Vector:
    return (values - values.mean()) / values.std()
