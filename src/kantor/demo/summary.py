"""The last words of the demo, in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kantor.demo.figures import Figures
from kantor.demo.story import Told

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["show_summary"]


def show_summary(told: Told, report: Path, console: Console) -> None:
    """What came out, and where to look closer."""
    figures, money = Figures(told), Figures(told).money
    limit = told.terms["rule"]["limit"]
    lines = [
        f"{len(figures.rows)} households bid, {len(figures.winners)} were bought for {money.show(figures.spend)} "
        f"of {money.show(limit)}; each was paid at least what it asked for.",
        f"The buyer's data lie {figures.off:.2f} kWh a day from the average household ({figures.off_without_noise:.2f} "
        f"without noise); the market's bound was {figures.bound:.2f}.",
        "Nobody saw anybody's readings, and nobody a price before the market closed.",
    ]
    for each in told.verified:
        word = "holds" if each.passed else "DOES NOT HOLD"
        lines.append(f"Verified offline: the {each.kind} bundle {word} ({len(each.steps)} checks).")
    console.print()
    for line in lines:
        console.print(line, markup=False, highlight=False)
    console.print()
    console.print(f"The report: {report}", markup=False, highlight=False)
    command = f"kantor verify {told.folder / 'market-auditor.json'}"
    console.print(f"Check it yourself: {command}", markup=False, highlight=False)
