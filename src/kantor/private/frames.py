"""Messages over a stream: a length, a header in JSON, a body of bytes.

A frame that does not begin with the mark, or says that it is longer than allowed, or ends early, is refused before
anything is made of it. Every wait has an end.
"""

from __future__ import annotations

import json
import socket
import ssl
import struct
from typing import Any, NamedTuple

from kantor.errors import PartyError
from kantor.private.identity import Address, Identity, Roster, client_context

__all__ = ["Frame", "FrameError", "call", "connect", "read_frame", "write_frame"]

_MARK = b"KPT1"
_PREFIX = struct.Struct("!4sIQ")
_MOST = 1 << 32
_AT_ONCE = 1 << 20


class FrameError(Exception):
    """What came over the wire is no frame."""


class Frame(NamedTuple):
    """A header and a body."""

    header: dict[str, Any]
    body: bytes


def write_frame(stream: socket.socket, header: dict[str, Any], body: bytes = b"") -> None:
    """Send a frame."""
    text = json.dumps(header).encode()
    stream.sendall(_PREFIX.pack(_MARK, len(text), len(body)) + text)
    if body:
        stream.sendall(body)


def read_frame(stream: socket.socket, most: int = _MOST) -> Frame:
    """The next frame, of at most so many bytes; `FrameError` for rubbish, `EOFError` at the end."""
    mark, header_size, body_size = _PREFIX.unpack(_read(stream, _PREFIX.size))
    if mark != _MARK:
        raise FrameError("what came is no message of this protocol")
    if header_size + body_size > most:
        raise FrameError(f"a message of {header_size + body_size:,} bytes is longer than allowed")
    try:
        header = json.loads(_read(stream, header_size))
    except ValueError as fault:
        raise FrameError("the header of a message cannot be read") from fault
    if not isinstance(header, dict):
        raise FrameError("the header of a message is no object")
    return Frame(header, _read(stream, body_size))


def _read(stream: socket.socket, size: int) -> bytes:
    """So many bytes; room is made as they come, since whoever announces them may never send them."""
    parts = []
    while size > 0:
        part = stream.recv(min(size, _AT_ONCE))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def connect(address: Address, context: ssl.SSLContext, patience: float) -> ssl.SSLSocket:
    """A TLS connection; waits for at most so many seconds, then and later."""
    plain = socket.create_connection((address.host, address.port), timeout=patience)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        return context.wrap_socket(plain)
    except BaseException:
        plain.close()
        raise


def call(
    roster: Roster, party: int, own: Identity | None, header: dict[str, Any], body: bytes = b"", patience: float = 60.0
) -> Frame:
    """Ask a party something and wait for its answer. Whatever goes wrong names the party."""
    try:
        with connect(roster.addresses[party], client_context(roster.certificates[party], own), patience) as stream:
            write_frame(stream, header, body)
            answer = read_frame(stream)
    except TimeoutError as fault:
        raise _failed(party, f"did not answer within {patience:g} s", "See whether it runs.") from fault
    except EOFError as fault:
        raise _failed(party, "ended the connection without an answer", "See whether it still runs.") from fault
    except FrameError as fault:
        raise _failed(party, f"sent rubbish ({fault})", "See that it runs this version.") from fault
    except ssl.SSLCertVerificationError as fault:
        raise _failed(party, "shows another certificate than the roster's", "Get the current roster.") from fault
    except OSError as fault:
        where = roster.addresses[party]
        raise _failed(party, f"cannot be reached at {where} ({fault})", "Start it: kantor party start.") from fault
    if "error" in answer.header:
        blamed = answer.header.get("party")
        raise PartyError(
            f"party {party + 1}: {answer.header['error']}",
            remedy=str(answer.header.get("remedy", "")),
            party=blamed if isinstance(blamed, int) else None,
        )
    return answer


def _failed(party: int, problem: str, remedy: str) -> PartyError:
    return PartyError(f"party {party + 1} {problem}", remedy=f"There is no result. {remedy}", party=party + 1)
