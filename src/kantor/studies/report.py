"""The report: every figure, what the paper says of it, whether this run agrees, and where text and run part ways.

It reads the tables that a run has left, both variants', and decides everything from them: no verdict and no number on
the page is written by hand. The page stands alone, drawings included.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kantor.errors import InputError
from kantor.studies.catalogue import BEYOND, FIGURES, figure_of
from kantor.studies.figure import Claim, Difference, Figure
from kantor.studies.frames import Curves, read_frame
from kantor.studies.page import page
from kantor.studies.running import is_complete, stem
from kantor.studies.setting import Setting
from kantor.writing import write_text

__all__ = ["Section", "sections", "write_report"]


@dataclass(frozen=True)
class Section:
    """One study on the page."""

    figure: Figure
    claims: list[Claim]
    otherwise: dict[str, Claim]
    """Those that are decided otherwise as described, by what they say."""
    differences: list[Difference]
    drawing: str
    """An SVG as a data address."""
    described: str | None
    """The same as described, where that differs."""
    provenance: dict[str, Any]


def write_report(folder: Path, setting: Setting) -> Path:
    """The page, from complete studies in this folder."""
    path = folder / "report.html"
    write_text(page(sections(folder, setting), setting), path)
    return path


def sections(folder: Path, setting: Setting) -> list[Section]:
    """What the page is made of."""
    return [_section(name, folder, setting) for name in (*FIGURES, *BEYOND)]


def _section(name: str, folder: Path, setting: Setting) -> Section:
    published = replace(setting, variant="as-published")
    figure, ours = figure_of(name), _curves(name, folder, published)
    claims, otherwise, differences, described = figure.claims(ours), {}, [], None
    if name not in BEYOND:
        text = replace(setting, variant="as-described")
        theirs = _curves(name, folder, text)
        differences = figure.differences(ours, theirs)
        held = {claim.said: claim.holds for claim in claims}
        otherwise = {claim.said: claim for claim in figure.claims(theirs) if held.get(claim.said) != claim.holds}
        described = _address(folder / f"{stem(name, text)}.svg") if differences else None
    base = folder / stem(name, published)
    provenance = json.loads(base.with_name(f"{base.name}.provenance.json").read_text(encoding="utf-8"))
    drawing = _address(base.with_name(f"{base.name}.svg"))
    return Section(figure, claims, otherwise, differences, drawing, described, provenance)


def _curves(name: str, folder: Path, setting: Setting) -> Curves:
    if not is_complete(name, folder, setting):
        raise InputError(
            f"{stem(name, setting)} is not complete with {setting.trials} trials of {setting.owners} owners",
            remedy="Run `kantor study report` with this folder.",
            file=folder,
        )
    return Curves(read_frame(folder / f"{stem(name, setting)}.csv"))


def _address(path: Path) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(path.read_bytes()).decode("ascii")
