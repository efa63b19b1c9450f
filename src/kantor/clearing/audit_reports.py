"""Whose lies are tried, and which: prices over the prior's support, and prices at which something changes.

An owner may ask for any price that its prior allows. A grid of the prior's quantiles covers them; lies near the truth,
the ends of the support and the prices at which others are paid are added, each just below and just above. The owner's
own critical price is not asked of the clearing: it is found, by trying (`kantor.clearing.audit_deviations`).

In a small market every owner is audited. In a large one a lie costs a clearing of everybody, so owners are drawn, half
of them from the winners, and the outcome says how many.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from kantor.bids.order import Places
from kantor.clearing.audit_case import Case
from kantor.errors import InputError
from kantor.owners.distributions import Vector

__all__ = ["EDGE", "Owners", "Reports", "audited_places", "check_reports", "reports_of"]

Owners: TypeAlias = int | Iterable[str] | None
Reports: TypeAlias = int | Sequence[float]

EDGE = 1e-7
"""How far a report lies from a critical price when it is just below or just above."""

_MOST = 64
_ROWS = 200_000
_LEAST = 8
_FACTORS = (0.5, 0.9, 0.99, 1.01, 1.1, 1.5, 2.0)
_OTHERS = 6


def audited_places(case: Case, owners: Owners, rng: np.random.Generator) -> Places:
    """The rows of the owners to audit, rising."""
    size = len(case.bids)
    if owners is None:
        return _drawn(case, min(size, max(_LEAST, min(_MOST, _ROWS // size))), rng)
    if isinstance(owners, (int, np.integer)):
        if owners < 1:
            raise InputError(
                f"{owners} owners are to be audited", remedy="Give at least 1, or their names.", argument="owners"
            )
        return _drawn(case, min(size, int(owners)), rng)
    return _named(case, [owners] if isinstance(owners, str) else [str(owner) for owner in owners])


def _named(case: Case, names: list[str]) -> Places:
    if not names:
        raise InputError(
            "no owner is to be audited", remedy="Name at least one, or leave owners out.", argument="owners"
        )
    return np.array(sorted({case.bids.place(name) for name in names}), dtype=np.int64)


def _drawn(case: Case, count: int, rng: np.random.Generator) -> Places:
    selected = case.clearing.selected
    winners, losers = rng.permutation(np.flatnonzero(selected)), rng.permutation(np.flatnonzero(~selected))
    bought = min(winners.size, max(count // 2, count - losers.size))
    return np.sort(np.concatenate([winners[:bought], losers[: count - bought]]))


def check_reports(reports: Reports) -> Reports:
    """A number of quantiles, or prices in their own right."""
    if isinstance(reports, (int, np.integer)) and reports >= 2:
        return int(reports)
    try:
        prices = None if isinstance(reports, (int, np.integer, str)) else np.asarray(reports, dtype=np.float64)
    except (TypeError, ValueError):
        prices = None
    if prices is None or prices.ndim != 1 or prices.size == 0 or not np.isfinite(prices).all():
        raise InputError(
            f"reports is {reports!r}",
            remedy="Give a number of prices to try, at least 2, or a list of finite prices.",
            value=reports,
            argument="reports",
        )
    return prices.tolist()


def reports_of(case: Case, place: int, reports: Reports) -> Vector:
    """What one owner is to say in place of the truth, rising; what its prior does not allow is left out."""
    priors = case.bids.priors
    lower, highest = priors.lower[place], priors.highest[place]
    if isinstance(reports, int):
        prices = np.concatenate([_grid(case, place, reports), _nearby(case, place), _critical(case, place)])
    else:
        prices = np.asarray(reports, dtype=np.float64)
    return np.unique(prices[(prices >= lower) & (prices <= highest)])


def _grid(case: Case, place: int, count: int) -> Vector:
    """Quantiles, the ends of the support among them, and a price above where the prior allows one."""
    prior = case.bids.priors.prior(place)
    levels = np.linspace(0.0, 1.0, count)[1:-1]
    lower, upper = prior.support()
    top = upper if np.isfinite(upper) else float(prior.isf(1e-6))
    return np.concatenate([[lower, case.bids.priors.lower[place], top, 1.01 * top], np.asarray(prior.ppf(levels))])


def _nearby(case: Case, place: int) -> Vector:
    truth = float(case.bids.reserve[place])
    return np.array([truth * factor for factor in _FACTORS] + [truth - EDGE, truth + EDGE])


def _critical(case: Case, place: int) -> Vector:
    """Just below and above the prices that the clearing states for this owner and for some of the others."""
    clearing = case.clearing
    known = np.where(np.isfinite(clearing.critical), clearing.critical, clearing.payments)
    others = np.unique(known[clearing.selected & np.isfinite(known)])
    some = others[np.unique(np.linspace(0, others.size - 1, _OTHERS).astype(int))] if others.size else others
    points = np.append(some, known[place] if np.isfinite(known[place]) else [])
    return np.concatenate([points * (1 - EDGE), points * (1 + EDGE)])
