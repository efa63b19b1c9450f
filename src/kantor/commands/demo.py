"""`kantor demo`: what newcomers run first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kantor.terminal import console

__all__ = ["command"]


def command(
    out: Annotated[Path, typer.Option(help="The folder to write to; made if missing.")] = Path("kantor-demo"),
) -> None:
    """Value a small shipped population and clear a market of it: tables, a figure, and what they say."""
    from kantor.demo import run_demo

    run_demo(out, console())
