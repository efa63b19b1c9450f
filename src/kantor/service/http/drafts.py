"""Terms as they arrive: what a stranger may write into them, before anything is computed with them.

Numbers, times and trustees that nothing could be done with are refused with the draft, not when the market opens.
"""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, ModelWrapValidatorHandler, model_validator

from kantor.service.terms import Terms

__all__ = ["EXAMPLE", "TermsIn"]

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
        try:
            found = handler(value)
        except (ArithmeticError, TypeError, LookupError, RecursionError) as fault:
            raise ValueError("a number, a time or the prior is beyond what can be computed with") from fault
        if not all(moment.year in _YEARS for moment in (found.schedule.enrol_until, found.schedule.bid_until)):
            raise ValueError(f"the schedule's years go from {_YEARS[0]} to {_YEARS[-1]}")
        found.trustees.sealing("draft")
        return found
