"""How do the mechanisms fare as the market grows from 8 to 10,000 owners?

Owners are drawn like those of the case study, prices from their prior, and the budget is a twentieth of the largest
price for each owner. FIN and INF at virtual costs, the clock, SMQ, PTAS, and RAND, which buys in random order at the
owners' prices while the budget lasts. Shown: the true W of what is bought, the share of owners bought, and the share
of the budget spent.

A mechanism of one's own joins in: kt.studies.frame("growth", mechanisms={"MINE": lambda budget: Mine(budget=budget)}).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kantor.bids.bids import Bids
from kantor.clearing.baselines import ptas, smq
from kantor.clearing.clear import clear
from kantor.clearing.mechanisms import Exogenous, Mechanism
from kantor.owners.distributions import Vector
from kantor.studies.figure import Case, Claim, Figure, Panel
from kantor.studies.frames import Curves, Tidy
from kantor.valuation.families import family_distance

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FIGURE"]

_SIZES = (8, 20, 50, 100, 300, 1000, 3000, 10_000)
_NAMES = ("RAND", "PTAS", "SMQ", "CLOCK", "INF", "FIN")
_SHARE = 0.05
_MOST_TRIALS = 10

Selected = npt.NDArray[np.bool_]
Bought = tuple[Selected, float]
"""Who is bought, and what is paid."""


def compute(case: Case, mechanisms: Mapping[str, Callable[[float], Mechanism]] | None = None) -> pl.DataFrame:
    """Three panels over the number of owners. mechanisms: by name, a function from a budget to a mechanism."""
    tidy, own = Tidy("growth"), mechanisms or {}
    names = (*_NAMES, *own)
    rng = np.random.default_rng(case.setting.seed)
    found: dict[str, list[Vector]] = {name: [] for name in names}
    for size in _SIZES:
        trials = [_trial(rng, size, own) for _ in range(min(case.setting.trials, _MOST_TRIALS))]
        for name in names:
            found[name].append(np.array([trial[name] for trial in trials]))
    for place, panel in enumerate(("wd", "share", "spend")):
        for name in names:
            steps = [rows[:, place] for rows in found[name]]
            tidy.add(panel, name, _SIZES, [step.mean() for step in steps])
    return tidy.frame()


def _trial(
    rng: np.random.Generator, size: int, own: Mapping[str, Callable[[float], Mechanism]]
) -> dict[str, list[float]]:
    """One market: for each mechanism W, the share bought, and the share of the budget spent."""
    location, scale, prices = rng.uniform(10, 16, size), rng.uniform(1, 3, size), rng.uniform(0, 1, size)
    goal = float(location.mean()), float(np.sqrt((scale**2).sum()) / size)
    bids = Bids(distance=family_distance("norm", location - goal[0], scale - goal[1]), reserve=prices)
    budget, order = _SHARE * size, rng.permutation(size)
    bought = {name: rule(bids, budget) for name, rule in _RULES.items()}
    bought["RAND"] = _random(bids, budget, order)
    bought |= {name: _outcome(bids, made(budget)) for name, made in own.items()}
    nothing = float(bids.distance.max())
    return {
        name: [_distance(selected, location, scale, goal, nothing), float(selected.mean()), paid / budget]
        for name, (selected, paid) in bought.items()
    }


def _distance(selected: Selected, location: Vector, scale: Vector, goal: tuple[float, float], nothing: float) -> float:
    count = int(selected.sum())
    if count == 0:
        return nothing
    shift = location[selected].mean() - goal[0]
    spread = np.sqrt((scale[selected] ** 2).sum()) / count - goal[1]
    return float(family_distance("norm", shift, spread))


def _random(bids: Bids, budget: float, order: npt.NDArray[np.int64]) -> Bought:
    fits = np.cumsum(bids.reserve[order]) <= budget
    selected = np.zeros(len(bids), dtype=bool)
    selected[order[fits]] = True
    return selected, float(bids.reserve[selected].sum())


def _outcome(bids: Bids, mechanism: Mechanism) -> Bought:
    c = clear(bids, mechanism)
    return c.selected, c.spend


def _bound(bids: Bids, budget: float, population: str) -> Bought:
    c = clear(bids, Exogenous(budget=budget), population=population, payments="virtual")  # type: ignore[arg-type]
    return c.selected, c.spend


def _clock(bids: Bids, budget: float) -> Bought:
    c = clear(bids, Exogenous(budget=budget), payments="clock")
    return c.selected, c.spend


def _smq(bids: Bids, budget: float) -> Bought:
    c = smq(bids, budget)
    return c.selected, c.spend


def _ptas(bids: Bids, budget: float) -> Bought:
    c = ptas(bids, budget)
    return c.selected, c.spend


_RULES: dict[str, Callable[[Bids, float], Bought]] = {
    "PTAS": _ptas,
    "SMQ": _smq,
    "CLOCK": _clock,
    "INF": partial(_bound, population="infinite"),
    "FIN": partial(_bound, population="finite"),
}


def claims(curves: Curves) -> list[Claim]:
    """How they compare in a large market."""
    last = {name: float(curves("wd", name)[-1]) for name in _NAMES}
    sizes = curves("wd", "FIN", "x")
    fin, blind = curves("wd", "FIN"), curves("wd", "RAND")
    ahead = sizes[fin < blind]
    return [
        Claim(
            "every mechanism's data come nearer as the market grows",
            all(curves("wd", name)[-1] < curves("wd", name)[0] for name in _NAMES),
            ", ".join(f"{name} {curves('wd', name)[0]:.2f} to {curves('wd', name)[-1]:.3f}" for name in _NAMES),
        ),
        Claim(
            "FIN buys nearer data than a blind choice at every size",
            ahead.size == sizes.size,
            f"true at {ahead.size} of {sizes.size} sizes; with 10,000 owners {last['FIN']:.3f} and {last['RAND']:.3f}",
        ),
        Claim(
            "the hard budget of the clock costs little in a large market: W within 10 % of FIN's",
            last["CLOCK"] <= 1.1 * last["FIN"],
            f"{last['CLOCK']:.4f} against {last['FIN']:.4f} with 10,000 owners",
        ),
    ]


FIGURE = Figure(
    name="growth",
    title="From 8 to 10,000 owners",
    compute=compute,
    grid=(("wd", "share", "spend"),),
    panels={
        "wd": Panel("W", "owners", "mean W", options={"log": True, "logy": True}),
        "share": Panel("bought", "owners", "share of the owners", options={"log": True}),
        "spend": Panel("spent", "owners", "share of the budget", options={"log": True}),
    },
    claims=claims,
    note=f"At most {_MOST_TRIALS} trials. FIN and INF are paid their virtual costs, the others by their own rule.",
)
