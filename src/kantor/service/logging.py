"""The server's log: one JSON object a line on standard error, with what was asked and never what was said.

What libraries say goes the same way. Of a failure that they report, the kind and the place are told: its message and
its traceback may quote what somebody sent. Nobody else logs requests, neither uvicorn nor the database's driver.
"""

from __future__ import annotations

import logging
import sys
import threading
from typing import TYPE_CHECKING, Any, TextIO

import structlog
from structlog.typing import EventDict

from kantor.service.failures import place_of

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["configure"]

_SHARED: list[Any] = [
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def configure(stream: TextIO | None = None) -> None:
    """Log as JSON lines, to standard error unless told otherwise."""
    out = sys.stderr if stream is None else stream
    structlog.configure(
        processors=[*_SHARED, _without_traceback, structlog.processors.JSONRenderer(sort_keys=True)],
        logger_factory=structlog.PrintLoggerFactory(out),
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(_Lines())
    logging.root.handlers[:] = [handler]
    logging.root.setLevel(logging.WARNING)
    for name in ("uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate, logger.disabled = True, False
        logger.setLevel(logging.NOTSET)
    logging.getLogger("uvicorn.access").disabled = True
    logging.captureWarnings(True)
    sys.excepthook = _told
    threading.excepthook = lambda found: _told(found.exc_type, found.exc_value, found.exc_traceback)


class _Lines(logging.Formatter):
    """A library's record as one of our lines: its template, without what was put into it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        said = str(record.msg)
        event: EventDict = {"event": "warned" if said == "%s" else said, "logger": record.name}
        if record.exc_info:
            event["exc_info"] = record.exc_info
        name = record.levelname.lower()
        for step in _SHARED:
            event = step(None, name, event)
        return str(structlog.processors.JSONRenderer(sort_keys=True)(None, name, _without_traceback(None, name, event)))


def _without_traceback(_: Any, __: str, event: EventDict) -> EventDict:
    found = event.pop("exc_info", None)
    fault = sys.exc_info()[1] if found is True else found[1] if isinstance(found, tuple) else found
    if isinstance(fault, BaseException):
        event.update(error=type(fault).__name__, where=place_of(fault))
    return event


def _told(kind: type[BaseException], fault: BaseException | None, _: TracebackType | None) -> None:
    """What nobody has caught."""
    structlog.get_logger("kantor").critical(
        "ended", error=kind.__name__, where="unknown" if fault is None else place_of(fault)
    )
