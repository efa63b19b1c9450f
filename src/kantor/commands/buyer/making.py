"""`kantor buyer init`, `template`, `create`, `fund`, `open`: from terms to a market that owners can join."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kantor.commands.buyer.reaching import FOLDER, Folder, MarketId, ServerOf, buyer_at, buyer_in, keep_defaults
from kantor.commands.connecting import Server, TokenFile, token_from
from kantor.commands.options import Json
from kantor.commands.owner.reaching import check_market, signed_in
from kantor.commands.owner.showing import show_next
from kantor.errors import InputError
from kantor.terminal import Progress, print_json, say

if TYPE_CHECKING:
    from kantor.service.agent.template import Way
    from kantor.service.terms import Terms
else:
    from typing import Literal

    Way = Literal["private", "public", "declared"]

__all__ = ["create", "fund", "init", "open_market", "template"]


def init(
    server: Server,
    token_file: TokenFile = None,
    replace: Annotated[bool, typer.Option("--replace", help="Put this in the place of what is kept already.")] = False,
    home: Folder = FOLDER,
    as_json: Json = False,
) -> None:
    """Keep the market's address and your token, so that no other command needs them.

    Example: kantor buyer init --server https://market.example --token-file token.txt
    """
    folder = home.expanduser()
    if (folder / "settings.json").exists() and not replace:
        raise InputError(
            "server and token are kept already", remedy="Add --replace to put new ones there.", file=folder
        )
    token = token_from(token_file)
    with signed_in(server, token, "Copy it again from what the operator gave you.") as client:
        role = client.me()["role"]
    if role != "buyer":
        raise InputError(f"this is the token of a market's {role}", remedy="Ask for a buyer's.", value=role)
    keep_defaults(folder, server, token)
    if as_json:
        print_json({"home": str(folder), "server": server})
        return
    say(f"Kept in {folder}. Keep that folder to yourself: whoever has the token can spend your deposits.")
    show_next("Next, write terms", "kantor buyer template > terms.toml")


def template(
    way: Annotated[
        Way, typer.Option(help="How distances come about: computed privately, from a public target, or declared.")
    ] = "private",
) -> None:
    """Print a terms file to write your own over, with what each term means.

    Example: kantor buyer template > terms.toml
    """
    from kantor.service.agent.template import template as text

    typer.echo(text(way), nl=False)


def create(
    terms: Annotated[Path, typer.Argument(help="The terms, as `kantor buyer template` begins them.")],
    revise: Annotated[
        str | None, typer.Option(metavar="MARKET", help="Put these terms in the place of a draft's instead.")
    ] = None,
    home: Folder = FOLDER,
    server: ServerOf = None,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """Draft a market from a terms file. It says what deposit these terms need and why; nobody else sees a draft.

    Example: kantor buyer create terms.toml
    """
    from kantor.service.agent.terms_file import read_terms_file

    with Progress("Reading the terms", quiet=as_json):
        found = read_terms_file(terms)
    with buyer_at(home, server, token_file) as client:
        made = client.create(found.plain) if revise is None else client.revise(check_market(revise), found.plain)
    if as_json:
        print_json(made)
        return
    _show_draft(found, made)


def _show_draft(terms: Terms, made: dict[str, Any]) -> None:
    from kantor.service.agent.moments import when

    market, money, funds = made["id"], terms.money, made["funds"]
    say(f"Drafted market {market}: {terms.title}")
    say(f"Enrolment ends {when(made['enrol_until'], made['now'])}; bidding {when(made['bid_until'], made['now'])}.")
    say(f"Prices that owners can ask for: {_prices(terms)}.")
    say(f"Deposit: {money.show(funds['needed'])}. {funds['why']}")
    if funds["there"] < funds["needed"]:
        rest = money.plain(funds["needed"] - funds["there"])
        show_next("Next, pay it in and say so", f'kantor buyer fund {market} {rest} --reference "what your bank shows"')
    else:
        show_next("It is paid in. Next", f"kantor buyer open {market}")


def _prices(terms: Terms) -> str:
    """What the prior holds possible, in money: the place where a wrong unit shows."""
    low, high = (float(end) for end in terms.rule.prior_distribution().support())
    show = terms.money.show
    return f"from {show(int(low))}" + (f" to {show(int(high))}" if high < 1e15 else " without an upper end")


def fund(
    market: MarketId,
    amount: Annotated[str, typer.Argument(help="What you have paid in, such as 500.00.")],
    reference: Annotated[str, typer.Option(help="What the operator will see on its account.")] = "",
    home: Folder = FOLDER,
    server: ServerOf = None,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """Say that you have paid money in. It counts when the operator has seen it and confirms it.

    With a reference, saying the same twice counts once.

    Example: kantor buyer fund 9f2c5a1b7d3e4f60 500.00 --reference "transfer of 20 November"
    """
    with buyer_in(market, home, server, token_file) as (client, about):
        from kantor.service.terms import Terms

        money = Terms.model_validate(about["terms"]).money
        paid = money.parse(amount, argument="AMOUNT")
        mark = hashlib.sha256(f"{market} {paid} {reference}".encode()).hexdigest()
        made = client.deposit(market, paid, reference, key=f"deposit-{mark}" if reference else None)
    if as_json:
        print_json(made)
        return
    funds = about["funds"]
    say(f"Announced: {money.show(paid)}, deposit {made['id']}.")
    say(f"Confirmed until now: {money.show(funds['there'])} of {money.show(funds['needed'])} that are needed.")
    show_next("When the operator has confirmed it", f"kantor buyer open {market}")


def open_market(
    market: MarketId,
    home: Folder = FOLDER,
    server: ServerOf = None,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """Open a market: its terms are frozen and published, and owners may enrol. It needs the whole deposit.

    Example: kantor buyer open 9f2c5a1b7d3e4f60
    """
    with buyer_in(market, home, server, token_file) as (client, _):
        made = client.open(market)
    if as_json:
        print_json(made)
        return
    from kantor.service.agent.moments import when

    say(f"Market {market} is open. Enrolment ends {when(made['enrol_until'], made['now'])}.")
    show_next("To see how it goes on", f"kantor buyer status {market}")
