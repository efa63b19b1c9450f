"""What the parties' programs see of the network: numbered, labelled messages to and from two neighbours.

Every message carries its number, the label of the step that it belongs to, and exactly the bytes that this step sends.
A receiver knows from its own program what must come next, so anything else (a message repeated, left out, cut short, of
another step, or rubbish) ends the computation with the sender's name.

`Wire` is the interface; `memory_wires` joins three programs in one process, for tests and for measuring the computation
alone; `kantor.private.transport` joins processes over TCP with TLS.
"""

from __future__ import annotations

import queue
from typing import Protocol

import numpy as np

from kantor.errors import PartyError
from kantor.private.randomness import Words
from kantor.private.sharing import PARTIES

__all__ = ["MemoryWire", "Wire", "memory_wires", "receive_words", "send_words"]


_GAVE_UP = "gave up"


class Wire(Protocol):
    """A party's connections to the two others."""

    index: int

    def send(self, to: int, label: str, content: bytes) -> None:
        """Send a message; may return before it has arrived."""

    def receive(self, sender: int, label: str) -> bytes:
        """The next message of this sender, which has to be of this step."""


def send_words(wire: Wire, to: int, label: str, words: Words) -> None:
    """Send numbers."""
    wire.send(to, label, np.ascontiguousarray(words, dtype="<u8").tobytes())


def receive_words(wire: Wire, sender: int, label: str, shape: tuple[int, ...]) -> Words:
    """Exactly so many numbers."""
    content = wire.receive(sender, label)
    if len(content) != 8 * int(np.prod(shape)):
        raise PartyError(
            f"party {sender + 1} sent {len(content)} bytes in step {label!r}, where {8 * int(np.prod(shape))} belong",
            remedy="There is no result. It is faulty, or runs another version; replace it and start again.",
            party=sender + 1,
        )
    return np.frombuffer(content, dtype="<u8").astype(np.uint64, copy=False).reshape(shape)


class MemoryWire:
    """Three parties in one process. What each receives can be recorded."""

    def __init__(self, index: int, inboxes: list[dict[int, queue.Queue[tuple[str, bytes]]]], patience: float) -> None:
        self.index, self._inboxes, self._patience = index, inboxes, patience
        self.received: list[tuple[int, str, bytes]] | None = None
        """(sender, label, content) of every message, once set to a list."""
        self.bytes_sent = 0
        self.messages_sent = 0

    def send(self, to: int, label: str, content: bytes) -> None:
        """Into the other's inbox."""
        self.bytes_sent += len(content)
        self.messages_sent += 1
        self._inboxes[to][self.index].put((label, content))

    def give_up(self) -> None:
        """Tell the others that nothing more will come."""
        for other in range(PARTIES):
            if other != self.index:
                self._inboxes[other][self.index].put((_GAVE_UP, b""))

    def receive(self, sender: int, label: str) -> bytes:
        """From the own inbox."""
        try:
            found, content = self._inboxes[self.index][sender].get(timeout=self._patience)
        except queue.Empty as fault:
            raise PartyError(
                f"party {sender + 1} sent nothing for {self._patience:g} s",
                remedy="There is no result. See whether it runs, and start again.",
                party=sender + 1,
            ) from fault
        if found == _GAVE_UP:
            raise PartyError(f"party {sender + 1} gave up", remedy="There is no result. See what it says.")
        if found != label:
            raise PartyError(
                f"party {sender + 1} is at step {found!r}, where {label!r} comes next",
                remedy="There is no result. See that all parties run the same version, and start again.",
                party=sender + 1,
            )
        if self.received is not None:
            self.received.append((sender, label, content))
        return content


def memory_wires(patience: float = 60.0) -> list[MemoryWire]:
    """Three wires that are joined."""
    inboxes: list[dict[int, queue.Queue[tuple[str, bytes]]]] = [
        {other: queue.Queue() for other in range(PARTIES)} for _ in range(PARTIES)
    ]
    return [MemoryWire(index, inboxes, patience) for index in range(PARTIES)]
