"""`kantor operator deposits`, `confirm`, `doubts`, `decide`, `payouts`: what came, what is in doubt, who is paid."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kantor.commands.connecting import Server, TokenFile
from kantor.commands.operator.reaching import MarketId, OneMarket, desk, show
from kantor.commands.options import Json, show_rows
from kantor.commands.owner.reaching import check_id, check_market
from kantor.errors import InputError
from kantor.terminal import is_terminal, print_json, say

if TYPE_CHECKING:
    import polars as pl

    from kantor.service.agent.desk import Desk
    from kantor.service.terms import Terms

__all__ = ["confirm", "decide", "deposits", "doubts", "payouts"]


def _terms(client: Desk, market: str) -> Terms:
    from kantor.service.terms import Terms

    return Terms.model_validate(client.market(check_market(market))["terms"])


def _markets(client: Desk, market: str | None, *states: str) -> list[str]:
    return [market] if market is not None else [each["id"] for each in client.markets() if each["state"] in states]


def deposits(market: OneMarket = None, *, server: Server, token_file: TokenFile = None, as_json: Json = False) -> None:
    """Deposits that buyers have announced: of one market, or of all that wait to be opened.

    Example: kantor operator deposits
    """
    with desk(server, token_file) as client:
        found = []
        for each in _markets(client, market, "draft"):
            money = _terms(client, each).money
            found += [{**row, "shown": money.show(row["amount"])} for row in client.deposits(each)]
    if as_json:
        print_json(found)
        return
    parts = ("market", "id", "shown", "reference", "announced_at")
    rows = [(*(row[name] for name in parts), row["confirmed_at"] or "not yet") for row in found]
    show(rows, ("market", "deposit", "amount", "reference", "announced", "confirmed"), "There are no deposits.")


def confirm(
    market: MarketId,
    deposit: Annotated[str, typer.Argument(metavar="DEPOSIT", help="The deposit's id, as `deposits` lists it.")],
    server: Server,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """Confirm that a deposit's money has come. It is booked, once.

    Example: kantor operator confirm 9f2c5a1b7d3e4f60 0d5be22f
    """
    with desk(server, token_file) as client:
        money = _terms(client, market).money
        found = client.confirm(market, check_id(deposit, "deposit's id", f"kantor operator deposits {market}"))
        funds = client.market(market)["funds"]
    if as_json:
        print_json({**found, "funds": funds})
    else:
        there, needed = money.show(funds["there"]), money.show(funds["needed"])
        say(f"Confirmed: {money.show(found['amount'])}. {there} is there now, and {needed} is needed.")


def doubts(market: OneMarket = None, *, server: Server, token_file: TokenFile = None, as_json: Json = False) -> None:
    """Doubts and disputes about deliveries, with their texts: of one market, or of all in delivery.

    Example: kantor operator doubts 9f2c5a1b7d3e4f60
    """
    from kantor.commands.owner.showing import show_lines

    with desk(server, token_file) as client:
        markets = [check_market(each) for each in _markets(client, market, "delivering")]
        found = [row for each in markets for row in client.doubts(each)]
    if as_json:
        print_json(found)
        return
    if not is_terminal():
        import polars as pl

        names = ("market", "id", "owner", "raised_by", "at", "decision", "reason", "text")
        rows = [{name: row[name] for name in names} for row in found]
        show_rows(pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String)), "", [])
        return
    for row in found:
        decided = "not decided" if row["decision"] is None else f"{row['decision']}: {row['reason']}"
        lines = [("Owner", row["owner"]), ("Raised", f"by {row['raised_by']}, {row['at']}"), ("Decided", decided)]
        show_lines(f"Doubt {row['id']} in market {row['market']}", [*lines, ("It says", row["text"])])
    if not found:
        say("There are no doubts.")


def decide(
    market: MarketId,
    doubt: Annotated[str, typer.Argument(metavar="DOUBT", help="The doubt's id, as `doubts` lists it.")],
    decision: Annotated[Literal["pay", "refuse"], typer.Argument(help="Whether the owner is paid.")],
    server: Server,
    reason: Annotated[str, typer.Option(help="Why. The owner, the buyer and the auditor read it.")],
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """Decide on a doubt, for good: the owner is paid, or it is not.

    Example: kantor operator decide 9f2c5a1b7d3e4f60 51b2aa0c refuse --reason "These are last year's values"
    """
    with desk(server, token_file) as client:
        check_id(doubt, "doubt's id", f"kantor operator doubts {market}")
        found = client.decide(check_market(market), doubt, decision, reason)
    if as_json:
        print_json(found)
    else:
        say(f"Decided: {found['decision']}. It takes effect when the time for disputes is over.")


def payouts(
    market: MarketId,
    server: Server,
    out: Annotated[Path | None, typer.Option(help="Write the list to this .csv or .parquet file.")] = None,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """Who is to be paid what, once the market is settled: accounts, the names they have in this market, and amounts.

    Example: kantor operator payouts 9f2c5a1b7d3e4f60 --out payouts.csv
    """
    from kantor.writing import check_destination, write_table

    if out is not None:
        check_destination(out)
    with desk(server, token_file) as client:
        terms, found = _terms(client, market), client.result(market)
    if found["state"] != "settled":
        raise InputError(
            f"the market is {found['state']}", remedy="Payments are fixed when it is settled.", value=market
        )
    table = _owed(found, terms)
    if out is not None:
        write_table(table, out)
    if as_json:
        print_json({"market": market, "payouts": table.to_dicts(), "out": None if out is None else str(out)})
        return
    show(table.rows(), table.columns, "Nobody is to be paid.")
    back = -found["balances"].get("outside", 0)
    say(f"{terms.money.show(back)} in all; what else was paid in goes back to the buyer.", stderr=True)


def _owed(found: dict[str, Any], terms: Terms) -> pl.DataFrame:
    import polars as pl

    owed = {each["owner"]: found["balances"].get(f"owner:{each['owner']}", 0) for each in found["winners"]}
    rows = [
        (each["account"], each["name"], each["owner"], terms.money.plain(owed[each["owner"]]), terms.currency)
        for each in sorted(found["winners"], key=lambda each: (each["name"], each["owner"]))
        if owed[each["owner"]]
    ]
    columns = ("account", "name", "owner", "amount", "currency")
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")
