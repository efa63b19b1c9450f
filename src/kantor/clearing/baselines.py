"""What the mechanisms are measured against: the published ways to buy data, each with the same outcome.

    central   somebody who knows what every coalition is worth picks the best that fits (CEN): as good as it gets
    random    a coalition that fits, drawn blindly (RAND): what picking is worth
    smq       single-minded query (Zhang et al., 2021): offers to take or to leave, from the priors alone (SMQ)
    ptas      greedy knapsack (Ren, 2022): best value for money first, no priors needed (PTAS)
    shapley   everybody is bought, and paid its Shapley value, whatever it asks for

SMQ and PTAS take an owner at distance d to be worth 1/d, and coalitions to be worth the sum. CEN, RAND and Shapley need
the value of every coalition (a table of 2^N numbers in bitmask order, or a function from rows of booleans), where less
is better: a distance, or a loss. For SMQ and PTAS that table is optional; it only says what was bought.

Each is a function with the same outcome as `kantor.clear`, and a mechanism as well (`Central`, `Random`, `SMQ`, `PTAS`,
`Shapley`), which is what an audit clears again. The bound is K times the value of the coalition bought; where no values
were given it is the Hoeffding bound of its distances. Only CEN proves anything about its objective.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from kantor.bids.bids import Bids
from kantor.bids.priors import EmpiricalPrior
from kantor.clearing.clear import clear
from kantor.clearing.enumeration import first_of
from kantor.clearing.mechanisms import Mechanism, Optimal
from kantor.clearing.outcome import Clearing, Decision, Flags, Rules
from kantor.clearing.problem import Places, tie, tolerance
from kantor.errors import InputError
from kantor.owners.distributions import Vector
from kantor.owners.samples import as_numbers
from kantor.valuation import shapley as division
from kantor.valuation.coalitions import check_enumerable, members, subset_sums

__all__ = [
    "PTAS",
    "SMQ",
    "Central",
    "Cost",
    "Random",
    "Shapley",
    "central",
    "ptas",
    "ptas_prices",
    "random",
    "random_mean",
    "shapley",
    "smq",
    "smq_offers",
]

Cost: TypeAlias = Literal["virtual", "reserve"]
"""What an owner costs: its virtual cost psi (CEN_IC), or its reserve price theta (CEN_IR)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Central(Mechanism):
    """The best of all coalitions that fit, known their values; each winner is paid its cost."""

    only_these_owners: ClassVar[bool] = True
    values: Any
    aim: Mechanism
    cost: Cost = "virtual"

    def __post_init__(self) -> None:
        _known("cost", self.cost, get_args(Cost))
        if not isinstance(self.aim, Optimal):
            raise InputError(
                f"the central benchmark was asked to aim at {self.aim!r}",
                remedy="Give kantor.Exogenous(budget=...), kantor.Endogenous(reference_loss=...) or kantor.Joint(...).",
                argument="mechanism",
            )
        if self.aim.feasibility != "pointwise":
            raise InputError(
                "the central benchmark was asked to keep its budget in expectation",
                remedy='Use feasibility="pointwise": it sees one market only.',
                argument="mechanism",
            )
        for name in ("budget", "reference_loss", "lipschitz"):
            object.__setattr__(self, name, getattr(self.aim, name))

    def as_dict(self) -> dict[str, Any]:
        """What it was asked for, the problem it solves included."""
        return {**super().as_dict(), "aim": self.aim.kind}

    def decide(self, bids: Bids, rules: Rules) -> Decision:  # noqa: ARG002  values stand in for bounds
        """Look at all coalitions."""
        spend = subset_sums(_costs(bids, self.cost))
        table = _table(self.values, len(bids))
        worth = np.where(np.isfinite(table), self.lipschitz, 1.0) * table
        objective, reference = _central_objectives(self.aim.kind, self.limit, worth, spend)
        mask = _best(objective, reference, spend, bids.canonical)
        found = float(objective[mask]) if mask else reference
        bound = float(worth[mask]) if mask else reference
        selected = members(mask, len(bids))
        return _decision(selected, _costs(bids, self.cost), bound=bound, objective=found, lower_bound=found)


def central(bids: Bids, values: Any, mechanism: Mechanism, cost: Cost = "virtual") -> Clearing:
    """The best of all coalitions that fit, known their values (CEN); each winner is paid its cost.

    Exogenous: least value with costs within the budget. Endogenous: least K value with K value + costs within the
    reference loss. Joint: least K value + costs. Buying nothing costs the reference loss, or infinity.
    values: 2^N numbers in bitmask order, or a function from rows of booleans. Infinite ones are never bought.
    """
    return clear(bids, Central(values=values, aim=mechanism, cost=cost))


def _costs(bids: Bids, cost: Cost) -> Vector:
    return bids.virtual if cost == "virtual" else bids.reserve


def _central_objectives(kind: str, limit: float, worth: Vector, spend: Vector) -> tuple[Vector, float]:
    """What every coalition scores, infinity where it does not fit, and what buying nothing does."""
    if kind == "joint":
        objective = worth + spend
    else:
        used = spend if kind == "exogenous" else worth + spend
        objective = np.where(used <= limit + tolerance(limit), worth, inf)
    reference = inf if kind == "exogenous" else limit
    objective[0] = reference
    return objective, reference


def _best(objective: Vector, reference: float, spend: Vector, canonical: Places) -> int:
    """The least objective: buying nothing wins ties, then as in `first_of`."""
    least = float(objective.min())
    if least == inf or (reference < inf and least >= reference - tie(reference)):
        return 0
    tied = np.flatnonzero(objective <= least + tie(least))
    return first_of(tied, spend[tied], canonical)


@dataclass(frozen=True, kw_only=True, eq=False)
class Random(Mechanism):
    """A coalition drawn from those whose costs fit the budget; winners are paid their cost."""

    only_these_owners: ClassVar[bool] = True
    budget: float = field()
    values: Any = None
    cost: Cost = "reserve"
    seed: int = 0

    def __post_init__(self) -> None:
        _budget(self.budget)
        _known("cost", self.cost, get_args(Cost))

    def decide(self, bids: Bids, rules: Rules) -> Decision:  # noqa: ARG002
        """Draw from what fits."""
        table = None if self.values is None else _table(self.values, len(bids))
        prices = _costs(bids, self.cost)
        fitting = _fitting(prices, self.limit)
        mask = int(np.random.default_rng(self.seed).choice(fitting)) if fitting.size else 0
        bound = None if table is None else float(table[mask]) if mask else inf
        mean = None if table is None else _mean(table, fitting)
        return _decision(members(mask, len(bids)), prices, bound=bound, objective=mean)


def random(bids: Bids, budget: float, values: Any = None, cost: Cost = "reserve", seed: int = 0) -> Clearing:
    """A coalition drawn from those whose costs fit the budget, each equally likely (RAND); winners are paid their cost.

    Its bound is the value of the coalition drawn, its objective the mean over all that could have been (what the
    published curves show; `random_mean`).
    """
    return clear(bids, Random(budget=budget, values=values, cost=cost, seed=seed))


def random_mean(bids: Bids, values: Any, budget: float, cost: Cost = "reserve") -> float:
    """The mean value of all coalitions (of one owner and more) whose costs fit the budget; infinity if none does."""
    _known("cost", cost, get_args(Cost))
    return _mean(_table(values, len(bids)), _fitting(_costs(bids, cost), _budget(budget)))


def _mean(table: Vector, fitting: Places) -> float:
    return float(table[fitting].mean()) if fitting.size else inf


def _fitting(prices: Vector, limit: float) -> Places:
    spend = subset_sums(prices)
    return np.flatnonzero(spend[1:] <= limit + tolerance(limit)) + 1


@dataclass(frozen=True, kw_only=True, eq=False)
class SMQ(Mechanism):
    """Take-it-or-leave-it offers from the priors alone. See `smq_offers`."""

    budget: float = field()
    values: Any = None

    def __post_init__(self) -> None:
        _budget(self.budget)

    def decide(self, bids: Bids, rules: Rules) -> Decision:  # noqa: ARG002
        """Buy from whoever asks no more than its offer."""
        offers = smq_offers(bids, self.budget)
        selected = bids.reserve <= offers
        return _decision(selected, offers, bound=_worth(self.values, selected), critical=offers, truthful=True)


def smq(bids: Bids, budget: float, values: Any = None) -> Clearing:
    """Take-it-or-leave-it offers that spend the budget best in expectation (SMQ): truthful, over budget at times.

    An owner whose reserve price is within its offer is bought and paid the offer. See `smq_offers`.
    """
    return clear(bids, SMQ(budget=budget, values=values))


def smq_offers(bids: Bids, budget: float) -> Vector:
    """The offers x_i with the greatest sum F_i(x_i)/d_i and sum x_i F_i(x_i) <= budget; -infinity where none is made.

    In terms of the chance u = F(x) of being accepted, the spend u F^-1(u) has the slope psi(x), so for a regular prior
    the program is convex and its solution has psi_i(x_i) = m / d_i for one multiplier m (or x_i at an end of the
    prior): a search over one number, whatever the priors. For prices uniform on [0, b] that is x_i = min(b, m/(2 d_i)).
    The offers do not depend on what the owners ask.
    """
    limit, value = _budget(budget), _additive(bids)
    _convex(bids)
    top = bids.priors.upper
    if _expected(bids, top) <= limit:
        return top
    low, high = 0.0, 1.0 / float(value.max())
    while _expected(bids, _offers(bids, high * value)) <= limit:
        low, high = high, 2.0 * high
    low, high = _narrowed(lambda m: _expected(bids, _offers(bids, m * value)) <= limit, low, high)
    return _between(bids, _offers(bids, low * value), _offers(bids, high * value), limit)


def _offers(bids: Bids, costs: Vector) -> Vector:
    """psi^-1; no offer where even the lowest price costs more."""
    return np.where(costs >= bids.priors.lower, bids.priors.inverse(costs), -inf)


def _expected(bids: Bids, offers: Vector) -> float:
    """What the offers cost in expectation."""
    made = np.isfinite(offers)
    if (offers == inf).any():
        return inf
    return float(
        (np.where(made, offers, 0.0) * np.where(made, bids.priors.cdf(np.where(made, offers, 0.0)), 0.0)).sum()
    )


def _between(bids: Bids, low: Vector, high: Vector, limit: float) -> Vector:
    """Offers that use the budget up where psi is flat, so that a hair more of the multiplier costs a lot more."""
    start = np.where(np.isfinite(low), low, bids.priors.lower)
    jump = np.where(np.isfinite(high), high, start) - start

    def at(share: float) -> Vector:
        return np.where((low == -inf) & (share * jump <= 0), -inf, start + share * jump)

    if not jump.any():
        return low
    share, _ = _narrowed(lambda share: _expected(bids, at(share)) <= limit, 0.0, 1.0)
    return at(share)


def _narrowed(fits: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Two neighbouring numbers, of which the first fits and the second does not."""
    while True:
        middle = low + 0.5 * (high - low)
        if not low < middle < high:
            return low, high
        low, high = (middle, high) if fits(middle) else (low, middle)


def _convex(bids: Bids) -> None:
    for prior, costs in zip(bids.priors.distinct, (bids.priors.costs(place) for place in _firsts(bids)), strict=True):
        if isinstance(prior, EmpiricalPrior) or costs.ironed:
            raise InputError(
                "a prior is not regular, so that the offers' program is not convex",
                remedy="Give a continuous prior whose virtual costs rise, such as scipy.stats.uniform(0, 1).",
                argument="prior",
            )


def _firsts(bids: Bids) -> list[int]:
    """For each distinct prior an owner who has it."""
    codes = bids.priors.codes
    return [0] if codes is None else [int(np.argmax(codes == code)) for code in range(len(bids.priors.distinct))]


@dataclass(frozen=True, kw_only=True, eq=False)
class PTAS(Mechanism):
    """Greedy knapsack. See `ptas_prices`."""

    budget: float = field()
    values: Any = None

    def __post_init__(self) -> None:
        _budget(self.budget)

    def decide(self, bids: Bids, rules: Rules) -> Decision:  # noqa: ARG002
        """Best value for money first."""
        selected, prices = ptas_prices(bids, self.budget)
        return _decision(selected, prices, bound=_worth(self.values, selected), critical=prices, truthful=True)


def ptas(bids: Bids, budget: float, values: Any = None) -> Clearing:
    """Greedy knapsack (PTAS): best value for money first, as long as shares of the budget allow. See `ptas_prices`."""
    return clear(bids, PTAS(budget=budget, values=values))


def ptas_prices(bids: Bids, budget: float) -> tuple[Flags, Vector]:
    """Who is bought and what each is paid, 0 for the others: within the budget, truthful, and without any prior.

    Owners are sorted by their cost for a unit of value, g_i = theta_i d_i; k is the largest index with g_k <= B / (sum
    of 1/d_i over i <= k); those are paid min(B / that sum, g_(k+1)) / d_i. Ties go by distance, then name.
    """
    limit, value = _budget(budget), _additive(bids)
    ask = bids.reserve * bids.distance
    names = sorted(range(len(bids)), key=lambda i: (ask[i], bids.distance[i], bids.name(i)))
    order = np.array(names, dtype=np.int64)
    share = limit / np.cumsum(value[order])
    fits = np.flatnonzero(ask[order] <= share)
    count = int(fits[-1]) + 1 if fits.size else 0
    selected, prices = np.zeros(len(bids), dtype=bool), np.zeros(len(bids))
    if count:
        chosen = order[:count]
        following = float(ask[order[count]]) if count < len(bids) else inf
        selected[chosen] = True
        prices[chosen] = np.maximum(min(float(share[count - 1]), following) * value[chosen], bids.reserve[chosen])
    return selected, prices


@dataclass(frozen=True, kw_only=True, eq=False)
class Shapley(Mechanism):
    """Everybody is bought and paid its Shapley value, whatever it asks for."""

    only_these_owners: ClassVar[bool] = True
    reference_loss: float = field()
    values: Any = None
    buyer: bool = False
    divided: float | None = None
    """A sum to divide in proportion to the values, in place of what is saved."""

    def decide(self, bids: Bids, rules: Rules) -> Decision:  # noqa: ARG002  nobody is asked
        """Divide what everybody together saves."""
        table = _table(self.values, len(bids))
        saved = self.nothing - table
        saved[0] = 0.0
        game = np.concatenate([np.zeros(saved.size), saved]) if self.buyer else saved
        payments = division.shapley(game).values[: len(bids)]
        if self.divided is not None:
            payments = _budget(self.divided) * payments / _whole(payments)
        return _decision(np.ones(len(bids), dtype=bool), payments, bound=float(table[-1]), truthful=True)


def shapley(
    bids: Bids, values: Any, reference_loss: float, buyer: bool = False, budget: float | None = None
) -> Clearing:
    """Everybody is bought and paid its Shapley value of what coalitions save: the reference loss less their value.

    buyer: takes part as one more player, without whom nothing is saved, and keeps its own share (Shap in Figure 15).
    budget: is divided in proportion to the values in place of what is saved (the shares of Figure 5).
    Nobody is asked for a price, so nobody gains by stating another; but nobody is sure to be paid what it asks either.
    A value may be negative: that owner would have to pay.
    """
    rule = Shapley(reference_loss=float(reference_loss), values=values, buyer=buyer, divided=budget)
    return clear(bids, rule)


def _whole(payments: Vector) -> float:
    whole = float(payments.sum())
    if not whole > 0:
        raise InputError(
            f"the owners' Shapley values sum to {whole:g}, so a budget cannot be divided by them",
            remedy="Leave the budget out: each owner is then paid its value.",
            argument="budget",
        )
    return whole


# ---- what they share -----------------------------------------------------------------------------------------------


def _decision(
    selected: Flags,
    prices: Vector,
    *,
    bound: float | None,
    objective: float | None = None,
    lower_bound: float = -inf,
    critical: Vector | None = None,
    truthful: bool = False,
) -> Decision:
    """Winners are paid their prices, the others nothing."""
    return Decision(
        selected=selected,
        payments=np.where(selected, prices, 0.0),
        bound=bound,
        objective=objective,
        lower_bound=lower_bound,
        critical=critical,
        truthful=truthful,
    )


def _table(values: Any, count: int) -> Vector:
    """The value of every coalition in bitmask order, as a copy; the empty one's is not looked at."""
    check_enumerable(count)
    given = values(members(np.arange(1 << count), count)) if callable(values) else values
    table = as_numbers(given, argument="values") + 0.0
    if table.shape != (1 << count,):
        raise InputError(
            f"the coalitions' values have shape {table.shape}, and {count} owners form {1 << count} coalitions",
            remedy="Give 2^N values in bitmask order (coalition_distances), or a function from rows of booleans.",
            argument="values",
        )
    unknown = np.isnan(table[1:]) | (table[1:] == -inf)
    if unknown.any():
        mask = int(np.argmax(unknown)) + 1
        whom = [place for place in range(count) if mask >> place & 1]
        raise InputError(
            f"the coalition of the owners at {whom} (counted from 0) has the value {table[mask]}",
            remedy="Every coalition needs a value; infinity says that it must not be bought.",
            value=float(table[mask]),
            argument="values",
        )
    return table


def _worth(values: Any, selected: Flags) -> float | None:
    """What was bought is worth: infinity for nothing, None where no values were given.

    A function is asked for one coalition only, so that there may be any number of owners.
    """
    if values is None:
        return None
    if not callable(values):
        table = _table(values, selected.size)
        return float(table[_mask(selected)]) if selected.any() else inf
    return float(as_numbers(values(selected[None, :]), argument="values")[0]) if selected.any() else inf


def _mask(selected: Flags) -> int:
    return sum(1 << place for place in np.flatnonzero(selected).tolist())


def _additive(bids: Bids) -> Vector:
    """1/d_i."""
    zero = np.flatnonzero(bids.distance == 0)
    if zero.size:
        raise InputError(
            "the distance is 0, and a value of 1/distance has no bound",
            remedy="Give the smallest distance that can be told from 0, or leave the owner out.",
            argument="distance",
            owner=repr(bids.name(int(zero[0]))),
        )
    with np.errstate(over="ignore"):
        return 1.0 / bids.distance


def _budget(budget: float) -> float:
    number = float(budget)
    if not isfinite(number) or number < 0:
        raise InputError(f"budget is {budget}", remedy="Give a finite number, at least 0.", value=budget)
    return number


def _known(name: str, given: str, allowed: tuple[str, ...]) -> None:
    if given not in allowed:
        choices = " or ".join(f'"{choice}"' for choice in allowed)
        raise InputError(f"{name} {given!r} is not known", remedy=f"Choose {choices}.", value=given, argument=name)
