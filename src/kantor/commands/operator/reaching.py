"""How an operator's commands find the server and sign in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from kantor.commands.connecting import token_from
from kantor.commands.options import show_rows
from kantor.commands.owner.reaching import signed_in
from kantor.commands.owner.showing import show_table
from kantor.terminal import is_terminal, say

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from kantor.service.agent.desk import Desk

__all__ = ["MarketId", "OneMarket", "desk", "show"]

_IDS = ("market", "account", "deposit", "owner", "tokens")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")

MarketId: TypeAlias = Annotated[str, typer.Argument(metavar="MARKET", help="The market's id.")]
OneMarket: TypeAlias = Annotated[str | None, typer.Argument(metavar="MARKET", help="Only this market's.")]


def desk(server: str, token_file: Path | None) -> AbstractContextManager[Desk]:
    """A client of the operator."""
    remedy = "The operator's is in the file operator.token of the server's folder."
    return signed_in(server, token_from(token_file), remedy)


def show(rows: Sequence[Sequence[str]], names: Sequence[str], none: str) -> None:
    """A table for a person, with ids in one piece and times as the clock on the wall; CSV for a program."""
    if not is_terminal():
        import polars as pl

        show_rows(pl.DataFrame(list(rows), schema=dict.fromkeys(names, pl.String), orient="row"), "", [])
    elif rows:
        show_table([tuple(map(_on_the_wall, row)) for row in rows], names, whole=[n for n in names if n in _IDS])
    else:
        say(none)


def _on_the_wall(cell: str) -> str:
    from kantor.service.agent.moments import short

    return short(cell) if _TIME.fullmatch(cell) else cell
