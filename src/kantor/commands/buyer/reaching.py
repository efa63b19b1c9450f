"""How a buyer's commands find the server and sign in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from kantor.commands.connecting import token_from
from kantor.commands.owner.reaching import check_market, signed_in
from kantor.errors import InputError

if TYPE_CHECKING:
    from kantor.service.agent.desk import Desk

__all__ = ["FOLDER", "Folder", "MarketId", "ServerOf", "buyer_at", "buyer_in", "keep_defaults", "own_market"]

FOLDER = Path("~/.kantor/buyer")
Folder: TypeAlias = Annotated[
    Path,
    typer.Option(
        "--home",
        envvar="KANTOR_BUYER_HOME",
        help="Where `buyer init` keeps server and token.",
        show_default=str(FOLDER),
    ),
]
ServerOf: TypeAlias = Annotated[
    str | None,
    typer.Option("--server", envvar="KANTOR_SERVER", help="The market's address.", show_default="that of `buyer init`"),
]
MarketId: TypeAlias = Annotated[str, typer.Argument(metavar="MARKET", help="The market's id, as `status` lists it.")]
_SETTINGS, _TOKEN = "settings.json", "token"


def keep_defaults(folder: Path, server: str, token: str) -> None:
    """Write server and token down, the token for this user's eyes alone."""
    from kantor.evidence.signing import write_secret
    from kantor.sealing.storing import in_file
    from kantor.writing import make_folder

    make_folder(folder).chmod(0o700)
    (folder / _TOKEN).unlink(missing_ok=True)
    write_secret(folder / _TOKEN, f"{token}\n".encode())
    in_file(folder / _SETTINGS)({"server": server})


@contextmanager
def buyer_at(folder: Path, server: str | None, token_file: Path | None) -> Iterator[Desk]:
    """A client of the buyer. A token is sent to no other server than the one that it was kept for."""
    from kantor.sealing.storing import read_file

    home = folder.expanduser()
    known: dict[str, Any] = read_file(home / _SETTINGS) if (home / _SETTINGS).exists() else {}
    address = server or known.get("server")
    if address is None:
        raise InputError(
            "there is no server",
            remedy="Give --server, or keep one for all commands by: kantor buyer init --server URL",
        )
    kept = token_file is None and not os.environ.get("KANTOR_TOKEN") and address == known.get("server")
    token = token_from(home / _TOKEN if kept else token_file)
    remedy = f"Put the right one into {home / _TOKEN}." if kept else "Give the one that the operator gave you."
    with signed_in(address, token, remedy) as client:
        yield client


@contextmanager
def buyer_in(
    market: str, folder: Path, server: str | None, token_file: Path | None
) -> Iterator[tuple[Desk, dict[str, Any]]]:
    """A client of the buyer, and one of its own markets."""
    check_market(market)
    with buyer_at(folder, server, token_file) as client:
        yield client, own_market(client, market)


def own_market(client: Desk, market: str) -> dict[str, Any]:
    """A market, if it is the buyer's own."""
    found = client.market(market)
    if found.get("funds") is None:
        raise InputError(
            f"market {market} is another buyer's", remedy="See your own: kantor buyer status", value=market
        )
    return found
