"""`kantor plan`: what would another budget, confidence or reference loss have bought?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from kantor.clearing.planner import Plan, Sweep
from kantor.commands.options import (
    BidsFile,
    Budget,
    Confidence,
    FeasibilityOf,
    Json,
    Lipschitz,
    MechanismName,
    PaymentsBy,
    PopulationKind,
    PopulationSize,
    PriorOf,
    ReferenceLoss,
    mechanism_of,
    read_bids,
    show_rows,
)
from kantor.errors import InputError
from kantor.terminal import Progress, is_terminal, print_json, say

__all__ = ["command"]

_TABLES, _FIGURES = (".csv", ".parquet"), (".png", ".svg", ".pdf")


def command(
    bids: BidsFile,
    mechanism: Annotated[MechanismName, typer.Option(help="How the market is cleared.")] = "exogenous",
    sweep: Annotated[Sweep | None, typer.Option(help="What to vary.", show_default="budget, or reference_loss")] = None,
    start: Annotated[float | None, typer.Option("--from", help="The first value.", show_default="0")] = None,
    stop: Annotated[
        float | None, typer.Option("--to", help="The last value.", show_default="where more buys no more")
    ] = None,
    steps: Annotated[int, typer.Option(min=2, help="How many values.")] = 25,
    budget: Budget = None,
    reference_loss: ReferenceLoss = None,
    lipschitz: Lipschitz = None,
    confidence: Confidence = 0.95,
    population: PopulationKind = "finite",
    population_size: PopulationSize = None,
    feasibility: FeasibilityOf = None,
    payments: PaymentsBy = "threshold",
    prior: PriorOf = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(help="Write a table (.csv, .parquet), a figure (.png, .svg, .pdf) or .json. May be repeated."),
    ] = None,
    as_json: Json = False,
) -> None:
    """What money buys: the market cleared at many budgets, reference losses or confidences.

    Example: kantor plan bids.csv --out frontier.png
    """
    from kantor.clearing.planner import plan
    from kantor.writing import check_destination

    files = out or []
    for file in files:
        check_destination(file, (*_TABLES, *_FIGURES, ".json"), keep=(bids,))
    if sweep != "confidence":  # the limit is what is varied, so it need not be given
        _not_swept("--budget" if mechanism == "exogenous" else "--reference-loss", budget, reference_loss)
        if mechanism == "exogenous":
            budget = 0.0
        else:
            reference_loss = 0.0
    rule = mechanism_of(mechanism, budget, reference_loss, lipschitz, feasibility)
    market = read_bids(bids, prior)
    with Progress("Planning", quiet=as_json) as progress:
        found = plan(
            market,
            rule,
            sweep,
            _values(start, stop, steps),
            confidence=confidence,
            population=population,
            population_size=population_size,
            payments=payments,
            progress=progress,
        )
    for file in files:
        _write(found, file)
    if as_json:
        print_json(found.as_dict())
    else:
        _show(found, files)


def _not_swept(option: str, budget: float | None, reference_loss: float | None) -> None:
    given = budget if option == "--budget" else reference_loss
    if given is not None:
        raise InputError(
            f"{option} {given:g} was given, and {option} is what is varied",
            remedy="Leave it out and give --from and --to, or vary another parameter: --sweep confidence.",
            argument=option,
        )


def _values(start: float | None, stop: float | None, steps: int) -> int | list[float]:
    if stop is None:
        if start is not None:
            raise InputError("--from was given without --to", remedy="Give both, or neither.", argument="--from")
        return steps
    first = 0.0 if start is None else start
    if not 0 <= first < stop < float("inf"):
        raise InputError(
            f"the values run from {first:g} to {stop:g}", remedy="Give a --to above --from, both at least 0."
        )
    return list(np.linspace(first, stop, steps).tolist())


def _write(found: Plan, file: Path) -> None:
    import json

    from kantor.writing import write_table, write_text

    if file.suffix.lower() in _FIGURES:
        found.draw(file)
    elif file.suffix.lower() == ".json":
        write_text(json.dumps(found.as_dict()) + "\n", file)
    else:
        write_table(found.to_frame(), file)


def _show(found: Plan, files: list[Path]) -> None:
    headings = [found.sweep.replace("_", " "), "bought", "spend", "bound", "objective", "gap"]
    show_rows(found.to_frame(), f"{found.kind}, {found.payments} payments", headings)
    if is_terminal():
        say(found.said_of_nothing)
        for file in files:
            say(f"Written to {file}.")
