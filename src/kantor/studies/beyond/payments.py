"""Threshold, virtual and clock payments: what they cost, who gains by another price, and how often the budget is
overrun.

The populations of the case study with uncorrelated prices, cleared by the three mechanisms at five limits: a share of
the largest price times the number of owners (exogenous), or of the largest excess MAE (the other two). The largest
gain of any owner is what an audit finds (`kantor.audit`), in the first few trials. Buying nothing counts with the
furthest owner's bound. A limit is overrun when payments exceed the budget, or bound and payments together the
reference loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from kantor.bids.bids import Bids
from kantor.clearing.audit import audit
from kantor.clearing.clear import clear
from kantor.clearing.mechanisms import Endogenous, Exogenous, Joint, Mechanism
from kantor.clearing.outcome import Clearing, Payments
from kantor.studies.figure import Case, Claim, Figure, Panel
from kantor.studies.frames import Curves, Tidy
from kantor.studies.prices import correlated_prices

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FIGURE", "markets"]

_SHARES = np.array([0.1, 0.2, 0.4, 0.6, 0.8])
_MECHANISMS = ("exogenous", "endogenous", "joint")
_RULES: tuple[Payments, ...] = get_args(Payments)
_AUDITED, _REPORTS = 2, 2
_ROUNDING = 1e-9


def markets(case: Case, correlation: float = 0.0, new_draws: bool = True) -> Iterator[tuple[Bids, float]]:
    """Every trial's bids and largest excess MAE. new_draws: other prices for every trial."""
    values = case.values()
    reference = values.reference["MAE"]
    for trial, row in enumerate(values.alone("W")):
        seed = case.setting.seed + (trial if new_draws else 0)
        yield Bids(distance=row, reserve=correlated_prices(row, correlation, seed % 2**32)), float(reference[trial])


def compute(case: Case) -> pl.DataFrame:
    """Spend, gains, overruns and the share of trials that clear, by mechanism and rule."""
    tidy, known = Tidy("payments"), list(markets(case))
    found = {
        (name, rule): np.array([[_measured(known, name, rule, share)] for share in _SHARES])[:, 0]
        for name in _MECHANISMS
        for rule in _RULES
    }
    for place, panel in enumerate(("spend", "bound", "gain", "overrun")):
        for name in _MECHANISMS:
            for rule in _RULES:
                tidy.add(f"{panel}/{name}", rule, _SHARES, found[name, rule][:, place])
    return tidy.frame()


def _measured(known: list[tuple[Bids, float]], name: str, rule: Payments, share: float) -> list[float]:
    """Means over trials: spend and bound over the limit, the largest gain over the largest price, overruns."""
    cleared = [clear(bids, _mechanism(name, share, bids, reference), payments=rule) for bids, reference in known]
    limits = np.array([c.rules.mechanism.limit for c in cleared])
    gains = [_largest_gain(c) for c in cleared[:_AUDITED]]
    used = np.array([c.spend + (c.bound if name != "exogenous" else 0.0) for c in cleared])
    spend = np.array([c.spend for c in cleared])
    bound = np.array([c.bound if c.size else c.rules.loss(c.bids.distance.max(keepdims=True)) for c in cleared])
    over = used > limits + _ROUNDING
    return [float((spend / limits).mean()), float(bound.mean()), max(gains), float(over.mean())]


def _mechanism(name: str, share: float, bids: Bids, reference: float) -> Mechanism:
    if name == "exogenous":
        return Exogenous(budget=share * len(bids))
    made: Any = {"endogenous": Endogenous, "joint": Joint}[name]
    mechanism: Mechanism = made(reference_loss=2 * share * reference)
    return mechanism


def _largest_gain(c: Clearing) -> float:
    return max(0.0, audit(c.bids, c, reports=_REPORTS, draws=0).max_gain.gain)


def claims(curves: Curves) -> list[Claim]:
    """What the three rules promise."""
    gain = {rule: max(float(curves(f"gain/{name}", rule).max()) for name in _MECHANISMS) for rule in _RULES}
    over = {rule: max(float(curves(f"overrun/{name}", rule).max()) for name in _MECHANISMS) for rule in _RULES}
    found = [
        Claim(
            "paid their virtual costs, as the paper prints it, owners have nothing to gain by another price",
            gain["virtual"] <= _ROUNDING,
            f"the largest gain found by the audit is {gain['virtual']:.3f} times the largest price",
        )
    ]
    found += [
        Claim(f"{rule} payments leave nothing to gain", gain[rule] <= _ROUNDING, f"largest gain {gain[rule]:.2g}")
        for rule in ("threshold", "clock")
    ]
    found += [
        Claim(
            f"{rule} payments never exceed the limit",
            over[rule] == 0,
            f"in at most {100 * over[rule]:.0f} % of the trials of one limit and mechanism",
        )
        for rule in _RULES
    ]
    bound = {rule: np.mean([curves(f"bound/{name}", rule) for name in _MECHANISMS]) for rule in _RULES}
    found.append(
        Claim(
            "the clock's data are as near as the optimum's, to 10 % of the bound",
            bool(bound["clock"] <= 1.1 * bound["threshold"]),
            f"mean bound {bound['clock']:.3f} against {bound['threshold']:.3f}",
        )
    )
    return found


FIGURE = Figure(
    name="payments",
    title="Threshold, virtual and clock payments",
    compute=compute,
    grid=tuple(tuple(f"{panel}/{name}" for name in _MECHANISMS) for panel in ("spend", "bound", "gain", "overrun")),
    panels={
        "spend": Panel("spend", "limit (share)", "mean spend / limit"),
        "bound": Panel("bound", "limit (share)", "mean bound"),
        "gain": Panel("largest gain by a false price", "limit (share)", "gain / largest price"),
        "overrun": Panel("limit overrun", "limit (share)", "share of trials"),
    },
    claims=claims,
    note=f"Gains are audited in the first {_AUDITED} trials; owners try {_REPORTS} quantiles and critical prices.",
)
