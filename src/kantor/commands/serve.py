"""`kantor serve`: run a market."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kantor.errors import MissingExtraError
from kantor.terminal import say

__all__ = ["command"]


def command(
    folder: Annotated[
        Path, typer.Argument(help="Where the server keeps its keys, and its database unless --database says otherwise.")
    ] = Path("kantor-market"),
    database: Annotated[
        str | None,
        typer.Option(
            help="postgresql://USER@HOST/NAME, or sqlite:///FILE. Better in KANTOR_DATABASE if there is a password.",
            show_default="market.db in the folder",
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen. Put a TLS proxy before anything but this machine.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")] = 8440,
    parties: Annotated[
        Path | None, typer.Option(help="Roster and market.pem of compute parties, for private valuation.")
    ] = None,
    rate: Annotated[float, typer.Option(min=0.1, help="Requests a second that each caller may send.")] = 100.0,
    no_worker: Annotated[bool, typer.Option("--no-worker", help="Only answer; workers run elsewhere.")] = False,
    worker_only: Annotated[
        bool, typer.Option("--worker-only", help="Only move markets on: close, clear, settle.")
    ] = False,
) -> None:
    """Run a market: the HTTP interface, and a worker that closes, clears and settles.

    Example: kantor serve market --port 8440
    """
    try:
        from kantor.service.http.limits import Limits
        from kantor.service.serving import serve
        from kantor.service.settings import OPERATOR_TOKEN, Settings
        from kantor.service.worker import run_worker
    except ImportError as missing:
        raise MissingExtraError("Running a market", f"{missing.name}", "market") from missing
    from kantor.service.logging import configure

    configure()
    limits = Limits(rate=rate, burst=4 * rate)
    settings = Settings(folder, database, parties, host, port, limits)
    if worker_only:
        run_worker(settings.exchange())
        return

    def ready(address: str) -> None:
        say(f"The market is at {address}, its interface described at {address}/docs.")
        say(f"The operator's token: {folder / OPERATOR_TOKEN}. Ctrl-C ends the server; started again, it goes on.")

    serve(settings, worker=not no_worker, ready=ready)
