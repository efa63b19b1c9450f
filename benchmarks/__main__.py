"""`make bench`: every claim, measured in one run. `--quick` only sees that the benchmarks work."""

from __future__ import annotations

import json
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import scipy
from rich.console import Console
from rich.table import Table

import kantor
from benchmarks import (
    against_misocp,
    budgeted,
    clock_value,
    equal_sizes,
    growth,
    joint,
    many_owners,
    private_distances,
    safe_noise,
    shapley,
)

CLAIMS = {
    "W of many owners against one target": many_owners,
    "W of two samples of one size": equal_sizes,
    "Coalitions and Shapley values of 20 owners": shapley,
    "A joint market of a million owners, and its prices": joint,
    "Budgeted markets of 10,000 and 100,000 owners": budgeted,
    "What a hard budget costs": clock_value,
    "Eight owners, against the paper's program": against_misocp,
    "Time against the number of owners": growth,
    "Noise that is safe in floating point": safe_noise,
    "Distances computed without showing the data": private_distances,
}
RESULTS = Path(__file__).with_name("results")


def main(arguments: list[str]) -> None:
    """Measure, print, and keep the numbers with what they were measured on."""
    quick = "--quick" in arguments
    console = Console(highlight=False)
    record: dict[str, object] = {
        "kantor": kantor.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": quick,
    }
    for title, claim in CLAIMS.items():
        console.print(f"[bold]{title}[/bold]")
        numbers = claim.measure(quick=quick)
        table = Table(show_header=False)
        for name, value in numbers.items():
            if not isinstance(value, list) or not value or not isinstance(value[0], dict):  # single cases: in the file
                table.add_row(name.replace("_", " "), f"{value:.4g}" if isinstance(value, float) else str(value))
        console.print(table)
        record[title] = numbers
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / ("quick.json" if quick else "latest.json")
    path.write_text(json.dumps(record, indent=2) + "\n")
    console.print(f"Written to {path}.")


if __name__ == "__main__":
    main(sys.argv[1:])
