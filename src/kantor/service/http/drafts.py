"""Terms as they arrive: what a stranger may write into them, before anything is computed with them.

A buyer's terms name a family of distributions that prices are believed to follow. Here, where anybody may be the buyer,
that is one of the families below, whose quantiles are quick; scipy has some that compute for minutes. Answers of a
survey are written out: a file's name would be that of a file on the server.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import ConfigDict, ModelWrapValidatorHandler, model_validator

from kantor.service.terms import Terms

__all__ = ["EXAMPLE", "FAMILIES", "TermsIn"]

_QUICK = """
    uniform expon powerlaw weibull_min pareto lomax triang truncnorm truncexpon halfnorm rayleigh maxwell gamma beta
    lognorm chi chi2 invgamma invgauss loguniform reciprocal arcsine trapezoid fisk burr12 genpareto halflogistic
    halfcauchy gengamma nakagami rice exponweib betaprime f bradford kappa3 foldnorm mixture point answers
"""
FAMILIES = frozenset(_QUICK.split())
"""Names that a prior may have."""

EXAMPLE: dict[str, Any] = {
    "title": "A year of household loads",
    "purpose": "Forecasting the load of a district",
    "rule": {"mechanism": "exogenous", "limit": 50000, "prior": "uniform:0:10000", "payments": "clock"},
    "valuation": {"way": "declared"},
    "data": {"what": "kWh a day, one value for each day of 2025", "records": 365, "low": "0", "high": "60"},
    "privacy": {"noise": "laplace", "epsilon_low": "1", "epsilon_high": "50"},
    "trustees": {
        "threshold": 1,
        "members": [
            {
                "name": "The consumers' association",
                "signing": "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
                "receiving": "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
            }
        ],
    },
    "schedule": {"enrol_until": "2090-12-01T12:00:00Z", "bid_until": "2090-12-08T12:00:00Z"},
    "least_owners": 2,
    "most_owners": 500,
}
_YEARS = range(2000, 9000)


class TermsIn(Terms):
    """The terms of a market, as a buyer drafts them."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    @model_validator(mode="wrap")
    @classmethod
    def _sound(cls, value: Any, handler: ModelWrapValidatorHandler[TermsIn]) -> TermsIn:
        _look_at_prior(value)
        try:
            found = handler(value)
        except (ArithmeticError, TypeError, LookupError, RecursionError) as fault:
            raise ValueError("a number, a time or the prior is beyond what can be computed with") from fault
        if not all(moment.year in _YEARS for moment in (found.schedule.enrol_until, found.schedule.bid_until)):
            raise ValueError(f"the schedule's years go from {_YEARS[0]} to {_YEARS[-1]}")
        found.trustees.sealing("draft")
        return found


def _look_at_prior(value: Any) -> None:
    rule = value.get("rule") if isinstance(value, dict) else None
    prior = rule.get("prior") if isinstance(rule, dict) else None
    if not isinstance(prior, str):
        return
    beyond = [name for name in _names(prior) if name not in FAMILIES]
    if beyond:
        raise ValueError(f"a market's prior is one of: {', '.join(sorted(FAMILIES))}")
    name, *numbers = prior.split(":")
    if name.strip() == "answers" and not all(_is_number(number) for number in numbers):
        raise ValueError("write the survey's answers out, answers:4:7:9: files are not read here")


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
