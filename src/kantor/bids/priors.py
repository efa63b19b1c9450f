"""Prior beliefs about reserve prices: one for all owners, or one each.

"We assume that the platform has access to the distribution of owner valuations" (paper, section 3.1): any continuous
scipy.stats distribution on [0, ...), bounded or not, or survey answers (`EmpiricalPrior`). The paper also assumes them
regular, which means that virtual costs rise with prices. A prior that is not is ironed (`kantor.bids.ironing`), and an
`IroningWarning` says so where it is stated, because owners at different prices then count alike.

`Priors` holds the beliefs of a whole market and answers for all owners at once. Owners are grouped by equal priors, so
the work grows with the number of owners plus the number of different priors.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from kantor.bids.empirical import EmpiricalPrior
from kantor.bids.notation import describe_prior, fingerprint, notation, parse_prior, prior_from
from kantor.bids.virtual import VirtualCosts, known_family, virtual_costs
from kantor.errors import InputError
from kantor.owners.distributions import Distribution, Vector, is_discrete, is_distribution

__all__ = [
    "EmpiricalPrior",
    "IroningWarning",
    "Priors",
    "as_prior",
    "describe_prior",
    "fingerprint",
    "notation",
    "parse_prior",
    "prior_from",
    "virtual_costs",
]

Places = npt.NDArray[np.int64]


class IroningWarning(UserWarning):
    """A prior is not regular, and ironed virtual costs take the place of theta + F/f."""


def as_prior(prior: Any, **where: object) -> Distribution:
    """A prior that can be used, from a distribution or its short form; whatever else is refused with the reason."""
    if isinstance(prior, str):
        prior = parse_prior(prior, **where)
    if not is_distribution(prior) or isinstance(prior, type) or _is_unfrozen(prior):
        raise InputError(
            f"{type(prior).__name__} {prior!r} is not a prior",
            remedy="Give a frozen distribution such as scipy.stats.uniform(0, 1), or EmpiricalPrior(answers).",
            **where,
        )
    if not isinstance(prior, EmpiricalPrior) and (is_discrete(prior) or not hasattr(prior, "pdf")):
        raise InputError(
            "the prior is not continuous",
            remedy="Give a continuous distribution, or the prices themselves: EmpiricalPrior(answers).",
            **where,
        )
    known_family(prior)  # refuses parameters that are arrays, or none
    low = float(prior.support()[0])
    if not low >= 0:
        raise InputError(
            f"the prior's prices start at {low}",
            remedy="Reserve prices are at least 0: cut it off there, as scipy.stats.truncnorm does for a normal one.",
            value=low,
            **where,
        )
    return prior


@dataclass(frozen=True, eq=False)
class Priors:
    """What is believed of each owner's reserve price: the different priors, and which is whose."""

    distinct: tuple[Distribution, ...]
    codes: Places | None
    """The place in `distinct` of each owner's prior; None where all share the only one."""
    size: int

    @classmethod
    def of(cls, prior: Any, size: int) -> Priors:
        """Beliefs about `size` owners, from one prior for all or a sequence with one each."""
        single = _is_single(prior)
        priors = cls((as_prior(prior, argument="prior"),), None, size) if single else cls._each(prior, size)
        for belief in priors.distinct:
            _say_what_is_ironed(belief)
        return priors

    @classmethod
    def _each(cls, prior: Sequence[Any], size: int) -> Priors:
        if len(prior) != size:
            raise InputError(
                f"there are {size} owners and {len(prior)} priors",
                remedy="Give one prior for all, or one for each owner in the same order.",
                argument="prior",
            )
        seen: dict[object, int] = {}
        known: dict[object, int] = {}
        distinct: list[Distribution] = []
        codes = np.empty(size, dtype=np.int64)
        for place, given in enumerate(prior):
            tag: object = given if isinstance(given, str) else id(given)
            if tag not in seen:
                checked = as_prior(given, argument=f"prior[{place}]")
                code = known.setdefault(_key(checked), len(distinct))
                if code == len(distinct):
                    distinct.append(checked)
                seen[tag] = code
            codes[place] = seen[tag]
        codes.flags.writeable = False
        return cls(tuple(distinct), codes if len(distinct) > 1 else None, size)

    def __len__(self) -> int:
        return self.size

    @cached_property
    def _costs(self) -> tuple[VirtualCosts, ...]:
        return tuple(virtual_costs(prior) for prior in self.distinct)

    @cached_property
    def _groups(self) -> list[Places]:
        """For each distinct prior the places of the owners it is about."""
        return _grouped(self.codes, len(self.distinct)) if self.codes is not None else []

    def prior(self, place: int) -> Distribution:
        """What is believed of one owner."""
        return self.distinct[0 if self.codes is None else int(self.codes[place])]

    def costs(self, place: int) -> VirtualCosts:
        """The virtual costs of one owner: `cost(theta)`, `inverse(cost)`, `lower`, `upper`, `ironed`."""
        return self._costs[0 if self.codes is None else int(self.codes[place])]

    def virtual(self, theta: Any, places: Places | None = None) -> Vector:
        """psi_i(theta_i), ironed, for all owners or for those at `places`; the last axis counts owners."""
        return self._map(lambda code, values: self._costs[code].cost(values), theta, places)

    def inverse(self, cost: Any, places: Places | None = None) -> Vector:
        """psi_i^-1: the highest price with a virtual cost of at most this, within [lower, upper].

        A cost below psi(lower) gives the lower end, although an owner there is not bought.
        """
        return self._map(lambda code, values: self._costs[code].inverse(values), cost, places)

    def cdf(self, theta: Any, places: Places | None = None) -> Vector:
        """F_i(theta_i)."""
        return self._map(lambda code, values: np.asarray(self.distinct[code].cdf(values)), theta, places)

    def quantile(self, probability: Any, places: Places | None = None) -> Vector:
        """F_i^-1."""
        return self._map(lambda code, values: np.asarray(self.distinct[code].ppf(values)), probability, places)

    @cached_property
    def lower(self) -> Vector:
        """The least price that each owner can ask for."""
        return self._spread([costs.lower for costs in self._costs])

    @cached_property
    def upper(self) -> Vector:
        """The highest price that each owner can ever be paid: the prior's upper end, infinite if there is none."""
        return self._spread([costs.upper for costs in self._costs])

    @cached_property
    def highest(self) -> Vector:
        """The highest price that each owner may ask for: the upper end, but any price where the prior is a survey."""
        return self._spread([costs.highest for costs in self._costs])

    @cached_property
    def flat(self) -> npt.NDArray[np.bool_]:
        """For each owner, whether there are ranges of prices that count alike."""
        flags = np.array([costs.flat for costs in self._costs])
        return np.broadcast_to(flags, self.size) if self.codes is None else flags[self.codes]

    def rvs(self, rng: np.random.Generator, draws: int | None = None) -> Vector:
        """Reserve prices drawn from the beliefs: one for each owner, or `draws` rows of them."""
        shape = (self.size,) if draws is None else (draws, self.size)
        if self.codes is None:
            return np.asarray(self.distinct[0].rvs(size=shape, random_state=rng), dtype=np.float64)
        drawn = np.empty(shape)
        for prior, places in zip(self.distinct, self._groups, strict=True):
            part = (*shape[:-1], places.size)
            drawn[..., places] = np.reshape(prior.rvs(size=int(np.prod(part)), random_state=rng), part)
        return drawn

    def take(self, places: Places) -> Priors:
        """Beliefs about some of the owners."""
        codes = None if self.codes is None else self.codes[places]
        return Priors(self.distinct, codes, int(places.size))

    def describe(self) -> dict[str, Any]:
        """All of it as plain data: the distinct priors and, unless all share one, which is whose."""
        codes = None if self.codes is None else self.codes.tolist()
        return {"distinct": [describe_prior(prior) for prior in self.distinct], "codes": codes, "size": self.size}

    @classmethod
    def from_description(cls, description: dict[str, Any]) -> Priors:
        """What `describe` described; what is ironed was said before and is not said again."""
        codes = None if description["codes"] is None else np.array(description["codes"], dtype=np.int64)
        distinct = tuple(as_prior(prior_from(part)) for part in description["distinct"])
        return cls(distinct, codes, int(description["size"]))

    def _spread(self, values: list[float]) -> Vector:
        spread = np.full(self.size, values[0]) if self.codes is None else np.array(values)[self.codes]
        spread.flags.writeable = False
        return spread

    def _map(self, how: Callable[[int, Vector], Vector], values: Any, places: Places | None) -> Vector:
        given = np.asarray(values, dtype=np.float64)
        if self.codes is None:
            return how(0, given)
        groups = self._groups if places is None else _grouped(self.codes[places], len(self.distinct))
        given = np.broadcast_to(
            given, np.broadcast_shapes(given.shape, (self.size if places is None else len(places),))
        )
        mapped = np.empty(given.shape)
        for code, members in enumerate(groups):
            if members.size:
                mapped[..., members] = how(code, given[..., members])
        return mapped


def _grouped(codes: Places, count: int) -> list[Places]:
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=count))[:-1]
    return list(np.split(order, ends))


def _is_single(prior: Any) -> bool:
    """Whether this is one prior rather than a list of them (or nonsense, which `as_prior` refuses)."""
    return isinstance(prior, str) or is_distribution(prior) or not isinstance(prior, (Sequence, np.ndarray))


def _say_what_is_ironed(prior: Distribution) -> None:
    ironed = () if isinstance(prior, EmpiricalPrior) else virtual_costs(prior).ironed
    if ironed:
        pieces = ", ".join(f"{piece.low:.4g} to {piece.high:.4g}" for piece in ironed[:3])
        more = " and more" if len(ironed) > 3 else ""
        warnings.warn(
            f"prior {_name(prior)} is not regular: its virtual costs were ironed. Reserve prices from {pieces}{more} "
            "count alike.",
            IroningWarning,
            stacklevel=5,
        )


def _is_unfrozen(prior: Any) -> bool:
    """Whether parameters are still to be given: scipy.stats.uniform in place of scipy.stats.uniform(0, 1)."""
    return isinstance(prior, scipy.stats.rv_continuous) and not isinstance(prior, scipy.stats.rv_histogram)


def _key(prior: Distribution) -> object:
    """What makes two priors one: equal family and parameters, equal answers, or being the same object."""
    if isinstance(prior, EmpiricalPrior):
        return prior
    return known_family(prior) or id(prior)


def _name(prior: Distribution) -> str:
    try:
        text = notation(prior)
    except InputError:
        return type(prior).__name__
    return text if len(text) <= 60 else f"{type(prior).__name__} ({text[:40]} ...)"
