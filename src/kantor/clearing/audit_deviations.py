"""Does lying about one's price pay? Every lie is tried in the market itself.

An owner whose data are worth theta to it, and who is paid t, has u = t - theta if it is bought and t otherwise.
Incentive compatibility (paper, section 3.2) says that no other report gives more, whatever theta. So a report is
changed, the market cleared again with the same rules, and the utility of the *true* theta is held against what the
published clearing pays. One report that gains refutes the promise; that none was found proves nothing, and the count
says how many were tried.

The selection has to be monotone too: who is bought at a price is bought at any lower one. Both are sharpest at the
owner's critical price, above which it is not bought, so wherever two neighbouring reports differ in whether they win,
the switch between them is closed in on, first by the payment (which *is* that price if payments are critical), then by
bisection.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kantor.clearing.audit_case import Case
from kantor.clearing.audit_reports import EDGE, Reports, reports_of

__all__ = ["Deviation", "OwnerTrials", "Reversal", "best_of", "trials_of"]

_STEPS = 12


class Deviation(NamedTuple):
    """One false report of price, and what it gains its owner."""

    owner: str
    report: float
    gain: float


class Reversal(NamedTuple):
    """An owner that is bought at a price and not at a lower one."""

    owner: str
    lost_at: float
    won_at: float


@dataclass(eq=False)
class OwnerTrials:
    """All that one owner could have said, as far as it was tried."""

    case: Case
    place: int
    answers: dict[float, tuple[bool, float]] = field(default_factory=dict)
    """For each report whether it won, and what was paid."""

    def __post_init__(self) -> None:
        honest = self.case.honest
        self.answers[self.truth] = (bool(honest.selected[self.place]), float(honest.payments[self.place]))

    @property
    def truth(self) -> float:
        """The true reserve price."""
        return float(self.case.bids.reserve[self.place])

    @property
    def tried(self) -> int:
        """How many lies."""
        return len(self.answers) - 1

    def ask(self, report: float) -> bool:
        """Whether this report is bought."""
        if report not in self.answers:
            outcome = self.case.clear(self.case.bids.with_report(self.place, reserve=report))
            self.answers[report] = (bool(outcome.selected[self.place]), float(outcome.payments[self.place]))
        return self.answers[report][0]

    def deviations(self) -> list[Deviation]:
        """Every lie with its gain over what the clearing pays."""
        owner, before = self.case.bids.name(self.place), float(self.case.utilities[self.place])
        return [
            Deviation(owner, report, paid - self.truth * won - before)
            for report, (won, paid) in self.answers.items()
            if report != self.truth
        ]

    def reversals(self) -> list[Reversal]:
        """Where a lower report lost and a higher one won, prices that differ by rounding only set aside."""
        owner, least = self.case.bids.name(self.place), self.case.tolerance
        won = sorted(report for report, (bought, _) in self.answers.items() if bought)
        lost = [report for report, (bought, _) in self.answers.items() if not bought]
        return [Reversal(owner, report, won[-1]) for report in sorted(lost) if won and won[-1] - report > least]

    def close_in(self) -> None:
        """Narrow every switch between winning and losing that the reports so far have shown."""
        switches = [(a, b) for a, b in pairwise(sorted(self.answers)) if self.answers[a][0] != self.answers[b][0]]
        for low, high in switches:
            self._narrow(low, high)

    def _narrow(self, low: float, high: float) -> None:
        start = self.answers[low][0]
        hint = self.answers[low if start else high][1]
        for report in (hint, hint + EDGE * max(1.0, abs(hint)), *[None] * _STEPS):
            point = low + 0.5 * (high - low) if report is None else report
            if high - low <= 4 * EDGE * max(1.0, high):
                return
            if low < point < high:
                low, high = (point, high) if self.ask(point) == start else (low, point)


def trials_of(case: Case, place: int, reports: Reports) -> OwnerTrials:
    """One owner's lies, all tried."""
    trials = OwnerTrials(case, place)
    for report in reports_of(case, place, reports):
        trials.ask(float(report))
    trials.close_in()
    return trials


def best_of(deviations: list[Deviation], case: Case, place: int) -> Deviation:
    """The lie that gains most; the truth where there was no lie to try."""
    truth = Deviation(case.bids.name(place), float(case.bids.reserve[place]), 0.0)
    return max(deviations, key=lambda deviation: np.nan_to_num(deviation.gain, nan=-np.inf), default=truth)
