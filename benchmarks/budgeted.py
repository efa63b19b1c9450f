"""The claim: both budgeted mechanisms, pointwise, proved optimal within 100 ms (10,000 owners) and 2 s (100,000).

In random markets, that is; where distances or prices tie, or prices fall exactly as distances rise, the gap is to stay
within 1e-4 and 1e-5. Budgets are set so that about 0.1 %, 1 %, 5 % and 25 % of the owners are bought; the counts are
listed.

    python -m benchmarks.budgeted
"""

from __future__ import annotations

from itertools import product

import numpy as np

from benchmarks.markets import POPULATIONS, RANDOM, SHARES, TIED, a_market
from benchmarks.timing import timed
from kantor.clearing.budgeted import critical_costs, solve_endogenous, solve_exogenous
from kantor.clearing.enumeration import solve_by_enumeration
from kantor.clearing.problem import Allocation, Kind, Problem


def solve(problem: Problem) -> Allocation:
    return (solve_exogenous if problem.kind == "exogenous" else solve_endogenous)(problem)


def measure(quick: bool = False) -> dict[str, object]:
    """The slowest clearing and the widest gap for random and for tied markets, and what a price costs."""
    record: dict[str, object] = {}
    seeds = range(1) if quick else range(3)
    for owners in (1000,) if quick else (10_000, 100_000):
        solve(a_market("exogenous", "finite", RANDOM[0], owners, owners // 100, 0))
        for name, shapes in (("random", RANDOM), ("tied", TIED)):
            record |= {f"{owners} owners, {name}: {key}": value for key, value in _sweep(owners, shapes, seeds).items()}
    record |= _prices(1000 if quick else 10_000)
    record["difference from enumeration"] = _difference()
    record["claim"] = "random: proved, 0.1 s and 2 s; tied: gap <= 1e-4 and 1e-5"
    return record


def _sweep(owners: int, shapes: tuple[str, ...], seeds: range) -> dict[str, object]:
    seconds, gaps, counts, worst = [], [], [], ""
    kinds: tuple[Kind, ...] = ("exogenous", "endogenous")
    for kind, population, shape, share, seed in product(kinds, POPULATIONS, shapes, SHARES, seeds):
        problem = a_market(kind, population, shape, owners, max(1, int(share * owners)), seed)
        taken, answer = timed(lambda problem=problem: solve(problem))
        if not seconds or taken > max(seconds):
            worst = f"{kind}, {population}, {shape}, {answer.members.size} bought"
        seconds.append(taken)
        gaps.append((answer.objective - answer.lower_bound) / max(1.0, answer.objective))
        counts.append(answer.members.size)
    return {
        "clearings": len(gaps),
        "proved": sum(gap == 0 for gap in gaps),
        "widest gap": float(max(gaps)),
        "median seconds": float(np.median(seconds)),
        "most seconds": float(max(seconds)),
        "slowest": worst,
        "winners (least, quartiles, most)": np.percentile(counts, [0, 25, 50, 75, 100]).astype(int).tolist(),
    }


def _difference() -> float:
    """The largest difference of objectives from listing all coalitions, 12 owners of every shape."""
    kinds: tuple[Kind, ...] = ("exogenous", "endogenous")
    problems = (a_market(kind, "finite", shape, 12, 4, 0) for kind in kinds for shape in (*RANDOM, *TIED))
    return max(abs(solve(problem).objective - solve_by_enumeration(problem).objective) for problem in problems)


def _prices(owners: int) -> dict[str, object]:
    record: dict[str, object] = {}
    kinds: tuple[Kind, ...] = ("exogenous", "endogenous")
    for kind in kinds:
        problem = a_market(kind, "finite", RANDOM[0], owners, owners // 100, 0)
        answer = solve(problem)
        some = answer.members[:: max(1, answer.members.size // 20)]
        taken, prices = timed(lambda problem=problem, answer=answer, some=some: critical_costs(problem, answer, some))
        record[f"{owners} owners, {kind}: seconds per price"] = taken / some.size
        record[f"{owners} owners, {kind}: prices proved"] = f"{int(prices.proved.sum())} of {some.size}"
    return record


if __name__ == "__main__":
    for title, number in measure().items():
        print(f"{title}: {number}")
