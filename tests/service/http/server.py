"""A server as its operator starts it, in processes of its own, with all that it writes kept."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Server:
    """A running `kantor serve`."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes], output: Path) -> None:
        self.folder, self.process, self._output = folder, process, output
        self.url = self._address()

    @property
    def output(self) -> bytes:
        """What server and worker have written so far, on both streams."""
        return self._output.read_bytes()

    def _address(self, patience: float = 60.0) -> str:
        until = time.monotonic() + patience
        while time.monotonic() < until and self.process.poll() is None:
            found = re.search(rb"http://[0-9.]+:[0-9]+", self.output)
            if found:
                return found[0].decode()
            time.sleep(0.05)
        raise TimeoutError(self.output.decode(errors="replace"))


@contextmanager
def running(folder: Path, url: str, *more: str) -> Iterator[Server]:
    """A server while this lasts."""
    output = folder / "output"
    command = [sys.executable, "-m", "kantor", "serve", str(folder / "server"), "--database", url, "--port", "0", *more]
    with output.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
    try:
        yield Server(folder, process, output)
    finally:
        process.terminate()
        process.wait(timeout=30)
