"""Every study by name: the figures of the paper, and what goes beyond it."""

from __future__ import annotations

from importlib import import_module

from kantor.errors import InputError
from kantor.studies.figure import Figure

__all__ = ["BEYOND", "FIGURES", "figure_of", "named"]

_MODULES = {
    "fig03": "figures.fig03_lipschitz_bounds",
    "fig04": "figures.fig04_task_correlations",
    "fig05": "figures.fig05_shapley_allocations",
    "fig06": "figures.fig06_hoeffding_bounds",
    "fig07": "figures.fig07_hoeffding_choices",
    "fig08": "figures.fig08_exogenous_budgets",
    "fig09": "figures.fig09_other_distances",
    "fig10": "figures.fig10_privacy_and_heterogeneity",
    "fig11": "figures.fig11_objectives",
    "fig12": "figures.fig12_benchmarks_and_tasks",
    "fig13": "figures.fig13_risk_one_trial",
    "fig14": "figures.fig14_risk_average",
    "fig15": "figures.fig15_levels_of_approximation",
    "coverage": "beyond.coverage",
    "payments": "beyond.payments",
    "feasibility": "beyond.feasibility",
    "reference": "beyond.reference",
    "growth": "beyond.growth",
    "solvers": "beyond.solvers",
}
FIGURES = tuple(name for name, module in _MODULES.items() if module.startswith("figures."))
"""The figures of the paper."""
BEYOND = tuple(name for name in _MODULES if name not in FIGURES)
"""Studies beyond the paper."""


def figure_of(name: str) -> Figure:
    """One study."""
    if name not in _MODULES:
        raise InputError(
            f"no figure is called {name!r}",
            remedy=f"Choose {FIGURES[0]} to {FIGURES[-1]}, {', '.join(BEYOND)}; all or beyond for several.",
            value=name,
            argument="FIGURE",
        )
    found: Figure = import_module(f"kantor.studies.{_MODULES[name]}").FIGURE
    return found


def named(name: str) -> tuple[str, ...]:
    """One study, "all" of the paper, or everything "beyond" it."""
    if name in ("all", "beyond"):
        return FIGURES if name == "all" else BEYOND
    return (figure_of(name).name,)
