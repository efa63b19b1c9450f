"""The laws of clearing at a modest count (`make soak` goes to the full one), and the fault that each has to catch."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import kantor as kt
from laws import Clear, Law, Tally, total
from laws.agreement import half_is_mixed
from laws.registry import CLEARING, LAWS
from laws.soak import Log, faults_of, main, run

SEEDS = {"enumeration": 40, "misocp": 12, "interim budget": 12, "same cost": 10, "clock budget": 400}
FEWER = {"enumeration": 6, "misocp": 2, "interim budget": 2, "same cost": 2, "clock budget": 60}


def looked_at(law: Law, seeds: int, clear: Clear = kt.clear) -> Tally:
    return total(law.check(seed, clear) for seed in range(seeds))


@pytest.mark.parametrize("law", [law for law in CLEARING.values() if law.name != "misocp"], ids=lambda law: law.name)
def test_it_holds_on_a_few_markets(law: Law) -> None:
    tally = looked_at(law, FEWER.get(law.name, 3))
    assert not tally.faults
    assert tally.counts[law.unit] > 0


@pytest.mark.slow
@pytest.mark.parametrize("law", CLEARING.values(), ids=lambda law: law.name)
def test_it_holds(law: Law) -> None:
    assert not faults_of(law, looked_at(law, SEEDS.get(law.name, 20)))


def paid_by(factor: float) -> Clear:
    """All payments a little off."""

    def clear(*args: object, **options: object) -> kt.Clearing:
        c = kt.clear(*args, **options)  # type: ignore[arg-type]
        return replace(c, payments=c.payments * factor)

    return clear


def one_too_few(*args: object, **options: object) -> kt.Clearing:
    """The last of two or more winners is forgotten."""
    c = kt.clear(*args, **options)  # type: ignore[arg-type]
    selected = c.selected.copy()
    if c.size > 1:
        selected[np.flatnonzero(selected)[-1]] = False
    return replace(c, selected=selected, payments=c.payments * selected)


def a_worse_objective(*args: object, **options: object) -> kt.Clearing:
    c = kt.clear(*args, **options)  # type: ignore[arg-type]
    return replace(c, objective=c.objective * 1.001)


def at_virtual_costs(*args: object, **options: object) -> kt.Clearing:
    return kt.clear(*args, **(options | {"payments": "virtual"}))  # type: ignore[arg-type]


def at_thresholds(*args: object, **options: object) -> kt.Clearing:
    return kt.clear(*args, **(options | {"payments": "threshold"}))  # type: ignore[arg-type]


def dearer_thresholds(*args: object, **options: object) -> kt.Clearing:
    return paid_by(1.3 if options["payments"] == "threshold" else 1.0)(*args, **options)


def as_asked(*args: object, **options: object) -> kt.Clearing:
    """Winners are paid what they ask for and a share of what the clock offers beyond that."""
    c = kt.clear(*args, **options)  # type: ignore[arg-type]
    return replace(c, payments=np.where(c.selected, 0.5 * (c.payments + c.bids.reserve), 0.0))


def too_generous(bids: kt.Bids, mechanism: kt.Mechanism, *args: object, **options: object) -> kt.Clearing:
    """A multiplier for a budget that is a third larger than stated."""
    if isinstance(mechanism, kt.Exogenous) and mechanism.feasibility == "interim":
        mechanism = replace(mechanism, budget=mechanism.budget * 4 / 3)
    return kt.clear(bids, mechanism, *args, **options)  # type: ignore[arg-type]


PLANTED = [
    ("enumeration", paid_by(1.0001), 4),
    ("enumeration", one_too_few, 4),
    ("misocp", a_worse_objective, 6),
    ("interim budget", too_generous, 12),
    ("clock budget", at_thresholds, 200),
    ("same cost", dearer_thresholds, 12),
    *[(name, at_virtual_costs, 6) for name in CLEARING if name.startswith("truthful threshold")],
    *[(name, as_asked, 6) for name in CLEARING if name.startswith("truthful clock")],
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "planted", "seeds"), PLANTED, ids=lambda part: getattr(part, "__name__", str(part)))
def test_it_catches_a_planted_fault(name: str, planted: Clear, seeds: int) -> None:
    assert faults_of(LAWS[name], looked_at(LAWS[name], seeds, planted))


def test_thresholds_that_cost_too_much_are_told_by_all_markets_together() -> None:
    """A judge sees what no single market shows."""
    law = LAWS["same cost"]
    tally = Tally()
    tally.count("markets that buy", 400)
    tally.sums["z"] = 400.0
    assert law.judge(tally)
    assert half_is_mixed(Tally())[:0] == []


@cache
def small_law() -> Law:
    return replace(LAWS["clock budget"], goal=20, batch=5)


def test_a_soak_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys) -> None:
    from rich.console import Console

    law, path = small_law(), tmp_path / "soak.jsonl"
    monkeypatch.setitem(LAWS, law.name, law)
    console = Console(quiet=True)
    run(law, 10, Log.at(path, "now"), console)
    lines = path.read_text().splitlines()
    assert len(lines) >= 2
    path.write_text("\n".join(lines) + '\n{"law": "half a li')
    log = Log.at(path, "now")
    assert log.tally(law).counts["clearings"] == 5 * len(lines)
    assert not Log.at(path, "changed").done
    run(law, 10, log, console)
    assert path.read_text().splitlines()[: len(lines)] == lines


def test_a_broken_law_is_told_and_exits_1(tmp_path, monkeypatch, capsys) -> None:
    law = replace(LAWS["clock budget"], goal=1, batch=1, judge=lambda _: ["it is not so"])
    monkeypatch.setitem(LAWS, law.name, law)
    assert main(["--log", str(tmp_path / "s.jsonl"), "--only", law.name]) == 1
    assert "it is not so" in capsys.readouterr().out
