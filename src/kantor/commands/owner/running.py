"""`kantor owner run`: an owner's whole part in a market, with nobody at the keyboard."""

from __future__ import annotations

import sys
import tomllib
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kantor.commands.options import Json
from kantor.commands.owner.asking import Yes, confirm
from kantor.commands.owner.looking import known_distance, show_leaving
from kantor.commands.owner.reaching import HOME, HomeFolder, agent_at
from kantor.errors import EvidenceError, InputError
from kantor.terminal import print_json, say

if TYPE_CHECKING:
    from kantor.service.agent.owner import OwnerAgent
    from kantor.service.agent.running import Orders

__all__ = ["run"]

_KNOWN = ("market", "price", "epsilon", "distance")
_PATIENCE = 10.0


def run(
    market: Annotated[str | None, typer.Argument(metavar="MARKET", help="The market's id.")] = None,
    price: Annotated[str | None, typer.Option(help="The least you want to be paid, such as 1.25.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="How much privacy you give up if you are bought.")] = None,
    distance: Annotated[
        str | None, typer.Option(help="How far your data lie from the target, where the terms let owners say so.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="A TOML file with market, price, epsilon (and distance); options go before it.")
    ] = None,
    every: Annotated[
        float | None, typer.Option(min=0.05, help="Seconds between two looks.", show_default="by the time left")
    ] = None,
    yes: Yes = False,
    home: HomeFolder = HOME,
    as_json: Json = False,
) -> None:
    """Take part in a market unattended: enrol, be valued, bid, deliver if bought, check. A line for each step.

    It may be stopped anywhere and started again with the same words, and waits out a server that is away. Exit code 1
    if you were left out, missed delivery, were refused payment, or if the market has not kept its word.

    Example: kantor owner run 9f2c5a1b7d3e4f60 --price 1.25 --epsilon 2 --yes
    """
    from kantor.service.agent.running import Errand

    given = {"market": market, "price": price, "epsilon": epsilon, "distance": distance}
    where, orders = _orders({name: value for name, value in given.items() if value is not None}, config)
    with agent_at(home, where, _PATIENCE) as agent:
        if not yes:
            _ask_first(agent, orders, quiet=as_json)
        try:
            ending = Errand(agent, orders, _teller(as_json), every).run()
        except EvidenceError as fault:
            _end(as_json, "wrong", f"The market has not kept its word: {fault}", False)
            raise typer.Exit(1) from fault
        except KeyboardInterrupt as stop:
            say("Stopped. The same command goes on from here.", stderr=True)
            raise typer.Exit(130) from stop
    _end(as_json, ending.outcome, ending.text, ending.well)
    if not ending.well:
        raise typer.Exit(1)


def _orders(given: dict[str, Any], config: Path | None) -> tuple[str, Orders]:
    """Where, and what: from the options, and from the file for what they leave open."""
    from kantor.service.agent.running import Orders

    known = {**({} if config is None else _read(config)), **given}
    for name in ("market", "price", "epsilon"):
        if name not in known:
            option = "MARKET" if name == "market" else f"--{name}"
            raise InputError(
                f"there is no {name}", remedy=f"Give {option}, or put {name} into a --config file.", argument=option
            )
    return known["market"], Orders(known["price"], known["epsilon"], known.get("distance"))


def _read(config: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(config.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as fault:
        raise InputError(
            f"it cannot be read ({fault})",
            remedy='Write it as TOML: market = "9f2c5a1b7d3e4f60", price = "1.25", epsilon = 2',
            file=config,
        ) from fault
    for name, value in found.items():
        if name not in _KNOWN or isinstance(value, bool) or not isinstance(value, str | int | float):
            raise InputError(
                f"{name} = {value!r} means nothing here", remedy=f"It may hold: {', '.join(_KNOWN)}.", file=config
            )
    return {name: str(value) for name, value in found.items()}


def _ask_first(agent: OwnerAgent, orders: Orders, quiet: bool) -> None:
    from kantor.service.agent.fitting import ask_of, terms_of

    terms = terms_of(agent.about())
    ask = ask_of(terms, terms.money.parse(orders.price, argument="--price"), orders.epsilon)
    if not quiet:
        show_leaving(terms, known_distance(agent, terms))
    price = terms.money.show(ask.reserve)
    confirm(f"Enrol in “{terms.title}”, bid {price} at epsilon {ask.epsilon}, and deliver if bought?", yes=False)


def _teller(as_json: bool) -> Any:
    def tell(step: str, text: str) -> None:
        now = datetime.now().astimezone()
        if as_json:
            print_json({"at": now.isoformat(timespec="seconds"), "step": step, "text": text})
        else:
            say(f"{now:%H:%M:%S}  {text}")
        sys.stdout.flush()

    return tell


def _end(as_json: bool, outcome: str, text: str, well: bool) -> None:
    if as_json:
        print_json({"outcome": outcome, "text": text, "well": well})
    else:
        _teller(False)(outcome, text)
