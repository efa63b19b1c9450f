"""A compute party: a process that keeps shares and computes on them with two others.

It answers over TLS, one request for each connection:

- the market (by its certificate) opens a session with its terms, starts the computation, fetches this party's shares of
  the distances, and ends the session;
- an owner (by its token) reads the terms, sends its shares, and fetches this party's share of its own distance;
- the two other parties (by their certificates) send their messages.

What it holds is useless alone, and gone when the process ends.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from kantor.errors import KantorError, PartyError
from kantor.private.frames import Frame, FrameError, read_frame, write_frame
from kantor.private.identity import MARKET, Identity, Roster, server_context
from kantor.private.session import RefusedError, Session
from kantor.private.transport import TlsWire
from kantor.private.wire import Wire

__all__ = ["Party"]

_SESSIONS = 64
_MOST_FROM_STRANGERS, _MOST = 1 << 28, 1 << 32


class Party:
    """One of the three. `serve` returns when `close` is called from another thread."""

    def __init__(self, roster: Roster, own: Identity, index: int, patience: float = 60.0) -> None:
        self.roster, self.own, self.index, self.patience = roster, own, index, patience
        self.sessions: dict[str, Session] = {}
        self._lock = threading.Lock()
        self._context = server_context(roster, own)
        address = roster.addresses[index]
        self._listener = socket.create_server((address.host, address.port), backlog=512)
        self._answers: dict[str, Callable[[Any, Frame], Frame]] = {
            "ping": self._ping,
            "open": self._open,
            "about": self._about,
            "submit": self._submit,
            "compute": self._compute,
            "collect": self._collect,
            "forget": self._forget,
        }

    def serve(self) -> None:
        """Answer until closed."""
        while True:
            try:
                stream, _ = self._listener.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._answer, args=(stream,), daemon=True).start()

    def close(self) -> None:
        """Stop answering."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def wire(self, session: Session) -> Wire:
        """The connections to the others; tests put faulty ones here."""
        return TlsWire(self.roster, self.own, self.index, session.name, self.patience, session.arrived)

    def _answer(self, plain: socket.socket) -> None:
        plain.settimeout(self.patience)
        try:
            stream = self._context.wrap_socket(plain, server_side=True)
        except (OSError, EOFError):
            plain.close()
            return  # no TLS, or an unknown certificate: there is nobody to answer
        try:
            who = self.roster.who(stream.getpeercert(binary_form=True))
            request = read_frame(stream, _MOST_FROM_STRANGERS if who is None else _MOST)
            if request.header.get("ask") == "peer":
                self._peer(who, request, stream)
                return
            answer = self._say(who, request)
            write_frame(stream, answer.header, answer.body)
        except (OSError, EOFError, FrameError):
            pass  # the caller is gone or speaks another language: it gets no answer, and nothing has changed
        stream.close()

    def _say(self, who: Any, request: Frame) -> Frame:
        try:
            answer = self._answers.get(str(request.header.get("ask")))
            if answer is None:
                raise RefusedError("this is no question", "Use this version's client.")  # noqa: TRY301
            return answer(who, request)
        except RefusedError as refused:
            return Frame({"error": refused.problem, "remedy": refused.remedy, "party": refused.party}, b"")
        except PartyError as fault:
            return Frame({"error": fault.problem, "remedy": fault.remedy, "party": fault.party}, b"")
        except KantorError as fault:
            return Frame({"error": str(fault), "remedy": "Mend the session's terms."}, b"")
        except (KeyError, TypeError, ValueError, AttributeError) as fault:
            return Frame({"error": f"the request cannot be read ({fault!r})", "remedy": "Use this client."}, b"")

    def _session(self, request: Frame) -> Session:
        name = str(request.header.get("session"))
        with self._lock:
            if name not in self.sessions:
                raise RefusedError(
                    f"party {self.index + 1} does not know session {name[:40]!r}",
                    "If it was restarted, it has forgotten all shares: start again with a new session.",
                    self.index + 1,
                )
            return self.sessions[name]

    def _peer(self, who: Any, request: Frame, stream: ssl.SSLSocket) -> None:
        if not isinstance(who, int) or request.header.get("from") != who:
            stream.close()
            return
        try:
            self._session(request).called(who, stream)
        except RefusedError:
            stream.close()

    def _ping(self, who: Any, request: Frame) -> Frame:  # noqa: ARG002
        return Frame({"party": self.index + 1}, b"")

    def _open(self, who: Any, request: Frame) -> Frame:
        _only_market(who)
        session = Session(str(request.header["session"]), _terms(request.header["terms"]))
        with self._lock:
            known = self.sessions.get(session.name)
            if known is not None and known.terms == session.terms:
                return Frame({"ok": True}, b"")  # the market asks again: it did not hear the first answer
            if known is not None:
                raise RefusedError("there is a session of this name", "Choose another.")
            if len(self.sessions) >= _SESSIONS:
                raise RefusedError(f"{_SESSIONS} sessions are open", "End those that are done.")
            self.sessions[session.name] = session
        return Frame({"ok": True}, b"")

    def _about(self, who: Any, request: Frame) -> Frame:  # noqa: ARG002
        session = self._session(request)
        return Frame({"terms": session.terms, "state": session.state, "sent": len(session.shares)}, b"")

    def _submit(self, who: Any, request: Frame) -> Frame:  # noqa: ARG002
        session, start = self._session(request), 0
        parcels = []
        for name, token, first, second in request.header["shares"]:
            session.admit(name, token)
            middle, end = start + int(first), start + int(first) + int(second)
            parcels.append((name, request.body[start:middle], request.body[middle:end]))
            start = end
        for parcel in parcels:
            session.accept(*parcel)
        return Frame({"accepted": len(parcels)}, b"")

    def _compute(self, who: Any, request: Frame) -> Frame:
        _only_market(who)
        session = self._session(request)
        with session.lock:
            if session.state == "open":
                session.state = "computing"
            elif session.state != "done":
                raise RefusedError(f"the session is {session.state}", "A session computes once: start a new one.")
        if session.result is None:
            self._run(session)
        result = session.result
        assert result is not None  # noqa: S101  `_run` has raised otherwise
        body = np.ascontiguousarray(result.rows, dtype="<u8").tobytes()
        return Frame(result.about(session.name, session.terms), body)

    def _run(self, session: Session) -> None:
        wire, result = self.wire(session), None
        try:
            result = session.compute(wire)
        finally:
            session.end(result)
            close = getattr(wire, "close", None)
            if close is not None:
                close()

    def _collect(self, who: Any, request: Frame) -> Frame:  # noqa: ARG002
        session, name = self._session(request), str(request.header["owner"])
        session.admit(name, str(request.header["token"]))
        result = session.result
        if result is None:
            raise RefusedError(f"the session is {session.state}", "Ask again when the market has computed.")
        about = result.about(session.name, session.terms)
        names = [*result.included, *result.references]
        rows = result.rows[:, names.index(name)] if name in names and result.rows.shape[1] else np.empty(0, np.uint64)
        reason = result.left_out.get(name)
        answer = {"owners": len(result.included), "opened": result.opened, "left_out": reason, "view": about["view"]}
        return Frame(answer, np.ascontiguousarray(rows, dtype="<u8").tobytes())

    def _forget(self, who: Any, request: Frame) -> Frame:
        _only_market(who)
        with self._lock:
            self.sessions.pop(str(request.header.get("session")), None)
        return Frame({"ok": True}, b"")


def _only_market(who: Any) -> None:
    if who != MARKET:
        raise RefusedError("only the market may ask this", "Call with the market's certificate.")


def _terms(said: Any) -> dict[str, Any]:
    """The terms, in the one form that all parties hash."""
    least = int(said["least_owners"])
    if least < 2:
        raise RefusedError(
            f"the least number of owners is {least}", "Give at least 2: one owner alone is its own target."
        )
    owners, references = ({str(n): str(h) for n, h in said[kind].items()} for kind in ("owners", "references"))
    if set(owners) & set(references):
        raise RefusedError("an owner and a reference have one name", "Give each its own.")
    return {"method": dict(said["method"]), "owners": owners, "references": references, "least_owners": least}
