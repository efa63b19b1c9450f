"""A market's terms from a file that a buyer has written, and what is wrong with them in words.

The file is TOML (or JSON as the interface takes it) with the names of `kantor.service.terms`. Some things are easier to
write here than there: amounts with their currency ("EUR 500.00" beside minor units), numbers with a point, a target in
a file of its own. Each mistake is told with its line, the term's name, the value, and what the term means.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from kantor.delivery.money import Currency
from kantor.errors import InputError
from kantor.service.agent.fitting import names_a_file
from kantor.service.terms import Terms

__all__ = ["read_terms_file"]

_SHORT = 60
_MEND = "Mend it and try again."


def read_terms_file(file: Path) -> Terms:
    """The terms in a file."""
    text, plain = _content(file)
    _shorthand(plain, text, file)
    try:
        return Terms.model_validate(plain)
    except ValidationError as fault:
        raise _said(fault, text, file) from fault


def _content(file: Path) -> tuple[str, dict[str, Any]]:
    if file.suffix.lower() not in (".toml", ".json"):
        raise InputError(
            "terms are read from .toml and .json files",
            remedy="Begin with: kantor buyer template > terms.toml",
            file=file,
        )
    try:
        text = file.read_text(encoding="utf-8")
        found = tomllib.loads(text) if file.suffix.lower() == ".toml" else json.loads(text)
    except (OSError, ValueError) as fault:  # both formats' errors are ValueErrors
        raise InputError(
            f"it cannot be read ({fault})", remedy="Compare it with: kantor buyer template", file=file
        ) from fault
    if not isinstance(found, dict):
        raise InputError("there are no terms in it", remedy="Compare it with: kantor buyer template", file=file)
    return text, found


def _shorthand(plain: dict[str, Any], text: str, file: Path) -> None:
    """What may be written more conveniently than the terms have it."""
    rule, valuation = plain.get("rule"), plain.get("valuation")
    if isinstance(rule, dict) and isinstance(rule.get("limit"), str | float):
        rule["limit"] = _amount(rule["limit"], plain, file, _line(text, ("rule", "limit")))
    if isinstance(rule, dict) and names_a_file(str(rule.get("prior", ""))):
        raise InputError(
            "the prior names a file, which nobody else has",
            remedy="Write the answers themselves, in the smallest unit: answers:120:150:300",
            file=file,
            line=_line(text, ("rule", "prior")),
            field="rule.prior",
        )
    if isinstance(valuation, dict):
        method = valuation.get("method")
        if isinstance(method, dict):
            valuation["method"] = {
                name: repr(value) if isinstance(value, float) else value for name, value in method.items()
            }
        if "target_file" in valuation:
            valuation["target"] = _target(file.parent / str(valuation.pop("target_file")))


def _amount(value: str | float, plain: dict[str, Any], file: Path, line: int | None) -> int:
    code, digits = str(plain.get("currency", "EUR")), plain.get("digits", 2)
    money = Currency(code, digits if isinstance(digits, int) else 2)
    if isinstance(value, float) or not value.startswith(code):
        raise InputError(
            f"the limit is {value!r}: it could mean two things",
            remedy=f'Write limit = "{money.show(50000)}", or the same in the smallest unit: limit = 50000',
            value=value,
            file=file,
            line=line,
            field="rule.limit",
        )
    return money.parse(value, argument="rule.limit")


def _target(file: Path) -> list[str]:
    from kantor.owners.files import read_target

    return [f"{value:.12f}" for value in read_target(file).values.tolist()]


def _said(fault: ValidationError, text: str, file: Path) -> InputError:
    """The first mistake in full, the others by name."""
    errors = sorted(fault.errors(), key=lambda error: error["type"] != "extra_forbidden")  # a slip of the pen first
    first, others = errors[0], sorted({_name(each["loc"]) for each in errors[1:]} - {_name(errors[0]["loc"])})
    problem, remedy = _sentence(first)
    more = f" Then look at: {', '.join(others)}." if others else ""
    return InputError(
        problem, remedy=f"{remedy}{more}", file=file, line=_line(text, first["loc"]), field=_name(first["loc"]) or None
    )


def _sentence(error: Any) -> tuple[str, str]:
    kind, message, field = error["type"], str(error["msg"]), _field(error["loc"])
    about = "" if field is None or not field[1] else f"{_name(error['loc'])}: {field[1]}"
    if kind == "missing":
        return "it is missing", about or "Add it."
    if kind == "extra_forbidden":
        return "there is no such term", _instead(error["loc"])
    if kind == "value_error":
        cause = error.get("ctx", {}).get("error")
        if isinstance(cause, InputError):
            return cause.problem, cause.remedy
        return message.removeprefix("Value error, ").rstrip("."), about or _MEND
    if kind == "string_pattern_mismatch" and error["loc"][-1] in ("signing", "receiving"):
        return "this is no trustee's key", "Paste what `kantor trustee init` prints: 64 digits, each from 0 to f."
    value = repr(error["input"])
    shown = f"it is {value}, and " if len(value) <= _SHORT else "it "
    words = message.replace("Input should", "should" if not shown.startswith("it is") else "it should")
    return f"{shown}{words[:1].lower()}{words[1:]}", about or _MEND


def _instead(where: Sequence[Any]) -> str:
    """What could have been meant by a name that no term has."""
    model = _model(where[:-1])
    names = [] if model is None else list(model.model_fields)
    close = difflib.get_close_matches(str(where[-1]), names, 1)
    return f"Did you mean {close[0]}?" if close else f"There are: {', '.join(names)}."


def _name(where: Sequence[Any]) -> str:
    """A term's name, without the marks of alternatives that the checker adds."""
    known: list[str] = []
    for depth, part in enumerate(where):
        if isinstance(part, int):
            known.append(f"[{part + 1}]")
        elif depth == 0 or _model(where[:depth]) is not None:
            known.append(f".{part}" if known else str(part))
    return "".join(known)


def _field(where: Sequence[Any]) -> tuple[str, str | None] | None:
    """The last part of a place that is a term's, and what it means."""
    for depth in range(len(where), 0, -1):
        model, part = _model(where[: depth - 1]), where[depth - 1]
        if model is not None and isinstance(part, str) and part in model.model_fields:
            return part, model.model_fields[part].description
    return None


def _model(where: Sequence[Any]) -> type[BaseModel] | None:
    """The part of the terms at a place."""
    model: type[BaseModel] | None = Terms
    for part in where:
        if isinstance(part, int):
            continue
        if model is None or part not in model.model_fields:
            return None
        model = _inner(model.model_fields[part].annotation)
    return model


def _inner(annotation: Any) -> type[BaseModel] | None:
    for each in (annotation, *get_args(annotation)):
        if isinstance(each, type) and issubclass(each, BaseModel):
            return each
    return None


def _line(text: str, where: Sequence[Any]) -> int | None:
    """Where a term stands in a TOML file, as far as can be seen: the line of its name, under its heading."""
    names = [part for part in where if isinstance(part, str)]
    if not names:
        return None
    lines = text.splitlines()
    heading = re.compile(rf"\s*\[+{re.escape(names[0])}[\].]")
    start = next((number for number, line in enumerate(lines) if heading.match(line)), 0)
    for name in reversed(names):
        key = re.compile(rf'\s*"?{re.escape(name)}"?\s*[=:]')
        found = next((number for number, line in enumerate(lines[start:], start) if key.match(line)), None)
        if found is not None:
            return found + 1
    return start + 1 if start else None
