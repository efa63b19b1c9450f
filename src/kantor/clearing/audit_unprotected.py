"""What no price rule of this market protects against, shown as what it is.

The paper takes the distances W_i for granted: "Assuming the WD of each data source is independent of theta_i" (section
3.3) Myerson's lemma speaks of prices alone. An owner that could bid a smaller distance, or a larger privacy budget and
thus less noise, or twice under two names, may gain by it, whatever the payments. Here such lies are tried on a few
owners. Gains found are no broken promise: they are the reason why distances are computed privately from committed
data, why noise is checked on delivery, and why owners are enrolled by identity. For the buyer the table says what it
believed to buy (the bound at the distances bid) and what it got (at the true ones).

Two assumptions: an owner that sells twice the same data bears its reserve price once; and privacy given up by
overstating epsilon is not priced, so its gain is before that loss.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kantor.bids.bids import Bids
from kantor.bids.order import Places
from kantor.bids.priors import IroningWarning
from kantor.clearing.audit_case import Case
from kantor.clearing.outcome import Clearing
from kantor.errors import InputError

__all__ = ["KINDS", "Unprotected", "unprotected"]

KINDS = ("distance", "price and distance", "epsilon", "split identity")

_SHARES = (0.9, 0.5, 0.0)
_LEVELS = (0.1, 0.5, 0.9)
_TIMES = (1.5, 2.0, 10.0)


@dataclass(frozen=True)
class Unprotected:
    """The best lie of one kind among those tried, as an example."""

    kind: str
    owner: str | None
    said: str
    """What was said in place of the truth; or why nothing was tried."""
    gain: float | None
    stated_bound: float | None
    """What the buyer believes to have bought under the lie: the bound at the distances bid."""
    true_bound: float | None
    """What it has bought: the bound at the true distances, each owner counted once."""
    tried: int

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class _Lie:
    said: str
    clear: Callable[[], Clearing]


def unprotected(case: Case, places: Places, noise: Any, done: Callable[[], None]) -> tuple[Unprotected, ...]:
    """One example of each kind: the lie that gains most, of those tried by these owners.

    noise: how far each owner's distance is due to noise, or None if unknown.
    """
    best: dict[str, Unprotected] = {}
    for place in places.tolist():
        for kind, lies in _lies(case, place, noise).items():
            for lie in lies:
                found = _tried(case, place, kind, lie, best.get(kind))
                if found is not None:
                    best[kind] = found
        done()
    return tuple(best.get(kind) or _untried(case, kind) for kind in KINDS)


def _tried(case: Case, place: int, kind: str, lie: _Lie, before: Unprotected | None) -> Unprotected | None:
    """The better of this lie and the best one before, and how many there were."""
    tried = 1 if before is None else before.tried + 1
    try:
        outcome = lie.clear()
    except InputError:  # a report that the mechanism does not take is a lie that cannot be told
        return before
    mine = _own_rows(case, place, outcome)
    cost = float(case.bids.reserve[place]) if outcome.selected[mine].any() else 0.0
    gain = float(outcome.payments[mine].sum()) - cost - float(case.utilities[place])
    if before is not None and before.gain is not None and before.gain >= gain:
        return Unprotected(**{**before.as_dict(), "tried": tried})
    bought = outcome.selected[: len(case.bids)].copy()
    bought[place] |= outcome.selected[mine].any()
    stated, true = float(outcome.bound), case.loss(bought)
    return Unprotected(kind, case.bids.name(place), lie.said, gain, stated, true, tried)


def _own_rows(case: Case, place: int, outcome: Clearing) -> Places:
    """The owner's row, and the one under its second name if it bid as two."""
    return np.append(place, np.arange(len(case.bids), outcome.selected.size))


def _lies(case: Case, place: int, noise: Any) -> dict[str, Iterator[_Lie]]:
    return {
        KINDS[0]: _distances(case, place),
        KINDS[1]: _prices_and_distances(case, place),
        KINDS[2]: _epsilons(case, place, noise),
        KINDS[3]: _splits(case, place),
    }


def _report(case: Case, place: int, said: str, **changed: float) -> _Lie:
    return _Lie(said, lambda: case.clear(case.bids.with_report(place, **changed)))


def _distances(case: Case, place: int) -> Iterator[_Lie]:
    distance = float(case.bids.distance[place])
    for share in _SHARES if distance > 0 else ():
        yield _report(case, place, f"distance {share * distance:.6g} for {distance:.6g}", distance=share * distance)


def _prices_and_distances(case: Case, place: int) -> Iterator[_Lie]:
    distance, truth = float(case.bids.distance[place]), float(case.bids.reserve[place])
    prior = case.bids.priors.prior(place)
    for share in _SHARES[1:] if distance > 0 else ():
        for price in np.asarray(prior.ppf(_LEVELS), dtype=np.float64).tolist():
            said = f"distance {share * distance:.6g} for {distance:.6g} and price {price:.6g} for {truth:.6g}"
            yield _report(case, place, said, distance=share * distance, reserve=price)


def _epsilons(case: Case, place: int, noise: Any) -> Iterator[_Lie]:
    """With epsilon k times as large the noise distance is 1/k of what it was (Laplace and classical Gaussian noise)."""
    if case.bids.epsilon is None or noise is None:
        return
    epsilon, distance = float(case.bids.epsilon[place]), float(case.bids.distance[place])
    for times in _TIMES:
        nearer = max(0.0, distance - float(noise[place]) * (1.0 - 1.0 / times))
        yield _report(case, place, f"epsilon {times * epsilon:.6g} for {epsilon:.6g}", distance=nearer)


def _splits(case: Case, place: int) -> Iterator[_Lie]:
    if case.mechanism.only_these_owners:
        return
    truth, lower = float(case.bids.reserve[place]), float(case.bids.priors.lower[place])
    half = max(lower, truth / 2)
    for first, second in dict.fromkeys([(truth, truth), (half, half), (lower, truth)]):
        said = f"two names, the same data, prices {first:.6g} and {second:.6g} for {truth:.6g}"
        yield _Lie(said, partial(_clear_twice, case, place, first, second))


def _clear_twice(case: Case, place: int, first: float, second: float) -> Clearing:
    return case.clear(_twice(case.bids, place, first, second), newcomers=1)


def _twice(bids: Bids, place: int, first: float, second: float) -> Bids:
    """The bids with one owner's data bid a second time, in a last row under a name of its own."""
    rows = np.append(np.arange(len(bids)), place)
    reserve = bids.reserve[rows]
    reserve[place], reserve[-1] = first, second
    priors = bids.prior
    name = f"{bids.name(place)} (again)"
    while name in bids.owner:
        name += "'"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IroningWarning)  # it was said when the bids were made
        return Bids(
            distance=bids.distance[rows],
            reserve=reserve,
            prior=[priors[row] for row in rows] if isinstance(priors, tuple) else priors,
            owner=[*bids.owner, name],
            epsilon=None if bids.epsilon is None else bids.epsilon[rows],
        )


def _untried(case: Case, kind: str) -> Unprotected:
    return Unprotected(kind, None, _why_untried(case, kind), None, None, None, 0)


def _why_untried(case: Case, kind: str) -> str:
    if kind == KINDS[3]:
        return "not tried: this mechanism knows the owners it was made for and no others"
    if kind != KINDS[2]:
        return "nothing to understate: the owners looked at are at distance 0"
    if case.bids.epsilon is None:
        return "the bids state no epsilon"
    if case.bids.noise is None:
        return "epsilon does not enter this clearing: no noise was added to the distances"
    return "not tried: name the sensitivity, so that the noise in the distances is known"
