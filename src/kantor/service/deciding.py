"""From opened bids to an outcome: a function of what is under the root, and of nothing else.

`decide` takes the terms, the closed bids as their owners signed them, what each envelope held, and the distances, and
returns what the market has decided, as plain data. The worker calls it once; whoever verifies a bundle calls it again.
It knows no clock, no store and no chance. Ties between owners go by the hash of the root and the owner's name, which
nobody could foresee while bids were sealed.

What an owner sealed can be no bid at all: then it is excluded, with the reason, and the clearing goes on without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from math import isfinite
from typing import Any, NamedTuple

from pydantic import ValidationError

from kantor.bids.bids import Bids
from kantor.clearing.clear import clear
from kantor.clearing.mechanisms import Endogenous, Exogenous, Joint, Mechanism
from kantor.clearing.outcome import Clearing
from kantor.clearing.whole import whole_payments
from kantor.errors import EvidenceError
from kantor.evidence.canonical import digest, parse
from kantor.service.promises import noise_of
from kantor.service.statements import Ask
from kantor.service.terms import Terms

__all__ = ["Entry", "bids_for", "decide", "entries_of", "mechanism_of", "number", "tie_name"]


class Entry(NamedTuple):
    """A bid that takes part in the clearing."""

    owner: str
    reserve: int
    epsilon: str
    distance: str
    """Of the data alone."""
    noise: str
    """What the noise adds."""

    @property
    def total(self) -> Decimal:
        """What the clearing counts with."""
        return Decimal(self.distance) + Decimal(self.noise)


def number(value: float) -> str | None:
    """A float as decimal text that reads back to it; None for infinity."""
    return repr(float(value)) if isfinite(value) else None


def tie_name(root: str, owner: str) -> str:
    """What decides between owners who are alike otherwise."""
    return digest("tie", {"root": root, "owner": owner})


def mechanism_of(terms: Terms) -> Mechanism:
    """The terms' mechanism, in minor units."""
    rule = terms.rule
    limit, slope = float(rule.limit), float(rule.lipschitz)
    if rule.mechanism == "exogenous":
        return Exogenous(budget=limit, feasibility=rule.feasibility)
    if rule.mechanism == "endogenous":
        return Endogenous(reference_loss=limit, lipschitz=slope, feasibility=rule.feasibility)
    return Joint(reference_loss=limit, lipschitz=slope)


def entries_of(
    terms: Terms, opened: Mapping[str, bytes | EvidenceError], distances: Mapping[str, str]
) -> tuple[list[Entry], dict[str, str]]:
    """The bids that take part, by owner, and why others do not."""
    found: list[Entry] = []
    excluded: dict[str, str] = {}
    support = _support(terms)
    for owner, content in sorted(opened.items()):
        try:
            ask = _ask(content)
            _allowed(terms, ask, support)
            found.append(Entry(owner, ask.reserve, ask.epsilon, distances[owner], noise_of(terms, ask.epsilon)))
        except EvidenceError as fault:
            excluded[owner] = fault.problem
    return found, excluded


def _ask(content: bytes | EvidenceError) -> Ask:
    if isinstance(content, EvidenceError):
        raise content
    try:
        return Ask.model_validate(parse(content))
    except (ValidationError, RecursionError) as fault:
        raise EvidenceError("the envelope holds no bid", remedy="It is left out.") from fault


def _support(terms: Terms) -> tuple[float, float]:
    from kantor.bids.priors import Priors

    priors = Priors.of(terms.rule.prior_distribution(), 1)
    return float(priors.lower[0]), float(priors.distinct[0].support()[1])


def _allowed(terms: Terms, ask: Ask, support: tuple[float, float]) -> None:
    low, high = support
    if not low <= ask.reserve <= high:
        raise EvidenceError(
            f"the price lies outside what the terms' prior holds possible ({low:g} to {high:g})",
            remedy="It is left out.",
        )
    if not terms.privacy.epsilon_low <= Decimal(ask.epsilon) <= terms.privacy.epsilon_high:
        raise EvidenceError("epsilon lies outside the terms' limits", remedy="It is left out.")


def bids_for(terms: Terms, root: str, entries: list[Entry]) -> Bids:
    """The bids as the clearing takes them."""
    return Bids(
        distance=[float(entry.total) for entry in entries],
        reserve=[float(entry.reserve) for entry in entries],
        prior=terms.rule.prior_distribution(),
        owner=[tie_name(root, entry.owner) for entry in entries],
        epsilon=[float(entry.epsilon) for entry in entries],
    )


def decide(
    terms: Terms, root: str, opened: Mapping[str, bytes | EvidenceError], distances: Mapping[str, str], owners: int
) -> dict[str, Any]:
    """The outcome. owners: how many define the target, whether they bid or not."""
    entries, excluded = entries_of(terms, opened, distances)
    size = max(terms.rule.population_size or 0, owners, len(entries), 1)
    rows: list[dict[str, Any]] = [
        {**entry._asdict(), "total": f"{entry.total:f}", "selected": False, "payment": 0} for entry in entries
    ]
    result = _nothing(terms)
    if entries:
        c = clear(
            bids_for(terms, root, entries),
            mechanism_of(terms),
            confidence=float(terms.rule.confidence),
            population=terms.rule.population,
            population_size=size,
            payments=terms.rule.payments,
        )
        for row, chosen, paid in zip(rows, c.selected.tolist(), whole_payments(c).tolist(), strict=True):
            row["selected"], row["payment"] = chosen, paid
        result = _result(c)
    spend = sum(row["payment"] for row in rows)
    return {
        "root": root,
        "population_size": size,
        "bids": rows,
        "excluded": excluded,
        "bought": sum(row["selected"] for row in rows),
        "spend": spend,
        **result,
    }


def _result(c: Clearing) -> dict[str, Any]:
    return {
        "bound": number(c.bound),
        "objective": number(c.objective),
        "lower_bound": number(c.lower_bound),
        "truthful": c.truthful,
    }


def _nothing(terms: Terms) -> dict[str, Any]:
    """What it is to buy nothing because nobody bid."""
    loss = None if terms.rule.mechanism == "exogenous" else number(float(terms.rule.limit))
    return {"bound": loss, "objective": loss, "lower_bound": loss, "truthful": True}
