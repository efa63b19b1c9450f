"""`kantor owner status`, `receipts`, `check`: where you stand, what the market has signed, whether it kept its word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kantor.commands.options import Json, show_rows
from kantor.commands.owner.reaching import HOME, HomeFolder, MarketId, agent_at, check_market, home_at, signed_in
from kantor.commands.owner.showing import show_list, show_table
from kantor.errors import EvidenceError
from kantor.terminal import is_terminal, print_json, say

if TYPE_CHECKING:
    from kantor.service.agent.home import Home
    from kantor.service.agent.owner import OwnerAgent
    from kantor.service.agent.standing import Standing
    from kantor.service.client import Client

__all__ = ["check", "receipts", "status"]

_OVER = ("settled", "cancelled")


def status(
    market: Annotated[str | None, typer.Argument(metavar="MARKET", help="Only this market.")] = None,
    home: HomeFolder = HOME,
    as_json: Json = False,
) -> None:
    """Where you stand in every market that you take part in, what you could join, and what to do next.

    Example: kantor owner status
    """
    own = home_at(home)
    with signed_in(own.settings["server"], own.token, f"Put the right one into {own.token_file}.") as client:
        found = [_standing(own, client, each) for each in _markets(own, client, market)]
    left = own.balance.left()
    if as_json:
        print_json({"left": left, "markets": [each.as_dict() for each in found]})
        return
    _show(found)
    if is_terminal():
        limit = own.balance.limit.epsilon
        say(f"Of your privacy balance of epsilon {limit:g}, {left:.6g} is neither spent nor set aside.")


def _markets(home: Home, client: Client, market: str | None) -> list[str]:
    """Those that this home has notes of, then those that one could join."""
    if market is not None:
        return [check_market(market)]
    own = [each for each in home.markets() if "enrolment" in home.notes(each).known]
    return own + [each["id"] for each in client.markets() if each["state"] == "enrolling" and each["id"] not in own]


def _standing(home: Home, client: Client, market: str) -> Standing:
    from kantor.service.agent.owner import OwnerAgent
    from kantor.service.agent.standing import Standing, standing
    from kantor.service.client import ServiceError

    agent = OwnerAgent(home, client, market)
    try:
        found = standing(agent)
    except ServiceError as fault:
        if fault.kind != "missing":
            raise
        return Standing(market, "", "unknown", None, "", "", "nothing: the server does not know it")
    if agent.notes.known.get("enrolment") and found.state in (*_OVER, "delivering"):
        agent.finish()
    return found


def _show(found: list[Standing]) -> None:
    import polars as pl

    from kantor.service.agent.moments import short

    if not found:
        say("You take part in no market, and none is open for enrolment.")
        return
    named = ("market", "title", "state", "until", "bid", "result", "next")
    rows = [each.as_dict() for each in found]
    if not is_terminal():
        show_rows(pl.DataFrame(rows, schema=dict.fromkeys(named, pl.String)), "", [])
        return
    headings = ("market", "what", "state", "until", "your bid", "result")
    until = {each.market: "" if each.until is None else short(each.until) for each in found}
    show_table(
        [(one.market, one.title, one.state, until[one.market], one.bid, one.result) for one in found],
        headings,
        whole=("market", "state"),
    )
    say("Next:")
    show_list([f"{row['title']}: {row['next']}" for row in rows])


def receipts(
    market: MarketId,
    out: Annotated[Path | None, typer.Option(help="Write them, with their signatures, to this .json file.")] = None,
    home: HomeFolder = HOME,
    as_json: Json = False,
) -> None:
    """What the market has signed for you. Receipts that are missing here are fetched from the server.

    Example: kantor owner receipts 9f2c5a1b7d3e4f60 --out receipts.json
    """
    from kantor.service.agent.receipts import all_receipts
    from kantor.writing import check_destination, write_text

    if out is not None:
        check_destination(out, (".json",))
    with agent_at(home, market) as agent:
        agent.server_key()
        fetched = agent.fetch_receipts()
        found = all_receipts(agent.notes.known)
        content = {"market": market, "owner": agent.name, "server": agent.server_key(), "receipts": found}
        if out is not None:
            write_text(json.dumps(content, indent=2) + "\n", out)
        if as_json:
            print_json({**content, "fetched": fetched, "out": None if out is None else str(out)})
            return
        _show_receipts(agent, found)
    if fetched:
        say(f"{fetched} of them were missing here and came from the server.", stderr=True)
    if out is not None:
        say(f"Written to {out}.", stderr=True)


def _show_receipts(agent: OwnerAgent, found: list[dict[str, Any]]) -> None:
    import polars as pl

    from kantor.service.agent.moments import short

    if not found:
        say("There are no receipts: you have not bid in this market.")
        return
    terms = agent.terms()
    asks = {bid["receipt"]["nonce"]: bid["ask"] for bid in agent.notes.known.get("bids", []) if bid["ask"]}
    asked = [None if each["what"] != "bid" else asks.get(each["nonce"]) for each in found]
    person = is_terminal()
    table = pl.DataFrame(
        {
            "event": [each["seq"] for each in found],
            "what": [each["what"] for each in found],
            "number": [str(each.get("number", "")) for each in found],
            "at": [short(each["at"]) if person else each["at"] for each in found],
            "price": ["" if ask is None else terms.money.plain(ask["reserve"]) for ask in asked],
            "epsilon": ["" if ask is None else ask["epsilon"] for ask in asked],
            "log": [each["log"][:16] if person else each["log"] for each in found],
        }
    )
    show_rows(
        table, "Receipts", ["event", "what", "bid", "when", f"price, {terms.currency}", "epsilon", "hash of the log"]
    )


def check(market: MarketId, home: HomeFolder = HOME, as_json: Json = False) -> None:
    """Check that the market has kept its word to you; exit code 1 if it has not.

    Example: kantor owner check 9f2c5a1b7d3e4f60
    """
    with agent_at(home, market) as agent:
        try:
            found = agent.check()
        except EvidenceError as fault:
            if as_json:
                print_json({"passed": False, "checked": [], "wrong": str(fault)})
            else:
                say(f"WRONG: {fault}")
            raise typer.Exit(1) from fault
        agent.finish()
    if as_json:
        print_json({"passed": True, "checked": found, "wrong": None})
        return
    show_list(found, mark="right ")
    say("The market has kept its word to you, as far as it has gone.")
