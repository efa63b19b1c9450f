"""Refusals as problem details (RFC 9457): what is wrong, with which value, and what to do.

Everything that the service refuses comes through here, so that no caller ever sees a page of HTML or a traceback, and
no answer repeats what was sent: a price or a token in a request must not come back in an error and end in a log.
"""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from kantor.errors import InputError, KantorError
from kantor.service.failures import RefusedError, StoreError

__all__ = ["PROBLEMS", "Problem", "add_handlers", "problem"]

_TYPE = "application/problem+json"
_OWN = re.compile("[A-Za-z_-]{1,40}")


class Problem(JSONResponse):
    """A refusal."""

    media_type = _TYPE


def problem(status: int, kind: str, detail: str, **more: Any) -> Problem:
    """A refusal of a kind."""
    return Problem(
        {"type": f"urn:kantor:{kind}", "title": _TITLES[kind], "status": status, "detail": detail, **more}, status
    )


_TITLES = {
    "invalid": "The request cannot be used",
    "unauthorised": "Nobody known asks",
    "forbidden": "This may not be asked",
    "missing": "There is no such thing",
    "conflict": "Not in this state",
    "late": "Too late",
    "busy": "Too many requests",
    "large": "Too large",
    "unavailable": "Try again",
    "method": "Not in this way",
    "broken": "The service failed",
}

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": text,
        "content": {
            _TYPE: {
                "schema": {
                    "type": "object",
                    "required": ["type", "title", "status", "detail"],
                    "properties": {
                        "type": {"type": "string"},
                        "title": {"type": "string"},
                        "status": {"type": "integer"},
                        "detail": {"type": "string"},
                        "remedy": {"type": "string"},
                        "faults": {"type": "array", "items": {"type": "object"}},
                    },
                },
                "example": {
                    "type": "urn:kantor:late",
                    "title": "Too late",
                    "status": 409,
                    "detail": "bidding is over. Nothing was changed. What has a receipt from before counts.",
                },
            }
        },
    }
    for status, text in {
        400: "The request cannot be read.",
        401: "There is no token, or it is not known.",
        403: "The token does not allow this.",
        404: "There is no such thing, or not for this caller.",
        409: "The market is not in a state for this.",
        413: "The request is too large.",
        422: "The request cannot be used.",
        429: "Too many requests: see the header Retry-After.",
        500: "The service failed.",
        503: "The store is not available: send the same request again.",
    }.items()
}


def add_handlers(app: FastAPI) -> None:
    """Turn every failure into a problem."""
    app.add_exception_handler(RefusedError, _refused)
    app.add_exception_handler(StoreError, _unavailable)
    app.add_exception_handler(KantorError, _unusable)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


def _refused(_: Request, fault: Exception) -> Problem:
    assert isinstance(fault, RefusedError)  # noqa: S101  registered for it
    found = problem(fault.status, fault.kind, f"{_clause(fault.problem)} {fault.remedy}", remedy=fault.remedy)
    if fault.status == 401:
        found.headers["WWW-Authenticate"] = "Bearer"
    return found


def _unusable(_: Request, fault: Exception) -> Problem:
    said = fault.as_dict() if isinstance(fault, KantorError) else {}
    if "problem" not in said:
        return problem(422, "invalid", str(fault))
    detail = f"{_clause(without_value(said['problem'], fault))} {said['remedy']}"
    return problem(422, "invalid", detail, remedy=said["remedy"])


def without_value(text: str, fault: object) -> str:
    """What an error says, without the value that it is about: who sent it knows it, and nobody else has to."""
    value = fault.value if isinstance(fault, InputError) else None
    if isinstance(value, str | float):
        for written in (repr(value), f"{value:g}" if isinstance(value, float) else value):
            text = text.replace(written, "what was sent") if written else text
    return text


def _clause(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _unavailable(_: Request, fault: Exception) -> Problem:
    found = problem(503, "unavailable", str(fault))
    found.headers["Retry-After"] = "1"
    return found


def _invalid(_: Request, fault: Exception) -> Problem:
    assert isinstance(fault, RequestValidationError)  # noqa: S101  registered for it
    faults = [{"where": ".".join(map(_place, each["loc"])), "what": _what(each)} for each in fault.errors()]
    first = faults[0] if faults else {"where": "the request", "what": "it cannot be read"}
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    detail = f"{first['where']}: {first['what']}{more}. Mend it and send it again."
    return problem(422, "invalid", detail, faults=faults[:20])


def _place(part: object) -> str:
    """A part of the way to a fault: our own names and positions; what else stands there came with the request."""
    return str(part) if isinstance(part, int) or _OWN.fullmatch(str(part)) else "?"


def _what(fault: dict[str, Any]) -> str:
    text = str(fault["msg"]).removeprefix("Value error, ")
    return without_value(text, fault.get("ctx", {}).get("error"))


def _http(_: Request, fault: Exception) -> Problem:
    assert isinstance(fault, HTTPException)  # noqa: S101  registered for it
    kind = {401: "unauthorised", 403: "forbidden", 404: "missing", 405: "method", 413: "large"}.get(
        fault.status_code, "invalid"
    )
    found = problem(fault.status_code, kind, f"{fault.detail}. See the description of this interface at /docs.")
    found.headers.update(fault.headers or {})
    return found
