"""`kantor verify`: check a market from one file, offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kantor.commands.options import Json
from kantor.errors import InputError
from kantor.terminal import Progress, print_json, say

__all__ = ["command"]


def command(
    bundle: Annotated[Path, typer.Argument(help="A bundle that a market has exported, public or the auditor's.")],
    key: Annotated[
        str | None, typer.Option(help="The market's key as you know it from elsewhere, such as from a receipt.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check that a market ran properly, from its exported bundle alone; exit code 1 if it did not.

    Example: kantor verify market-auditor.json --key 5d1e...
    """
    from kantor.service.verify import verify

    try:
        content = bundle.read_bytes()
    except OSError as fault:
        raise InputError(
            f"it cannot be read ({fault.strerror})", remedy="Give the file that was downloaded.", file=bundle
        ) from fault
    with Progress("Verifying", quiet=as_json):
        found = verify(content, key)
    if as_json:
        print_json(found.as_dict())
    else:
        say(f"Market {found.market}, {found.kind} bundle")
        for step in found.steps:
            say(f"  {'right' if step.passed else 'WRONG'}  {step.name}: {step.said}")
        say("Everything holds." if found.passed else "This market cannot be relied on.")
    if not found.passed:
        raise typer.Exit(1)
