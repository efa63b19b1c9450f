"""Laws of clearing, each checked at any seed: at a few in `make test`, at the full counts by `make soak`.

A law draws its own market from a seed, clears it, and reports what it looked at and what it found wrong. It is given
the function that clears, so that a fault can be planted in it: every law has to catch one (`test_laws.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import reduce
from math import inf
from typing import Any

import kantor as kt

__all__ = ["Clear", "Law", "Tally", "total"]

Clear = Callable[..., kt.Clearing]


@dataclass
class Tally:
    """What a law looked at, what it found wrong, and the worst number it saw."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    worst: float = -inf
    sums: Counter[str] = field(default_factory=Counter)
    """Numbers that mean something only when added up over many markets."""

    def count(self, what: str, times: int = 1) -> None:
        self.counts[what] += times

    def expect(self, holds: bool, fault: str) -> None:
        """Note a fault unless it holds."""
        if not holds:
            self.faults.append(fault)

    def see(self, number: float) -> float:
        """Keep the largest number seen."""
        self.worst = max(self.worst, number)
        return number

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.counts + other.counts,
            self.faults + other.faults,
            max(self.worst, other.worst),
            Counter({key: self.sums[key] + other.sums[key] for key in {*self.sums, *other.sums}}),
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        worst = None if self.worst == -inf else self.worst
        return {"counts": dict(self.counts), "faults": self.faults, "worst": worst, "sums": dict(self.sums)}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Tally:
        """What `as_dict` made."""
        worst = -inf if plain["worst"] is None else plain["worst"]
        return cls(Counter(plain["counts"]), list(plain["faults"]), worst, Counter(plain["sums"]))


def total(tallies: Iterable[Tally]) -> Tally:
    """All of them together."""
    return reduce(Tally.__add__, tallies, Tally())


@dataclass(frozen=True)
class Law:
    """A claim, how it is checked at one seed, and how much of it `make soak` looks at."""

    name: str
    claim: str
    check: Callable[[int, Clear], Tally]
    unit: str
    """Which count the goal is about."""
    goal: int
    batch: int
    """How many seeds are checked between two lines of the log."""
    judge: Callable[[Tally], list[str]] = field(default=lambda _: [])
    """What is wrong with all of it together, besides the faults of single seeds."""
