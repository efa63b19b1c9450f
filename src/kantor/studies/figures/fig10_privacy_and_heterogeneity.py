"""Figure 10: should an owner be valued by its noise, by its data, or by both?

Owners add Gaussian noise for their own privacy budgets, epsilon ~ U(0.1, upper end). FIN buys with a fifth of the
largest budget, valuing owners in four ways: by 1/epsilon alone, by W alone, by the exact W of the noisy owner against
the noisy target, and by the upper bound W + W of the noise. Shown is the logarithm of the mean RMSE between the noisy
coalition and the noisy target.

Where all epsilon are alike no price is correlated with them, prices are not numbers, nothing is bought, and the trial
counts with its largest RMSE: that is the first point of every curve as published.
"""

from __future__ import annotations

from math import log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from kantor.owners.distributions import Vector
from kantor.studies.buying import bounds, buy, exogenous
from kantor.studies.figure import Case, Claim, Difference, Figure, Panel
from kantor.studies.frames import Curves, Tidy
from kantor.studies.populations import Population
from kantor.studies.prices import CORRELATIONS, correlated_prices
from kantor.studies.setting import Setting
from kantor.valuation.families import family_distance
from kantor.valuation.tasks import mean

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FIGURE", "noise_scales"]

_CURVES = ("epsilon", "W", "exact", "bound")
_ENDS = np.logspace(-1, 2, 10)
_SPOKEN = {"epsilon": "1/ε", "exact": "exact W", "bound": "W + noise's W"}
_SHARE = 0.2
_DELTA = {"as-published": 1e-5, "as-described": 1e-15}


def noise_scales(epsilon: Vector, delta: float) -> Vector:
    """The classical Gaussian mechanism's standard deviation for a sensitivity of 1."""
    return sqrt(2 * log(1.25 / delta)) / epsilon


def compute(case: Case) -> pl.DataFrame:
    """Four curves for each correlation of price and epsilon."""
    tidy, values = Tidy("fig10"), case.values()
    epsilon, prices = _draws(case.setting)
    for k, rho in enumerate(CORRELATIONS):
        results = [
            _mean_errors(values.population, values.alone("W"), epsilon[:, k, j], prices[:, k, j], case.setting)
            for j in range(_ENDS.size)
        ]
        for place, name in enumerate(_CURVES):
            tidy.add(rho, name, np.log(_ENDS), np.log([row[place] for row in results]))
    return tidy.frame()


def _draws(setting: Setting) -> tuple[Vector, Vector]:
    """Privacy budgets and prices of every trial, correlation and upper end, in the published order of draws.

    The generator is seeded once; then epsilon is drawn from it, and the prices seed it anew and draw as many.
    """
    shape = setting.trials, len(CORRELATIONS), _ENDS.size, setting.owners
    epsilon, prices = np.empty(shape), np.empty(shape)
    least = 0.0 if setting.described else 0.1
    draws = np.random.RandomState(setting.seed)
    for trial in range(setting.trials):
        for k, correlation in enumerate(CORRELATIONS.values()):
            for j, end in enumerate(_ENDS):
                epsilon[trial, k, j] = draws.uniform(least, end, setting.owners)
                prices[trial, k, j] = correlated_prices(epsilon[trial, k, j], correlation, setting.seed)
                draws.seed(setting.seed)
                draws.uniform(0, 1, setting.owners)
    return epsilon, prices


def _mean_errors(people: Population, alone: Vector, epsilon: Vector, prices: Vector, setting: Setting) -> list[float]:
    """The mean RMSE of what FIN buys, valuing owners in the four ways."""
    noise = noise_scales(epsilon, _DELTA[setting.variant])
    noisy = np.hypot(people.scale, noise)
    centre, spread = people.normal_parameters(noisy)
    error = mean.of_normals(centre, spread, centre[:, -1:], spread[:, -1:])
    exact = family_distance("norm", people.location - centre[:, -1:], noisy - spread[:, -1:])
    ways = (1 / epsilon, alone, exact, alone + noise * sqrt(2 / np.pi))
    spend = 2 * people.total(prices)
    found = [exogenous(bounds(people, way), spend, _SHARE * people.owners) for way in ways]
    return [float(buy(error, chosen, error.max(axis=1)).mean()) for chosen in found]


def claims(curves: Curves) -> list[Claim]:
    """What section 4.2.1 says of one metric for both."""
    found = []
    for rho in CORRELATIONS:
        by = {name: curves(rho, name)[1:] for name in _CURVES}
        third = by["W"].size // 3
        low = float((by["W"] - by["epsilon"])[:third].mean())
        high = float((by["epsilon"] - by["W"])[-third:].mean())
        found.append(
            Claim(
                f"{rho}: with little privacy budget it pays to value the noise, with much of it the data",
                low > 0 and high > 0,
                f"mean gain in ln RMSE: by noise {low:.3f} in the lower third, by data {high:.3f} in the upper",
            )
        )
    for name, said in (("bound", "the upper bound"), ("exact", "the exact distance")):
        lead = [
            curves(rho, name)[1:].mean() - min(curves(rho, n)[1:].mean() for n in ("epsilon", "W"))
            for rho in CORRELATIONS
        ]
        found.append(
            Claim(
                f"{said} of data and noise together is better than either alone, at every correlation",
                bool(max(lead) <= 0),
                "mean ln RMSE less that of the better single one: " + ", ".join(f"{value:+.3f}" for value in lead),
            )
        )
    return found


def differences(published: Curves, described: Curves) -> list[Difference]:
    """delta, the lower end of epsilon, and the degenerate first point."""
    gap = [float((described(rho, "bound") - published(rho, "bound"))[1:].mean()) for rho in CORRELATIONS]
    first = float(published("rho=0", "bound")[0])
    return [
        Difference(
            "delta of the Gaussian mechanism is 1e-15, and epsilon is uniform from 0",
            "delta is 1e-5, and epsilon is uniform from 0.1",
            f"ln of the mean RMSE (bound) is higher as described by {', '.join(f'{g:.2f}' for g in gap)} on average "
            "(rho = -1, 0, 1)",
            "fig10, all panels",
        ),
        Difference(
            "the sweep starts at an upper end of 0.1",
            "there all epsilon are 0.1, prices are undefined, nothing is bought, and the largest RMSE is plotted",
            f"the first point of every curve is {first:.3f}, whatever the valuation",
            "fig10, x = ln 0.1",
        ),
    ]


FIGURE = Figure(
    name="fig10",
    title="Differential privacy and heterogeneity",
    compute=compute,
    grid=(tuple(CORRELATIONS),),
    panels={
        rho: Panel("price and ε", "ln of the largest ε", "ln of the mean RMSE", options={"names": _SPOKEN})
        for rho in CORRELATIONS
    },
    claims=claims,
    differences=differences,
)
