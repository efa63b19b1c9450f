"""The claim: a joint market of 1,000,000 owners is cleared, proved optimal, in at most 6 sorts; its prices cost 4 more.

A sort is one `np.argsort` of a vector of that length: what anybody needs who only ranks owners. Where a quarter of the
owners is bought the claim is 10 sorts. All winners' threshold prices together are to cost at most 4 times the clearing.
`kt.clear` as a user calls it, from new bids to an outcome, is listed beside the solver alone.

    python -m benchmarks.joint
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import kantor as kt
from benchmarks.markets import POPULATIONS, SHAPES, SHARES, a_market, bids_of, lipschitz_of
from benchmarks.timing import best
from kantor.clearing.enumeration import solve_by_enumeration
from kantor.clearing.joint import solve_joint
from kantor.clearing.joint_prices import critical_costs_of_joint


def measure(quick: bool = False) -> dict[str, object]:
    """The worst and the median ratios over shapes, shares of winners, populations and seeds, and where they are."""
    owners, seeds = (20_000, 1) if quick else (1_000_000, 3)
    cases = list(product(SHAPES[:2] if quick else SHAPES, SHARES, POPULATIONS, range(seeds)))
    rows = [_case(shape, share, population, seed, owners) for shape, share, population, seed in cases]
    few, many = [row for row in rows if row["share"] < 0.2], [row for row in rows if row["share"] > 0.2]
    return {
        "owners": owners,
        "clearings": len(rows),
        "proved": sum(row["proved"] for row in rows),
        **_spread("clearing / argsort", few, "clearing"),
        **_spread("clearing / argsort, a quarter bought", many, "clearing"),
        **_spread("all prices / clearing", rows, "prices"),
        **_spread("kt.clear from new bids / argsort", rows, "whole"),
        **_spread("milliseconds of a clearing", rows, "milliseconds"),
        "winners (least, quartiles, most)": np.percentile([r["winners"] for r in rows], [0, 25, 50, 75, 100]).tolist(),
        "difference from enumeration": _difference(),
        "claim": "at most 6 sorts, 10 where a quarter is bought; all prices at most 4 clearings",
        "cases": rows,
    }


def _case(shape: str, share: float, population: Any, seed: int, owners: int) -> dict[str, Any]:
    problem = a_market("joint", population, shape, owners, int(share * owners), seed)
    keys = np.random.default_rng(seed).permutation(problem.squares + problem.costs)
    sort, _ = best(lambda: np.argsort(keys), 3)
    clearing, answer = best(lambda: solve_joint(problem), 3)
    prices, _ = best(lambda: critical_costs_of_joint(problem, answer), 2)
    mechanism = kt.Joint(reference_loss=problem.limit, lipschitz=lipschitz_of(problem, population))
    whole, _ = best(lambda: kt.clear(bids_of(problem), mechanism, population=population), 1)
    return {
        "shape": shape,
        "share": share,
        "population": population,
        "seed": seed,
        "winners": int(answer.members.size),
        "proved": bool(answer.proved),
        "argsort ms": 1e3 * sort,
        "milliseconds": 1e3 * clearing,
        "clearing": clearing / sort,
        "prices": prices / clearing,
        "whole": whole / sort,
    }


def _spread(title: str, rows: list[dict[str, Any]], key: str) -> dict[str, object]:
    worst = max(rows, key=lambda row: row[key])
    where = f"{worst['shape']}, {worst['population']}, {worst['winners']} bought"
    median = float(np.median([row[key] for row in rows]))
    return {f"{title}, median": median, f"{title}, most": worst[key], f"{title}, most at": where}


def _difference() -> float:
    """The largest relative difference of objectives from listing all coalitions, 12 owners."""
    found = 0.0
    for shape, population, seed in product(SHAPES, POPULATIONS, range(5)):
        problem = a_market("joint", population, shape, 12, 1 + 2 * seed, seed)
        exact, listed = solve_joint(problem).objective, solve_by_enumeration(problem).objective
        found = max(found, abs(exact - listed) / max(1.0, listed))
    return found


if __name__ == "__main__":
    for title, number in measure().items():
        print(f"{title}: {number}" if title != "cases" else "\n".join(map(str, number)))  # type: ignore[call-overload]
