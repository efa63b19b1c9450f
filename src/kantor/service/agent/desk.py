"""A client for somebody at a terminal: it says so when an answer takes longer than two seconds, and lists accounts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kantor.service.client import Client
from kantor.terminal import Progress

__all__ = ["Desk"]


class Desk(Client):
    """Requests to one server, for the commands of owners, buyers and operators."""

    def __init__(self, url: str, token: str, patience: float) -> None:
        super().__init__(url, token, patience=patience)

    def __enter__(self) -> Desk:
        return self

    def accounts(self) -> Iterator[dict[str, Any]]:
        """All accounts (operator)."""
        return self._all("/v1/accounts")

    def tokens(self) -> Iterator[dict[str, Any]]:
        """All tokens, without their texts (operator)."""
        return self._all("/v1/tokens")

    def _send(self, method: str, path: str, **more: Any) -> Any:
        with Progress(f"Waiting for {self.url}"):
            return super()._send(method, path, **more)
