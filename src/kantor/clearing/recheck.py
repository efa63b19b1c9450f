"""Re-deriving what is stated of a clearing: a checker that knows nothing of how it was found.

Whoever is shown bids, rules, winners and whole payments can ask: is that the coalition, and are these its prices? The
answer may not rest on two machines adding floats in one order. So the stated coalition's own objective is added up
here, in sums that are exactly rounded, and held against a lower bound that is proved afresh, with a tolerance. Where
the coalition found again is another one, both must tie. If they agree to a few roundings, the published rule says which
is meant: nothing, then less Psi, then fewer members, then the first in canonical order. If they agree to the tolerance
only, either is accepted.

A winner's whole price k is the highest at which it would still be bought. That is looked at directly: the market is
solved with the owner at k, where it must be wanted, and at k + 1, where it must not. Wanted means that the best
coalition with the owner is better than the best without. In joint and interim markets, where all prices come out of
one search, only those are looked at that lie within rounding of a whole number or are not the ones stated.

A clock has no optimum to prove. It is run again, and its promise is held to the letter: whole payments, and the loss
where it counts, are within the limit without any tolerance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum, inf, isfinite, sqrt
from typing import Any, NamedTuple

import numpy as np

from kantor.bids.bids import Bids
from kantor.clearing.budgeted import solve_endogenous, solve_exogenous
from kantor.clearing.clear import clear_by
from kantor.clearing.interim import multiplier, with_multiplier
from kantor.clearing.joint import solve_joint
from kantor.clearing.mechanisms import Optimal
from kantor.clearing.optimal import pose
from kantor.clearing.outcome import Clearing, Flags, Rules
from kantor.clearing.problem import Allocation, Places, Problem, tie, tolerance
from kantor.clearing.whole import Whole, check_whole, excess, floors, open_prices, whole_payments
from kantor.errors import InputError
from kantor.owners.distributions import Vector

__all__ = ["Check", "Recheck", "recheck"]

_TOLERANCE = 1e-9
_LITTLE = 1e-3
"""Of a minor unit."""
_PROVED = 1e-12
_SAME = 1e-10, 1e-8
"""Amounts below a whole number by less than the first count as that number on any machine, by more than the second on
none."""
_SHOWN = 3
_SOLVERS = {"joint": solve_joint, "exogenous": solve_exogenous, "endogenous": solve_endogenous}


class Check(NamedTuple):
    """One thing that was looked at, and what was found, for a person to read."""

    name: str
    passed: bool
    said: str


@dataclass(frozen=True)
class Recheck:
    """All that was looked at."""

    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing was found wrong."""
        return all(check.passed for check in self.checks)

    @property
    def faults(self) -> tuple[Check, ...]:
        """What was found wrong."""
        return tuple(check for check in self.checks if not check.passed)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"passed": self.passed, "checks": [check._asdict() for check in self.checks]}

    def __str__(self) -> str:
        return "\n".join(f"{'right' if check.passed else 'WRONG'}  {check.name}: {check.said}" for check in self.checks)


def recheck(
    bids: Bids, rules: Rules, selected: Any, payments_whole: Any, *, nodes: int | None = None, gap: float = 0.0
) -> Recheck:
    """Whether these winners and whole payments are what the rules make of these bids.

    nodes: how much work each proof may take; the solvers' own limit unless given.
    gap: what was stated of an allocation that is not proved. Its payments can only be worked out again, by the same
        rules; of a proved one (0) they are verified.
    """
    check_whole(bids)
    stated = _Stated(bids, rules, *_given(bids, selected, payments_whole))
    shared = (_losers(stated), _reserves(stated))
    if not isinstance(rules.mechanism, Optimal):
        return Recheck((*_again(stated), *shared))
    if rules.payments == "clock":
        return Recheck((*_clock(stated), *shared))
    market = _Market(bids, rules, nodes)
    checks = (_allowed(stated, market), *_best(stated, market, gap))
    return Recheck((*checks, _paid(stated, market, gap, all(check.passed for check in checks)), *shared))


# ---- what is stated ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Stated:
    """Winners and payments, with the bids and rules that they are said to come from."""

    bids: Bids
    rules: Rules
    selected: Flags
    paid: Whole

    @cached_property
    def members(self) -> Places:
        """The winners' places in canonical order."""
        return np.flatnonzero(self.selected[self.bids.canonical])

    @property
    def winners(self) -> list[int]:
        """The winners' rows."""
        return np.flatnonzero(self.selected).tolist()

    def names(self, rows: list[int]) -> str:
        """Some of the owners, by name."""
        shown = ", ".join(repr(self.bids.name(row)) for row in rows[:_SHOWN])
        return shown + (f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else "")


def _given(bids: Bids, selected: Any, payments: Any) -> tuple[Flags, Whole]:
    flags, paid = np.asarray(selected), np.asarray(payments)
    for name, array in (("selected", flags), ("payments_whole", paid)):
        if array.shape != (len(bids),):
            raise InputError(
                f"{name} has shape {array.shape}, and there are {len(bids)} bids",
                remedy="Give one of each for every owner, in the order of the bids.",
                argument=name,
            )
    if flags.dtype != np.bool_:
        raise InputError(
            f"selected holds {flags.dtype}", remedy="Give True or False for each bid.", argument="selected"
        )
    if not np.issubdtype(paid.dtype, np.integer):
        remedy = "Give whole numbers of minor units, as whole_payments does."
        raise InputError(f"payments_whole holds {paid.dtype}", remedy=remedy, argument="payments_whole")
    return flags, paid.astype(np.int64)


def _losers(stated: _Stated) -> Check:
    bad = np.flatnonzero(~stated.selected & (stated.paid != 0)).tolist()
    said = f"Not bought, and yet paid: {stated.names(bad)}." if bad else "Nobody who is not bought is paid."
    return Check("losers", not bad, said)


def _reserves(stated: _Stated) -> Check:
    bad = np.flatnonzero(stated.selected & (stated.paid < stated.bids.reserve)).tolist()
    said = f"Paid less than they asked for: {stated.names(bad)}." if bad else "Nobody is paid less than it asked for."
    return Check("reserve prices", not bad, said)


# ---- coalitions and what they are worth ----------------------------------------------------------------------------


class _Worth(NamedTuple):
    """A coalition with its objective (infinite where the limit forbids it), Psi and V."""

    members: Places
    objective: float
    spend: float
    loss: float


class _Market:
    """The bids as a problem to be solved again and again; an interim market at its price of money."""

    def __init__(self, bids: Bids, rules: Rules, nodes: int | None) -> None:
        self.bids, self.rules, self.nodes, self.undecided = bids, rules, nodes, 0
        interim = rules.mechanism.feasibility == "interim"
        self.mu = multiplier(bids, pose(bids, rules)) if interim else None
        self.problem = self.posed(bids)
        self.found = self.solve(self.problem)
        self.best = worth(self.problem, self.found.members)

    def posed(self, bids: Bids) -> Problem:
        """The problem that decides who is bought."""
        problem = pose(bids, self.rules)
        if self.mu is None:
            return problem
        if self.mu == inf:  # no price of money meets the budget: nobody is bought
            return replace(problem, costs=np.full(len(bids), inf))
        return with_multiplier(problem, self.mu)

    def solve(self, problem: Problem) -> Allocation:
        """The best coalition, and what is proved about it."""
        return _SOLVERS[problem.kind](problem, self.nodes)

    @property
    def unit(self) -> float:
        """How far two objectives may lie apart for either to be accepted: never much in money, as far as floats tell.

        An interim market counts money mu times; an exogenous one compares losses, which are no money.
        """
        size = abs(self.best.objective) if self.best.objective < inf else 0.0
        if self.problem.kind == "exogenous":
            return max(_TOLERANCE * size, _PROVED)
        agreed = _relative(size, self.problem.reference)
        return max(_PROVED * size, min(agreed, _LITTLE * (1.0 if self.mu is None else self.mu)))

    @property
    def step(self) -> float:
        """The same for the cost of one owner, which under a budget is held against the limit."""
        limit = self.problem.limit
        return self.unit if self.problem.kind == "joint" else max(_PROVED * limit, min(_relative(limit), _LITTLE))

    # ---- one owner at one price

    def at(self, row: int, price: int) -> tuple[Problem, int]:
        """The market in which an owner asks for this price, and the owner's place in it."""
        bids = self.bids.with_report(row, reserve=float(price))
        return self.posed(bids), int(np.flatnonzero(bids.canonical == row)[0])

    def may_win(self, row: int, price: int) -> bool:
        """Whether the owner would be bought at this price, or rounding decides."""
        problem, place = self.at(row, price)
        chosen = self._decided(problem)
        if chosen is None or place in chosen:
            return True
        partners = self._if_cheaper(problem, place)
        return partners is not None and self.first(problem, partners, chosen) >= 0

    def may_lose(self, row: int, price: int) -> bool:
        """Whether the owner would not be bought at this price, or rounding decides."""
        problem, place = self.at(row, price)
        chosen = self._decided(problem)
        if chosen is None or place not in chosen:
            return True
        others = np.delete(np.arange(problem.costs.size), place)
        rest = replace(problem, squares=problem.squares[others], costs=problem.costs[others])
        rest = replace(rest, coefficients=problem.coefficients[:-1])
        return self.first(problem, others[self.solve(rest).members], chosen) >= 0

    def _decided(self, problem: Problem) -> Places | None:
        """The best coalition; None, and it is counted, where it is not proved to be that."""
        allocation = self.solve(problem)
        self.undecided += not allocation.proved
        return allocation.members if allocation.proved else None

    def _if_cheaper(self, problem: Problem, place: int) -> Places | None:
        """The best coalition with an owner if it cost less by the tolerance; None if it is not bought then."""
        costs = problem.costs.copy()
        costs[place] = max(costs[place] - self.step, 0.0)
        order = np.lexsort((problem.squares, costs))
        chosen = order[self.solve(replace(problem, squares=problem.squares[order], costs=costs[order])).members]
        return np.sort(chosen) if place in chosen else None

    def first(self, problem: Problem, one: Places, other: Places) -> int:
        """Which of two coalitions is to be bought: 1 for the first, -1 for the other, 0 where rounding decides."""
        left, right = worth(problem, one), worth(problem, other)
        if left.objective == right.objective == inf:
            return 0
        apart = right.objective - left.objective
        if abs(apart) > self.unit:
            return 1 if apart > 0 else -1
        if abs(apart) > tie(max(abs(left.objective), abs(right.objective))):
            return 0
        return _by_tie_rule(left, right)


def _relative(*sizes: float) -> float:
    return _TOLERANCE * max([1.0, *(abs(size) for size in sizes if isfinite(size))])


def worth(problem: Problem, members: Places) -> _Worth:
    """What a coalition is worth, from exactly rounded sums; buying nothing is the reference."""
    if members.size == 0:
        return _Worth(members, problem.reference, 0.0, problem.reference)
    spend = fsum(problem.costs[members].tolist())
    loss = float(problem.coefficients[members.size]) * sqrt(fsum(problem.squares[members].tolist()))
    if problem.kind == "joint":
        return _Worth(members, loss + spend, spend, loss)
    used = spend if problem.kind == "exogenous" else loss + spend
    allowed = used <= problem.limit + tolerance(problem.limit)
    return _Worth(members, loss if allowed else inf, spend, loss)


def _by_tie_rule(left: _Worth, right: _Worth) -> int:
    """Nothing, then less Psi, then fewer members, then those that come first."""
    if not (left.members.size and right.members.size):
        return int(right.members.size > 0) - int(left.members.size > 0)
    if abs(left.spend - right.spend) > tie(max(left.spend, right.spend)):
        return 1 if left.spend < right.spend else -1
    one, other = ((side.members.size, *side.members.tolist()) for side in (left, right))
    return int(other > one) - int(other < one)


def _allowed(stated: _Stated, market: _Market) -> Check:
    """Whether the coalition may be bought at all."""
    problem, rows = market.problem, stated.bids.canonical[stated.members]
    never = rows[~np.isfinite(problem.costs[stated.members])].tolist()
    if never:
        return Check("allowed", False, f"At these prices nobody ever buys from {stated.names(never)}.")
    found, limit = worth(problem, stated.members), problem.limit
    if problem.kind == "joint" or not stated.members.size:
        return Check("allowed", True, f"{stated.members.size} owners are bought; no limit is held in every clearing.")
    used = found.spend + (found.loss if problem.kind == "endogenous" else 0.0)
    what = "Loss and virtual costs" if problem.kind == "endogenous" else "Virtual costs"
    return Check("allowed", found.objective < inf, f"{what} come to {used:.10g}, and the limit is {limit:.10g}.")


def _best(stated: _Stated, market: _Market, gap: float) -> Iterator[Check]:
    """Whether nothing better exists, and whether the tie is decided by the rule."""
    mine, best = worth(market.problem, stated.members), market.best
    proved = best.objective if market.found.proved else market.found.lower_bound
    slack = market.unit + gap * max(1.0, abs(mine.objective)) if mine.objective < inf else market.unit
    good = mine.objective <= proved + slack or mine.objective == proved
    if best.objective < mine.objective - slack:
        said = f"Another coalition reaches {best.objective:.12g}, and the one stated {mine.objective:.12g}."
    elif not good:
        said = f"The objective is {mine.objective:.12g}, and only {proved:.12g} could be proved with this much work."
    else:
        said = f"The objective is {mine.objective:.12g}, and none is below {proved:.12g}, which is proved afresh."
    yield Check("best", good, said)
    if np.array_equal(stated.members, market.found.members):
        yield Check("tie rule", True, "The coalition found again is the same.")
        return
    preferred = market.first(market.problem, stated.members, market.found.members)
    said = "Another coalition ties, and the rule for ties prefers " + ("the other." if preferred < 0 else "this one.")
    if preferred == 0:
        said = "Another coalition is as good to the tolerance; either is accepted."
    yield Check("tie rule", preferred >= 0, said)


# ---- payments ------------------------------------------------------------------------------------------------------


def _paid(stated: _Stated, market: _Market, gap: float, good: bool) -> Check:
    """The winners' whole payments, if they are the winners."""
    if not good:
        return Check("payments", False, "Not looked at, since these are not the winners.")
    if stated.rules.payments == "virtual":
        psi = np.where(stated.selected, stated.bids.virtual, 0.0)
        right = np.maximum(floors(psi), stated.bids.reserve).astype(np.int64)
        return _compared(stated, right, psi, "its virtual cost rounded down")
    if gap > 0 or not market.found.proved:
        again = clear_by(stated.rules, stated.bids)
        return _compared(stated, whole_payments(again), again.payments, "what the rules pay again (nothing is proved)")
    return _thresholds(stated, market)


def _compared(stated: _Stated, right: Whole, exact: Vector, what: str) -> Check:
    """Payments against the floors of amounts found again; one unit off where another machine may round otherwise."""
    either = floors(exact, _SAME[0]) != floors(exact, _SAME[1])
    bad = np.flatnonzero(stated.selected & (np.abs(stated.paid - right) > either)).tolist()
    said = f"Every winner is paid {what}." if not bad else f"Not paid {what}: {stated.names(bad)}."
    return Check("payments", not bad, said)


def _thresholds(stated: _Stated, market: _Market) -> Check:
    """Each winner at its price, and one above."""
    known = _ranges(stated, market.nodes) if market.problem.kind == "joint" else {}
    faults: list[str] = []
    looked = 0
    for row in stated.winners:
        price, ends = int(stated.paid[row]), known.get(row)
        if ends == (price, price):
            continue
        looked += 1
        faults += _price_faults(stated, market, row, price, ends if ends and ends[0] <= price <= ends[1] else ())
        if len(faults) >= _SHOWN:
            break
    said = f"All {len(stated.winners)} are the highest whole prices that would win; {looked} were tried one by one"
    said += f", {market.undecided} times without a proof." if market.undecided else "."
    return Check("payments", not faults, " ".join(faults) if faults else said)


def _ranges(stated: _Stated, nodes: int | None) -> dict[int, tuple[int, int]]:
    """For each winner of a clearing of the same bids, between which whole prices its payment lies."""
    again = clear_by(replace(stated.rules, solver="exact", work_limit=nodes), stated.bids)
    rows, lows, highs = open_prices(again, _TOLERANCE)
    return dict(zip(rows.tolist(), zip(lows.tolist(), highs.tolist(), strict=True), strict=True))


def _price_faults(stated: _Stated, market: _Market, row: int, price: int, ends: tuple[int, ...]) -> Iterator[str]:
    """What is wrong with one payment. At its own price a winner is bought; beyond its prior's end nobody is.

    ends: the whole prices of which the lower one is known to win and what is above the higher one to lose.
    """
    name, least, most = stated.names([row]), stated.bids.reserve[row], stated.bids.priors.upper[row]
    if not least <= price <= most:
        yield f"Owner {name} is paid {price}, and possible are {least:.15g} to {most:.15g}."
        return
    if price not in (least, *ends[:1]) and not market.may_win(row, price):
        yield f"Owner {name} is paid {price} and would not be bought at it."
    if price + 1 <= most and price not in ends[1:] and not market.may_lose(row, price + 1):
        yield f"Owner {name} is paid {price} and would be bought at {price + 1} too."


# ---- clocks, and mechanisms of one's own ---------------------------------------------------------------------------


def _clock(stated: _Stated) -> Iterator[Check]:
    again = clear_by(stated.rules, stated.bids)
    yield _same_winners(stated, again)
    yield _compared(stated, whole_payments(again), again.payments, "the floor of its offer")
    over = excess(stated.bids, stated.rules, stated.selected, stated.paid)
    said = f"The limit is exceeded by {float(over):.6g}." if over > 0 else f"{float(-over):.10g} is left of the limit."
    yield Check("limit", over <= 0, said)


def _again(stated: _Stated) -> Iterator[Check]:
    """A mechanism of one's own proves nothing that could be verified: it is asked again."""
    again = clear_by(stated.rules, stated.bids)
    yield _same_winners(stated, again)
    yield _compared(
        stated, whole_payments(again), again.payments, "what the mechanism pays when asked again, rounded down"
    )


def _same_winners(stated: _Stated, again: Clearing) -> Check:
    bad = np.flatnonzero(stated.selected != again.selected).tolist()
    said = f"Cleared again, others are bought: {stated.names(bad)}." if bad else "Cleared again, the same are bought."
    return Check("winners", not bad, said)
