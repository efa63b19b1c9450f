"""`kantor clear`: whom to buy from, and what to pay."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
from kantor.terminal import Progress, is_terminal, print_json, say

if TYPE_CHECKING:
    from kantor.clearing.outcome import Clearing
    from kantor.clearing.takes import WhatItTakes

__all__ = ["command"]


def command(
    bids: BidsFile,
    mechanism: Annotated[
        MechanismName,
        typer.Option(
            help="exogenous: the best data that a budget buys. endogenous: the best data with loss and payments within "
            "the reference loss. joint: the least sum of loss and payments."
        ),
    ],
    budget: Budget = None,
    reference_loss: ReferenceLoss = None,
    lipschitz: Lipschitz = None,
    confidence: Confidence = 0.95,
    population: PopulationKind = "finite",
    population_size: PopulationSize = None,
    feasibility: FeasibilityOf = None,
    payments: PaymentsBy = "threshold",
    prior: PriorOf = None,
    solver: Annotated[
        str, typer.Option(help="exact; to check it: enumerate (20 owners at most), misocp, or misocp:SOLVER.")
    ] = "exact",
    work_limit: Annotated[
        int | None, typer.Option(help="The most nodes to search: a clearing that stops early is still reproducible.")
    ] = None,
    explain: Annotated[
        list[str] | None,
        typer.Option(metavar="OWNER", help="Say what it would take for this owner to be bought. May be repeated."),
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            help="Write the result to this .csv, .parquet or .json file (for `kantor audit`). May be repeated."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Whom to buy from, and what to pay.

    Example: kantor clear bids.csv --mechanism joint --reference-loss 2 --out clearing.json
    """
    from kantor.clearing.clear import clear
    from kantor.clearing.takes import what_it_takes
    from kantor.writing import check_destination

    files = out or []
    for file in files:
        check_destination(file, (".csv", ".parquet", ".json"), keep=(bids,))
    rule = mechanism_of(mechanism, budget, reference_loss, lipschitz, feasibility)
    market = read_bids(bids, prior)
    for owner in explain or ():
        market.place(owner)  # an error, if there is none, before any work
    with Progress(f"Clearing {len(market):,} owners", quiet=as_json):
        c = clear(market, rule, confidence, population, population_size, payments, solver, work_limit)
        explained = [what_it_takes(c, owner) for owner in explain or ()]
    for file in files:
        _write(c, file)
    if as_json:
        known = {"explained": [one.as_dict() for one in explained]} if explained else {}
        print_json({**c.as_dict(), **known})
    else:
        _show(c, explained, files)


def _write(c: Clearing, file: Path) -> None:
    from kantor.writing import write_table, write_text

    if file.suffix.lower() == ".json":
        write_text(c.to_json() + "\n", file)
    else:
        write_table(c.to_frame(), file)


def _show(c: Clearing, explained: list[WhatItTakes], files: list[Path]) -> None:
    """All owners to a program, with the summary on stderr; the winners and the summary to a person."""
    if not is_terminal():
        show_rows(c.to_frame(), "", [])
        say(str(c), stderr=True)
        for one in explained:
            say(str(one), stderr=True)
        return
    winners = c.to_frame().filter(c.selected).select("owner", "payment", "reserve", "distance", "virtual")
    if winners.height:
        show_rows(winners, "Bought", ["owner", "is paid", "asked for", "distance", "virtual cost"])
    say(str(c))
    for one in explained:
        say(str(one))
    if not explained and winners.height < len(c.bids):
        say("What it would take for an owner to be bought: --explain OWNER.")
    for file in files:
        say(f"Written to {file}.")
