"""The server's log: one JSON object a line on standard error, with what was asked and never what was said."""

from __future__ import annotations

import logging
import sys

import structlog

__all__ = ["configure"]


def configure() -> None:
    """Log as JSON lines."""
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(sort_keys=True),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
