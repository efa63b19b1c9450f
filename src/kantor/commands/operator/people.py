"""`kantor operator accounts`, `add`, `token`, `revoke`: who may do what."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from kantor.commands.connecting import Server, TokenFile
from kantor.commands.operator.reaching import desk, show
from kantor.commands.options import Json
from kantor.commands.owner.reaching import check_id, check_market
from kantor.errors import InputError
from kantor.terminal import print_json, say

if TYPE_CHECKING:
    from kantor.service.agent.desk import Desk

__all__ = ["accounts", "add", "revoke", "token"]

Role: TypeAlias = Literal["owner", "buyer", "trustee", "auditor", "operator"]
Days: TypeAlias = Annotated[float | None, typer.Option(min=0.001, max=3660, help="Days until the token expires.")]
ForMarket: TypeAlias = Annotated[str | None, typer.Option("--market", help="The token is good for this market alone.")]
SecretFile: TypeAlias = Annotated[
    Path | None, typer.Option(help="Write the token to this new file, which you alone can read, not to the terminal.")
]


def accounts(server: Server, token_file: TokenFile = None, as_json: Json = False) -> None:
    """All accounts, with the ids of their tokens.

    Example: kantor operator accounts --server http://127.0.0.1:8440 --token-file market/operator.token
    """
    with desk(server, token_file) as client:
        found, tokens = list(client.accounts()), list(client.tokens())
    held: dict[str, list[dict[str, Any]]] = {}
    for token in tokens:
        held.setdefault(token["account"], []).append(token)
    if as_json:
        print_json([{**each, "tokens": held.get(each["id"], [])} for each in found])
        return
    rows = [
        (each["id"], each["name"], each["role"], each["created_at"], _good(held.get(each["id"], [])))
        for each in sorted(found, key=lambda each: str(each["created_at"]))
    ]
    show(rows, ("account", "name", "role", "made", "tokens"), "There are no accounts.")


def _good(tokens: list[dict[str, Any]]) -> str:
    """The ids of those that are not revoked."""
    return " ".join(token["id"] for token in tokens if token["revoked_at"] is None)


def add(
    name: Annotated[str, typer.Argument(help="Who it is, as you know them.")],
    server: Server,
    role: Annotated[Role, typer.Option(help="What they may do.")],
    market: ForMarket = None,
    days: Days = None,
    out: SecretFile = None,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """Add somebody, and make their token. Give it to them so that nobody else sees it.

    Example: kantor operator add "Household 17" --role owner --out household17.token
    """
    _new_file(out)
    with desk(server, token_file) as client:
        account = client.add_account(name, role)
        made = _token(client, account["id"], market, days, out)
    _show_token({**account, **made}, out, as_json, f"Added {name}, {role}: account {account['id']}.")


def token(
    account: Annotated[str, typer.Argument(help="The account's id, as `accounts` lists it.")],
    server: Server,
    market: ForMarket = None,
    days: Days = None,
    out: SecretFile = None,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """Make another token for an account, such as in the place of a lost one.

    Example: kantor operator token 4be1f0c2 --out household17.token
    """
    _new_file(out)
    with desk(server, token_file) as client:
        made = _token(client, check_id(account, "account's id", "kantor operator accounts"), market, days, out)
    _show_token(made, out, as_json, f"A new token for account {account}.")


def _new_file(out: Path | None) -> None:
    if out is not None and out.exists():
        raise InputError("there is such a file already", remedy="Give the name of a new one.", file=out)


def _token(client: Desk, account: str, market: str | None, days: float | None, out: Path | None) -> dict[str, Any]:
    from kantor.evidence.signing import write_secret

    more: dict[str, Any] = {} if days is None else {"expires_in": int(days * 86400)}
    if market is not None:
        more["market"] = check_market(market)
    made = client.add_token(account, **more)
    if out is not None:
        write_secret(out, f"{made['token']}\n".encode())
    return {"token_id": made["id"], "token": made["token"], "market": made["market"], "expires_at": made["expires_at"]}


def _show_token(made: dict[str, Any], out: Path | None, as_json: bool, text: str) -> None:
    if as_json:
        shown = made if out is None else {**made, "token": None}
        print_json({**shown, "out": None if out is None else str(out)})
        return
    say(text, stderr=True)
    if out is None:
        say(f"Token {made['token_id']}; its text, which is shown this once:", stderr=True)
        typer.echo(made["token"])
    else:
        say(f"Token {made['token_id']} is in {out}.", stderr=True)


def revoke(
    token_id: Annotated[str, typer.Argument(metavar="TOKEN", help="The token's id, as `accounts` lists it.")],
    server: Server,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """Revoke a token: the next request with it is refused. For ever.

    Example: kantor operator revoke 77ac01d9
    """
    with desk(server, token_file) as client:
        found = client.revoke(check_id(token_id, "token's id", "kantor operator accounts"))
    if as_json:
        print_json(found)
    else:
        say(f"Token {token_id} is revoked.")
