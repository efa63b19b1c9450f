"""A clearing in words: who is bought, what for, how good it is, and what is proved of it."""

from __future__ import annotations

from math import fsum, inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kantor.clearing.outcome import Clearing

__all__ = ["proof", "summary"]


def summary(c: Clearing) -> str:
    """A clearing as a few lines of text."""
    if not c.size:
        return "\n".join([f"Nothing is bought of {len(c.bids):,} owners.", _nothing(c), *_proof_line(c)])
    return "\n".join([_bought(c), _bound(c), *_proof_line(c), _payments(c), *_limit(c)])


def proof(c: Clearing) -> str:
    """What is known of the objective, in a few words."""
    if c.gap == 0:
        return "proved optimal"
    if c.rules.payments == "clock" or c.lower_bound == -inf:
        return "no claim to be optimal"
    return f"within {c.gap:.2g} of the optimum"


def _bought(c: Clearing) -> str:
    asked, virtual = (fsum(column[c.selected].tolist()) for column in (c.bids.reserve, c.bids.virtual))
    return (
        f"Bought: {c.size:,} of {len(c.bids):,} owners for {c.spend:.6g} "
        f"(they asked for {asked:.6g}; virtual costs {virtual:.6g})."
    )


def _nothing(c: Clearing) -> str:
    mechanism = c.rules.mechanism
    if c.gap > 0:
        return "That is not proved to be the best: nothing was found within the limit."
    if mechanism.reference_loss is None:
        return f"The budget of {mechanism.budget:.6g} is too small for any of them."
    return f"No coalition was found that beats the reference loss of {mechanism.reference_loss:.6g}."


def _bound(c: Clearing) -> str:
    against = (
        "" if c.rules.mechanism.nothing == inf else f", against {c.rules.mechanism.nothing:.6g} for buying nothing"
    )
    what = "distance" if c.rules.mechanism.nothing == inf else "loss"
    return f"Bound on the {what}: {c.bound:.6g} (Theorem 2, confidence {c.rules.confidence:g}){against}."


def _proof_line(c: Clearing) -> list[str]:
    said = proof(c)
    if c.objective == inf:
        return ["Proved: no coalition fits."] if c.gap == 0 else []
    gap = "" if c.gap in (0, inf) or said.startswith("no") else f" (lower bound {c.lower_bound:.6g})"
    return [f"Objective: {c.objective:.6g}, {said}{gap}."]


def _payments(c: Clearing) -> str:
    rule = c.rules.payments
    if rule == "virtual":
        return "Payments: virtual costs, as the paper prints them. An owner may gain by asking for more."
    how = {"threshold": "the highest price at which each would still have been bought", "clock": "the clock's offers"}
    if c.truthful:
        return f"Payments: {how.get(rule, 'the mechanism says')}. No owner gains by asking for another price."
    reason = "it is not proved that they are" if rule == "threshold" else "nothing is claimed about other prices"
    return f"Payments: {how.get(rule, 'by the mechanism of its own')}; {reason}."


def _limit(c: Clearing) -> list[str]:
    mechanism = c.rules.mechanism
    if mechanism.limit == inf:
        return []
    used = c.spend + (0.0 if mechanism.reference_loss is None else c.bound)
    name = "budget" if mechanism.reference_loss is None else "reference loss"
    what = "Spent" if mechanism.reference_loss is None else "Loss and payments"
    over = used - mechanism.limit
    said = f"{what}: {used:.6g} of the {name} of {mechanism.limit:.6g}."
    if over <= 1e-9 * max(1.0, mechanism.limit):
        return [said]
    why = (
        ""
        if c.rules.payments != "threshold"
        else " Threshold payments keep it on average; --payments clock always does."
    )
    return [f"{said} That is {over:.6g} over.{why}"]
