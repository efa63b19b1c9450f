"""What a test on a delivery says: a number, the most that chance allows, and a sentence for a person.

A test never says that somebody cheated. It says how far a number is from what it would be if all that was stated were
true, and how seldom chance takes it that far: at most `alpha` of all honest deliveries are doubted, whatever the
owner's data are. What to do about a doubt is for people to decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Finding", "Findings"]


@dataclass(frozen=True)
class Finding:
    """One test. An honest delivery exceeds the threshold with a probability of at most `alpha`."""

    name: str
    statistic: float
    threshold: float
    alpha: float
    sentence: str

    @property
    def doubt(self) -> bool:
        """Whether the number is beyond what chance explains."""
        return self.statistic > self.threshold

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**self.__dict__, "doubt": self.doubt}


@dataclass(frozen=True)
class Findings:
    """All tests on one delivery, in the order in which they are made."""

    tests: tuple[Finding, ...]
    alpha: float
    """The share of honest deliveries that any of the tests doubts, at most."""
    untested: tuple[str, ...] = ()
    """What could not be looked at, and why."""

    @property
    def doubts(self) -> tuple[Finding, ...]:
        """The tests that found more than chance explains."""
        return tuple(test for test in self.tests if test.doubt)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.tests)

    def __getitem__(self, name: str) -> Finding:
        return next(test for test in self.tests if test.name == name)

    def __str__(self) -> str:
        told = [f"DOUBT  {test.sentence}" for test in self.doubts]
        head = f"{len(told)} of {len(self.tests)} tests doubt this delivery" if told else "no test doubts this delivery"
        rate = f"(of honest ones, at most {self.alpha:.2g} are doubted)"
        return "\n".join([f"{head} {rate}", *told, *self.untested])

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "alpha": self.alpha,
            "doubts": len(self.doubts),
            "tests": [test.as_dict() for test in self.tests],
            "untested": list(self.untested),
        }
