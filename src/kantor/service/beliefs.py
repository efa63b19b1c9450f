"""Which priors a market's terms may name: what a stranger writes is looked at before anything is computed with it.

Terms come from buyers, and in bundles from anybody. Their prior is a family of distributions by name. Here it is one of
the families below, whose quantiles are quick; scipy has some that compute for minutes. Answers of a survey are written
out: a file's name would be that of a file on the reader's machine.
"""

from __future__ import annotations

import json
from typing import Any

import scipy

from kantor.bids.notation import parse_prior

__all__ = ["FAMILIES", "check_prior"]

_QUICK = """
    uniform expon powerlaw weibull_min pareto lomax triang truncnorm truncexpon halfnorm rayleigh maxwell gamma beta
    lognorm chi chi2 invgamma invgauss loguniform reciprocal arcsine trapezoid fisk burr12 genpareto halflogistic
    halfcauchy gengamma nakagami rice exponweib betaprime f bradford kappa3 foldnorm mixture point answers
"""
FAMILIES = frozenset(_QUICK.split())
"""Names that a prior may have."""


def check_prior(prior: str) -> str:
    """The prior's text, or ValueError if terms may not name it; a name that nobody knows is refused when it is read."""
    if any(name not in FAMILIES and hasattr(scipy.stats, name) for name in _names(prior)):
        raise ValueError(f"a market's prior is one of: {', '.join(sorted(FAMILIES))}")
    name, *numbers = prior.split(":")
    if name.strip() == "answers" and not all(_is_number(number) for number in numbers):
        raise ValueError("write the survey's answers out, answers:4:7:9: files are not read here")
    parse_prior(prior)
    return prior


def _names(prior: str) -> list[Any]:
    """Every family that is named, in the short form or anywhere in the long one."""
    if not prior.lstrip().startswith("{"):
        return [prior.split(":")[0].strip()]
    try:
        return _named(json.loads(prior))
    except (ValueError, RecursionError):
        return []  # no JSON: refused by whoever reads it next


def _named(part: Any) -> list[Any]:
    if isinstance(part, dict):
        own = [str(part["name"])] if "name" in part else []
        return own + [name for each in part.values() for name in _named(each)]
    return [name for each in part for name in _named(each)] if isinstance(part, list) else []


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
