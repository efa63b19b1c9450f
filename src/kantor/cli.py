"""Arguments in, outcomes out: the command line does no work of its own.

What a person reads goes to the terminal as a table; where standard output is not a terminal it is plain CSV, so that
pipes and files get data; with `--json` it is JSON. Errors go to standard error with exit code 2, and with `--json`
they are JSON too.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import kantor
from kantor.errors import InputError, KantorError
from kantor.owners.aggregation import Aggregate
from kantor.valuation.distances import METRICS, MetricName
from kantor.valuation.divergences import Density

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

__all__ = ["app", "main"]

_SHOWN = 40
_PATIENCE = 2.0

app = typer.Typer(
    name="kantor",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A market for differentially-private data: who to buy from, what to pay, and proof that it ran properly.",
    epilog="Start with:  kantor demo",
)


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit: 0 done, 1 the answer is no, 2 bad input."""
    given = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in given
    try:
        code = app(given, standalone_mode=not as_json)
    except KantorError as failure:
        _say(failure.as_dict() if as_json else f"kantor: {failure}")
        sys.exit(2)
    except OSError as failure:
        problem = f"standard output cannot be written ({failure.strerror or failure})"
        _say({"error": "OSError", "message": problem} if as_json else f"kantor: {problem}")
        os._exit(2)  # the interpreter would try to write the rest again
    except _UsageError as failure:
        _say({"error": "UsageError", "message": failure.format_message()})
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)


_UsageError: Any = typer.BadParameter.__mro__[1]


def _say(failure: str | dict[str, Any]) -> None:
    print(failure if isinstance(failure, str) else json.dumps(failure), file=sys.stderr)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"kantor {kantor.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which kantor this is.")
    ] = False,
) -> None:
    pass


@app.command()
def value(
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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """How far each owner's data lie from the target.

    Example: kantor value households.csv --ignore day --out distances.csv
    """
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
    with _Progress("Valuing owners", quiet=as_json) as progress:
        numbers = distances(market, goal, metric, aggregate, progress=progress, **options)
    table = _table({"owner": market.names, "distance": numbers})
    if out is not None:
        write_table(table, out)
    about = {
        "metric": metric,
        "target": aggregate if target is None else str(target),
        "units": METRICS[metric].units,
        "out": None if out is None else str(out),
    }
    _show(table, about, as_json)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="The folder to write to; made if missing.")] = Path("kantor-demo"),
) -> None:
    """Value a small shipped population: a table, a figure, and what they say."""
    from kantor.demo import run_demo

    run_demo(out, _console())


def _table(columns: dict[str, Any]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(columns)


def _console(stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def _show(table: pl.DataFrame, about: dict[str, Any], as_json: bool) -> None:
    """The outcome, in the form that whoever reads standard output expects."""
    if as_json:
        rows = [{k: _plain(v) for k, v in row.items()} for row in table.iter_rows(named=True)]
        print(json.dumps({**about, "owners": rows}))
    elif sys.stdout.isatty():
        _show_table(table, about)
    else:
        sys.stdout.write(table.write_csv())
        sys.stdout.flush()


def _plain(cell: Any) -> Any:
    """JSON has no infinity: null stands for it."""
    return None if isinstance(cell, float) and cell in (float("inf"), float("-inf")) else cell


def _show_table(table: pl.DataFrame, about: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    console = _console()
    label = METRICS[about["metric"]].label
    shown = Table(title=Text(f"{label} distance from {about['target']}"), title_justify="left")
    shown.add_column("owner")
    shown.add_column(f"distance ({about['units']})", justify="right")
    for owner, distance in table.head(_SHOWN).iter_rows():
        shown.add_row(Text(owner), f"{distance:.6g}")
    console.print(shown)
    if table.height > _SHOWN:
        console.print(f"... and {table.height - _SHOWN:,} more: --out FILE writes all {table.height:,}.")
    if about["out"]:
        console.print(f"Written to {about['out']}.", markup=False)


class _Progress:
    """A progress bar on standard error, for whoever has waited longer than two seconds."""

    def __init__(self, label: str, quiet: bool) -> None:
        self.label, self.quiet = label, quiet or not sys.stderr.isatty()
        self._started = time.monotonic()
        self._bar: Any = None

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, whole: int) -> None:
        if self._bar is None and not self.quiet and time.monotonic() - self._started > _PATIENCE:
            self._bar = self._start(whole)
        if self._bar is not None:
            self._bar.update(0, completed=done)

    def _start(self, whole: int) -> Any:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        bar = Progress(*columns, console=_console(stderr=True), transient=True)
        bar.add_task(self.label, total=whole)
        bar.start()
        return bar
