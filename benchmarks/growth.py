"""Time against the number of owners, from 10 to 1,000,000: each mechanism, all threshold prices, a sort, the MISOCP.

One in ten is bought (of ten, one). Written as a table and drawn: `python -m benchmarks.growth FIGURE.svg`.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.markets import a_market
from benchmarks.timing import best, timed
from kantor.clearing.budgeted import solve_endogenous, solve_exogenous
from kantor.clearing.enumeration import solve_by_enumeration
from kantor.clearing.joint import solve_joint
from kantor.clearing.joint_prices import critical_costs_of_joint
from kantor.clearing.misocp import solve_misocp

SIZES = (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
SMALL = (4, 6, 8, 10, 12)
SHAPE = "uniform (0.1, 3)"


def measure(quick: bool = False) -> dict[str, object]:
    """Milliseconds by number of owners, for each curve."""
    sizes = SIZES[:4] if quick else SIZES
    curves: dict[str, dict[int, float]] = {}
    for owners in sizes:
        for name, milliseconds in _at(owners).items():
            curves.setdefault(name, {})[owners] = milliseconds
    curves["MISOCP in SCIP"] = {owners: _misocp(owners) for owners in (SMALL[:1] if quick else SMALL)}
    return {
        **{name: {str(owners): round(value, 3) for owners, value in curve.items()} for name, curve in curves.items()},
        "difference from enumeration": _difference(),
        "claim": "from 10 to 1,000,000 owners, milliseconds",
    }


def _at(owners: int) -> dict[str, float]:
    winners, repeats = max(1, owners // 10), 3 if owners >= 100_000 else 10
    joint = a_market("joint", "finite", SHAPE, owners, winners, 0)
    exogenous = a_market("exogenous", "finite", SHAPE, owners, winners, 0)
    endogenous = a_market("endogenous", "finite", SHAPE, owners, winners, 0)
    keys = np.random.default_rng(0).permutation(joint.squares + joint.costs)
    answer = solve_joint(joint)
    work = {
        "one np.argsort": partial(np.argsort, keys),
        "joint": partial(solve_joint, joint),
        "joint, all threshold prices": partial(critical_costs_of_joint, joint, answer),
        "exogenous": partial(solve_exogenous, exogenous),
        "endogenous": partial(solve_endogenous, endogenous),
    }
    return {name: 1e3 * best(task, repeats)[0] for name, task in work.items()}


def _misocp(owners: int) -> float:
    problem = a_market("joint", "finite", SHAPE, owners, max(1, owners // 3), 0)
    return 1e3 * timed(partial(solve_misocp, problem))[0]


def _difference() -> float:
    found = 0.0
    for kind, solve in (("joint", solve_joint), ("exogenous", solve_exogenous), ("endogenous", solve_endogenous)):
        problem = a_market(kind, "finite", SHAPE, 12, 4, 0)  # type: ignore[arg-type]
        found = max(found, abs(solve(problem).objective - solve_by_enumeration(problem).objective))
    return found


def draw(curves: dict[str, object], path: Path) -> None:
    """Both axes logarithmic; each curve named at its end."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    colours = iter(["#999999", "#0072B2", "#56B4E9", "#D55E00", "#E69F00", "#CC79A7"])
    for name, curve in curves.items():
        if isinstance(curve, dict):
            sizes, values = [int(size) for size in curve], list(curve.values())
            axes.loglog(sizes, values, "o-", ms=4, color=next(colours), label=name)
    axes.set(xlabel="owners", ylabel="milliseconds", title="Clearing, proved optimal")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path)


if __name__ == "__main__":
    found = measure()
    for title, number in found.items():
        print(f"{title}: {number}")
    if sys.argv[1:]:
        draw(found, Path(sys.argv[1]))
