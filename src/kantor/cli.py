"""Arguments in, outcomes out: the command line does no work of its own.

What a person reads goes to the terminal as tables and sentences; where standard output is not a terminal, tables are
plain CSV, so that pipes and files get data; with `--json` it is JSON. Errors go to standard error with exit code 2, and
with `--json` they are JSON too. Exit code 1 means that the answer is no: an audit that fails.

Each command is a function in `kantor.commands`.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated, Any

import typer

import kantor
from kantor.commands import (
    audit,
    buyer,
    clear,
    demo,
    operator,
    owner,
    party,
    plan,
    serve,
    study,
    trustee,
    value,
    verify,
)
from kantor.errors import KantorError

__all__ = ["app", "main"]

app = typer.Typer(
    name="kantor",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A market for differentially-private data: who to buy from, what to pay, and proof that it ran properly.",
    epilog="Start with:  kantor demo",
)
for _module in (value, clear, audit, plan, study, demo, serve, verify):
    app.command(_module.__name__.rpartition(".")[2])(_module.command)
for _group in (owner, buyer, operator):
    app.add_typer(_group.app, name=_group.__name__.rpartition(".")[2])
app.add_typer(party.app, name="party")
app.add_typer(trustee.app, name="trustee")


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit: 0 done, 1 the answer is no, 2 bad input."""
    given = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in given
    try:
        code = app(given, standalone_mode=not as_json)
    except KantorError as failure:
        _say(failure.as_dict() if as_json else f"kantor: {failure}")
        sys.exit(2)
    except OSError as failure:
        problem = f"standard output cannot be written ({failure.strerror or failure})"
        _say({"error": "OSError", "message": problem} if as_json else f"kantor: {problem}")
        os._exit(2)  # the interpreter would try to write the rest again
    except _UsageError as failure:
        _say({"error": "UsageError", "message": failure.format_message()})
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)


_UsageError: Any = typer.BadParameter.__mro__[1]


def _say(failure: str | dict[str, Any]) -> None:
    print(failure if isinstance(failure, str) else json.dumps(failure), file=sys.stderr)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"kantor {kantor.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which kantor this is.")
    ] = False,
) -> None:
    pass
