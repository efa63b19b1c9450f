"""What the mechanisms are measured against: the published ways to buy data, each with the same outcome.

    central   somebody who knows what every coalition is worth picks the best that fits (CEN): as good as it gets
    random    a coalition that fits, drawn blindly (RAND): what picking is worth
    smq       single-minded query (Zhang et al., 2021): offers to take or to leave, from the priors alone (SMQ)
    ptas      greedy knapsack (Ren, 2022): best value for money first, no priors needed (PTAS)
    shapley   everybody is bought, and paid its Shapley value, whatever it asks for

SMQ and PTAS take an owner at distance d to be worth 1/d, and coalitions to be worth the sum. CEN, RAND and Shapley need
the value of every coalition (a table of 2^N numbers in bitmask order, or a function from rows of booleans), where less
is better: a distance, or a loss. For SMQ and PTAS that table is optional; it only says what was bought.

Each outcome is a `Clearing`. Its bound is K times the value of the coalition bought; NaN where no values were given.
Only CEN proves anything about its objective. What the others were asked for stands in `rules`, whose `again` runs the
same baseline on other bids, as an auditor wants to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite, nan
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt

from kantor.bids.bids import Bids
from kantor.bids.priors import EmpiricalPrior
from kantor.clearing.mechanisms import Mechanism
from kantor.clearing.outcome import Clearing
from kantor.clearing.problem import Kind, Places, tolerance
from kantor.errors import InputError
from kantor.owners.distributions import Vector
from kantor.owners.samples import as_numbers
from kantor.valuation import shapley as division
from kantor.valuation.coalitions import check_enumerable, members, subset_sums

__all__ = [
    "BaselineRules",
    "Cost",
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

Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class BaselineRules:
    """Which baseline was run, with what, and how to run it again."""

    baseline: str
    limit: float | None
    options: dict[str, Any]
    again: Callable[[Bids], Clearing]
    """The same baseline, with the same values and limit, for other bids of the same owners."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"mechanism": self.baseline, "limit": self.limit, **self.options}


def central(bids: Bids, values: Any, mechanism: Mechanism, cost: Cost = "virtual") -> Clearing:
    """The best of all coalitions that fit, known their values (CEN); each winner is paid its cost.

    Exogenous: least value with costs within the budget. Endogenous: least K value with K value + costs within the
    reference loss. Joint: least K value + costs. Buying nothing costs the reference loss, or infinity.
    values: 2^N numbers in bitmask order, or a function from rows of booleans. Infinite ones are never bought.
    """
    _known("cost", cost, get_args(Cost))
    if mechanism.feasibility != "pointwise":
        raise InputError(
            "the central benchmark was asked to keep its budget in expectation",
            remedy='Use feasibility="pointwise": it sees one market only.',
            argument="mechanism",
        )
    prices = bids.virtual if cost == "virtual" else bids.reserve
    table = _table(values, len(bids))
    worth = np.where(np.isfinite(table), mechanism.lipschitz, 1.0) * table
    objective, reference = _central_objectives(mechanism.kind, mechanism.limit, worth, subset_sums(prices))
    mask = _best(objective, reference, subset_sums(prices), bids.canonical)
    found = float(objective[mask]) if mask else reference
    return _outcome(
        bids,
        _rules(
            "central", mechanism.limit, lambda other: central(other, values, mechanism, cost), **_of(mechanism, cost)
        ),
        members(mask, len(bids)),
        prices,
        bound=float(worth[mask]) if mask else reference,
        objective=found,
        lower_bound=found,
    )


def _of(mechanism: Mechanism, cost: Cost) -> dict[str, Any]:
    return {"kind": mechanism.kind, "lipschitz": mechanism.lipschitz, "cost": cost}


def _central_objectives(kind: Kind, limit: float, worth: Vector, spend: Vector) -> tuple[Vector, float]:
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
    """The least objective: buying nothing wins ties, then the cheapest, then the one whose members come first."""
    least = float(objective.min())
    if least == inf or (reference < inf and least >= reference - tolerance(reference)):
        return 0
    tied = np.flatnonzero(objective <= least + tolerance(least))
    tied = tied[spend[tied] <= spend[tied].min() + tolerance(float(spend[tied].min()))]
    rows = members(tied, canonical.size)[:, canonical]
    return int(tied[np.lexsort(~rows.T[::-1])[0]])


def random(bids: Bids, budget: float, values: Any = None, cost: Cost = "reserve", seed: int = 0) -> Clearing:
    """A coalition drawn from those whose costs fit the budget, each equally likely (RAND); winners are paid their cost.

    Its bound is the value of the coalition drawn, its objective the mean over all that could have been (what the
    published curves show; `random_mean`).
    """
    limit = _budget(budget)
    _known("cost", cost, get_args(Cost))
    table = None if values is None else _table(values, len(bids))
    prices = bids.virtual if cost == "virtual" else bids.reserve
    fitting = _fitting(prices, limit)
    mask = int(np.random.default_rng(seed).choice(fitting)) if fitting.size else 0
    again = _rules("random", limit, lambda other: random(other, budget, values, cost, seed), cost=cost, seed=seed)
    mean = nan if table is None else _mean(table, fitting)
    return _outcome(bids, again, members(mask, len(bids)), prices, bound=_value(table, mask), objective=mean)


def random_mean(bids: Bids, values: Any, budget: float, cost: Cost = "reserve") -> float:
    """The mean value of all coalitions (of one owner and more) whose costs fit the budget; infinity if none does."""
    _known("cost", cost, get_args(Cost))
    prices = bids.virtual if cost == "virtual" else bids.reserve
    return _mean(_table(values, len(bids)), _fitting(prices, _budget(budget)))


def _mean(table: Vector, fitting: Places) -> float:
    return float(table[fitting].mean()) if fitting.size else inf


def _fitting(prices: Vector, limit: float) -> Places:
    spend = subset_sums(prices)
    return np.flatnonzero(spend[1:] <= limit + tolerance(limit)) + 1


def smq(bids: Bids, budget: float, values: Any = None) -> Clearing:
    """Take-it-or-leave-it offers that spend the budget best in expectation (SMQ): truthful, over budget at times.

    An owner whose reserve price is within its offer is bought and paid the offer. See `smq_offers`.
    """
    limit, table = _budget(budget), _optional(values, bids)
    offers = smq_offers(bids, limit)
    selected = bids.reserve <= offers
    rules = _rules("smq", limit, lambda other: smq(other, budget, values))
    return _outcome(bids, rules, selected, offers, bound=_worth(table, selected), truthful=True)


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


def ptas(bids: Bids, budget: float, values: Any = None) -> Clearing:
    """Greedy knapsack (PTAS): best value for money first, as long as shares of the budget allow. See `ptas_prices`."""
    limit, table = _budget(budget), _optional(values, bids)
    selected, prices = ptas_prices(bids, limit)
    rules = _rules("ptas", limit, lambda other: ptas(other, budget, values))
    return _outcome(bids, rules, selected, prices, bound=_worth(table, selected), truthful=True)


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


def shapley(
    bids: Bids, values: Any, reference_loss: float, buyer: bool = False, budget: float | None = None
) -> Clearing:
    """Everybody is bought and paid its Shapley value of what coalitions save: the reference loss less their value.

    buyer: takes part as one more player, without whom nothing is saved, and keeps its own share (Shap in Figure 15).
    budget: is divided in proportion to the values in place of what is saved (the shares of Figure 5).
    Nobody is asked for a price, so nobody gains by stating another; but nobody is sure to be paid what it asks either.
    A value may be negative: that owner would have to pay.
    """
    table = _table(values, len(bids))
    saved = float(reference_loss) - table
    saved[0] = 0.0
    game = np.concatenate([np.zeros(saved.size), saved]) if buyer else saved
    divided = division.shapley(game)
    payments = divided.values[: len(bids)]
    if budget is not None:
        payments = _budget(budget) * payments / _whole(payments)
    rules = _rules(
        "shapley",
        None if budget is None else float(budget),
        lambda other: shapley(other, values, reference_loss, buyer, budget),
        reference_loss=float(reference_loss),
        buyer=buyer,
    )
    everybody = np.ones(len(bids), dtype=bool)
    return _outcome(bids, rules, everybody, payments, bound=float(table[-1]), truthful=True, critical=False)


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


def _outcome(
    bids: Bids,
    rules: BaselineRules,
    selected: Flags,
    prices: Vector,
    *,
    bound: float,
    objective: float | None = None,
    lower_bound: float = -inf,
    truthful: bool = False,
    critical: bool = True,
) -> Clearing:
    """A clearing whose winners are paid their prices; those are critical ones where the baseline is truthful."""
    return Clearing(
        bids=bids,
        rules=cast(Any, rules),
        selected=selected,
        payments=np.where(selected, prices, 0.0),
        critical=np.where(selected & (truthful and critical), prices, nan),
        bound=bound,
        objective=bound if objective is None else objective,
        lower_bound=lower_bound,
        truthful=truthful,
    )


def _rules(baseline: str, limit: float | None, again: Callable[[Bids], Clearing], **options: Any) -> BaselineRules:
    return BaselineRules(baseline=baseline, limit=limit, options=options, again=again)


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


def _optional(values: Any, bids: Bids) -> Vector | Callable[[Any], Any] | None:
    """A table, or a function that is asked for one coalition only, so that there may be any number of owners."""
    return values if values is None or callable(values) else _table(values, len(bids))


def _worth(values: Vector | Callable[[Any], Any] | None, selected: Flags) -> float:
    """What was bought is worth: infinity for nothing, NaN where no values were given."""
    if values is None or not selected.any():
        return nan if values is None else inf
    if callable(values):
        return float(as_numbers(values(selected[None, :]), argument="values")[0])
    return float(values[_mask(selected)])


def _mask(selected: Flags) -> int:
    return sum(1 << place for place in np.flatnonzero(selected).tolist())


def _value(table: Vector | None, mask: int) -> float:
    if table is None:
        return nan
    return float(table[mask]) if mask else inf


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
