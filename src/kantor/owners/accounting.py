"""How much privacy several releases spend together.

Releases add up. The plain rule is that their epsilons and their deltas sum, whatever the releases are. Composing the
distributions of their privacy losses (PLD; Koskela et al., 2020; here by dp-accounting) is tighter: a hundred Gaussian
releases at epsilon 0.1 cost 1.2 rather than 10. Both are proved, so what is spent is the lesser of the two; where no
delta is allowed, only the plain rule applies.

A release enters by what its promise (`kantor.owners.release`) says: Gaussian noise by the ratio of its standard
deviation to the sensitivity; Laplace noise that hides one value by its own loss distribution; Laplace noise that hides
several values at once as the worst that any epsilon-private release can be (Kairouz et al., 2015), because how the
change is spread over the values is not known. The lattice of a safe release costs less than the millionth by which the
ratios are lowered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from kantor.errors import InputError, MissingExtraError
from kantor.owners.calibration import noise_scale
from kantor.owners.release import Promise

__all__ = ["Cost", "Limit", "cost_of", "spent"]

_LATTICE = 1 - 1e-6
_A_RUN = 8
"""From so many equal releases on, it is worth working out once how many fit."""
_DEEP = 100


class Cost(NamedTuple):
    """A release as the accountant sees it: what kind of loss it is, and what it promises by itself."""

    kind: str
    ratio: float
    epsilon: str
    delta: str


@dataclass(frozen=True)
class Limit:
    """What may be spent in all: epsilon at this delta."""

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < float("inf"):
            raise InputError(f"the limit is epsilon {self.epsilon}", remedy="Give a finite number above 0.")
        if not 0 <= self.delta < 1:
            raise InputError(
                f"the limit is delta {self.delta}",
                remedy="Give 0 (Laplace noise only, epsilons add up), or a small number such as 1e-6.",
            )

    def affords(self, costs: Iterable[Cost]) -> bool:
        """Whether these releases together stay within the limit."""
        counts = Counter(costs)
        if not counts:
            return True
        if self._plainly(counts):
            return True
        if self.delta == 0:
            return False
        cost = next(reversed(counts))
        others = tuple((other, count) for other, count in counts.items() if other != cost)
        if counts[cost] < _A_RUN:
            return _by_loss_distribution((*others, (cost, counts[cost])), self.delta) <= self.epsilon
        return counts[cost] <= _most(others, cost, self.epsilon, self.delta)

    def _plainly(self, counts: Counter[Cost]) -> bool:
        epsilon, delta = _plain(counts)
        return epsilon <= Fraction(repr(self.epsilon)) and delta <= Fraction(repr(self.delta))


def cost_of(promise: Promise) -> Cost:
    """What a release costs, from its promise alone."""
    own = repr(promise.epsilon), repr(promise.delta or 0.0)
    if promise.mechanism == "gaussian":
        ratio = noise_scale(
            "gaussian",
            sensitivity=1.0,
            epsilon=promise.epsilon,
            delta=promise.delta,
            calibration=promise.calibration or "analytic",
        )
        return Cost("gaussian", ratio * _LATTICE, *own)
    one = promise.unit in ("record", 1) or promise.records == 1
    return Cost("laplace" if one else "pure", _LATTICE / promise.epsilon if one else promise.epsilon, *own)


def spent(costs: Iterable[Cost], delta: float) -> float:
    """The epsilon that these releases have spent together, at this delta; infinity where delta cannot cover them."""
    counts = Counter(costs)
    if not counts:
        return 0.0
    epsilon, own = _plain(counts)
    plain = float(epsilon) if own <= Fraction(repr(delta)) else float("inf")
    return min(plain, _by_loss_distribution(tuple(counts.items()), delta)) if delta > 0 else plain


def _plain(counts: Counter[Cost]) -> tuple[Fraction, Fraction]:
    """The sums of the epsilons and of the deltas, exactly as they were written: ten times 0.1 is 1."""
    epsilon = sum((Fraction(cost.epsilon) * count for cost, count in counts.items()), Fraction(0))
    delta = sum((Fraction(cost.delta) * count for cost, count in counts.items()), Fraction(0))
    return epsilon, delta


@lru_cache(maxsize=256)
def _most(others: tuple[tuple[Cost, int], ...], cost: Cost, epsilon: float, delta: float) -> int:
    """How many releases of one cost fit beside the others: kept, so that a run of equal spends is counted once."""

    def fits(count: int) -> bool:
        return _by_loss_distribution((*others, (cost, count)), delta) <= epsilon

    if not fits(1):
        return 0
    low, high = 1, 2
    while fits(high) and high < 1 << 20:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


@lru_cache(maxsize=1024)
def _by_loss_distribution(counts: tuple[tuple[Cost, int], ...], delta: float) -> float:
    return float(_composed(counts).get_epsilon_for_delta(delta))


def _composed(counts: tuple[tuple[Cost, int], ...]) -> Any:
    """The joint loss of releases, in the order in which they were made: a longer history builds on a shorter one."""
    for size in range(_DEEP, len(counts), _DEEP):
        _extended(counts[:size])
    return _extended(counts)


@lru_cache(maxsize=1024)
def _extended(counts: tuple[tuple[Cost, int], ...]) -> Any:
    library = _library()
    (cost, count), before = counts[-1], counts[:-1]
    last = _losses(library, cost.kind, cost.ratio).self_compose(count)
    return _extended(before).compose(last) if before else last


@lru_cache(maxsize=256)
def _losses(library: Any, kind: str, ratio: float) -> Any:
    if kind == "gaussian":
        return library.from_gaussian_mechanism(ratio)
    if kind == "laplace":
        return library.from_laplace_mechanism(ratio)
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    return library.from_privacy_parameters(DifferentialPrivacyParameters(ratio, 0.0))


def _library() -> Any:
    try:
        from dp_accounting.pld import privacy_loss_distribution
    except ImportError as missing:
        raise MissingExtraError("Composing releases", "dp-accounting", "private") from missing
    return privacy_loss_distribution
