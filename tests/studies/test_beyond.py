"""Studies beyond the paper: each gives a table that its layout can draw, and claims decided by it."""

import numpy as np
import pytest

import kantor as kt
from kantor.studies.beyond import feasibility, growth, payments, solvers
from kantor.studies.catalogue import figure_of
from kantor.studies.drawing import draw
from kantor.studies.figure import Case
from kantor.studies.frames import Curves
from kantor.studies.setting import Setting


def curves_of(name, case):
    table = kt.studies.frame(name, case=case)
    assert Curves(table).panels() == [panel for row in figure_of(name).grid for panel in row]
    for claim in kt.studies.claims(name, table):
        assert isinstance(claim.holds, bool)
        assert claim.evidence
    return Curves(table)


def test_coverage_is_that_of_the_library(case):
    """Figures of docs/decisions/0002, and one trial through kt.coverage."""
    found = curves_of("coverage", case)
    assert (100 * found("all/gaussian", "0.95")[1:7]).round().tolist() == [89, 86, 86, 86, 86, 88]
    assert (100 * found("nearest/gaussian", "0.95")[1:7]).round().tolist() == [96, 92, 78, 68, 58, 18]
    assert (found("all/gaussian", "0.95", "lower") <= found("all/gaussian", "0.95")).all()


def test_wrong_reference_budgets(case):
    """The joint mechanism buys the same at every budget above the one at which it buys at all."""
    found = curves_of("reference", case)
    for rho in ("rho=-1", "rho=0", "rho=1"):
        assert (np.diff(found(f"number/{rho}", "endogenous")) >= -1e-9).all()
        assert found(f"worse/{rho}", "joint")[:3].max() == 0
        assert found(f"cost/{rho}", "joint")[-1] == pytest.approx(found(f"cost/{rho}", "joint")[-2], abs=1e-9)


def test_growth(monkeypatch):
    class Cheap(kt.Mechanism):
        def __init__(self, budget):
            self.budget = budget

        def decide(self, bids, rules):
            selected = np.cumsum(np.sort(bids.reserve)) <= self.budget
            order = np.argsort(bids.reserve)
            chosen = np.zeros(len(bids), dtype=bool)
            chosen[order[selected]] = True
            return kt.Decision(selected=chosen, payments=np.where(chosen, bids.reserve, 0))

    monkeypatch.setattr(growth, "_SIZES", (8, 40))
    table = kt.studies.frame("growth", trials=2, mechanisms={"CHEAP": lambda budget: Cheap(budget)})
    found = Curves(table)
    assert found.names("wd") == ["RAND", "PTAS", "SMQ", "CLOCK", "INF", "FIN", "CHEAP"]
    assert (found("spend", "CLOCK") <= 1 + 1e-9).all()
    assert (found("share", "CHEAP") >= found("share", "RAND") - 1e-9).all()


def test_feasibility(monkeypatch):
    monkeypatch.setattr(feasibility, "_SHARES", np.array([0.1, 0.4]))
    monkeypatch.setattr(feasibility, "_DRAWS", 4)
    found = curves_of("feasibility", Case(Setting(trials=1, owners=4)))
    assert found("wd", "interim").shape == (2,)


@pytest.mark.slow
def test_payments(monkeypatch):
    """Virtual payments are there to be misreported; the clock never overruns."""
    monkeypatch.setattr(payments, "_SHARES", np.array([0.4]))
    found = curves_of("payments", Case(Setting(trials=2, owners=5)))
    for name in ("exogenous", "endogenous", "joint"):
        assert found(f"overrun/{name}", "clock") == 0
        assert found(f"gain/{name}", "threshold") < 1e-9


@pytest.mark.slow
def test_solvers_agree(monkeypatch):
    monkeypatch.setattr(solvers, "_SIZES", {"exact": (4, 5), "enumerate": (4, 5), "misocp": (4,)})
    monkeypatch.setattr(solvers, "_MARKETS", 1)
    found = curves_of("solvers", Case(Setting(trials=1)))
    for kind in ("exogenous", "endogenous", "joint"):
        assert found(f"apart/{kind}", "enumerate").max() < 1e-9
        assert found(f"apart/{kind}", "misocp").max() < 1e-6


@pytest.mark.slow
def test_bands_and_logarithms_draw(case):
    for name in ("coverage", "reference"):
        assert draw(figure_of(name), Curves(kt.studies.frame(name, case=case))).axes
