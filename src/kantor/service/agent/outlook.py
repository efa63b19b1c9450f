"""What an epsilon means for an owner in a market: how noisy, how far from the target, and what it leaves to spend."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from kantor.delivery.noise_law import noise_of as law_of
from kantor.errors import BalanceError
from kantor.owners.accounting import cost_of, spent
from kantor.service.agent.home import Home
from kantor.service.promises import noise_of, promised
from kantor.service.terms import Terms

if TYPE_CHECKING:
    from kantor.service.agent.owner import OwnerAgent

__all__ = ["Outlook", "check_affordable", "left_now", "outlook", "outlooks"]

_MOST = 8


@dataclass(frozen=True)
class Outlook:
    """One epsilon."""

    epsilon: str
    deviation: float
    """The standard deviation of the noise on each value, in the data's unit."""
    noise: str
    """How much the noise adds to the distance."""
    left: float | None
    """Epsilon left in the balance after a delivery; None if it does not fit."""

    def total(self, distance: str | None) -> str | None:
        """The distance that the market counts with, noise included."""
        return None if distance is None else f"{Decimal(distance) + Decimal(self.noise):f}"

    def as_dict(self, distance: str | None) -> dict[str, Any]:
        """Plain data."""
        return {**self.__dict__, "distance": self.total(distance)}


def outlooks(terms: Terms, home: Home, market: str) -> list[Outlook]:
    """For several epsilons between the terms' limits, both ends among them."""
    return [outlook(terms, home, market, f"{epsilon:f}") for epsilon in _several(terms)]


def outlook(terms: Terms, home: Home, market: str, epsilon: str) -> Outlook:
    """For one epsilon. What a bid in the same market has set aside would be replaced, and is not counted."""
    promise, balance = promised(terms, epsilon), home.balance
    others = [entry.cost for entry in _others(home, market)]
    left = None
    if promise.unit == balance.unit and balance.limit.affords([*others, cost_of(promise)]):
        left = max(balance.limit.epsilon - spent([*others, cost_of(promise)], balance.limit.delta), 0.0)
    return Outlook(epsilon, law_of(promise).deviation, noise_of(terms, epsilon), left)


def check_affordable(agent: OwnerAgent, seen: Outlook) -> None:
    """An error if winning at this epsilon would not fit into what is left."""
    if seen.left is None:
        left = left_now(agent.home, agent.market)
        raise BalanceError(
            f"epsilon {seen.epsilon} is more than is left of your balance: {left:.6g}",
            remedy="Nothing was sent. Choose a smaller epsilon, or do not bid.",
            file=agent.home.balance.path,
        )


def left_now(home: Home, market: str) -> float:
    """What is left to spend, but for what this market has set aside."""
    limit = home.balance.limit
    return max(limit.epsilon - spent([entry.cost for entry in _others(home, market)], limit.delta), 0.0)


def _others(home: Home, market: str) -> list[Any]:
    own = f"market {market} bid "
    return [
        entry
        for entry in home.balance.entries()
        if entry.state == "charged" or (entry.state == "reserved" and not entry.key.startswith(own))
    ]


def _several(terms: Terms) -> list[Decimal]:
    """Round numbers (1, 2, 5, 10, ...) between the limits, and the limits."""
    low, high = (end.normalize() for end in (terms.privacy.epsilon_low, terms.privacy.epsilon_high))
    powers = range(low.adjusted(), high.adjusted() + 1)
    steps = [Decimal(step).scaleb(power) for power in powers for step in (1, 2, 5)]
    inside = [step for step in steps if low < step < high]
    every = -(-len(inside) // (_MOST - 2)) or 1
    return sorted({low, *inside[::every], high})
