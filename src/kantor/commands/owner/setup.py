"""`kantor owner init`: a home for one data set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kantor.commands.connecting import Server, TokenFile, token_from
from kantor.commands.options import Json
from kantor.commands.owner.reaching import HOME, HomeFolder, signed_in
from kantor.commands.owner.showing import show_next
from kantor.errors import InputError
from kantor.terminal import print_json, say

if TYPE_CHECKING:
    from kantor.owners.release import Unit
    from kantor.service.agent.home import Home

__all__ = ["init"]


def init(
    server: Server,
    data: Annotated[Path, typer.Option(help="CSV or Parquet file with your series. It stays where it is.")],
    epsilon: Annotated[
        float,
        typer.Option(
            help="The most privacy loss that all sales of these data may add up to. 1 is cautious, 10 is generous; "
            "every sale uses some of it up, for good."
        ),
    ],
    unit: Annotated[
        str,
        typer.Option(
            help="Whose secret the loss is counted for. record: any one value. series: all of it. A number: that many "
            "values together, such as the 24 hours of a day. Markets' terms name theirs.",
        ),
    ] = "record",
    delta: Annotated[
        float, typer.Option(help="0 for Laplace noise alone; a small number such as 1e-6 where Gaussian noise is sold.")
    ] = 0.0,
    column: Annotated[
        str | None, typer.Option(help="The column that holds your series, if the file has several.")
    ] = None,
    token_file: TokenFile = None,
    home: HomeFolder = HOME,
    as_json: Json = False,
) -> None:
    """Make an owner's home: keys, the token, a privacy balance, and where the data are. Nothing existing is replaced.

    Example: kantor owner init --server https://market.example --token-file token.txt --data meter.csv --epsilon 10
    """
    from kantor.service.agent.home import Home

    folder, counted = home.expanduser(), _unit(unit)
    if (folder / "settings.json").exists():
        raise InputError("there is an owner's home already", remedy="Use it, or choose another --home.", file=folder)
    token = token_from(token_file)
    with signed_in(server, token, "Copy it again from what the operator gave you.") as client:
        role = client.me()["role"]
    if role != "owner":
        raise InputError(
            f"this is the token of a market's {role}", remedy="Ask the operator for an owner's.", value=role
        )
    made = Home.make(
        folder, server=server, token=token, data=data, column=column, epsilon=epsilon, delta=delta, unit=counted
    )
    _tell(made, as_json)


def _unit(text: str) -> Unit:
    if text in ("record", "series"):
        return "record" if text == "record" else "series"
    if not text.isdigit() or int(text) < 1:
        raise InputError(
            f"the unit is {text!r}",
            remedy="Choose record, series, or a whole number of values that belong together.",
            value=text,
            argument="--unit",
        )
    return int(text)


def _tell(home: Home, as_json: bool) -> None:
    from kantor.service.agent.fitting import hides

    series, balance = home.series, home.balance
    if as_json:
        print_json(
            {
                "home": str(home.folder),
                "server": home.settings["server"],
                "data": {"file": str(series.file), "column": series.column, "values": series.values.size},
                "balance": {"epsilon": balance.limit.epsilon, "delta": balance.limit.delta, "unit": balance.unit},
            }
        )
        return
    say(f"Made {home.folder}: your keys, your token, and an empty privacy balance.")
    values = series.values
    say(
        f"Your data: {values.size:,} values from {values.min():g} to {values.max():g}, column {series.column} of "
        f"{series.file}. They stay there; do not move or change the file while you take part in a market."
    )
    delta = f" at delta {balance.limit.delta:g}" if balance.limit.delta else ""
    say(f"Your balance: epsilon {balance.limit.epsilon:g}{delta} in all, counted for {hides(balance.unit)}.")
    say("Keep the folder to yourself. Do not put an old copy of it back: it would forget what has been spent since.")
    show_next("Next, see which markets there are", "kantor owner status")
