"""The paper's program: its constraints by equation, and its answers against enumeration."""

from __future__ import annotations

import builtins
from dataclasses import replace
from math import inf, log, sqrt
from typing import Any

import numpy as np
import pytest

from kantor.clearing.enumeration import solve_by_enumeration
from kantor.clearing.misocp import Constants, Program, constants, program, solve_misocp
from kantor.clearing.problem import Kind, Problem
from kantor.errors import InputError, MissingExtraError
from kantor.valuation.hoeffding import Population, coefficient

cp = pytest.importorskip("cvxpy", reason="the extra misocp is not installed")

KINDS: list[Kind] = ["joint", "exogenous", "endogenous"]
POPULATIONS: list[Population] = ["finite", "infinite"]
every_kind = pytest.mark.parametrize("kind", KINDS)
every_population = pytest.mark.parametrize("population", POPULATIONS)


def pose(
    kind: Kind,
    distances: Any,
    costs: Any,
    limit: float,
    population: Population = "finite",
    absent: int = 0,
    lipschitz: float = 1.0,
) -> Problem:
    w, p = np.asarray(distances, dtype=float), np.asarray(costs, dtype=float)
    sizes = np.arange(1, w.size + 1)
    c = lipschitz * coefficient(sizes, w.size + absent, 0.95, population)
    return Problem(kind, w**2, p, np.concatenate([[inf], c]), limit)


def market(seed: int, kind: Kind, population: Population, count: int) -> Problem:
    """A market in which it tends to pay to buy some owners: cheap ones against a dear alternative."""
    rng = np.random.default_rng(seed)
    w, p = rng.uniform(0.5, 2, count), np.sort(rng.uniform(0.02, 0.6, count))
    limit = {"joint": 3.0, "exogenous": 0.45 * p.sum(), "endogenous": 1.0 + 0.2 * p.sum()}[kind]
    return pose(kind, w, p, float(limit), population, absent=seed % 3, lipschitz=float(rng.uniform(0.5, 1.2)))


# ---- the constraints, by equation -----------------------------------------------------------------------------------


def printed(problem: Problem, made: Program, absent: int, factor: float) -> dict[str, list[np.ndarray]]:
    """Each printed line as "left minus right", not above 0 (or 0) where it holds, by loops over the paper's indices."""
    q0, q = made.variables["q"].value[0], made.variables["q"].value[1:]
    s, z, t = (made.variables[name].value for name in "szt")
    w, psi, owners = np.sqrt(problem.squares), problem.costs, range(q.size)
    pairs, big = [(i, j) for i in owners for j in owners if i != j], made.big
    finite = "r" in made.variables
    lines: dict[str, list[Any]] = {}
    if finite:
        size = q.size + absent
        r = dict(zip(zip(*made.pairs, strict=True), made.variables["r"].value, strict=True))
        norm = sqrt(sum((w[i] * r[i, j]) ** 2 for i, j in pairs) + absent * sum((w[i] * q[i]) ** 2 for i in owners))
        lines["eq:fin_cone"] = [factor / sqrt(size - 1) * norm - sum(z)]
        lines["eq:fin_binlin1"] = [[r[i, j] - q[i] for i, j in pairs]]
        lines["eq:fin_binlin2"] = [[r[i, j] - (1 - q[j]) for i, j in pairs]]
        lines["eq:fin_binlin3"] = [[(q[i] - q[j]) - r[i, j] for i, j in pairs]]
        loss, name = s, "fin"
    else:
        size = q.size
        lines["eq:inf_cone"] = [sqrt(sum((q[i] * w[i]) ** 2 for i in owners)) - sum(z)]
        loss, name = factor * s, "inf"
    lines[f"eq:{name}_bincon1"] = [-z, [z[i] - big * q[i] for i in owners]]
    lines[f"eq:{name}_bincon2"] = [[z[i] - s for i in owners], [s - z[i] - big * (1 - q[i]) for i in owners]]
    lines["obj:fin1"] = [1 - q0 - sum(q), q0 + sum(q) - size]
    lines["obj:fin2"] = [[t[i] - q[i] * psi[i] for i in owners]]
    if problem.kind == "exogenous":
        lines["eq:bf_cons"] = [sum(t) - problem.limit]
    if problem.kind == "endogenous":
        lines["eq:bf"] = [loss + sum(t) - problem.limit]
    return {name: [np.asarray(row, dtype=float) for row in rows] for name, rows in lines.items()}


def faults(problem: Problem, made: Program, absent: int, factor: float, seed: int = 0) -> set[str]:
    """The equations that the program does not hold as printed, found on random values of all variables."""
    rng = np.random.default_rng(seed)
    wrong: set[str] = set()
    for _ in range(5):
        for variable in made.variables.values():
            whole = variable.attributes["boolean"]
            variable.value = rng.integers(0, 2, variable.shape) if whole else rng.uniform(0, 2, variable.shape)
        wanted = printed(problem, made, absent, factor)
        wrong |= wanted.keys() ^ made.constraints.keys()
        for name in wanted.keys() & made.constraints.keys():
            held = made.constraints[name]
            if len(held) != len(wanted[name]) or not all(map(same, held, wanted[name])):
                wrong.add(name)
    return wrong


def same(constraint: Any, residual: np.ndarray) -> bool:
    value = np.asarray(constraint.expr.value)
    return value.shape == residual.shape and np.allclose(value, residual, rtol=1e-12, atol=1e-12)


@every_kind
@every_population
@pytest.mark.parametrize("absent", [0, 3])
def test_every_constraint_is_the_printed_one(kind: Kind, population: Population, absent: int) -> None:
    problem = pose(kind, [1.0, 2.5, 0.3, 1.7], [0.1, 0.2, 0.3, 0.9], 1.3, population, absent, lipschitz=1.4)
    factor = 1.4 * sqrt(log(2 / 0.05) / 2)
    made = program(problem)
    assert faults(problem, made, absent, factor) == set()
    assert made.variables["q"].attributes["boolean"]
    assert made.variables["q"].shape == (5,)
    assert population == "infinite" or made.variables["r"].attributes["boolean"]
    assert population == "infinite" or made.variables["r"].size == 4 * 3


@every_kind
@every_population
def test_every_planted_fault_is_named(kind: Kind, population: Population) -> None:
    problem = pose(kind, [1.0, 2.5, 0.3], [0.1, 0.2, 0.3], 1.3, population)
    factor, made = sqrt(log(2 / 0.05) / 2), program(problem)
    for name, parts in made.constraints.items():
        for place, part in enumerate(parts):
            spoilt = (*parts[:place], type(part)(part.args[0] * 1.01, part.args[1]), *parts[place + 1 :])
            if np.any(part.args[0].is_zero()) or part.args[0].is_constant():
                spoilt = (*parts[:place], type(part)(part.args[0] + 0.01, part.args[1]), *parts[place + 1 :])
            planted = replace(made, constraints={**made.constraints, name: spoilt})
            assert faults(problem, planted, 0, factor) == {name}
        missing = {key: rows for key, rows in made.constraints.items() if key != name}
        assert faults(problem, replace(made, constraints=missing), 0, factor) == {name}


@every_kind
@every_population
def test_the_objective_is_the_printed_one(kind: Kind, population: Population) -> None:
    problem = pose(kind, [1.0, 2.5, 0.3], [0.1, 0.2, 0.4], 1.3, population)
    made = program(problem)
    for name, value in {"q": np.array([1, 1, 0, 1]), "s": 0.7, "z": np.zeros(3), "t": np.array([0.1, 0, 0.4])}.items():
        made.variables[name].value = value
    loss = 0.7 if population == "finite" else 0.7 * sqrt(log(2 / 0.05) / 2)
    paid = 0.5 if kind == "joint" else 0.0
    assert made.objective.value == pytest.approx(made.nothing + loss + paid)
    worst = made.big * (1.0 if population == "finite" else sqrt(log(2 / 0.05) / 2))
    assert made.nothing == pytest.approx(1.3 if kind != "exogenous" else 2 * worst)


def test_m_is_as_printed_and_large_enough() -> None:
    w, factor = [1.0, 2.5, 0.3], sqrt(log(2 / 0.05) / 2)
    assert program(pose("joint", w, [0, 0, 0], 1.3)).big == pytest.approx(1.01 * 1.3)
    assert program(pose("joint", w, [0, 0, 0], 99.0)).big == pytest.approx(1.01 * factor * 2.5)
    assert program(pose("exogenous", w, [0, 0, 0], 0.1)).big == pytest.approx(1.01 * factor * 2.5)
    assert program(pose("exogenous", w, [0, 0, 0], 1.3, "infinite")).big > sqrt(1 + 2.5**2 + 0.3**2)
    assert program(pose("joint", w, [0, 0, 0], 1.3, "infinite")).big == pytest.approx(1.01 * 1.3 / factor)


def test_owners_at_an_infinite_cost_are_never_bought() -> None:
    problem = pose("joint", [2.0, 0.0], [0.1, inf], 9.0)
    held = program(problem).constraints["never bought"]
    assert len(held) == 1
    assert solve_misocp(problem).members.tolist() == [0]


# ---- what the coefficients say --------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 3, 8, 14])
@pytest.mark.parametrize("absent", [0, 1, 7, 1_000, 10_000_000])
def test_the_population_is_read_from_the_coefficients(count: int, absent: int) -> None:
    problem = pose("joint", np.ones(count), np.ones(count), 1.0, absent=absent, lipschitz=3.0)
    found = constants(problem)
    assert found.population_size == count + absent
    assert found.scale == pytest.approx(3 * sqrt(log(40) / (2 * (count + absent - 1))))


def test_an_infinite_population_a_single_bid_and_no_loss() -> None:
    factor = sqrt(log(40) / 2)
    assert constants(pose("joint", [1, 2, 3], [0, 0, 0], 1, "infinite")) == Constants(pytest.approx(factor), None)
    assert constants(pose("joint", [1], [0], 1, absent=4)) == Constants(pytest.approx(factor), None)
    assert constants(pose("joint", [1], [0], 1)) == Constants(0.0, None)
    assert constants(pose("joint", [1, 2], [0, 0], 1, lipschitz=0.0)) == Constants(0.0, None)


def test_other_coefficients_are_refused() -> None:
    odd = Problem("joint", np.ones(3), np.ones(3), np.array([inf, 1.0, 0.2, 0.1]), 1.0)
    with pytest.raises(InputError, match="neither a finite"):
        constants(odd)


# ---- answers --------------------------------------------------------------------------------------------------------


def check(problem: Problem) -> bool:
    """Against enumeration; whether something is bought, and not everything."""
    found, best = solve_misocp(problem), solve_by_enumeration(problem)
    scale = max(1.0, best.objective if best.objective < inf else 1.0, min(problem.reference, 1e300))
    if best.objective == inf:
        assert found.objective == found.lower_bound == inf
    else:
        assert found.objective == problem.objective(*problem.totals(found.members))
        assert best.objective - 1e-12 * scale <= found.objective <= best.objective + 1e-6 * scale
        assert best.objective - 2e-6 * scale <= found.lower_bound <= best.objective + 1e-12 * scale
        assert found.lower_bound < found.objective or found.objective == 0
    return 0 < best.members.size < problem.squares.size


@every_kind
@every_population
def test_it_agrees_with_enumeration(kind: Kind, population: Population) -> None:
    interior = [check(market(seed, kind, population, 4 + seed % 2)) for seed in range(4)]
    assert sum(interior) >= 2


@pytest.mark.slow
@every_kind
@every_population
def test_it_agrees_with_enumeration_on_larger_markets(kind: Kind, population: Population) -> None:
    interior = [check(market(100 + seed, kind, population, 6 + seed % 5)) for seed in range(10)]
    assert sum(interior) >= 5


# By hand: C = sqrt(ln 40 / 2) = 1.3581. Two owners at distance 1, infinite population: one costs C + 0.2 = 1.558, both
# cost C sqrt(2)/2 + 0.4 = 1.3603. Three at psi = (.2, .2, .9): the third would save C (1/sqrt 2 - 1/sqrt 3) = 0.176.
def test_a_market_solved_by_hand() -> None:
    problem = pose("joint", [1, 1, 1], [0.2, 0.2, 0.9], 9.0, "infinite")
    answer = solve_misocp(problem)
    assert answer.members.tolist() == [0, 1]
    assert answer.objective == pytest.approx(sqrt(log(40) / 2) * sqrt(2) / 2 + 0.4, rel=1e-12)


@every_kind
@pytest.mark.parametrize(
    ("distances", "costs", "limit"),
    [
        ([1, 1, 1], [0.1, 0.1, 0.1], 1.0),
        ([0, 0, 1], [0.3, 0.4, 0.5], 1.0),
        ([2, 1, 0.5], [0, 0, 0], 2.0),
        ([1e-9, 2e-9, 3e-9], [0.1, 0.2, 0.3], 0.25),
        ([1e9, 2e9, 3e9], [1e8, 2e8, 3e8], 3e9),
        ([1.5], [0.5], 0.5),
        ([1, 2, 3], [0.5, 0.6, 0.7], 0.0),
        ([1, 2, 3], [0.5, inf, inf], 5.0),
        ([3, 2, 1], [1, 2, 3], 3.0),
    ],
)
def test_odd_markets(kind: Kind, distances: list[float], costs: list[float], limit: float) -> None:
    check(pose(kind, distances, costs, limit, absent=1))


def test_a_budget_is_kept_exactly_where_the_solver_keeps_it_nearly() -> None:
    """The pair is worth most and costs 1e-9 more than the budget: within the solver's tolerance, but not allowed."""
    problem = pose("exogenous", [1, 1, 2], [0.5, 0.5 + 1e-9, 0.5], 1.0, absent=2)
    problem = replace(problem, costs=np.sort(problem.costs), squares=np.array([1.0, 4.0, 1.0]))
    answer, best = solve_misocp(problem), solve_by_enumeration(problem)
    assert answer.members.tolist() == best.members.tolist()
    assert answer.members.tolist() != [0, 2]


def test_buying_nothing_wins_a_tie() -> None:
    """One owner at no distance whose price is the reference loss."""
    assert solve_misocp(pose("joint", [0.0, 1.0], [0.5, 3.0], 0.5)).members.size == 0


def test_a_stopped_search_says_less() -> None:
    problem = market(5, "joint", "finite", 6)
    answer, best = solve_misocp(problem, work_limit=1), solve_by_enumeration(problem)
    assert answer.lower_bound <= best.objective <= answer.objective


# ---- refusals -------------------------------------------------------------------------------------------------------


def test_an_unknown_solver_and_one_without_cones() -> None:
    problem = pose("joint", [1.0], [0.1], 1.0)
    for name in ["NOSUCH", "HIGHS"]:
        with pytest.raises(InputError, match=r"not among the installed.*SCIP"):
            solve_misocp(problem, solver=name)
    assert solve_misocp(problem, solver="scip").objective <= 1.0


def test_a_tolerance_that_makes_no_sense() -> None:
    with pytest.raises(InputError, match="tolerance of 0"):
        solve_misocp(pose("joint", [1.0], [0.1], 1.0), tolerance=0)


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] == "cvxpy":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"kantor\[misocp\]"):
        solve_misocp(pose("joint", [1.0], [0.1], 1.0))
