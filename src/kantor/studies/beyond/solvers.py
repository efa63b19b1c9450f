"""Time of the paper's program in an open solver, against the exact solver.

The same markets (populations of the case study, prices drawn from the prior) are cleared by the MISOCP through CVXPY
and SCIP, by looking at all coalitions, and exactly; medians over three markets, payments at virtual costs. Whether
they agree is shown as the largest difference of objectives. Without CVXPY and SCIP (the extra "misocp") their curve
is left out. Times are those of this machine.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from kantor.bids.bids import Bids
from kantor.clearing.clear import clear
from kantor.clearing.mechanisms import Endogenous, Exogenous, Joint, Mechanism
from kantor.errors import MissingExtraError
from kantor.studies.figure import Case, Claim, Figure, Panel
from kantor.studies.frames import Curves, Tidy
from kantor.valuation.families import family_distance

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FIGURE"]

_SIZES = {"exact": (4, 6, 8, 10, 12, 100, 1000), "enumerate": (4, 6, 8, 10, 12), "misocp": (4, 6, 8, 10)}
_MARKETS = 3


def compute(case: Case) -> pl.DataFrame:
    """Seconds and agreement for the three mechanisms."""
    tidy = Tidy("solvers")
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for kind in ("exogenous", "endogenous", "joint"):
        for solver, sizes in _SIZES.items():
            try:
                found[kind, solver] = [_timed(case.setting.seed, kind, solver, size) for size in sizes]
            except MissingExtraError:
                continue  # said in the note of the figure
    for place, panel in enumerate(("seconds", "apart")):
        for (kind, solver), steps in found.items():
            if panel == "seconds" or solver != "exact":
                tidy.add(f"{panel}/{kind}", solver, _SIZES[solver], [step[place] for step in steps])
    return tidy.frame()


def _timed(seed: int, kind: str, solver: str, size: int) -> tuple[float, float]:
    """The median time, and the largest difference to the exact objective."""
    seconds, apart = [], []
    for market in range(_MARKETS):
        bids, mechanism = _market(seed + market, kind, size)
        exact = clear(bids, mechanism, payments="virtual")
        start = time.perf_counter()
        found = clear(bids, mechanism, payments="virtual", solver=solver)
        seconds.append(time.perf_counter() - start)
        apart.append(abs(found.objective - exact.objective) if np.isfinite(exact.objective) else 0.0)
    return float(np.median(seconds)), max(apart)


def _market(seed: int, kind: str, size: int) -> tuple[Bids, Mechanism]:
    rng = np.random.default_rng([seed, size])
    location, scale = rng.uniform(10, 16, size), rng.uniform(1, 3, size)
    goal = location.mean(), np.sqrt((scale**2).sum()) / size
    bids = Bids(distance=family_distance("norm", location - goal[0], scale - goal[1]), reserve=rng.uniform(0, 1, size))
    mechanisms: dict[str, Mechanism] = {
        "exogenous": Exogenous(budget=0.2 * size),
        "endogenous": Endogenous(reference_loss=2.0),
        "joint": Joint(reference_loss=2.0),
    }
    return bids, mechanisms[kind]


def claims(curves: Curves) -> list[Claim]:
    """How much faster, and whether the answers are the same."""
    found = []
    for kind in ("exogenous", "endogenous", "joint"):
        if "misocp" not in curves.names(f"seconds/{kind}"):
            found.append(Claim(f"{kind}: the exact solver is 1,000 times faster", False, "SCIP is not installed here"))
            continue
        sizes = curves(f"seconds/{kind}", "misocp", "x").tolist()
        owners = 8.0 if 8.0 in sizes else max(sizes)
        slow, fast = (_at(curves, f"seconds/{kind}", solver, owners) for solver in ("misocp", "exact"))
        apart = float(curves(f"apart/{kind}", "misocp").max())
        found.append(
            Claim(
                f"{kind}: with {owners:.0f} owners the exact solver is 1,000 times faster, and says the same",
                slow >= 1000 * fast and apart <= 1e-6,
                f"{slow:.2f} s against {1000 * fast:.2f} ms: {slow / fast:,.0f} times; objectives {apart:.1g} apart",
            )
        )
    return found


def _at(curves: Curves, panel: str, curve: str, owners: float) -> float:
    return float(curves(panel, curve)[curves(panel, curve, "x") == owners][0])


FIGURE = Figure(
    name="solvers",
    title="Time of the program (MISOCP in SCIP) and of the exact solver",
    compute=compute,
    grid=tuple(
        tuple(f"{panel}/{kind}" for kind in ("exogenous", "endogenous", "joint")) for panel in ("seconds", "apart")
    ),
    panels={
        "seconds": Panel(
            "median time",
            "owners",
            "seconds",
            options={"log": True, "logy": True, "names": {"exact": "exact solver", "misocp": "program (SCIP)"}},
        ),
        "apart": Panel("objectives apart", "owners", "largest difference to exact"),
    },
    claims=claims,
    note="Times are of this machine, which had other work as well. Without the extra 'misocp' its curve is left out.",
)
