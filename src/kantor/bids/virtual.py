"""Virtual costs: what a reserve price really costs a buyer who does not know it.

An owner asks for theta; the buyer believes it to be drawn from F with density f. An owner who would be bought at theta
would also be bought at less, and has to be left no reason to say otherwise, which in expectation costs the *virtual
cost* (paper, section 3.3; Myerson, 1981)

    psi(theta) = theta + F(theta)/f(theta).

For uniform prices on [0, b] it is 2 theta: half of what is spent pays for honesty. At the lower edge of the support
it is the edge itself. It never lies below theta, grows without limit in a thin upper tail, and is infinite where f has
vanished there.

Mechanisms compare virtual costs, owners are paid in prices, so the way back is needed too: `inverse` gives the highest
price whose virtual cost stays within a limit. That is a sup: on an ironed piece it is the piece's upper end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
import scipy

from kantor.bids.empirical import EmpiricalCosts, EmpiricalPrior
from kantor.bids.ironing import Interval, falls, ironed_intervals
from kantor.owners.distributions import Distribution, Family, Vector, family

__all__ = ["VirtualCosts", "virtual_costs"]


class VirtualCosts(Protocol):
    """psi of one prior, and the way back."""

    @property
    def lower(self) -> float:
        """The least price that can be asked for."""

    @property
    def upper(self) -> float:
        """The highest price that can ever be paid."""

    @property
    def highest(self) -> float:
        """The highest price that may be asked for."""

    @property
    def ironed(self) -> tuple[Interval, ...]:
        """Where prices were made to count alike."""

    @property
    def flat(self) -> bool:
        """Whether there are ranges of prices that count alike."""

    def cost(self, theta: Any) -> Vector:
        """psi(theta), ironed."""

    def inverse(self, cost: Any) -> Vector:
        """The highest price with a virtual cost of at most this, within [lower, upper]."""


def virtual_costs(prior: Distribution) -> VirtualCosts:
    """The virtual costs of a prior; asked again for an equal one, the same object."""
    if isinstance(prior, EmpiricalPrior):
        return EmpiricalCosts(prior)
    parts = known_family(prior)
    return ContinuousCosts(prior) if parts is None else _of_family(parts)


@lru_cache(maxsize=4096)
def _of_family(parts: Family) -> ContinuousCosts:
    base = getattr(scipy.stats, parts.name)
    return ContinuousCosts(base(*parts.shape, loc=parts.location, scale=parts.scale), parts)


def known_family(prior: Distribution) -> Family | None:
    """The family of a distribution that scipy.stats knows by name; None for histograms and home-made ones."""
    parts = family(prior)
    known = None if parts is None else getattr(scipy.stats, parts.name, None)
    return parts if known is not None and type(prior.dist) is type(known) else None  # type: ignore[attr-defined]


# F/f of the standard member, where it has a closed form that keeps its digits in both tails.
_RATIOS: dict[str, Callable[..., Vector]] = {
    "uniform": lambda x: x,
    "expon": np.expm1,
    "powerlaw": lambda x, a: x / a,
    "weibull_min": lambda x, c: x / c * scipy.special.exprel(x**c),
    "lognorm": lambda x, s: s * x * np.sqrt(np.pi / 2) * scipy.special.erfcx(-np.log(x) / (s * np.sqrt(2))),
    "pareto": lambda x, b: x / b * np.expm1(b * np.log(x)),
    "lomax": lambda x, c: (1.0 + x) / c * np.expm1(c * np.log1p(x)),
}


def _expon_inverse(y: Vector) -> Vector:
    """The x at which x + e^x - 1 = y: Wright's omega function, then a step of Newton's, for the digits of small y."""
    x = np.log(scipy.special.wrightomega(y + 1.0))
    return x - (x + np.expm1(x) - y) / (1.0 + np.exp(x))


# psi^-1 of the standard member: x from x + F/f.
_INVERSES: dict[str, Callable[..., Vector]] = {
    "uniform": lambda y: y / 2,
    "expon": _expon_inverse,
    "powerlaw": lambda y, a: y * (a / (a + 1.0)),
}


_LEAST = 1e-290  # densities of some families overflow at prices below
_DIGITS = 8  # how many floats an inverse is moved at most, to the last one that fits

# F is log-concave, so F/f rises (Bagnoli and Bergstrom, 2005, table 1): no search for a fall is needed.
_REGULAR = {*_RATIOS, "gamma", "halfnorm", "halflogistic", "rayleigh", "chi2", "erlang", "truncexpon", "truncnorm"}


@dataclass(frozen=True, eq=False)
class ContinuousCosts:
    """psi of a continuous prior, ironed where it falls."""

    prior: Distribution
    parts: Family | None = None

    @cached_property
    def lower(self) -> float:
        """The lower end of the support."""
        return float(self.prior.support()[0])

    @cached_property
    def upper(self) -> float:
        """The upper end of the support."""
        return float(self.prior.support()[1])

    @property
    def highest(self) -> float:
        """The upper end of the support: asking for more contradicts the prior."""
        return self.upper

    @cached_property
    def ironed(self) -> tuple[Interval, ...]:
        """Where psi falls, or the prior has a gap, and the hull takes its place."""
        if self.parts is not None and self.parts.name in _REGULAR:
            return ()
        prices = self._grid
        return ironed_intervals(self.prior.cdf, self.raw, prices) if falls(self.raw(prices)) else ()

    @property
    def flat(self) -> bool:
        """Whether something had to be ironed."""
        return bool(self.ironed)

    def raw(self, theta: Vector) -> Vector:
        """The sum theta + F/f as it is; infinite above the support, theta below it."""
        with np.errstate(all="ignore"):
            costs = theta + self._ratio(np.clip(theta, self.lower, self.upper))
        return np.where((theta > self.upper) | (theta == np.inf), np.inf, costs)

    def _ratio(self, theta: Vector) -> Vector:
        closed = _RATIOS.get(self.parts.name) if self.parts is not None else None
        if closed is not None and self.parts is not None:
            x = (theta - self.parts.location) / self.parts.scale
            ratio = self.parts.scale * closed(x, *self.parts.shape)
            return np.where(theta <= self.lower, 0.0, np.maximum(ratio, 0.0))
        level, density = np.asarray(self.prior.cdf(theta)), self._density(theta)
        return np.where((level <= 0.0) | (theta <= self.lower), 0.0, level / density)

    def _density(self, theta: Vector) -> Vector:
        """The density f; where it jumps, not above its limit from the left, so that psi does not dip at one point."""
        theta = np.maximum(theta, np.nextafter(self.lower, np.inf) if self.lower else _LEAST)
        density = np.asarray(self.prior.pdf(theta))  # type: ignore[attr-defined]
        if self.parts is not None and self.parts.name in _REGULAR:
            return density
        before = np.maximum(np.nextafter(theta, -np.inf), self.lower)
        left = np.asarray(self.prior.pdf(before))  # type: ignore[attr-defined]
        return np.where(before > self.lower, np.minimum(density, left), density)

    def cost(self, theta: Any) -> Vector:
        """psi(theta), ironed."""
        prices = np.asarray(theta, dtype=np.float64)
        costs = self.raw(prices)
        if not self.ironed:
            return costs
        lows, highs, slopes = (np.array(part) for part in zip(*self.ironed, strict=True))
        place = np.searchsorted(highs, prices, side="left")
        before, after = np.append(-np.inf, slopes)[place], np.append(slopes, np.inf)[place]
        low = np.append(lows, np.inf)[place]
        flat = (prices > low) | ((prices == low) & (low <= self.lower))
        return np.where(flat, after, np.clip(costs, before, after))

    def inverse(self, cost: Any) -> Vector:
        """The highest price with a virtual cost of at most this, within [lower, upper].

        Below psi(lower) no price is low enough: the answer is then the lower end, which is not bought.
        """
        limits = np.asarray(cost, dtype=np.float64)
        closed = _INVERSES.get(self.parts.name) if self.parts is not None else None
        if closed is not None and self.parts is not None:
            with np.errstate(all="ignore"):
                y = np.maximum(limits - self.parts.location, 0.0) / self.parts.scale
                found = self.parts.location + self.parts.scale * closed(y, *self.parts.shape)
        else:
            found = self._searched(limits.ravel()).reshape(limits.shape)
        found = np.where(limits == np.inf, self.upper, np.clip(found, self.lower, self.upper))
        return self._settled(found, limits)

    def _settled(self, found: Vector, limits: Vector) -> Vector:
        """The last digits: down while the cost is above the limit, then up while the next float still fits."""
        prices, costs = found.ravel(), limits.ravel()
        moving = np.flatnonzero((prices > self.lower) & (self.cost(prices) > costs))
        for _ in range(_DIGITS if moving.size else 0):
            prices[moving] = np.nextafter(prices[moving], self.lower)
            moving = moving[(prices[moving] > self.lower) & (self.cost(prices[moving]) > costs[moving])]
        moving = np.arange(prices.size)
        for _ in range(_DIGITS):
            nearby = np.minimum(np.nextafter(prices[moving], np.inf), self.upper)
            fits = (nearby > prices[moving]) & (self.cost(nearby) <= costs[moving])
            moving = moving[fits]
            if not moving.size:
                break
            prices[moving] = nearby[fits]
        return prices.reshape(found.shape)

    @cached_property
    def _grid(self) -> Vector:
        """Prices at which psi is looked at: evenly by level, in both tails, and evenly by price."""
        tails, body = np.logspace(-15, -3, 121), np.linspace(0.0, 1.0, 2002)[1:-1]
        inner = np.concatenate([self.prior.ppf(tails), self.prior.ppf(body), self.prior.isf(tails)])
        even = np.linspace(float(self.prior.ppf(1e-6)), float(self.prior.isf(1e-6)), 2001)
        prices = np.concatenate([[self.lower, self.upper], inner, even])
        return np.unique(prices[np.isfinite(prices)])

    @cached_property
    def _knots(self) -> tuple[Vector, Vector]:
        """Prices between which to search, the ends of ironed pieces among them, and their rising costs."""
        ends = [end for interval in self.ironed for end in (interval.low, interval.high)]
        prices = np.unique(np.concatenate([self._grid, ends]))
        return prices, np.maximum.accumulate(self.cost(prices))

    def _searched(self, limits: Vector) -> Vector:
        """Between two knots, by Chandrupatla's method, for all limits at once."""
        from scipy.optimize import elementwise

        prices, costs = self._knots
        place = np.searchsorted(costs, limits, side="right")
        last = np.minimum(np.maximum(limits, prices[-1]), self.upper)  # psi(theta) >= theta, so never above the limit
        high = np.where(place < prices.size, prices[np.minimum(place, prices.size - 1)], last)
        found = np.where(place == 0, self.lower, prices[np.maximum(place - 1, 0)])
        found = np.where(np.isnan(limits), np.nan, np.where(self.cost(high) <= limits, high, found))
        open_ = np.flatnonzero((place > 0) & (high > found) & np.isfinite(limits))
        if open_.size:
            bracket = (found[open_], high[open_])
            root = elementwise.find_root(self._excess, bracket, args=(limits[open_],))
            solved = np.where(root.f_x <= 0, root.x, root.bracket[0])
            found[open_] = np.where(np.isfinite(solved), solved, found[open_])
        return found

    def _excess(self, theta: Vector, limits: Vector) -> Vector:
        """How far psi lies above the limit, from -1 to 1, so that an infinite cost is a number too."""
        costs = self.cost(theta)
        with np.errstate(invalid="ignore"):
            share = (costs - limits) / (costs + limits)
        return np.where(np.isinf(costs), 1.0, np.where(costs == limits, 0.0, share))
