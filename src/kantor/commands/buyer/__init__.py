"""`kantor buyer`: for those who buy data."""

from __future__ import annotations

import typer

from kantor.commands.buyer.goods import download, result
from kantor.commands.buyer.making import create, fund, init, open_market, template
from kantor.commands.buyer.watching import cancel, dispute, status

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    help="For buyers of data: write terms, pay in, open a market, see what it bought, download the data.",
    epilog="Start with:  kantor buyer template > terms.toml",
)
for _making in (init, template, create, fund):
    app.command()(_making)
app.command("open")(open_market)
for _going_on in (status, result, download, dispute, cancel):
    app.command()(_going_on)
