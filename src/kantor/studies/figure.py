"""What a figure of the case study is: a calculation, a layout, and what the paper says about it.

A figure calculates a table (`kantor.studies.frames`) from a case. Its layout says how panels are placed and drawn,
and knows no number. Its claims are the paper's statements in our words, each decided by the table; its differences
are the places where the published run and the text part ways, each measured by comparing the two variants' tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kantor.studies.frames import Curves
from kantor.studies.metrics import Values
from kantor.studies.normal_values import normal_values
from kantor.studies.populations import Family, Population, population
from kantor.studies.setting import Setting, Variant
from kantor.studies.store import keep, recall, valued_block

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Case", "Claim", "Difference", "Figure", "Panel"]

Kind: TypeAlias = Literal["lines", "scatter", "heat", "dots", "boxes"]


class Case:
    """The populations of a setting, and their values, calculated once and kept. store: a folder to keep them in."""

    def __init__(self, setting: Setting | None = None, store: Path | None = None) -> None:
        self.setting = setting or Setting()
        self.store = store
        self._known: dict[Family, Values] = {}

    def as_variant(self, variant: Variant) -> Case:
        """The same populations, valued already, under another variant."""
        other = Case(replace(self.setting, variant=variant), self.store)
        other._known = self._known
        return other

    @property
    def population(self) -> Population:
        """The owners of every trial."""
        return self.values("gaussian").population

    def values(self, family: Family = "gaussian") -> Values:
        """All metrics of all coalitions of all trials."""
        if family not in self._known:
            self._known[family] = self._value(family)
        return self._known[family]

    def _value(self, family: Family) -> Values:
        owners = population(self.setting)
        if family == "gaussian":
            return normal_values(owners)
        table = recall(self.store, self.setting, family)
        if table is None:
            table = valued_block(self.setting, family, 0, self.setting.trials)
            keep(self.store, self.setting, family, table)
        return Values(owners, table)


@dataclass(frozen=True)
class Claim:
    """What the paper says, whether this run supports it, and the numbers that decide."""

    said: str
    holds: bool
    evidence: str


@dataclass(frozen=True)
class Difference:
    """A place where text and published run part ways: both, how far apart the results are, and where to see it."""

    text: str
    run: str
    size: str
    where: str


@dataclass(frozen=True)
class Panel:
    """How the panels whose name begins alike are drawn; the words on their axes."""

    title: str
    x: str
    y: str
    kind: Kind = "lines"
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Figure:
    """One figure; `grid` has the names of its panels row by row, `panels` says how to draw them by their first part."""

    name: str
    title: str
    compute: Callable[..., pl.DataFrame]
    grid: tuple[tuple[str, ...], ...]
    panels: dict[str, Panel]
    claims: Callable[[Curves], list[Claim]] = lambda _: []
    differences: Callable[[Curves, Curves], list[Difference]] = lambda _published, _described: []
    note: str = ""
    """What else a reader has to know, such as where sampling is cheaper than in the published run."""
    sampled: bool = False
    """Whether it needs the families that are valued from samples."""

    def panel(self, name: str) -> Panel:
        """How a panel is drawn."""
        return self.panels[name.partition("/")[0]]
