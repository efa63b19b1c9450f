"""Commands as people give them: in this process, against a live town, with or without a terminal."""

import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kantor.cli import main


class Terminal(io.StringIO):
    """A keyboard at which somebody sits, or a screen."""

    def isatty(self):
        return True


def kantor(*arguments, typed=None, screen=None, cwd=".", **environment):
    """Run a command. typed: what somebody types at a keyboard. screen: how wide a terminal is. Without them: none."""
    out, err = io.StringIO() if screen is None else Terminal(), io.StringIO()
    keyboard = io.StringIO() if typed is None else Terminal(typed)
    with contextlib.ExitStack() as around:
        patch = around.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("COLUMNS", str(screen or 200))
        patch.setenv("NO_COLOR", "1")
        for name in ("KANTOR_HOME", "KANTOR_TOKEN", "KANTOR_SERVER", "KANTOR_BUYER_HOME"):
            patch.delenv(name, raising=False)
        for name, value in environment.items():
            patch.setenv(name, str(value))
        patch.setattr(sys, "stdin", keyboard)
        for context in (contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)):
            around.enter_context(context)
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
    shown = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    return subprocess.CompletedProcess(arguments, ended.value.code, shown, err.getvalue())


def done(*arguments, **more):
    """Run a command that has to succeed; what it said."""
    found = kantor(*arguments, **more)
    assert found.returncode == 0, found.stderr
    return found.stdout


def plain(*arguments, **more):
    """The same, as JSON."""
    return json.loads(done(*arguments, "--json", **more))


def refused(*arguments, code=2, **more):
    """Run a command that has to refuse; why."""
    found = kantor(*arguments, **more)
    assert found.returncode == code, (found.stdout, found.stderr)
    return found.stderr


def token(client) -> str:
    """The token of a client."""
    return str(client._http.headers["Authorization"]).removeprefix("Bearer ")


def token_file(client, folder: Path) -> Path:
    """The same in a file."""
    file = folder / f"{token(client)[:20]}.token"
    file.write_text(token(client) + "\n")
    return file
