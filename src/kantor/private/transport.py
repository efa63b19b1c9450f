"""The wire between party processes: one TLS connection for each direction between two of them.

A party calls the two others to send, and is called by them to receive, so that no connection is read and written at the
same time. Messages that wait to be sent have a thread of their own, so that three parties that send each other much at
once do not wait for each other for ever.
"""

from __future__ import annotations

import queue
import ssl
import threading
from collections.abc import Callable

from kantor.errors import PartyError
from kantor.private.frames import FrameError, connect, read_frame, write_frame
from kantor.private.identity import Identity, Roster, client_context

__all__ = ["TlsWire"]


class TlsWire:
    """A party's connections in one session."""

    def __init__(
        self,
        roster: Roster,
        own: Identity,
        index: int,
        session: str,
        patience: float,
        arrived: Callable[[int, float], ssl.SSLSocket],
    ) -> None:
        self.index, self._patience, self._arrived = index, patience, arrived
        self._incoming: dict[int, ssl.SSLSocket] = {}
        self._expected: dict[int, int] = {}
        self._outboxes: dict[int, _Outbox] = {}
        for other in range(len(roster.addresses)):
            if other != index:
                self._outboxes[other] = _Outbox(roster, own, index, other, session, patience)

    def send(self, to: int, label: str, content: bytes) -> None:
        """Hand a message to the sending thread."""
        self._outboxes[to].put(label, content)

    def receive(self, sender: int, label: str) -> bytes:
        """The next message of this sender."""
        number = self._expected.get(sender, 0)
        self._expected[sender] = number + 1
        try:
            if sender not in self._incoming:
                self._incoming[sender] = self._arrived(sender, self._patience)
            header, body = read_frame(self._incoming[sender])
        except TimeoutError as fault:
            raise _lost(sender, f"sent nothing for {self._patience:g} s") from fault
        except (EOFError, OSError) as fault:
            raise _lost(sender, "ended the connection in the middle of the computation") from fault
        except FrameError as fault:
            raise _lost(sender, f"sent rubbish ({fault})") from fault
        if header != {"number": number, "label": label}:
            raise _lost(sender, f"sent {str(header)[:80]}, where message {number} of step {label!r} comes next")
        return body

    def close(self) -> None:
        """End all connections."""
        for outbox in self._outboxes.values():
            outbox.close()
        for stream in self._incoming.values():
            stream.close()


class _Outbox:
    """Messages on their way to one party."""

    def __init__(self, roster: Roster, own: Identity, index: int, to: int, session: str, patience: float) -> None:
        self._to, self._count = to, 0
        self._waiting: queue.Queue[tuple[str, bytes] | None] = queue.Queue()
        self._fault: Exception | None = None
        self._hello = {"ask": "peer", "session": session, "from": index}
        self._place = roster.addresses[to], client_context(roster.certificates[to], own), patience
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def put(self, label: str, content: bytes) -> None:
        if self._fault is not None:
            raise _lost(self._to, f"takes no more messages ({self._fault})") from self._fault
        self._waiting.put((label, content))

    def close(self) -> None:
        self._waiting.put(None)
        self._thread.join(timeout=1.0)

    def _run(self) -> None:
        try:
            with connect(*self._place) as stream:
                write_frame(stream, self._hello)
                while (message := self._waiting.get()) is not None:
                    write_frame(stream, {"number": self._count, "label": message[0]}, message[1])
                    self._count += 1
        except OSError as fault:
            self._fault = fault


def _lost(party: int, what: str) -> PartyError:
    return PartyError(
        f"party {party + 1} {what}",
        remedy="There is no result, and nothing was opened. See whether it runs, and start again with a new session.",
        party=party + 1,
    )
