"""How a command finds its server and signs in. A token is never given on the command line, where others can read it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from kantor.errors import InputError

__all__ = ["Server", "TokenFile", "token_from"]

Server: TypeAlias = Annotated[
    str, typer.Option(envvar="KANTOR_SERVER", help="The market's address, such as https://market.example.")
]
TokenFile: TypeAlias = Annotated[
    Path | None, typer.Option(help="A file with the token. Default: the variable KANTOR_TOKEN, or a question.")
]


def token_from(file: Path | None) -> str:
    """The token in a file, in KANTOR_TOKEN, or typed in unseen."""
    if file is not None:
        try:
            return _clean(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as fault:
            raise InputError(
                f"no token can be read ({fault})", remedy="Give the file that the operator gave you.", file=file
            ) from fault
    stated = os.environ.get("KANTOR_TOKEN")
    if stated:
        return _clean(stated)
    if not sys.stdin.isatty():
        raise InputError("there is no token", remedy="Give --token-file FILE, or set KANTOR_TOKEN.")
    return _clean(str(typer.prompt("Token", hide_input=True)))


def _clean(text: str) -> str:
    token = text.strip()
    if not token.isascii() or not token.startswith("kantor_") or len(token.split()) != 1:
        raise InputError("this is no token", remedy="A token begins with kantor_ and has no spaces. Copy all of it.")
    return token
