"""One look for all figures: the same colour, marker and line for a name wherever it appears.

Colours are those of Okabe and Ito, which people with any kind of colour vision can tell apart; marker and line differ
as well, so that a figure survives a grey printer. Confidences and quantile levels are steps of one scale.
"""

from __future__ import annotations

from typing import Any

__all__ = ["FONT", "NAMES", "SETTINGS", "style_of"]

_BLACK, _ORANGE, _SKY, _GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
_BLUE, _RED, _PURPLE, _GREY = "#0072B2", "#D55E00", "#CC79A7", "#777777"

FONT = 8.5
SETTINGS = {
    "font.size": FONT,
    "axes.titlesize": FONT + 0.5,
    "axes.labelsize": FONT,
    "legend.fontsize": FONT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "kantor",
}

_STYLES: dict[str, tuple[str, str, str]] = {
    "FIN": (_BLUE, "o", "-"),
    "INF": (_SKY, "s", "--"),
    "CEN": (_BLACK, "^", "-"),
    "CEN_M": (_BLACK, "^", "-"),
    "CEN_W": (_ORANGE, "v", "-."),
    "CEN_IR": (_GREY, "^", "-"),
    "CEN_IC": (_BLACK, "^", "-"),
    "CEN_DP": (_RED, "v", "-"),
    "SHAP": (_PURPLE, "P", "-"),
    "RAND": (_GREY, "", ":"),
    "PTAS": (_GREEN, "D", "-."),
    "CLOCK": (_ORANGE, "v", "-"),
    "SMQ": (_PURPLE, "X", "--"),
    "W": (_BLACK, "o", "-"),
    "KLD": (_RED, "s", "--"),
    "KS": (_ORANGE, "^", "-."),
    "TVD": (_GREEN, "D", ":"),
    "JSD": (_BLUE, "v", "-"),
    "MAE": (_BLUE, "o", "-"),
    "RMSE": (_RED, "s", "--"),
    "NV": (_GREEN, "^", "-."),
    "minW": (_ORANGE, "v", "-."),
    "minINF": (_SKY, "s", "--"),
    "minFIN": (_BLUE, "o", "-"),
    "joint": (_BLUE, "o", "-"),
    "endogenous": (_GREEN, "D", "--"),
    "exogenous": (_RED, "s", "-."),
    "reference": (_GREY, "", ":"),
    "actual": (_BLUE, "o", "-"),
    "modelled": (_ORANGE, "s", "--"),
    "epsilon": (_ORANGE, "^", "-."),
    "enumerate": (_RED, "s", "--"),
    "misocp": (_GREEN, "D", "-."),
    "exact": (_BLACK, "D", ":"),
    "bound": (_BLUE, "o", "-"),
}
_OTHERS = ((_BLUE, "o", "-"), (_RED, "s", "--"), (_GREEN, "D", "-."), (_PURPLE, "X", ":"), (_ORANGE, "^", "-"))
_MARKERS = "os^DvXP<>"

NAMES = {"reference": "reference budget"}
"""What a curve is called in any legend, where its own name is not clear; a panel may have names of its own."""


def style_of(name: str, place: int, among: list[str]) -> dict[str, Any]:
    """Colour, marker and line of a curve, from its name, or from its place among curves that are steps of a scale."""
    steps = [other for other in among if _is_step(other)]
    if name in steps:
        place = steps.index(name)
        return {"color": _scale(place, len(steps)), "marker": _MARKERS[place % len(_MARKERS)], "linestyle": "-"}
    colour, marker, line = _STYLES.get(name) or _OTHERS[place % len(_OTHERS)]
    return {"color": colour, "marker": marker, "linestyle": line}


def _is_step(name: str) -> bool:
    return name.startswith("MPL") or name.replace(".", "", 1).isdigit()


def _scale(place: int, count: int) -> Any:
    from matplotlib import colormaps

    return colormaps["viridis"](0.86 * place / max(1, count - 1))
