"""`kantor study`: the paper's figures, and what goes beyond them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, get_args

import typer

from kantor.studies.setting import SEED, Setting, Variant
from kantor.terminal import Progress, is_terminal, say

__all__ = ["command"]


def command(
    figure: Annotated[
        str,
        typer.Argument(
            metavar="FIGURE",
            help="fig03 … fig15; coverage, payments, feasibility, reference, growth or solvers (beyond the paper); "
            "all (of the paper); beyond (all of these); report (everything, as one HTML page).",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write to; made if missing.")],
    variant: Annotated[
        Variant, typer.Option(help="Where the published run and the paper's text differ: which to follow.")
    ] = "as-published",
    trials: Annotated[int, typer.Option(help="How many populations.")] = 50,
    owners: Annotated[int, typer.Option(help="How many owners each has, 3 to 12.")] = 8,
    seed: Annotated[int, typer.Option(help="Where random numbers start.")] = SEED,
    jobs: Annotated[
        int | None, typer.Option(help="How many processes work at it.", show_default="one for each core")
    ] = None,
) -> None:
    """Make figures of the paper: for each a table (CSV), a drawing (SVG, PNG) and a line of provenance.

    What is complete is not made again, so a run that was stopped goes on where it was.

    Example: kantor study fig12 --out figures
    """
    from kantor.studies.catalogue import BEYOND, FIGURES, named
    from kantor.studies.running import run, stem

    setting = Setting(trials=trials, owners=owners, seed=seed, variant=variant)
    workers = jobs if jobs is not None else os.cpu_count() or 1
    try:
        if figure == "report":
            _report(out, setting, workers)
            return
        names = named(figure)
        with Progress(f"Studying {figure}") as progress:
            made = run(names, out, setting, workers, progress)
    except KeyboardInterrupt:
        say(f"Stopped. What is complete is in {out}; the same command goes on from there.", stderr=True)
        raise typer.Exit(130) from None
    if is_terminal():
        for name in names:
            how = "written" if name in made else "was complete"
            say(f"{out / stem(name, setting)}.csv, .svg, .png: {how}")
        if set(names) == set(FIGURES):
            say(f"Beyond the paper: kantor study beyond --out {out} ({', '.join(BEYOND)})")


def _report(out: Path, setting: Setting, jobs: int) -> None:
    """Everything in both variants, and the page."""
    from dataclasses import replace

    from kantor.studies.catalogue import BEYOND, FIGURES
    from kantor.studies.report import write_report
    from kantor.studies.running import run

    for variant in get_args(Variant):
        names = FIGURES if variant == "as-described" else FIGURES + BEYOND
        with Progress(f"Studying {variant}") as progress:
            run(names, out, replace(setting, variant=variant), jobs, progress)
    path = write_report(out, setting)
    if is_terminal():
        say(f"Written to {path}.")
