"""The paper's own program, as printed: a mixed-integer second-order cone program, solved by an open solver.

It is here to check the exact solver, of which it calls nothing, and to show what that solver replaces. With W_i the
distances, psi_i the virtual costs and B the reference loss, the finite population's program (section 3.4.3) is

    min   q_0 B + s + sum q_i psi_i
    s.t.  C^FIN ||W r|| <= sum z_i                                                        (eq:fin_cone)
          r_ij <= q_i,   r_ij <= 1 - q_j,   r_ij >= q_i - q_j         for i and j != i    (eq:fin_binlin1 to 3)
          0 <= z_i <= M q_i,   0 <= s - z_i <= M (1 - q_i)                                (eq:fin_bincon1 and 2)
          1 <= q_0 + ... + q_N <= N,   t_i = q_i psi_i,   q binary                        (obj:fin1 to 3)

and the infinite one's (appendix C) has C^INF s in the objective and ||q W|| <= sum z_i, without any r. How it works:
z_i is s where owner i is bought and 0 elsewhere, so that sum z_i = n s, and s is the loss C sqrt((N - n) A) / n. The
product q_i (1 - q_j) is r_ij, so that the sum of W_i^2 r_ij over all i and j is (N - n) A; r is binary, so that it is
its own square, and the root is a norm.

The other two mechanisms are "obtained using near identical steps": exogenous minimises s (C^INF s) with sum t_i <= B
(eq:bf_cons), endogenous with s + sum t_i <= B (eq:bf).

How the printed text was read:

- ||W r|| is the Frobenius norm of the matrix with entries W_i r_ij, i != j; eq:fin_binlin1 and the unlabelled line
  after it (here eq:fin_binlin2) hold for all such pairs, although each names one index only.
- N counts bids in print. Where more owners define the target than bid, each absent one has q_j = 0, so r_ij = q_i:
  together they add (N - bids) W_i^2 q_i under the root, one more column with entries sqrt(N - bids) W_i q_i.
- M is a bound on s. The finite one is printed as at least min(B, K sqrt(ln(2/(1 - delta))/2) max W), which is large
  enough: a coalition with s > B, cut off by the first of the two, loses to nothing. But the exogenous mechanism's B is
  money to spend, no loss: there only the second holds. The infinite one is printed as M > ||W||; there s carries no C,
  and is at most max W; B / C serves as the first of two bounds as it does in the finite program. M is taken 1 % above
  the printed least value: where s = M exactly (one owner bought, the furthest), SCIP's presolve was seen to cut the
  optimum off.
- Buying nothing: the text says that q_0 = 1 means that no owner is bought. Nothing in the program says so; it merely
  does not pay. The exogenous mechanism has no reference loss: q_0 costs twice as much there as any purchase.
- C^FIN divides by N - 1. For N = 1, and for K = 0, no coalition has a loss, which is the infinite program with C = 0.

CVXPY and a solver are optional: pip install 'kantor[misocp]'.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Any, NamedTuple

import numpy as np

from kantor.clearing.problem import Allocation, Places, Problem
from kantor.errors import InputError, MissingExtraError
from kantor.owners.distributions import Vector

__all__ = ["Constants", "Program", "constants", "program", "solve_misocp"]

_PURPOSE = "The paper's program (solver='misocp')"
_NODE_LIMITS = {"SCIP": "limits/nodes", "GUROBI": "NodeLimit", "XPRESS": "maxnode", "COPT": "NodeLimit"}
_SLACK = 10.0
"""How many of the solver's tolerances its bound may be off by: cone, products and integrality each have one."""
_MARGIN = 1.01
"""M lies this far above its printed least value."""


class Constants(NamedTuple):
    """What the coefficients c_n say about the market."""

    factor: float
    """K sqrt(ln(2/(1 - delta)) / 2), which is C^INF."""
    population_size: int | None
    """N; None where the population is infinite."""

    @property
    def scale(self) -> float:
        """C^FIN or C^INF."""
        return self.factor if self.population_size is None else self.factor / sqrt(self.population_size - 1)


def constants(problem: Problem) -> Constants:
    """The constant and the population behind a problem's coefficients.

    c_1 is the constant itself, and (n c_n / c_1)^2 is (N - n)/(N - 1) in a finite population and 1 in an infinite one.
    A single bid does not tell them apart, and need not: its loss is c_1 W either way.
    """
    c = problem.coefficients
    count, factor = c.size - 1, float(c[1]) if c.size > 1 else 0.0
    if count < 2 or factor == 0:
        return Constants(factor, None)
    missing = 1.0 - (count * float(c[count]) / factor) ** 2
    size = None if missing < 1e-13 * count else 1 + round((count - 1) / missing)
    found = Constants(factor, size)
    sizes = np.arange(1, count + 1)
    share = 1.0 if size is None else np.sqrt(np.maximum(size - sizes, 0) / (size - 1))
    if not np.allclose(factor * share / sizes, c[1:], rtol=1e-6, atol=0):
        raise InputError(
            "the coefficients are neither a finite population's nor an infinite one's",
            remedy="The paper's program knows these two only: use solver='enumerate'.",
            argument="problem",
        )
    return found


@dataclass(frozen=True, eq=False)
class Program:
    """The program, with each constraint under the label of its equation in the paper."""

    variables: dict[str, Any]
    """q (q_0 first), z, s and t, and for a finite population r, one entry for each pair."""
    constraints: dict[str, tuple[Any, ...]]
    objective: Any
    big: float
    """M."""
    nothing: float
    """What q_0 costs."""
    pairs: tuple[Places, Places]
    """i and j of each entry of r."""

    @property
    def problem(self) -> Any:
        """As a CVXPY problem."""
        cp = _cvxpy()
        return cp.Problem(cp.Minimize(self.objective), [part for parts in self.constraints.values() for part in parts])

    def members(self) -> Places:
        """The owners bought, once solved."""
        return np.flatnonzero(self.variables["q"].value[1:] > 0.5)


def program(problem: Problem) -> Program:
    """The printed program for a market: q_i = 0 is added for owners whose virtual cost is infinite."""
    cp = _cvxpy()
    known = constants(problem)
    count, finite = problem.squares.size, np.isfinite(problem.costs)
    distances, costs = np.sqrt(problem.squares), np.where(finite, problem.costs, 0.0)
    big = _big(problem, known, distances)
    worst = big * (known.scale if known.population_size is None else 1.0)
    nothing = problem.limit if problem.kind != "exogenous" else 2 * worst if worst > 0 else 1.0
    q = cp.Variable(count + 1, boolean=True, name="q")
    s, z, t = cp.Variable(name="s"), cp.Variable(count, name="z"), cp.Variable(count, name="t")
    bought, variables = q[1:], {"q": q, "s": s, "z": z, "t": t}
    pairs = _pairs(count) if known.population_size is not None else (np.empty(0, dtype=np.int64),) * 2
    if known.population_size is None:
        rows, loss, name = _infinite(bought, z, distances), known.scale * s, "inf"
    else:
        variables["r"] = cp.Variable(pairs[0].size, boolean=True, name="r")
        absent = known.population_size - count
        rows, loss, name = _finite(bought, variables["r"], z, distances, pairs, known.scale, absent), s, "fin"
    rows[f"eq:{name}_bincon1"] = (z >= 0, z <= big * bought)
    rows[f"eq:{name}_bincon2"] = (s - z >= 0, s - z <= big * (1 - bought))
    rows["obj:fin1"] = (cp.sum(q) >= 1, cp.sum(q) <= (known.population_size or count))
    rows["obj:fin2"] = (t == cp.multiply(costs, bought),)
    if not finite.all():
        rows["never bought"] = (bought[np.flatnonzero(~finite)] == 0,)
    if problem.kind == "exogenous":
        rows["eq:bf_cons"] = (cp.sum(t) <= problem.limit,)
    if problem.kind == "endogenous":
        rows["eq:bf"] = (loss + cp.sum(t) <= problem.limit,)
    paid = cp.sum(t) if problem.kind == "joint" else 0
    return Program(variables, rows, nothing * q[0] + loss + paid, big, nothing, pairs)


def _infinite(bought: Any, z: Any, distances: Vector) -> dict[str, tuple[Any, ...]]:
    cp = _cvxpy()
    return {"eq:inf_cone": (cp.norm(cp.multiply(distances, bought), 2) <= cp.sum(z),)}


def _finite(
    bought: Any, r: Any, z: Any, distances: Vector, pairs: tuple[Places, Places], scale: float, absent: int
) -> dict[str, tuple[Any, ...]]:
    cp = _cvxpy()
    i, j = pairs
    entries = [cp.multiply(distances[i], r)]
    if absent:
        entries.append(sqrt(absent) * cp.multiply(distances, bought))
    return {
        "eq:fin_cone": (scale * cp.norm(cp.hstack(entries), 2) <= cp.sum(z),),
        "eq:fin_binlin1": (r <= bought[i],),
        "eq:fin_binlin2": (r <= 1 - bought[j],),
        "eq:fin_binlin3": (r >= bought[i] - bought[j],),
    }


def _pairs(count: int) -> tuple[Places, Places]:
    """All i and j != i."""
    i, j = np.nonzero(~np.eye(count, dtype=bool))
    return i, j


def _big(problem: Problem, known: Constants, distances: Vector) -> float:
    """M, as printed for the two populations, and a little more."""
    if known.population_size is None:
        worst, limit = float(np.linalg.norm(distances)), problem.limit / known.factor if known.factor > 0 else inf
    else:
        worst, limit = known.factor * float(distances.max()), problem.limit
    return _MARGIN * (worst if problem.kind == "exogenous" else min(limit, worst))


def solve_misocp(
    problem: Problem, work_limit: int | None = None, solver: str = "SCIP", tolerance: float = 1e-8
) -> Allocation:
    """The best coalition according to the paper's program and any mixed-integer cone solver that CVXPY finds.

    The coalition is valued again, exactly. A solver keeps a budget to its tolerance only: what it proposes beyond the
    budget is cut off, and it is asked again. The lower bound is the solver's own less ten of its tolerances (where it
    states none: the objective less those), so that a gap of that size always remains.

    work_limit: the most nodes of the solver's tree. tolerance: how far it may violate a constraint, in units of the
    largest loss or the reference.
    """
    name = _installed(solver)
    if problem.kind == "joint" and problem.limit == inf:
        return _whatever_it_costs(problem, work_limit, solver, tolerance)
    options = _options(name, tolerance, work_limit)
    unit = _unit(problem)
    posed = program(_in_units(problem, unit))
    cuts: list[Any] = []
    nodes = 0
    while True:
        answer = _solve(posed, cuts, name, options)
        nodes += answer.nodes
        objective = problem.objective(*problem.totals(answer.members))
        if objective < inf or answer.members.size == 0:
            break
        cuts.append(_other_than(posed, answer.members))
    bound = _lower_bound(problem, posed, answer, tolerance) * unit
    if objective >= problem.reference:  # buying nothing wins ties
        return Allocation(np.empty(0, dtype=np.int64), problem.reference, min(problem.reference, bound), nodes)
    return Allocation(answer.members, objective, min(objective, bound), nodes)


def _whatever_it_costs(problem: Problem, work_limit: int | None, solver: str, tolerance: float) -> Allocation:
    """Where nothing is infinitely bad (an interim budget's problem): as bad as twice the best single owner will do."""
    alone = problem.coefficients[1] * np.sqrt(problem.squares) + problem.costs
    if not np.isfinite(alone).any():
        return Allocation(np.empty(0, dtype=np.int64), inf, inf)
    found = solve_misocp(replace(problem, limit=2 * float(alone.min()) + 1), work_limit, solver, tolerance)
    if found.members.size == 0:  # stopped before it found anything
        return Allocation(found.members, inf, found.lower_bound, found.nodes)
    return found


class _Answer(NamedTuple):
    """What a solver says: a coalition, and the least that any can cost."""

    members: Places
    bound: float
    nodes: int


def _lower_bound(problem: Problem, posed: Program, answer: _Answer, tolerance: float) -> float:
    """The solver's bound less what its tolerances may hide; infinite where no purchase fits the exogenous budget."""
    bound = answer.bound - _SLACK * tolerance * max(1.0, abs(answer.bound))
    if problem.kind == "exogenous" and bound > posed.nothing / 1.5:
        return inf
    return max(0.0, bound)


def _solve(posed: Program, cuts: list[Any], solver: str, options: dict[str, Any]) -> _Answer:
    """One run of the solver; nothing, with a bound of 0, where it stops before it has found anything."""
    cp = _cvxpy()
    task = posed.problem
    task = cp.Problem(task.objective, [*task.constraints, *cuts])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate": the coalition is valued again, and the gap says it
        try:
            task.solve(solver=solver, **options)
        except cp.SolverError:
            return _Answer(np.empty(0, dtype=np.int64), 0.0, 0)
    if task.status not in cp.settings.SOLUTION_PRESENT:
        return _Answer(np.empty(0, dtype=np.int64), 0.0, 0)
    return _Answer(posed.members(), *_proof(task))


def _proof(task: Any) -> tuple[float, int]:
    """The solver's bound and nodes: SCIP states both; another's bound is its objective if it claims an optimum."""
    stats = task.solver_stats.extra_stats
    model = stats.get("model") if isinstance(stats, dict) else None
    if model is not None and hasattr(model, "getDualbound"):
        return float(model.getDualbound()), int(model.getNTotalNodes())
    return (float(task.value), 0) if task.status == _cvxpy().OPTIMAL else (0.0, 0)


def _other_than(posed: Program, members: Places) -> Any:
    """At least one owner differs from this coalition."""
    cp = _cvxpy()
    bought = posed.variables["q"][1:]
    signs = np.ones(bought.size)
    signs[members] = -1.0
    return cp.sum(cp.multiply(signs, bought)) >= 1 - members.size


def _unit(problem: Problem) -> float:
    """The unit of money in which the answer is about 1: the largest loss, the reference, or a single owner's cost."""
    losses = float(problem.coefficients[1]) * np.sqrt(problem.squares) if problem.squares.size else np.zeros(1)
    if problem.kind == "joint":
        largest = min(problem.limit, float((losses + problem.costs).min(initial=inf)))
    else:
        largest = min(problem.reference, float(losses.max()))
    return largest if 0 < largest < inf else 1.0


def _in_units(problem: Problem, unit: float) -> Problem:
    """The same market with money in units of `unit`, and distances so that C^INF = 1: solvers' errors are absolute."""
    factor = float(problem.coefficients[1]) or 1.0
    return replace(
        problem,
        squares=problem.squares * (factor / unit) ** 2,
        costs=problem.costs / unit,
        coefficients=problem.coefficients / factor,
        limit=problem.limit / unit,
    )


def _options(solver: str, tolerance: float, work_limit: int | None) -> dict[str, Any]:
    """Solver settings for the tolerance (SCIP; others keep their own) and the node limit."""
    if not 0 < tolerance <= 1e-3:
        raise InputError(
            f"a tolerance of {tolerance} was asked for", remedy="Give a number above 0, up to 1e-3.", value=tolerance
        )
    settings: dict[str, Any] = {"numerics/feastol": tolerance} if solver == "SCIP" else {}
    if work_limit is not None:
        if solver not in _NODE_LIMITS:
            raise InputError(
                f"a work limit was given, and how {solver} limits its nodes is not known",
                remedy=f"Leave work_limit out, or use one of: {', '.join(_NODE_LIMITS)}.",
                value=work_limit,
                argument="work_limit",
            )
        settings[_NODE_LIMITS[solver]] = max(1, work_limit)
    return {"scip_params": settings} if solver == "SCIP" else settings


def _installed(solver: str) -> str:
    """The solver's name as CVXPY writes it, if it is installed and knows integers together with cones."""
    cp = _cvxpy()
    from cvxpy.reductions.solvers.defines import MI_SOCP_SOLVERS

    able = [name for name in cp.installed_solvers() if name in MI_SOCP_SOLVERS]
    if not able and solver.upper() == "SCIP":
        raise MissingExtraError(_PURPOSE, "PySCIPOpt", "misocp")
    if solver.upper() not in able:
        raise InputError(
            f"{solver} is not among the installed solvers for mixed-integer cone programs",
            remedy=f"Choose one of: {', '.join(able) or 'none is there'} (pip install 'kantor[misocp]' brings SCIP).",
            value=solver,
            argument="solver",
        )
    return solver.upper()


def _cvxpy() -> Any:
    try:
        import cvxpy
    except ImportError as missing:
        raise MissingExtraError(_PURPOSE, "CVXPY", "misocp") from missing
    return cvxpy
