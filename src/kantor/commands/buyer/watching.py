"""`kantor buyer status`, `cancel`, `dispute`: how a market goes on, and objecting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kantor.commands.buyer.reaching import FOLDER, Folder, MarketId, ServerOf, buyer_at, buyer_in, own_market
from kantor.commands.connecting import TokenFile
from kantor.commands.options import Json, show_rows
from kantor.commands.owner.asking import Yes, confirm
from kantor.commands.owner.reaching import check_id, check_market
from kantor.commands.owner.showing import show_lines, show_list, show_table
from kantor.terminal import is_terminal, print_json, say

if TYPE_CHECKING:
    from kantor.service.terms import Terms

__all__ = ["cancel", "dispute", "status"]


def status(
    market: Annotated[str | None, typer.Argument(metavar="MARKET", help="Only this market, with all details.")] = None,
    home: Folder = FOLDER,
    server: ServerOf = None,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """How your markets stand now: state, owners, bids, deadlines, deposit, and what to do next.

    Example: kantor buyer status 9f2c5a1b7d3e4f60
    """
    with buyer_at(home, server, token_file) as client:
        if market is None:
            every = [client.market(each["id"]) for each in client.markets()]
            found = [each for each in every if each.get("funds") is not None]
        else:
            found = [own_market(client, check_market(market))]
        deposits = {each["id"]: client.deposits(each["id"]) for each in found if each["state"] == "draft"}
    plain = [{**each, "next": _next(each, deposits.get(each["id"], []))} for each in found]
    if as_json:
        print_json(plain if market is None else plain[0])
    elif market is not None:
        _show_one(plain[0], deposits.get(plain[0]["id"], []))
    else:
        _show_all(plain)


def _terms(about: dict[str, Any]) -> Terms:
    from kantor.service.terms import Terms

    return Terms.model_validate(about["terms"])


def _show_all(found: list[dict[str, Any]]) -> None:
    if not found:
        say("You have no markets. Begin with: kantor buyer template > terms.toml")
        return
    if not is_terminal():
        import polars as pl

        names = ("id", "title", "state", "owners", "bids", "enrol_until", "bid_until", "next")
        show_rows(pl.DataFrame([{name: each[name] for name in names} for each in found]), "", [])
        return
    rows = [(each["id"], each["title"], each["state"], f"{each['owners']:,}", f"{each['bids']:,}") for each in found]
    show_table(rows, ("market", "what", "state", "owners", "bids"), whole=("market", "state"))
    say("Next:")
    show_list([f"{each['title']}: {each['next']}" for each in found])


def _show_one(about: dict[str, Any], deposits: list[dict[str, Any]]) -> None:
    from kantor.service.agent.moments import clock_line, when

    terms, now = _terms(about), about["now"]
    money = terms.money
    lines: list[str | tuple[str, str]] = [
        ("State", about["state"]),
        ("Owners", f"{about['owners']:,} of {terms.least_owners:,} to {terms.most_owners:,}"),
        ("Bids", f"{about['bids']:,}{' sealed' if about['state'] in ('bidding', 'closed') else ''}"),
        ("Enrolment ends", when(about["enrol_until"], now)),
        ("Bidding ends", when(about["bid_until"], now)),
    ]
    for label, name in (("Delivery ends", "deliver_until"), ("Payment", "settle_at")):
        if about[name] is not None:
            lines.append((label, when(about[name], now)))
    funds = about["funds"]
    unspent, needed = money.show(funds["there"]), money.show(funds["needed"])
    open_yet = about["state"] != "draft"
    lines.append(("Deposit", f"{unspent} not spoken for" if open_yet else f"{unspent} of {needed} that are needed"))
    lines.extend(
        ("", f"{money.show(each['amount'])} announced, not confirmed yet: {each['reference'] or 'no reference'}")
        for each in deposits
        if each["confirmed_at"] is None
    )
    if about["trouble"]:
        lines.append(("Trouble", about["trouble"]))
    show_lines(f"{about['title']} (market {about['id']})", [*lines, ("Next", about["next"]), clock_line(now)])


def _next(about: dict[str, Any], deposits: list[dict[str, Any]]) -> str:
    market, funds = about["id"], about["funds"]
    if about["state"] == "draft":
        if funds["there"] >= funds["needed"]:
            return f"kantor buyer open {market}"
        waiting = sum(each["amount"] for each in deposits if each["confirmed_at"] is None)
        if funds["there"] + waiting >= funds["needed"]:
            return "nothing: the operator confirms your deposit"
        return f"kantor buyer fund {market} {_terms(about).money.plain(funds['needed'] - funds['there'] - waiting)}"
    if about["state"] == "delivering" and about["settle_at"] is not None:
        return f"kantor buyer download {market} --out FOLDER  (object to a delivery before it is paid)"
    return {
        "enrolling": "nothing: owners enrol",
        "bidding": "nothing: owners bid",
        "closed": "nothing: the trustees open the bids",
        "cleared": f"kantor buyer result {market}",
        "delivering": f"kantor buyer result {market}  (the winners deliver)",
        "settled": f"kantor buyer download {market} --out FOLDER",
    }.get(about["state"], "nothing: it was called off")


def cancel(
    market: MarketId,
    reason: Annotated[str, typer.Option(help="Why. Everybody in the market sees it.")],
    yes: Yes = False,
    home: Folder = FOLDER,
    server: ServerOf = None,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """Call a market off, before its bids are opened. Your deposit comes back.

    Example: kantor buyer cancel 9f2c5a1b7d3e4f60 --reason "The need is gone"
    """
    with buyer_in(market, home, server, token_file) as (client, about):
        confirm(f"Call “{about['title']}” off, with {about['owners']:,} owners in it?", yes)
        found = client.cancel(market, reason)
    if as_json:
        print_json(found)
    else:
        say(f"Market {market} is called off. {_terms(about).money.show(about['funds']['there'])} goes back to you.")


def dispute(
    market: MarketId,
    owner: Annotated[str, typer.Option(help="Whose delivery, as `kantor buyer result` names it.")],
    text: Annotated[str, typer.Option(help="What is wrong with it. The operator and the owner read it.")],
    home: Folder = FOLDER,
    server: ServerOf = None,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """Object to one delivery, before it is paid. That one payment waits until the operator has decided.

    Example: kantor buyer dispute 9f2c5a1b7d3e4f60 --owner 1f0c... --text "These are last year's values"
    """
    with buyer_in(market, home, server, token_file) as (client, _):
        made = client.dispute(market, text, owner=check_id(owner, "owner's name", f"kantor buyer result {market}"))
    if as_json:
        print_json(made)
    else:
        say(f"Dispute {made['id']} is with the operator. The payment to {owner} waits; the others go on.")
