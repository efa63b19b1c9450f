"""How an owner's commands find its home, its market and the server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from kantor.errors import InputError

if TYPE_CHECKING:
    from kantor.service.agent.desk import Desk
    from kantor.service.agent.home import Home
    from kantor.service.agent.owner import OwnerAgent

__all__ = ["HOME", "HomeFolder", "MarketId", "agent_at", "check_id", "check_market", "home_at", "signed_in"]

_PATIENCE = 20.0
HOME = Path("~/.kantor/owner")
HomeFolder: TypeAlias = Annotated[
    Path,
    typer.Option("--home", envvar="KANTOR_HOME", help="The owner's folder.", show_default=str(HOME)),
]
MarketId: TypeAlias = Annotated[str, typer.Argument(metavar="MARKET", help="The market's id, as `status` lists it.")]


def home_at(folder: Path) -> Home:
    """The home in a folder."""
    from kantor.service.agent.home import Home

    home = Home(folder.expanduser())
    _ = home.settings  # an error if there is none
    return home


def check_market(market: str) -> str:
    """A market's id, if it looks like one."""
    return check_id(market, "market's id", "kantor owner status, kantor buyer status")


def check_id(text: str, what: str, listed: str) -> str:
    """An id, if it looks like one. listed: where it can be copied from."""
    if not re.fullmatch("[0-9a-f]{1,40}", text):
        raise InputError(
            f"{text!r} is no {what}",
            remedy=f"It has digits from 0 to f alone, such as 9f2c5a1b7d3e4f60. Copy it from: {listed}",
            value=text,
        )
    return text


@contextmanager
def agent_at(folder: Path, market: str, patience: float | None = None) -> Iterator[OwnerAgent]:
    """The agent of a home in one market."""
    from kantor.service.agent.owner import OwnerAgent

    home = home_at(folder)
    with signed_in(home.settings["server"], home.token, f"Put the right one into {home.token_file}.", patience) as c:
        yield OwnerAgent(home, c, check_market(market))


@contextmanager
def signed_in(server: str, token: str, remedy: str, patience: float | None = None) -> Iterator[Desk]:
    """A client; a refused token is told with what to do about it, and a wait with how long it has lasted."""
    from kantor.service.agent.desk import Desk
    from kantor.service.client import ServiceError

    if not re.match(r"https?://[^/\s]", server):
        raise InputError(
            f"{server!r} is no address",
            remedy="Give the market's, such as https://market.example or http://127.0.0.1:8440",
            value=server,
            argument="--server",
        )
    with Desk(server, token, _PATIENCE if patience is None else patience) as client:
        try:
            yield client
        except ServiceError as fault:
            if fault.kind == "unauthorised":
                said = fault.detail.partition(".")[0]
                raise InputError(
                    f"{server} does not accept your token: {said[:1].lower()}{said[1:]}", remedy=remedy
                ) from fault
            raise
