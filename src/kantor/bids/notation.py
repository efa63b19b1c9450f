"""Priors in writing: `uniform:0:1` on a command line or in a table's cell, and plain data for JSON.

The short form is a scipy.stats name and its parameters in scipy's order: shapes first, then loc, then scale. Two more
names are ours: `answers` with survey answers, or with the file that holds them, and `point` with the one price that
everybody is sure of. The long form is a dictionary of plain values that gives the same prior back; a mixture has only
that one. `fingerprint` is what hashes are made of: equal for priors that mean the same, however they were written.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy

from kantor.bids.empirical import EmpiricalPrior
from kantor.bids.virtual import known_family
from kantor.errors import InputError
from kantor.owners.distributions import Distribution, Mixture

__all__ = ["describe_prior", "fingerprint", "notation", "parse_prior", "prior_from"]

_OURS = ("answers", "point")
_LEVELS = np.linspace(0.0, 1.0, 1025)[1:-1]


def parse_prior(text: str, **where: object) -> Distribution:
    """The prior that a short form names, `uniform:0:1` or `lognorm:0.5:0:1`; a long form in JSON is read as well."""
    if text.lstrip().startswith("{"):
        return _from_json(text, **where)
    name, *rest = [part.strip() for part in text.split(":")]
    if name == "answers" and len(rest) == 1 and not _is_number(rest[0]):
        from kantor.owners.files import read_target

        return EmpiricalPrior(read_target(rest[0]).values)
    numbers = [_number(part, text, **where) for part in rest]
    return _ours(name, numbers, text, **where) if name in _OURS else _named(name, numbers, text, **where)


def describe_prior(prior: Distribution) -> dict[str, Any]:
    """The prior as plain data, which `prior_from` reads back."""
    if isinstance(prior, EmpiricalPrior):
        return {"name": "answers", "parameters": list(prior.answers)}
    if isinstance(prior, Mixture):
        parts = [describe_prior(part) for part in prior.parts]
        return {"name": "mixture", "parts": parts, "weights": [float(weight) for weight in prior.weights]}
    parts_ = known_family(prior)
    if parts_ is None:
        raise InputError(
            f"a prior of type {type(prior).__name__} cannot be written down",
            remedy="Use a named scipy.stats distribution, a Mixture of them, or an EmpiricalPrior.",
            argument="prior",
        )
    return {"name": parts_.name, "parameters": [*parts_.shape, parts_.location, parts_.scale]}


def prior_from(description: Mapping[str, Any], **where: object) -> Distribution:
    """The prior that `describe_prior` described."""
    try:
        name = str(description["name"])
        if name == "mixture":
            parts = [prior_from(part, **where) for part in description["parts"]]
            return Mixture(parts, description["weights"])
        numbers = [float(number) for number in description["parameters"]]
    except (KeyError, TypeError, ValueError) as fault:
        raise InputError(
            f"this does not describe a prior: {dict(description)}",
            remedy='Give {"name": "uniform", "parameters": [0, 1]}.',
            value=description,
            **where,
        ) from fault
    text = ":".join([name, *map(repr, numbers)])
    return _ours(name, numbers, text, **where) if name in _OURS else _named(name, numbers, text, **where)


def notation(prior: Distribution) -> str:
    """The shortest text that `parse_prior` reads back: the short form where there is one."""
    description = describe_prior(prior)
    if description["name"] == "mixture":
        return json.dumps(description)
    return ":".join([description["name"], *map(repr, description["parameters"])])


def fingerprint(prior: Distribution) -> str:
    """A text that tells priors apart: the long form or, where there is none, 1,023 quantiles."""
    try:
        return json.dumps(describe_prior(prior), sort_keys=True)
    except InputError:
        quantiles = np.asarray(prior.ppf(_LEVELS), dtype=np.float64)
        return json.dumps({"name": "quantiles", "values": quantiles.tolist()})


def _from_json(text: str, **where: object) -> Distribution:
    try:
        description = json.loads(text)
    except json.JSONDecodeError as fault:
        raise InputError(
            f"prior {text!r} is not valid JSON ({fault})", remedy=_remedy(), value=text, **where
        ) from fault
    return prior_from(description, **where)


def _ours(name: str, numbers: list[float], text: str, **where: object) -> Distribution:
    if not numbers or (name == "point" and len(numbers) > 1):
        raise InputError(
            f"prior {text!r} has {len(numbers)} parameters",
            remedy="Write one price, point:0.5." if name == "point" else "Write at least one answer, answers:0.4:0.7.",
            value=text,
            **where,
        )
    return EmpiricalPrior(numbers)


def _named(name: str, numbers: list[float], text: str, **where: object) -> Distribution:
    base = getattr(scipy.stats, name, None)
    if not isinstance(base, scipy.stats.rv_continuous):
        close = difflib.get_close_matches(name, [*_names(), *_OURS], 3)
        hint = f"Did you mean {' or '.join(close)}? " if close else ""
        kind = "is not continuous" if isinstance(base, scipy.stats.rv_discrete) else "is not known"
        raise InputError(f"prior {name!r} {kind}", remedy=hint + _remedy(), value=text, **where)
    shapes = [] if base.shapes is None else [shape.strip() for shape in base.shapes.split(",")]
    if not len(shapes) <= len(numbers) <= len(shapes) + 2:
        raise InputError(
            f"prior {text!r} has {len(numbers)} parameters",
            remedy=f"Write {':'.join([name, *shapes, 'loc', 'scale'])}; loc and scale may be left out.",
            value=text,
            **where,
        )
    prior: Distribution = base(*numbers)
    if not np.all(np.isfinite(prior.ppf([0.25, 0.75]))):
        raise InputError(
            f"prior {text!r} is no distribution",
            remedy=f"Check the parameters {', '.join([*shapes, 'loc', 'scale'])} (a scale is above 0).",
            value=text,
            **where,
        )
    return prior


def _names() -> list[str]:
    return [name for name in dir(scipy.stats) if isinstance(getattr(scipy.stats, name), scipy.stats.rv_continuous)]


def _remedy() -> str:
    return "Write a scipy.stats name and its parameters in scipy's order, such as uniform:0:1 or lognorm:0.5:0:1."


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(part: str, text: str, **where: object) -> float:
    if not _is_number(part) or not np.isfinite(float(part)):
        raise InputError(f"{part!r} in prior {text!r} is not a number", remedy=_remedy(), value=text, **where)
    return float(part)
