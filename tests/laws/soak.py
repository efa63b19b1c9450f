"""`make soak`: every law at its full count, over all cores, seeded and resumable; the log is the evidence.

Each line of the log is a batch of seeds: the law, the first seed, what was looked at and what was wrong. Started again,
it goes on after the last batch in the log, unless the code has changed since. The summary that it ends with is what
`docs/evidence` keeps.

    python -m laws.soak [--log FILE] [--only NAME] [--share 0.01]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import kantor as kt
from kantor.errors import KantorError
from laws import Law, Tally, total
from laws.registry import LAWS

SHOWN = 5


def main(arguments: list[str]) -> int:
    """Run, or go on; 1 if a law is broken."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--log", type=Path, default=Path("soak.jsonl"))
    parser.add_argument("--only", choices=list(LAWS), action="append")
    parser.add_argument("--share", type=float, default=1.0, help="of the full counts")
    asked = parser.parse_args(arguments)
    console = Console(highlight=False)
    laws = [LAWS[name] for name in asked.only or LAWS]
    log = Log.at(asked.log, revision())
    for law in laws:
        run(law, ceil(asked.share * law.goal), log, console)
    broken = [law.name for law in laws if faults_of(law, log.tally(law))]
    console.print(table(laws, log))
    asked.log.with_suffix(".summary.json").write_text(json.dumps(summary(laws, log), indent=2) + "\n")
    console.print(f"Broken: {', '.join(broken)}." if broken else "Every law held.")
    return 1 if broken else 0


def revision() -> str:
    """What is being soaked: the tree of the source and of the laws."""
    trees = ["HEAD:src/kantor", "HEAD:tests/laws", "HEAD:tests/service"]
    found = subprocess.run(["git", "rev-parse", *trees], capture_output=True, text=True, check=False)
    return " ".join(part[:12] for part in found.stdout.split()) if found.returncode == 0 else kt.__version__


@dataclass
class Log:
    """Batches done, by law and first seed."""

    path: Path
    revision: str
    done: dict[tuple[str, int], Tally]

    @classmethod
    def at(cls, path: Path, now: str) -> Log:
        """What a log holds of this revision; a half-written last line is ignored."""
        done: dict[tuple[str, int], Tally] = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                batch = json.loads(line)
            except json.JSONDecodeError:
                continue
            if batch["revision"] == now:
                done[batch["law"], batch["first"]] = Tally.from_dict(batch)
        return cls(path, now, done)

    def tally(self, law: Law) -> Tally:
        """All batches of a law."""
        return total(tally for (name, _), tally in sorted(self.done.items()) if name == law.name)

    def add(self, file: TextIO, law: Law, first: int, tally: Tally) -> None:
        """Write a batch down at once."""
        self.done[law.name, first] = tally
        batch = {"law": law.name, "first": first, "seeds": law.batch, "revision": self.revision, **tally.as_dict()}
        file.write(json.dumps(batch) + "\n")
        file.flush()


def batch_of(name: str, first: int) -> Tally:
    """Some seeds of a law; what is raised is a fault too, with its seed."""
    law, found = LAWS[name], Tally()
    for seed in range(first, first + law.batch):
        try:
            found += law.check(seed, kt.clear)
        except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError, KantorError) as fault:
            found.expect(False, f"seed {seed}: {type(fault).__name__}: {fault}")
    return found


def run(law: Law, goal: int, log: Log, console: Console) -> None:
    """Batches of a law until its count is reached."""
    columns = TextColumn("{task.description:32}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with (
        log.path.open("a") as file,
        ProcessPoolExecutor(os.cpu_count()) as pool,
        Progress(*columns, console=console) as progress,
    ):
        task = progress.add_task(law.name, total=goal, completed=min(goal, log.tally(law).counts[law.unit]))
        waiting: dict[Future[Tally], int] = {}
        first = 0
        while (reached := log.tally(law).counts[law.unit]) < goal:
            while len(waiting) < 2 * (os.cpu_count() or 1):
                if (law.name, first) not in log.done:
                    waiting[pool.submit(batch_of, law.name, first)] = first
                first += law.batch
            ready, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in ready:
                log.add(file, law, waiting.pop(future), future.result())
            progress.update(task, completed=min(goal, log.tally(law).counts[law.unit]))
        progress.update(task, completed=min(goal, reached))
        for future in waiting:
            future.cancel()


def faults_of(law: Law, tally: Tally) -> list[str]:
    """Of single seeds, and of all together."""
    return [*tally.faults, *law.judge(tally)]


def summary(laws: list[Law], log: Log) -> dict[str, object]:
    """A few lines for each law."""
    found: dict[str, object] = {"kantor": kt.__version__, "revision": log.revision}
    for law in laws:
        tally = log.tally(law)
        plain = tally.as_dict() | {"faults": faults_of(law, tally)[:SHOWN], "broken": bool(faults_of(law, tally))}
        found[law.name] = {"claim": law.claim, "goal": f"{law.goal} {law.unit}", **plain}
    return found


def table(laws: list[Law], log: Log) -> Table:
    """What was looked at and found, for reading."""
    shown = Table("law", "looked at", "faults", "worst")
    for law in laws:
        tally = log.tally(law)
        faults = faults_of(law, tally)
        counts = ", ".join(f"{number:,} {what}" for what, number in tally.counts.items())
        shown.add_row(law.name, counts, "\n".join(faults[:SHOWN]) or "none", f"{tally.worst:.3g}")
    return shown


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
