"""Asking before something is done: what leaves a machine, or what cannot be undone, waits for a person's word."""

from __future__ import annotations

import sys
from typing import Annotated, TypeAlias

import typer

from kantor.errors import InputError
from kantor.terminal import say

__all__ = ["Yes", "confirm"]

Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask: the answer is yes.")]


def confirm(question: str, yes: bool) -> None:
    """Go on if the answer is yes; end with exit code 1 if it is no. Without a terminal, nobody can be asked."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(
            f"this needs a yes, and there is no terminal to ask at ({question.rstrip('?')})",
            remedy="Nothing was done. Add --yes if that is what you want.",
        )
    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:
        agreed = False
    if not agreed:
        say("Nothing was done.", stderr=True)
        raise typer.Exit(1)
