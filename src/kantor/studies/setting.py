"""How a study is run: how many trials, of how many owners, from which seed, and after the published run or the text.

The published setting is 50 trials of 8 owners with seed 1345, and everything can be asked for otherwise. All coalitions
are valued one by one, so that the number of owners is limited; `kantor.studies.beyond.growth` has larger markets.

Where the published run and the text of the paper differ, each is a variant: "as-published" does what the run did,
"as-described" what the text says. docs/decisions/0020-two-readings-of-the-case-study.md lists the differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from kantor.errors import InputError

__all__ = ["MOST_OWNERS", "MOST_TRIALS", "SEED", "Setting", "Variant"]

Variant: TypeAlias = Literal["as-published", "as-described"]

SEED = 1345
_FEWEST_OWNERS, MOST_OWNERS, MOST_TRIALS = 3, 12, 10_000
_MOST_SEED = 2**32 - 1


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Trials, owners, seed and variant; the published ones unless given."""

    trials: int = 50
    owners: int = 8
    seed: int = SEED
    variant: Variant = "as-published"

    def __post_init__(self) -> None:
        _within("trials", self.trials, 1, MOST_TRIALS, "Each trial is a population of its own.")
        _within(
            "owners",
            self.owners,
            _FEWEST_OWNERS,
            MOST_OWNERS,
            f"Fewer leave no room for a correlation; more have too many coalitions (2^{MOST_OWNERS} is 4,096).",
        )
        _within("seed", self.seed, 0, _MOST_SEED, "NumPy's legacy generator takes no other.")
        if self.variant not in get_args(Variant):
            raise InputError(
                f"variant {self.variant!r} is not known",
                remedy='Choose "as-published" or "as-described".',
                value=self.variant,
                argument="variant",
            )

    @property
    def described(self) -> bool:
        """Whether the text is followed where the published run does otherwise."""
        return self.variant == "as-described"

    @property
    def published(self) -> bool:
        """Whether trials, owners and seed are those of the published run."""
        return (self.trials, self.owners, self.seed) == (50, 8, SEED)


def _within(name: str, value: Any, least: int, most: int, why: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(
            f"{name} is {value!r}",
            remedy=f"Give a whole number from {least} to {most:,}. {why}",
            value=value,
            argument=name,
        )
