"""`kantor owner`: for those who own data and sell noised copies of them."""

from __future__ import annotations

import typer

from kantor.commands.owner.looking import inspect
from kantor.commands.owner.running import run
from kantor.commands.owner.setup import init
from kantor.commands.owner.taking_part import bid, deliver, enrol, withdraw
from kantor.commands.owner.watching import check, receipts, status

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    help="For owners of data: see markets, take part, deliver, check. Your data never leave this machine as they are.",
    epilog="Start with:  kantor owner init --help",
)
for _command in (init, status, inspect, enrol, bid, withdraw, deliver, receipts, check, run):
    app.command()(_command)
