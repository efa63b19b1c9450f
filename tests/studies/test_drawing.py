"""Every figure draws from its table, names its panels and curves as agreed, and decides its claims."""

import pytest

import kantor as kt
from kantor.studies.catalogue import figure_of
from kantor.studies.drawing import draw
from kantor.studies.frames import Curves, read_frame
from kantor.studies.metrics import METRICS

FAMILIES = ("gaussian", "uniform", "exponential")
RHOS = ("rho=-1", "rho=0", "rho=1")
LEVELS = "SHAP CEN_IR CEN_IC CEN_W CEN_DP FIN INF"


def over(panels, parts):
    return [f"{panel}/{part}" for panel in panels.split() for part in parts]


AGREED = {
    "fig03": {**dict.fromkeys(over("mean scatter", FAMILIES), "W MAE RMSE NV MPL90 MPL70")},
    "fig04": dict.fromkeys(over("correlation better", FAMILIES), " ".join(METRICS)),
    "fig05": {"distances": "W KLD KS TVD JSD", "losses": " ".join(METRICS[5:]), "misallocation": "W KLD KS TVD JSD"},
    "fig06": {
        **dict.fromkeys(over("average", FAMILIES), "W INF FIN"),
        **dict.fromkeys(over("delta-inf delta-fin", FAMILIES), "0.99 0.95 0.9 0.75 0.5 0.25 0.1"),
    },
    "fig07": {
        **dict.fromkeys(over("minimiser", FAMILIES), "W minW minINF minFIN"),
        **dict.fromkeys(over("correlation shapley", FAMILIES), "W INF FIN"),
    },
    "fig09": dict.fromkeys(over("cen fin", RHOS), "W KLD KS TVD JSD"),
    "fig10": dict.fromkeys(RHOS, "epsilon W exact bound"),
    "fig11": dict.fromkeys(
        over("expected-loss expected-cost actual-cost", RHOS), "joint endogenous exogenous reference"
    ),
    "fig12": {
        **dict.fromkeys(over("improvement error", RHOS), "FIN INF CEN_W CEN_M"),
        **dict.fromkeys(over("tasks", RHOS), "MAE RMSE MPL90 MPL80"),
    },
    "fig13": dict.fromkeys(RHOS, "actual modelled CEN reference"),
    "fig14": dict.fromkeys(RHOS, "0.999 0.99 0.95 0.9 0.75 0.5 0.25 0.1 0.001"),
    "fig15": dict.fromkeys(("mae", "rmse", "mpl90", "mpl80"), LEVELS),
}


@pytest.mark.parametrize("name", AGREED)
def test_panels_and_curves_are_named_as_agreed(curves, name):
    for panel, names in AGREED[name].items():
        assert curves(name).names(panel) == names.split(), panel


_EVERY_KIND = ("fig03", "fig05", "fig15")


@pytest.mark.parametrize(
    "name", [name if name in _EVERY_KIND else pytest.param(name, marks=pytest.mark.slow) for name in AGREED]
)
def test_figures_are_drawn_from_a_file_alone(curves, name, tmp_path):
    """The file read back is all that drawing sees; every panel of the layout is in it."""
    curves(name).frame.write_csv(tmp_path / "figure.csv")
    canvas = draw(figure_of(name), Curves(read_frame(tmp_path / "figure.csv")))
    shown = [axes for axes in canvas.axes if axes.get_title()]
    assert len(shown) == sum(len(row) for row in figure_of(name).grid)
    assert all(axes.has_data() for axes in shown)


@pytest.mark.parametrize("name", AGREED)
def test_claims_are_decided_with_evidence(curves, name):
    for claim in kt.studies.claims(name, curves(name).frame):
        assert isinstance(claim.holds, bool)
        assert claim.evidence


def test_the_claims_that_the_issue_names(curves):
    found = {claim.said: claim.holds for claim in kt.studies.claims("fig12", curves("fig12").frame)}
    assert found["INF pays for its bias at price 0: it does not buy everything that is free"]


@pytest.mark.parametrize("name", [name for name in AGREED if name not in ("fig03", "fig04", "fig05", "fig11")])
def test_differences_have_sizes(case, curves, name):
    described = case.as_variant("as-described")
    other = Curves(kt.studies.frame(name, case=described))
    for difference in figure_of(name).differences(curves(name), other):
        assert any(mark.isdigit() for mark in difference.size), difference


def test_a_mechanism_of_ones_own_joins_in():
    class Everybody(kt.Mechanism):
        def __init__(self, budget):
            self.budget = budget

        def decide(self, bids, rules):
            return kt.Decision(selected=bids.reserve >= 0, payments=bids.reserve)

    table = kt.studies.frame("fig08", trials=2, owners=3, mechanisms={"ALL": lambda budget: Everybody(budget)})
    found = Curves(table)
    assert found("number/rho=0", "ALL").tolist() == [3.0] * 10
    assert found("wd/rho=0", "ALL") == pytest.approx(0, abs=1e-12)


def test_unknown_names():
    with pytest.raises(kt.errors.InputError, match="no figure is called"):
        kt.studies.frame("fig99")
