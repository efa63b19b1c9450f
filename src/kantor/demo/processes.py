"""Real processes, started together and ended together, each with a log file of its own.

Forty agents would spend a minute importing the same libraries. They are forked from a process that has imported them
once; each is a process of its own all the same, with its own memory, files and connections, and runs the command that a
person would type.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from kantor.errors import KantorError

__all__ = ["Cast", "StoppedError"]

_PATIENCE = 60.0


_SINGLE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "NO_COLOR": "1"}
_PRELOADED = ["kantor.commands.owner.running", "kantor.service.agent.owner", "httpx", "scipy.stats", "opendp.prelude"]


class StoppedError(KantorError):
    """A process of the demo ended when it should not have."""


class _Forked:
    """A forked process, to be asked as one that was started."""

    def __init__(self, arguments: Sequence[str], log: Path) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_PRELOADED)
        self._process = context.Process(target=_act, args=(list(arguments), str(log)))
        self._process.start()

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int | None:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("agent", timeout or 0.0)
        return self._process.exitcode

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()


def _act(arguments: list[str], log: str) -> None:
    """Be `kantor` with these arguments."""
    with Path(log).open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.stdout = os.fdopen(1, "w", buffering=1)
    sys.stderr = os.fdopen(2, "w", buffering=1)
    from kantor.cli import main

    main(arguments)


@dataclass
class Cast:
    """Everybody who acts, by name."""

    folder: Path
    processes: dict[str, subprocess.Popen[bytes] | _Forked] = field(default_factory=dict)
    _files: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Cast:
        self.folder.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        running = [each for each in self.processes.values() if each.poll() is None]
        for each in running:
            each.terminate()
        for each in running:
            try:
                each.wait(timeout=10)
            except subprocess.TimeoutExpired:
                each.kill()
                each.wait()
        self._files.close()

    def start(self, name: str, *arguments: str, **environment: str) -> None:
        """Start `kantor` with these arguments; what it says goes to a log of its own."""
        log = self._files.enter_context((self.folder / f"{name}.log").open("ab"))
        self.processes[name] = subprocess.Popen(  # noqa: S603  our own command
            [sys.executable, "-m", "kantor", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **_SINGLE, **environment},
        )

    def fork(self, name: str, *arguments: str) -> None:
        """The same for one of many: forked from a process that has loaded everything."""
        os.environ.update(_SINGLE)
        self.processes[name] = _Forked(arguments, self.folder / f"{name}.log")

    def run(self, name: str, *arguments: str, **environment: str) -> str:
        """Run to the end; returns what it said."""
        self.start(name, *arguments, **environment)
        code = self.processes[name].wait(timeout=_PATIENCE)
        said = self.said(name)
        if code:
            raise StoppedError(f"{name} failed: {said.strip()[-600:]}")
        return said

    def said(self, name: str) -> str:
        """What a process has said so far."""
        return (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def wait_for(self, name: str, sign: Callable[[str], bool], patience: float = 30.0) -> str:
        """Wait until a process has said something."""
        until = time.monotonic() + patience
        while time.monotonic() < until:
            said = self.said(name)
            if sign(said):
                return said
            self.check([name])
            time.sleep(0.05)
        raise StoppedError(f"{name} does not start: {self.said(name).strip()[-600:]}")

    def check(self, names: Sequence[str] | None = None) -> None:
        """An error if somebody has failed."""
        for name in names or list(self.processes):
            code = self.processes[name].poll()
            if code:
                raise StoppedError(f"{name} ended with {code}: {self.said(name).strip()[-600:]}")

    def running(self, prefix: str = "") -> int:
        """How many are at work."""
        return sum(name.startswith(prefix) and each.poll() is None for name, each in self.processes.items())
