"""`kantor trustee`: keep a share of markets' keys, and open bids once markets have closed."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from kantor.commands.connecting import Server, TokenFile, token_from
from kantor.commands.options import Json
from kantor.terminal import print_json, say

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    help="Trustees: each keeps a share of every market's key. Together they open its bids, after it has closed.",
)

Folder: TypeAlias = Annotated[Path, typer.Argument(help="Where this trustee keeps its keys. Never share it.")]


@app.command()
def init(
    folder: Folder,
    name: Annotated[str, typer.Option(help="How markets' terms call this trustee.")] = "Trustee",
    as_json: Json = False,
) -> None:
    """Make a trustee's keys, and print what a buyer puts into a market's terms.

    Example: kantor trustee init trustee --name "Consumers' association"
    """
    from kantor.sealing.identity import TrusteeIdentity

    public = TrusteeIdentity.at(folder).public(name)
    if as_json:
        print_json(public.as_dict())
        return
    say(f"Keys are in {folder}: keep a copy somewhere safe, and show them to nobody. For a market's terms:\n")
    say(f'[[trustees.members]]\nname = "{public.name}"\nsigning = "{public.signing}"\nreceiving = "{public.receiving}"')


@app.command()
def run(
    folder: Folder,
    server: Server,
    token_file: TokenFile = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing.")] = False,
) -> None:
    """Take part in making markets' keys, and open bids after they have closed; until stopped.

    Example: kantor trustee run trustee --server https://market.example --token-file trustee.token
    """
    from kantor.service.agent.trustee import TrusteeAgent
    from kantor.service.client import Client

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with Client(server, token_from(token_file)) as client:
        client.me()  # an error at once, if the server or the token is wrong
        if not quiet:
            say(f"Watching the markets at {server}. Ctrl-C ends it; started again, it goes on.")
        TrusteeAgent(folder, client, (lambda _: None) if quiet else say).run(stop.is_set)
