"""The paper's evidence, figure by figure, and studies beyond it.

In a notebook a study is a table and a figure:

    import kantor as kt

    table = kt.studies.frame("fig12")               # tidy: figure, panel, curve, x, y
    kt.studies.figure("fig12", table)               # drawn from the table alone
    kt.studies.frame("fig12", trials=200, owners=6) # beyond the published setting
    kt.studies.claims("fig12", table)               # what the paper says of it, and whether the table supports it

On the command line it is `kantor study fig12 --out DIR`. `kt.studies.FIGURES` and `kt.studies.BEYOND` list the names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kantor.studies.catalogue import BEYOND, FIGURES, figure_of
from kantor.studies.figure import Case, Claim
from kantor.studies.frames import Curves
from kantor.studies.setting import Setting, Variant

if TYPE_CHECKING:
    import polars as pl

__all__ = ["BEYOND", "FIGURES", "Case", "Claim", "Setting", "claims", "figure", "frame"]


def frame(
    name: str,
    *,
    trials: int = 50,
    owners: int = 8,
    seed: int = 1345,
    variant: Variant = "as-published",
    case: Case | None = None,
    **options: Any,
) -> pl.DataFrame:
    """A study's table. case: populations valued before, in place of trials, owners, seed and variant.

    Some studies take options of their own, such as `mechanisms` in fig08 and growth.
    """
    chosen = case or Case(Setting(trials=trials, owners=owners, seed=seed, variant=variant))
    return figure_of(name).compute(chosen, **options)


def figure(name: str, table: pl.DataFrame | None = None, **how: Any) -> Any:
    """A study as a matplotlib Figure, from its table, which is made if not given. how: as for `frame`."""
    from kantor.studies.drawing import draw

    found = frame(name, **how) if table is None else table
    return draw(figure_of(name), Curves(found), how.get("variant") == "as-described")


def claims(name: str, table: pl.DataFrame | None = None, **how: Any) -> list[Claim]:
    """What the paper says of a figure, whether the table supports it, and the numbers that decide."""
    return figure_of(name).claims(Curves(frame(name, **how) if table is None else table))
