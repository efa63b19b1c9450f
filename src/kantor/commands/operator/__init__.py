"""`kantor operator`: for those who run a market."""

from __future__ import annotations

import typer

from kantor.commands.operator.money import confirm, decide, deposits, doubts, payouts
from kantor.commands.operator.people import accounts, add, revoke, token

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    help="For the operator of a market: accounts and tokens, deposits, doubts about deliveries, payments.",
    epilog="The operator's token is the file operator.token in the server's folder: give it as --token-file.",
)
for _people in (accounts, add, token, revoke):
    app.command()(_people)
for _money in (deposits, confirm, doubts, decide, payouts):
    app.command()(_money)
