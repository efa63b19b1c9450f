"""What depends on a market but on no price reported in it, found once.

An interim budget's multiplier and a clock's weight come from the priors, the distances and the limit alone: if they
moved with the reports, an owner could move its own price. So markets that differ in nothing but reports (an audit
clears thousands) share one search. The last few markets are remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from hashlib import sha256
from threading import Lock

from kantor.bids.bids import Bids
from kantor.clearing.problem import Problem

__all__ = ["remembered"]

_MARKETS = 16


def remembered(search: Callable[[Bids, Problem], float]) -> Callable[[Bids, Problem], float]:
    """A function of the priors, distances, coefficients, kind and limit of a market that remembers its last answers."""
    known: dict[object, float] = {}
    lock = Lock()

    @wraps(search)
    def found(bids: Bids, problem: Problem) -> float:
        numbers = sha256(bids.distance.tobytes() + problem.coefficients.tobytes()).digest()
        market = bids.priors, numbers, problem.kind, problem.limit
        with lock:
            if market in known:
                return known[market]
        answer = search(bids, problem)
        with lock:
            while len(known) >= _MARKETS:
                known.pop(next(iter(known)))
            known[market] = answer
        return answer

    return found
