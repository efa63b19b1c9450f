"""What several commands ask for in the same words, and what they make of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from kantor.clearing.mechanisms import Endogenous, Exogenous, Feasibility, Joint, Mechanism
from kantor.clearing.outcome import Payments
from kantor.errors import InputError
from kantor.terminal import is_terminal, print_csv, print_table
from kantor.valuation.hoeffding import Population

if TYPE_CHECKING:
    import polars as pl

    from kantor.bids.bids import Bids

__all__ = [
    "BidsFile",
    "Budget",
    "Confidence",
    "FeasibilityOf",
    "Json",
    "Lipschitz",
    "MechanismName",
    "PaymentsBy",
    "PopulationKind",
    "PopulationSize",
    "PriorOf",
    "ReferenceLoss",
    "mechanism_of",
    "read_bids",
    "show_rows",
]

MechanismName: TypeAlias = Literal["exogenous", "endogenous", "joint"]

BidsFile: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="BIDS", help="CSV or Parquet with the columns owner, distance, reserve[, epsilon][, prior]."
    ),
]
Budget: TypeAlias = Annotated[float | None, typer.Option(help="What may be spent (exogenous).")]
ReferenceLoss: TypeAlias = Annotated[
    float | None, typer.Option(help="What buying nothing costs you, in money (endogenous, joint).")
]
Lipschitz: TypeAlias = Annotated[
    float | None,
    typer.Option(help="K: what a unit of distance costs you (endogenous, joint).", show_default="1"),
]
FeasibilityOf: TypeAlias = Annotated[
    Feasibility | None,
    typer.Option(
        help="Whether the budget is kept in every clearing, in virtual costs, or on average over the priors "
        "(exogenous, endogenous).",
        show_default="pointwise",
    ),
]
Confidence: TypeAlias = Annotated[
    float, typer.Option(help="Of the bound on a coalition's distance, from 0 to below 1.")
]
PopulationKind: TypeAlias = Annotated[
    Population, typer.Option(help="Whether those who define the target are all there are.")
]
PopulationSize: TypeAlias = Annotated[
    int | None,
    typer.Option(help="How many owners define the target, those who did not bid included.", show_default="the bids"),
]
PaymentsBy: TypeAlias = Annotated[
    Payments,
    typer.Option(
        help="threshold: the highest price at which each winner would still have been bought. "
        "virtual: as the paper prints it, not truthful. clock: truthful and never over budget, not optimal.",
    ),
]
PriorOf: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="What is believed of prices, as scipy.stats names it, such as uniform:0:2 or gamma:2:0:0.5; "
        "answers:FILE for survey answers. Stands in where BIDS states none.",
        show_default="uniform:0:1",
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def mechanism_of(
    name: MechanismName,
    budget: float | None,
    reference_loss: float | None,
    lipschitz: float | None,
    feasibility: Feasibility | None,
) -> Mechanism:
    """The mechanism that the options describe; an option that it has no use for is a mistake."""
    kept: Feasibility = feasibility or "pointwise"
    if name == "exogenous":
        _useless(name, "--reference-loss", reference_loss)
        _useless(name, "--lipschitz", lipschitz)
        return Exogenous(budget=_needed(name, "--budget", budget), feasibility=kept)
    _useless(name, "--budget", budget)
    limit, slope = _needed(name, "--reference-loss", reference_loss), 1.0 if lipschitz is None else lipschitz
    if name == "joint":
        _useless(name, "--feasibility", None if feasibility == "pointwise" else feasibility)
        return Joint(reference_loss=limit, lipschitz=slope)
    return Endogenous(reference_loss=limit, lipschitz=slope, feasibility=kept)


def _needed(name: str, option: str, value: float | None) -> float:
    if value is None:
        raise InputError(f"--mechanism {name} needs {option}", remedy=f"Give {option} and a number.", argument=option)
    return value


def _useless(name: str, option: str, value: object) -> None:
    if value is not None:
        raise InputError(
            f"{option} has no meaning for --mechanism {name}",
            remedy="Leave it out, or choose another mechanism.",
            value=value,
            argument=option,
        )


def read_bids(path: Path, prior: str | None) -> Bids:
    """The bids in a file."""
    from kantor.bids.bids import Bids

    return Bids.read(path, prior=prior)


def show_rows(table: pl.DataFrame, title: str, headings: Sequence[str]) -> None:
    """A table for a person, plain CSV for a program."""
    if is_terminal():
        print_table(table, title, headings, f": --out FILE writes all {table.height:,}")
    else:
        print_csv(table)
