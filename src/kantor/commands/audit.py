"""`kantor audit`: does a clearing keep what the mechanism promises?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kantor.commands.options import BidsFile, Json
from kantor.errors import InputError
from kantor.terminal import Progress, is_terminal, print_json, say

__all__ = ["command"]


def command(
    bids: BidsFile,
    clearing: Annotated[
        Path, typer.Argument(metavar="CLEARING.json", help="What `kantor clear BIDS --out CLEARING.json` wrote.")
    ],
    owners: Annotated[
        list[str] | None,
        typer.Option("--owner", metavar="OWNER", help="Audit this owner's prices. May be repeated."),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(
            "--owners", min=1, help="Audit so many owners, half of them winners.", show_default="up to 64, by size"
        ),
    ] = None,
    reports: Annotated[
        int, typer.Option(min=2, help="How many quantiles of an owner's prior to try, besides its critical points.")
    ] = 16,
    draws: Annotated[
        int | None,
        typer.Option(
            help="How many markets to draw from the priors, to see what is spent on average. 0 for none.",
            show_default="200, fewer in large markets",
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the interval over those draws.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="The same seed tries the same lies.")] = 0,
    sensitivity: Annotated[
        float | None, typer.Option(help="That of the noise in the distances, to show what an overstated epsilon does.")
    ] = None,
    delta: Annotated[float | None, typer.Option(help="That of the noise, if it is Gaussian.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the audit to this .json file, or the prices that gain to this .csv or .parquet file."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Does a clearing keep what the mechanism promises? Exit code 1 if a promise is shown broken.

    Prices are changed, the market is cleared again, and somebody is better off or not. How payments were computed is
    not asked.

    Example: kantor audit bids.csv clearing.json
    """
    from kantor.clearing.audit import audit
    from kantor.clearing.reading import read_clearing
    from kantor.writing import check_destination, write_table, write_text

    if owners and count is not None:
        raise InputError("--owner and --owners were both given", remedy="Name owners, or say how many; not both.")
    if out is not None:
        check_destination(out, (".json", ".csv", ".parquet"), keep=(bids, clearing))
    c = read_clearing(clearing, bids)
    with Progress("Auditing", quiet=as_json) as progress:
        found = audit(
            c.bids,
            c,
            owners=owners or count,
            reports=reports,
            draws=draws,
            confidence=confidence,
            seed=seed,
            sensitivity=sensitivity,
            delta=delta,
            progress=progress,
        )
    if out is not None:
        if out.suffix.lower() == ".json":
            write_text(found.to_json() + "\n", out)
        else:
            write_table(found.to_frame(), out)
    if as_json:
        print_json(found.to_dict())
    else:
        say(str(found))
        if out is not None and is_terminal():
            say(f"Written to {out}.")
    raise typer.Exit(0 if found.passed else 1)
