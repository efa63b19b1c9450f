"""A server as a process: the HTTP interface here, a worker beside it that is started again whenever it dies.

The worker learns of the server's end by the pipe between them, so none is left behind, whatever ends the server.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import structlog
import uvicorn

from kantor.errors import InputError
from kantor.service.exchange import Exchange
from kantor.service.http.app import make_app
from kantor.service.settings import Settings
from kantor.service.worker import WATCHED

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["WorkerProcess", "serve"]

_LOG = structlog.get_logger("kantor")
_PAUSE = 0.5


class WorkerProcess:
    """A worker that is always there; `close` ends it."""

    def __init__(self, command: Sequence[str], database: str) -> None:
        self._command = list(command)
        self._environment = {**os.environ, "KANTOR_DATABASE": database, WATCHED: "1"}
        self._over = threading.Event()
        self._process = self._start()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    @property
    def number(self) -> int:
        """The process's id."""
        return self._process.pid

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._command, stdin=subprocess.PIPE, env=self._environment)  # noqa: S603  our own

    def _watch(self) -> None:
        while not self._over.is_set():
            code = self._process.wait()
            if self._over.is_set():
                return
            _LOG.error("the worker has ended and is started again", code=code)
            time.sleep(_PAUSE)
            self._process = self._start()

    def close(self) -> None:
        """End it after the step that is under way."""
        self._over.set()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.terminate()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()


def serve(settings: Settings, *, worker: bool = True, ready: Callable[[str], None] = lambda _: None) -> None:
    """Run a server until a signal. ready: is told the address once requests are answered."""
    exchange = settings.exchange()
    listener = _listener(settings)
    address = f"http://{settings.host}:{listener.getsockname()[1]}"
    beside = WorkerProcess(_worker_command(settings), settings.url) if worker else None
    try:
        _http(settings, exchange, listener, lambda: ready(address))
    finally:
        listener.close()
        if beside is not None:
            beside.close()


def _http(settings: Settings, exchange: Exchange, listener: socket.socket, ready: Callable[[], None]) -> None:
    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

    config = uvicorn.Config(
        make_app(exchange, settings.limits),
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=10,
        backlog=4096,
    )
    Server(config).run(sockets=[listener])


def _listener(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=4096)
    except OSError as fault:
        raise InputError(
            f"nothing can listen on {settings.host}:{settings.port} ({fault.strerror or fault})",
            remedy="Another server may run there: end it, or choose another --port (0 takes any that is free).",
            argument="--port",
        ) from fault


def _worker_command(settings: Settings) -> list[str]:
    parties = [] if settings.parties is None else ["--parties", str(settings.parties)]
    return [sys.executable, "-m", "kantor", "serve", str(settings.folder), "--worker-only", *parties]
