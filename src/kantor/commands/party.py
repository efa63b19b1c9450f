"""`kantor party`: compute parties, for distances that are computed without showing the data."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from kantor.commands.options import Json, show_rows
from kantor.errors import InputError
from kantor.terminal import Progress, is_terminal, print_json, say

if TYPE_CHECKING:
    from kantor.private.client import Valuation
    from kantor.private.identity import Address
    from kantor.private.methods import Method

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    help="Compute parties: three of them value owners' data together, and none of them sees any.",
)

MethodName: TypeAlias = Literal["histogram", "aligned", "parameters"]
Folder: TypeAlias = Annotated[Path, typer.Argument(help="The folder with the roster and the keys.")]
Patience: TypeAlias = Annotated[float, typer.Option(min=0.5, help="Seconds to wait for a message before giving up.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", help="Say nothing.")]


@app.command()
def keys(
    folder: Annotated[Path, typer.Argument(help="The folder to write to; made if missing.")],
    address: Annotated[
        list[str] | None,
        typer.Option(help="host:port of a party, three times. Default: three free ports of this machine."),
    ] = None,
) -> None:
    """Make keys for three parties and a market, and the roster that everybody knows them by.

    Example: kantor party keys parties --address a.example:7001 --address b.example:7001 --address c.example:7001
    """
    from kantor.private.identity import make_keys
    from kantor.private.trio import free_addresses
    from kantor.writing import make_folder

    places = free_addresses() if address is None else tuple(_address(text) for text in address)
    make_keys(make_folder(folder), places)
    say(
        f"Written to {folder}: roster.json, for everybody; party1.pem, party2.pem, party3.pem, market.pem, all secret. "
        "Take each key to its machine, beside the roster, and leave no copy here: whoever has two parties' keys "
        "can stand in for both."
    )


@app.command()
def start(
    folder: Folder,
    number: Annotated[int, typer.Option(min=1, max=3, help="Which party this is.")],
    patience: Patience = 60.0,
    quiet: Quiet = False,
) -> None:
    """Run one party until it is stopped."""
    from kantor.private.identity import Identity, Roster
    from kantor.private.party import Party

    roster = Roster.read(folder)
    try:
        party = Party(roster, Identity.of(folder, f"party{number}"), number - 1, patience)
    except OSError as fault:
        raise InputError(
            f"party {number} cannot listen on {roster.addresses[number - 1]} ({fault.strerror or fault})",
            remedy="Start it on the machine that the roster names, once.",
        ) from fault
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: party.close())
    if not quiet:
        say(f"Party {number} listens on {roster.addresses[number - 1]}. Stop it with Ctrl-C.")
    party.serve()


@app.command()
def trio(
    folder: Annotated[
        Path | None, typer.Argument(help="Where to keep keys and roster. Default: a temporary folder.")
    ] = None,
    patience: Patience = 60.0,
) -> None:
    """Run all three parties on this machine, for trials: it protects nothing."""
    from kantor.private.trio import local_trio
    from kantor.writing import make_folder

    if folder is not None:
        make_folder(folder)
    stop = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stop.set())
    with local_trio(folder, patience) as running:
        places = ", ".join(map(str, running.roster.addresses))
        say(f"Three parties listen on {places}. Roster and market's key: {running.folder}. Ctrl-C ends them.")
        while not stop.wait(0.5):
            ended = [place + 1 for place, process in enumerate(running.processes) if process.poll() is not None]
            if ended:
                say(f"Party {ended[0]} has ended.", stderr=True)
                raise typer.Exit(1)


@app.command()
def value(
    owners: Annotated[
        Path, typer.Argument(help="CSV or Parquet: a column for each owner, or the columns owner and value.")
    ],
    low: Annotated[float, typer.Option(help="No value is below this: a public limit, not read off the data.")],
    high: Annotated[float, typer.Option(help="No value is above this.")],
    method: Annotated[
        MethodName,
        typer.Option(
            help="histogram: any data, against the mixture of all. aligned: series of one length, against their mean. "
            "parameters: normal owners, against their mean or barycentre."
        ),
    ] = "histogram",
    bins: Annotated[int | None, typer.Option(help="histogram: how many.", show_default="100")] = None,
    widest: Annotated[float | None, typer.Option(help="parameters: the largest standard deviation.")] = None,
    aggregate: Annotated[
        Literal["euclidean", "barycenter"] | None, typer.Option(help="parameters: what owners make together.")
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="A column that is no owner's, such as a time stamp.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Roster and market.pem of running parties.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write owner,distance to this .csv or .parquet file.")] = None,
    as_json: Json = False,
) -> None:
    """Try a private valuation: every owner in a file plays its part, with three parties on this machine.

    Example: kantor party value households.csv --ignore day --low 0 --high 40
    """
    import polars as pl

    from kantor.owners.files import read_owners
    from kantor.writing import check_destination, write_table

    if out is not None:
        check_destination(out, keep=(owners,))
    market = read_owners(owners, ignore=ignore or ())
    data: dict[str, Any] = {}
    for places, rows in market.blocks():
        data.update({market.names[place]: row for place, row in zip(places, rows, strict=True)})
    length = len(next(iter(data.values())))
    how = _method(method, {"low": low, "high": high}, bins=bins, widest=widest, aggregate=aggregate, length=length)
    with Progress("Valuing owners on shares", quiet=as_json):
        found = _try(how, {name: data[name] for name in market.names}, folder)
    named = [name for name in market.names if name in found.distances]
    table = pl.DataFrame({"owner": named, "distance": [found.distances[name] for name in named]})
    if out is not None:
        write_table(table, out)
    if as_json:
        about = {"method": how.as_dict(), "error_bound": found.error_bound, "left_out": found.left_out}
        print_json({**about, "out": None if out is None else str(out), "owners": table.to_dicts()})
        return
    show_rows(table, f"Wasserstein distance by {method}, computed on shares", ["owner", "distance"])
    if is_terminal():
        say(f"Each is within {found.error_bound:.3g} of the distance of the raw data.")
    for name, reason in found.left_out.items():
        say(f"{name} was left out: {reason}.", stderr=True)


def _try(method: Method, data: dict[str, Any], folder: Path | None) -> Valuation:
    from contextlib import ExitStack

    from kantor.private.client import Market, send_shares
    from kantor.private.identity import MARKET, Identity, Roster
    from kantor.private.trio import local_trio

    numbers = {name: method.encode(values, name) for name, values in data.items()}
    with ExitStack() as stack:
        if folder is None:
            trio = stack.enter_context(local_trio())
            roster, own = trio.roster, trio.market
        else:
            roster, own = Roster.read(folder), Identity.of(folder, MARKET)
        market = Market(roster, own, method, data, least_owners=2)
        send_shares(roster, market.session, {name: (market.tokens[name], part) for name, part in numbers.items()})
        found = market.compute()
        market.close()
    return found


def _method(name: MethodName, limits: dict[str, float], length: int, **given: Any) -> Method:
    from kantor.private.methods import method_from

    takes = {"histogram": ("bins",), "aligned": (), "parameters": ("widest", "aggregate")}[name]
    stated = {option: value for option, value in given.items() if value is not None}
    for option in stated:
        if option not in takes:
            raise InputError(f"--{option} has no meaning for --method {name}", remedy="Leave it out.", argument=option)
    if name == "parameters" and "widest" not in stated:
        raise InputError(
            "--method parameters needs --widest", remedy="Give the largest standard deviation that an owner may have."
        )
    if name == "aligned":
        stated["length"] = length
    return method_from({"method": name, **limits, **stated})


def _address(text: str) -> Address:
    from kantor.private.identity import Address

    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise InputError(f"{text!r} is no address", remedy="Give host:port, such as a.example:7001.", value=text)
    return Address(host, int(port))
