"""An audit in words: the verdict, then the evidence, then what was looked at and what nobody is protected from."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from kantor.clearing.audit import Audit

__all__ = [
    "said_of_budget",
    "said_of_gains",
    "said_of_mismatches",
    "said_of_reversals",
    "said_of_shortfalls",
    "summary",
]

_SHOWN = 3


def summary(audit: Audit) -> str:
    """The whole audit as a page of text."""
    return "\n".join([_verdict(audit), "", *_promises(audit), "", *_looked_at(audit), "", *_unprotected(audit)])


def _verdict(audit: Audit) -> str:
    broken = sum(not promise.kept for promise in audit.promises)
    if broken:
        return f"FAILED: {broken} of {len(audit.promises)} promises shown broken."
    return f"Passed: none of {len(audit.promises)} promises shown broken."


def _promises(audit: Audit) -> list[str]:
    return [f"  {'kept  ' if kept else 'BROKEN'}  {name}: {evidence}" for name, kept, evidence in audit.promises]


def _looked_at(audit: Audit) -> list[str]:
    some = "all" if len(audit.audited) == audit.owners else f"{len(audit.audited)} of"
    lines = [
        f"Tried: {audit.tried:,} false prices by {some} {audit.owners:,} owners ({audit.winners:,} bought).",
        f"This clearing spends {audit.spend:.6g}. {_said_of_overrun(audit)}",
    ]
    if audit.expected_spend.draws:
        beyond = f"; {audit.overspent:.1%} of the clearings drawn exceed the {_limit(audit)}"
        lines.append(
            f"Over the priors it spends {audit.expected_spend} on average{beyond if audit.limit < inf else ''}."
        )
    if 0 < audit.gap < inf:
        lines.append(
            f"The allocation was not proved optimal (gap {audit.gap:.2g}), so its prices are not proved either."
        )
    return lines


def _said_of_overrun(audit: Audit) -> str:
    if audit.limit == inf:
        return "No budget was stated."
    what = "" if audit.budgeted else "With its loss it is "
    limit = f"the {_limit(audit)} of {audit.limit:.6g}"
    if audit.overrun > 0:
        return f"{what or 'It is '}{audit.overrun:.6g} above {limit}, which the promise, one on average, allows."
    return f"{what or 'It is '}within {limit}."


def _limit(audit: Audit) -> str:
    return "budget" if audit.budgeted else "reference loss"


def _unprotected(audit: Audit) -> list[str]:
    lines = ["Not protected against, by this or any rule for prices alone (examples, not broken promises):"]
    for example in audit.unprotected:
        if example.gain is None:
            lines.append(f"  {example.kind}: {example.said}")
            continue
        who = f"owner {example.owner}, {example.said}"
        if example.gain <= audit.tolerance:
            lines.append(f"  {example.kind}: no gain in {example.tried} tried")
        else:
            lines.append(f"  {example.kind}: gains {example.gain:.6g} ({who}); {_delivered(example)}")
    return lines


def _delivered(example: Any) -> str:
    stated, true = example.stated_bound, example.true_bound
    if not np.isfinite([stated, true]).all():
        return f"{example.tried} tried"
    return f"the buyer is told a bound of {stated:.6g} and gets {true:.6g}; {example.tried} tried"


def said_of_shortfalls(audit: Audit) -> str:
    """The evidence on individual rationality."""
    if not audit.shortfalls:
        return f"each of {audit.winners:,} winners is paid at least its reserve price, and nobody else pays"
    return _list(
        [f"owner {o} asked for {r:.6g} and is paid {p:.6g}" for o, r, p in audit.shortfalls[:_SHOWN]], audit.shortfalls
    )


def said_of_gains(audit: Audit) -> str:
    """The evidence on incentive compatibility."""
    if not audit.deviations:
        return f"none of {audit.tried:,} false prices gains (best {audit.max_gain.gain:+.3g})"
    best = audit.max_gain
    return (
        f"owner {best.owner} gains {best.gain:.6g} by asking for {best.report:.6g}; "
        f"{len(audit.deviations):,} of {audit.tried:,} false prices gain"
    )


def said_of_reversals(audit: Audit) -> str:
    """The evidence on monotonicity."""
    if not audit.reversals:
        return "whoever is bought at a price is bought at all lower ones tried"
    said = [f"owner {o} is bought at {w:.6g} and not at {lost:.6g}" for o, lost, w in audit.reversals[:_SHOWN]]
    return _list(said, audit.reversals)


def said_of_mismatches(audit: Audit) -> str:
    """The evidence on reproducibility."""
    if not audit.mismatches:
        return "; ".join(audit.misstated) or "clearing the same bids again gives the same selection and payments"
    said = [
        f"owner {m.owner} is paid {m.payment:.10g} and would be paid {m.payment_again:.10g}"
        if m.selected == m.selected_again
        else f"owner {m.owner} is {'' if m.selected else 'not '}bought and would {'' if m.selected_again else 'not '}be"
        for m in audit.mismatches[:_SHOWN]
    ]
    return _list(said, audit.mismatches)


def said_of_budget(audit: Audit) -> str:
    """The evidence on the interim budget."""
    excess = audit.expected_excess
    if audit.limit == inf:
        return "no budget was stated"
    if not excess.draws:
        return "not examined, no markets were drawn"
    what = "payments less budget" if audit.budgeted else "loss and payments less the reference loss"
    return f"{what} is {excess} on average, at confidence {audit.confidence:g}"


def _list(said: list[str], of: Sequence[object]) -> str:
    more = f"; and {len(of) - len(said):,} more" if len(of) > len(said) else ""
    return "; ".join(said) + more
