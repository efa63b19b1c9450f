"""`kantor demo`: what newcomers run first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kantor.errors import MissingExtraError
from kantor.terminal import console

__all__ = ["command"]


def command(
    out: Annotated[Path, typer.Option(help="The folder to write to; made if missing.")] = Path("kantor-demo"),
    owners: Annotated[int, typer.Option(min=3, max=200, help="How many households take part.")] = 40,
) -> None:
    """Run a whole market on this machine: server, parties, trustee, buyer, forty households, and an auditor.

    Every one is a process of its own. It takes about a minute, shows what goes on, and writes a report.
    """
    try:
        from kantor.demo.report import write_report
        from kantor.demo.story import tell
        from kantor.demo.summary import show_summary
    except ImportError as missing:
        raise MissingExtraError("The demo", str(missing.name), "market") from missing
    told = tell(out, console(), owners)
    file = write_report(told)
    show_summary(told, file, console())
