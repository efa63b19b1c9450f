"""`kantor value`: how far owners' data lie from a target."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kantor.commands.options import Json, show_rows
from kantor.errors import InputError
from kantor.owners.aggregation import Aggregate
from kantor.terminal import Progress, is_terminal, print_json, say
from kantor.valuation.distances import METRICS, MetricName
from kantor.valuation.divergences import Density

__all__ = ["command"]


def command(
    owners: Annotated[
        Path, typer.Argument(help="CSV or Parquet: a column for each owner, or the columns owner and value.")
    ],
    target: Annotated[
        Path | None, typer.Option(help="A file with one column of numbers. Default: the owners' own aggregate.")
    ] = None,
    metric: Annotated[MetricName, typer.Option(help="The distance.")] = "wasserstein",
    aggregate: Annotated[
        Aggregate, typer.Option(help="What the owners' data make together, where no target is given.")
    ] = "euclidean",
    density: Annotated[Density, typer.Option(help="How kl, js and tv estimate densities.")] = "histogram",
    bins: Annotated[
        int | None, typer.Option(min=1, help="Number of histogram bins. Default: by the Freedman-Diaconis rule.")
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="A column that is no owner's, such as a time stamp.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write owner,distance to this .csv or .parquet file.")] = None,
    as_json: Json = False,
) -> None:
    """How far each owner's data lie from the target.

    Example: kantor value households.csv --ignore day --out distances.csv
    """
    import polars as pl

    from kantor.owners.files import read_owners, read_target
    from kantor.valuation.distances import distances
    from kantor.writing import check_destination, write_table

    if out is not None:
        check_destination(out, keep=(owners, target))
    options: dict[str, Any] = {}
    if metric in ("kl", "js", "tv"):
        options = {"density": density, **({} if bins is None else {"bins": bins})}
    elif bins is not None or density != "histogram":
        raise InputError(
            f"--density and --bins have no meaning for --metric {metric}",
            remedy="Leave them out, or choose kl, js or tv.",
        )
    market = read_owners(owners, ignore=ignore or ())
    goal = None if target is None else read_target(target)
    with Progress("Valuing owners", quiet=as_json) as progress:
        numbers = distances(market, goal, metric, aggregate, progress=progress, **options)
    table = pl.DataFrame({"owner": market.names, "distance": numbers})
    if out is not None:
        write_table(table, out)
    units, goal_name = METRICS[metric].units, aggregate if target is None else str(target)
    if as_json:
        written = None if out is None else str(out)
        about = {"metric": metric, "target": goal_name, "units": units, "out": written}
        print_json({**about, "owners": table.to_dicts()})
        return
    title = f"{METRICS[metric].label} distance from {goal_name}"
    show_rows(table, title, ["owner", f"distance ({units})"])
    if out is not None and is_terminal():
        say(f"Written to {out}.")
