"""The report: one HTML file that needs nothing else, and tells what happened to somebody who was not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from kantor.demo.figures import Figures
from kantor.demo.story import Told
from kantor.writing import write_text

__all__ = ["write_report"]


def write_report(told: Told) -> Path:
    """Write report.html and summary.json; returns the report's place."""
    figures = Figures(told)
    page = Environment(
        loader=PackageLoader("kantor.demo", "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    ).get_template("report.html.j2")
    file = told.folder / "report.html"
    write_text(page.render(f=figures, told=told, money=figures.money, terms=told.terms), file)
    write_text(json.dumps(_summary(told, figures), indent=2) + "\n", told.folder / "summary.json")
    return file


def _summary(told: Told, figures: Figures) -> dict[str, Any]:
    return {
        "market": told.market,
        "owners": len(told.people),
        "bids": len(figures.rows),
        "bought": len(figures.winners),
        "spend": figures.spend,
        "budget": told.terms["rule"]["limit"],
        "bound": figures.bound,
        "distance_of_the_purchase": figures.off,
        "distance_without_noise": figures.off_without_noise,
        "seconds": round(told.scene.seconds, 1),
        "stages": {name: round(at, 2) for name, at in told.scene.reached.items()},
        "processes": told.processes,
        "verified": {each.kind: each.passed for each in told.verified},
    }
