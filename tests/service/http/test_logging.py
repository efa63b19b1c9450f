"""The log of a server: every line JSON, with what was asked and by whom, and never what was said."""

import io
import json
import logging
import sys
import threading
import warnings

import httpx
import pytest
import structlog
import uvicorn

from kantor.service.logging import configure
from service.http.server import running

PRIVATE = "73911739117391"


@pytest.fixture
def log():
    """The log in production settings; put back afterwards."""
    known = structlog.get_config(), list(logging.root.handlers), logging.root.level
    hooks = sys.excepthook, threading.excepthook
    shown = warnings.showwarning
    stream = io.StringIO()
    uvicorn.Config("none:app", log_level="critical")  # sets its own log up, which must not stay
    configure(stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    structlog.configure(**known[0])
    logging.root.handlers[:], logging.root.level = known[1], known[2]
    sys.excepthook, threading.excepthook = hooks
    logging.captureWarnings(False)
    warnings.showwarning = shown


def test_a_line_is_json_with_its_level_and_time(log):
    structlog.get_logger("kantor").info("answered", status=200)
    structlog.get_logger("kantor").error("failed", text='with "quotes"\nand lines')
    first, second = log()
    assert (first["event"], first["level"], first["status"]) == ("answered", "info", 200)
    assert first["timestamp"].endswith("Z")
    assert (second["level"], second["text"]) == ("error", 'with "quotes"\nand lines')


def failing():
    raise ValueError(PRIVATE)


def caught():
    try:
        failing()
    except ValueError as fault:
        return fault


def test_of_a_failure_only_kind_and_place_are_told(log):
    try:
        failing()
    except ValueError:
        structlog.get_logger("kantor").exception("ours")
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application")
    logging.getLogger("asyncio").error("theirs %s", PRIVATE, exc_info=caught())
    sys.excepthook(ValueError, caught(), None)
    thread = threading.Thread(target=failing)
    thread.start()
    thread.join()
    lines = log()
    assert len(lines) == 5
    assert {line["error"] for line in lines} == {"ValueError"}
    assert all(line["where"].startswith("test_logging.py:") for line in lines)
    assert [line["event"] for line in lines[:3]] == ["ours", "Exception in ASGI application", "theirs %s"]
    assert PRIVATE not in str(lines)


def test_warnings_and_libraries_are_told_in_the_same_form(log):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("something", stacklevel=1)
    logging.getLogger("alembic").warning("careful")
    logging.getLogger("httpx").info("too much")
    logging.getLogger("uvicorn.access").info("GET /v1/me 200")
    lines = log()
    assert [line.get("logger") for line in lines] == ["py.warnings", "alembic"]
    assert {line["level"] for line in lines} == {"warning"}


def test_every_line_of_a_running_server_is_json(tmp_path, url):
    """Whatever is sent to it, and whatever becomes of it."""
    with running(tmp_path, url) as server, httpx.Client(base_url=server.url) as http:
        token = (tmp_path / "server" / "operator.token").read_text().strip()
        asked = [
            http.get("/v1/me", headers={"Authorization": f"Bearer {token}"}),
            http.get("/v1/me"),
            http.get("/none"),
        ]
        asked += [http.post("/v1/accounts", content=PRIVATE * 2_000_000), http.get(f"/v1/markets/{PRIVATE}")]
        account = asked[0].json()["account"]
        raw = httpx.URL(server.url)
        _nonsense(raw.host, raw.port)
    lines = server.output.decode().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("{"))
    told = [json.loads(line) for line in lines[start:]]
    assert all("http" in line or "token" in line for line in lines[:start])  # the two lines that a person reads
    assert all({"event", "level", "timestamp"} <= set(line) for line in told)
    answered = [line for line in told if line["event"] == "answered"]
    assert [line["status"] for line in answered[:5]] == [200, 401, 404, 413, 401]
    assert [line["account"] for line in answered[:5]] == [account, None, None, None, None]
    assert [line["route"] for line in answered[:5]] == ["/v1/me", "/v1/me", "none", "none", "/v1/markets/{market}"]
    assert all(set(line) == {*answered[0]} for line in answered)
    assert PRIVATE not in server.output.decode()
    assert token not in server.output.decode()


def _nonsense(host, port):
    import socket

    with socket.create_connection((host, port), timeout=10) as connection:
        connection.sendall(f"NONSENSE {PRIVATE}\r\n\r\n\x00\x00".encode())
        connection.recv(1000)
