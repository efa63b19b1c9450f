"""`kantor.audit`: does a clearing keep what the mechanism promises? Asked of the market, never of the clearing.

The mechanism promises its owners that nobody is bought below its reserve price (individual rationality), that nobody
gains by stating another one (incentive compatibility), and that asking for less never loses a sale (monotonicity). It
promises its buyer that the budget is kept on average over what owners might ask for (interim budget feasibility;
paper, section 3.2). And everybody may expect that the published outcome is what its rules give: clearing the same bids
again makes the same choice and the same payments.

The auditor does not know how prices were computed and does not read how they call themselves. It changes reports,
clears again, and looks whether somebody is better off: it finds a profitable lie, or it does not. The promises that it
shows broken are broken; those that it does not are only as certain as the number of lies tried. "Virtual" payments
therefore pass wherever nobody can gain, and threshold payments that are a cent off fail.

Two things are shown and break no promise: what this one clearing spends beyond its budget (`overrun`), and what the
mechanism does not protect against at all (`unprotected`), such as an understated distance.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kantor.bids.bids import Bids
from kantor.bids.order import Places
from kantor.clearing.audit_budget import Draws, Estimate, draw
from kantor.clearing.audit_case import Case, case_of, spend_of
from kantor.clearing.audit_deviations import Deviation, Reversal, best_of, trials_of
from kantor.clearing.audit_reports import Owners, Reports, audited_places, check_reports
from kantor.clearing.audit_text import (
    said_of_budget,
    said_of_gains,
    said_of_mismatches,
    said_of_reversals,
    said_of_shortfalls,
    summary,
)
from kantor.clearing.audit_unprotected import Unprotected, unprotected
from kantor.clearing.outcome import Clearing
from kantor.errors import InputError
from kantor.valuation.noise import noise_distance

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Audit", "Deviation", "Estimate", "Mismatch", "Promise", "Reversal", "Shortfall", "Unprotected", "audit"]

Progress = Callable[[int, int], None]

_DRAWS, _DRAWN_ROWS, _FEWEST_DRAWS = 200, 20_000_000, 20
_CLOSE = 1e-6
"""How far a stated bound or objective may lie from the one found again: solvers of other make have their tolerances."""
_EXAMPLES, _EXAMPLE_ROWS, _FEWEST_EXAMPLES = 12, 20_000, 2


class Shortfall(NamedTuple):
    """A winner that is paid less than its reserve price, or a loser that would have to pay."""

    owner: str
    reserve: float
    payment: float


class Mismatch(NamedTuple):
    """An owner whose result is another one when the same bids are cleared again."""

    owner: str
    selected: bool
    payment: float
    selected_again: bool
    payment_again: float


class Promise(NamedTuple):
    """One promise, whether it stands, and the evidence in a sentence."""

    name: str
    kept: bool
    evidence: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Audit:
    """What was tried, what was found, and which promises that breaks."""

    shortfalls: tuple[Shortfall, ...]
    deviations: tuple[Deviation, ...]
    """The false prices that gain, the most profitable first: owner, report, gain."""
    tried: int
    """How many false prices were tried."""
    max_gain: Deviation
    """The best of all that were tried, whether it gains or not."""
    reversals: tuple[Reversal, ...]
    mismatches: tuple[Mismatch, ...]
    misstated: tuple[str, ...]
    """What the clearing states of its own worth and is not so: bound, objective, proof."""
    spend: float
    limit: float
    kind: str
    budgeted: bool
    """Whether the limit is one on payments; it is one on loss and payments together otherwise."""
    expected_spend: Estimate
    expected_excess: Estimate
    """Payments less the budget; for a reference loss V and payments less the reference."""
    overrun: float
    """By how much this clearing exceeds its limit; 0 if it does not. Not a broken promise."""
    overspent: float
    """The share of draws that exceed it; NaN without draws."""
    unprotected: tuple[Unprotected, ...]
    """Examples of what the mechanism does not protect against. Not broken promises."""
    audited: tuple[str, ...]
    """The owners whose prices were changed."""
    owners: int
    winners: int
    gap: float
    confidence: float
    seed: int
    tolerance: float
    """The least sum of money that counts as a gain or a difference."""

    @property
    def individually_rational(self) -> bool:
        """Whether every winner is paid at least its reserve price, and no loser has to pay."""
        return not self.shortfalls

    @property
    def incentive_compatible(self) -> bool:
        """Whether no false price that was tried gains."""
        return not self.deviations

    @property
    def monotone(self) -> bool:
        """Whether every owner that is bought at a price was bought at all lower ones tried."""
        return not self.reversals

    @property
    def reproducible(self) -> bool:
        """Whether the same bids, cleared again, give the same selection, payments, bound, objective and proof."""
        return not (self.mismatches or self.misstated)

    @property
    def budget_kept(self) -> bool:
        """The interim promise: False only where the expected excess is above 0 with the confidence asked for."""
        return not self.expected_excess.low > self.tolerance

    @property
    def promises(self) -> tuple[Promise, ...]:
        """Each promise with its evidence."""
        return (
            Promise("individually rational", self.individually_rational, said_of_shortfalls(self)),
            Promise("no gain by another price", self.incentive_compatible, said_of_gains(self)),
            Promise("monotone", self.monotone, said_of_reversals(self)),
            Promise("reproducible", self.reproducible, said_of_mismatches(self)),
            Promise("budget kept in expectation", self.budget_kept, said_of_budget(self)),
        )

    @property
    def passed(self) -> bool:
        """Whether no promise was shown broken."""
        return all(promise.kept for promise in self.promises)

    def to_frame(self) -> pl.DataFrame:
        """A row for each false price that gains: owner, report, gain."""
        import polars as pl

        schema = {"owner": pl.String, "report": pl.Float64, "gain": pl.Float64}
        return pl.DataFrame(list(self.deviations), schema=schema, orient="row")

    def to_dict(self) -> dict[str, Any]:
        """Plain data; what is not known is None."""
        verdicts = (
            "passed",
            "individually_rational",
            "incentive_compatible",
            "monotone",
            "reproducible",
            "budget_kept",
        )
        numbers = ("spend", "limit", "overrun", "overspent", "tried", "owners", "winners", "gap", "confidence", "seed")
        findings = ("promises", "shortfalls", "deviations", "reversals", "mismatches")
        return {
            **{name: getattr(self, name) for name in verdicts},
            **{name: [_plain(row._asdict()) for row in getattr(self, name)] for name in findings},
            "max_gain": _plain(self.max_gain._asdict()),
            **_plain({name: getattr(self, name) for name in (*numbers, "kind", "tolerance")}),
            "expected_spend": self.expected_spend.as_dict(),
            "expected_excess": self.expected_excess.as_dict(),
            "unprotected": [_plain(example.as_dict()) for example in self.unprotected],
            "audited": list(self.audited),
            "misstated": list(self.misstated),
        }

    def to_json(self) -> str:
        """The same as JSON text."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def __str__(self) -> str:
        return summary(self)

    def __repr__(self) -> str:
        broken = [promise.name for promise in self.promises if not promise.kept]
        verdict = f"broken: {', '.join(broken)}" if broken else "no promise shown broken"
        return f"Audit({verdict}; {self.tried} false prices of {len(self.audited)} of {self.owners} owners tried)"


def audit(
    bids: Bids,
    c: Clearing,
    *,
    owners: Owners = None,
    reports: Reports = 16,
    draws: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    sensitivity: Any = None,
    delta: float | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Try to show that a clearing breaks what the mechanism promises. The bids are taken to be the truth.

    owners: who is to lie: names, or how many to draw (half of them winners). By default all of up to 64; of more than
        3,125 bids fewer, down to 8, since every lie is a clearing.
    reports: how many quantiles of an owner's prior are tried besides its critical points, or a list of prices.
    draws: how many markets are drawn from the priors; by default 200, fewer above 100,000 bids, down to 20. 0 leaves
        the expectation open, and with it the interim promise.
    confidence: of the intervals over those draws.
    sensitivity, delta: those of `Bids.with_noise`, to show what an overstated epsilon does.
    progress: called with (steps done, steps in all) now and then.
    """
    case, reports = case_of(bids, c), check_reports(reports)
    _check(draws, confidence)
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InputError(f"seed is {seed!r}", remedy="Give a whole number, at least 0.", value=seed, argument="seed")
    lying, drawing = (np.random.default_rng(part) for part in np.random.SeedSequence(seed).spawn(2))
    places = audited_places(case, owners, lying)
    examples = _examples(case, places, lying)
    size = len(case.bids)
    count = max(_FEWEST_DRAWS, min(_DRAWS, _DRAWN_ROWS // size)) if draws is None else draws
    done = _Counter(progress, places.size + count + examples.size)
    found = _try_prices(case, places, reports, done)
    over = draw(case, count, confidence, drawing, done)
    shown = unprotected(case, examples, _noise(case, sensitivity, delta), done)
    return _outcome(case, places, found, over, shown, confidence, seed)


class _Found(NamedTuple):
    deviations: list[Deviation]
    reversals: list[Reversal]
    tried: int
    best: Deviation


def _try_prices(case: Case, places: Places, reports: Reports, done: Callable[[], None]) -> _Found:
    gaining: list[Deviation] = []
    reversals: list[Reversal] = []
    bests: list[Deviation] = []
    tried = 0
    for place in places.tolist():
        trials = trials_of(case, place, reports)
        deviations = trials.deviations()
        gaining += [deviation for deviation in deviations if deviation.gain > case.tolerance]
        reversals += trials.reversals()
        bests.append(best_of(deviations, case, place))
        tried += trials.tried
        done()
    gaining.sort(key=lambda deviation: -deviation.gain)
    return _Found(gaining, reversals, tried, max(bests, key=lambda best: best.gain))


def _outcome(
    case: Case,
    places: Places,
    found: _Found,
    over: Draws,
    shown: tuple[Unprotected, ...],
    confidence: float,
    seed: int,
) -> Audit:
    excess = case.excess(case.clearing)
    return Audit(
        shortfalls=_shortfalls(case),
        deviations=tuple(found.deviations),
        tried=found.tried,
        max_gain=found.best,
        reversals=tuple(found.reversals),
        mismatches=_mismatches(case),
        misstated=_misstated(case),
        spend=spend_of(case.clearing),
        limit=case.mechanism.limit,
        kind=case.mechanism.kind,
        expected_spend=over.spend,
        expected_excess=over.excess,
        budgeted=case.mechanism.reference_loss is None,
        overrun=0.0 if excess <= case.tolerance else excess,
        overspent=over.overspent,
        unprotected=shown,
        audited=tuple(case.bids.name(place) for place in places.tolist()),
        owners=len(case.bids),
        winners=int(case.clearing.selected.sum()),
        gap=case.clearing.gap,
        confidence=confidence,
        seed=seed,
        tolerance=case.tolerance,
    )


def _shortfalls(case: Case) -> tuple[Shortfall, ...]:
    clearing, reserve = case.clearing, case.bids.reserve
    least = np.where(clearing.selected, reserve, 0.0)
    short = np.flatnonzero(~(clearing.payments >= least - case.tolerance))
    rows = short.tolist()
    return tuple(Shortfall(case.bids.name(i), float(reserve[i]), float(clearing.payments[i])) for i in rows)


def _mismatches(case: Case) -> tuple[Mismatch, ...]:
    stated, again = case.clearing, case.honest
    same = (stated.selected == again.selected) & (np.abs(stated.payments - again.payments) <= case.tolerance)
    return tuple(
        Mismatch(
            case.bids.name(i),
            bool(stated.selected[i]),
            float(stated.payments[i]),
            bool(again.selected[i]),
            float(again.payments[i]),
        )
        for i in np.flatnonzero(~same).tolist()
    )


def _misstated(case: Case) -> tuple[str, ...]:
    """The bound and the objective as stated, against those of the same bids cleared again; a proof of too much."""
    stated, again = case.clearing, case.honest
    said = []
    for name in ("bound", "objective"):
        value, right = float(getattr(stated, name)), float(getattr(again, name))
        if not (value == right or abs(value - right) <= _CLOSE * max(1.0, abs(right))):
            said.append(f"the {name} is stated as {value:.10g} and is {right:.10g}")
    if stated.lower_bound > again.objective + _CLOSE * max(1.0, abs(again.objective)):
        said.append(f"a lower bound of {stated.lower_bound:.10g} is stated, and {again.objective:.10g} was reached")
    return tuple(said)


def _examples(case: Case, places: Places, rng: np.random.Generator) -> Places:
    """Some of the audited owners, half of them winners."""
    count = max(_FEWEST_EXAMPLES, min(_EXAMPLES, _EXAMPLE_ROWS // len(case.bids)))
    if case.mechanism.feasibility == "interim":
        count = _FEWEST_EXAMPLES  # another distance is another multiplier, and a search for it
    winning = case.clearing.selected[places]
    winners, losers = rng.permutation(places[winning]), rng.permutation(places[~winning])
    bought = min(winners.size, max(count // 2, count - losers.size))
    return np.sort(np.concatenate([winners[:bought], losers[: max(0, count - bought)]]))


def _noise(case: Case, sensitivity: Any, delta: float | None) -> Any:
    """How far each owner's distance is due to noise; None where that is unknown."""
    bids = case.bids
    if sensitivity is None or bids.epsilon is None or bids.noise is None:
        return None
    how: Any = bids.noise
    unit = noise_distance(how, sensitivity=1.0, epsilon=1.0, delta=delta)
    return np.broadcast_to(np.asarray(sensitivity, dtype=np.float64), len(bids)) * unit / bids.epsilon


class _Counter:
    """Tells progress after every step."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total, self.steps = progress, total, 0

    def __call__(self) -> None:
        self.steps += 1
        if self.progress is not None:
            self.progress(self.steps, self.total)


def _check(draws: int | None, confidence: float) -> None:
    if draws is not None and (not isinstance(draws, (int, np.integer)) or draws < 0 or draws == 1):
        raise InputError(f"draws is {draws}", remedy="Give at least 2, or 0 for none.", value=draws, argument="draws")
    if not isinstance(confidence, (float, np.floating)) or not 0 < confidence < 1:
        raise InputError(
            f"confidence is {confidence!r}",
            remedy="Give a number between 0 and 1.",
            value=confidence,
            argument="confidence",
        )


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(value, float) and not np.isfinite(value) else value for name, value in row.items()}
