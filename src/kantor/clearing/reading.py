"""Clearings read back from CLEARING.json, so that somebody else can audit them.

The file carries every parameter and prior, each owner's result, and the hash of the bids. It is only read together
with the bids themselves, and only with those that were cleared: prices that fit another market would prove nothing.
Owners are matched by name, so the order of rows does not matter. What is stated of the outcome (payments, bound,
objective) is taken as it is; whether it is right is the auditor's question.
"""

from __future__ import annotations

import json
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np

from kantor.bids.bids import Bids
from kantor.bids.priors import Priors
from kantor.clearing.clear import choice
from kantor.clearing.mechanisms import Endogenous, Exogenous, Joint, Mechanism
from kantor.clearing.outcome import Clearing, Rules
from kantor.errors import InputError

__all__ = ["clearing_from_json", "read_clearing"]

_OURS = "Give a file that `kantor clear --out CLEARING.json` or Clearing.to_json() wrote, unchanged."


def read_clearing(path: str | Path, bids: Bids | str | Path, mechanism: Mechanism | None = None) -> Clearing:
    """The clearing in a file, of these bids, or of those in a file: then with the priors that the clearing names.

    mechanism: your own, where the clearing was made by one that is not of kantor's three.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as fault:
        raise InputError(
            f"it cannot be read ({fault.strerror})", remedy="Check the path and its permissions.", file=str(file)
        ) from fault
    except UnicodeDecodeError as fault:
        raise InputError("this is not a text file", remedy=_OURS, file=str(file)) from fault
    found = bids if isinstance(bids, Bids) else _bids_in(bids, _parsed(text, str(file)), str(file))
    return clearing_from_json(text, found, mechanism, file=str(file))


def clearing_from_json(
    text: str, bids: Bids, mechanism: Mechanism | None = None, *, file: str | None = None
) -> Clearing:
    """The clearing that `Clearing.to_json` wrote, of these bids; other bids than those are refused by their hash."""
    stated = _parsed(text, file)
    _same_bids(stated, bids, file)
    try:
        return _clearing(stated, bids, _rows(stated, bids, file), mechanism)
    except InputError as fault:
        where = {"file": file} | fault.where
        raise InputError(fault.problem, remedy=fault.remedy, value=fault.value, **where) from fault
    except (KeyError, OverflowError, TypeError, ValueError) as fault:
        raise InputError(f"this is not a whole clearing ({fault!r})", remedy=_OURS, file=file) from fault


def _parsed(text: str, file: str | None) -> dict[str, Any]:
    try:
        stated = json.loads(text)
    except json.JSONDecodeError as fault:
        raise InputError(f"this is not valid JSON ({fault})", remedy=_OURS, file=file) from fault
    if not isinstance(stated, dict) or not isinstance(stated.get("bids"), str):
        raise InputError("this is not a clearing: the hash of its bids is missing", remedy=_OURS, file=file)
    return stated


def _same_bids(stated: dict[str, Any], bids: Bids, file: str | None) -> None:
    if stated["bids"] != bids.hash:
        raise InputError(
            f"these bids (hash {bids.hash[:12]}) are not those that were cleared (hash {stated['bids'][:12]})",
            remedy="Give the bids of this clearing: the same owners, distances, reserves, epsilons and priors.",
            value=bids.hash,
            file=file,
        )


def _bids_in(path: str | Path, stated: dict[str, Any], file: str) -> Bids:
    """The bids in a file. Where it states no priors, those of the clearing stand in: the one that gives the hash."""
    try:
        priors = Priors.from_description(stated["priors"]).distinct
    except InputError:
        raise
    except (KeyError, TypeError, ValueError) as fault:
        raise InputError(f"the clearing's priors cannot be read ({fault!r})", remedy=_OURS, file=file) from fault
    bids = Bids.read(path, prior=priors[0])
    for prior in priors[1:]:
        if bids.hash == stated["bids"]:
            break
        bids = Bids.read(path, prior=prior)
    return bids


def _rows(stated: dict[str, Any], bids: Bids, file: str | None) -> list[dict[str, Any]]:
    """Each owner's result, in the order of the bids."""
    rows = {row["owner"]: row for row in stated["owners"]}
    missing = next((name for name in bids.owner if name not in rows), None)
    if missing is not None or len(stated["owners"]) != len(bids):
        said = f"there is no result for owner {missing!r}" if missing is not None else "an owner has two results"
        raise InputError(said, remedy=_OURS, file=file)
    return [rows[name] for name in bids.owner]


def _clearing(stated: dict[str, Any], bids: Bids, rows: list[dict[str, Any]], own: Mechanism | None) -> Clearing:
    selected = np.array([_flag(row["selected"]) for row in rows])
    payments = np.array([_number(row["payment"], nan) for row in rows])
    known = stated["payments"] != "virtual"  # what a threshold or a clock pays is the critical price itself
    return Clearing(
        bids=bids,
        rules=_rules(stated, len(bids), own),
        selected=selected,
        payments=payments,
        critical=np.where(selected & known, payments, nan),
        bound=_number(stated["bound"], inf),
        objective=_number(stated["objective"], inf),
        lower_bound=_number(stated["lower_bound"], inf),
        truthful=_flag(stated["truthful"]),
    )


def _rules(stated: dict[str, Any], size: int, own: Mechanism | None) -> Rules:
    whole = int(stated["population_size"])
    if whole < size:
        raise InputError(f"population_size is {whole}, and there are {size} bids", remedy=_OURS, value=whole)
    mechanism = _mechanism(stated, own)
    return Rules(
        mechanism=mechanism,
        confidence=float(stated["confidence"]),
        population=stated["population"],
        population_size=whole,
        payments=choice("payments", stated["payments"], mechanism.payment_rules, "own"),
        solver=choice("solver", stated["solver"], mechanism.solvers, "own"),
        work_limit=None if stated["work_limit"] is None else int(stated["work_limit"]),
    )


def _mechanism(stated: dict[str, Any], own: Mechanism | None) -> Mechanism:
    kind = stated["mechanism"]
    if own is not None:
        if own.kind != kind:
            raise InputError(
                f"the clearing was made by {kind!r}, and the mechanism given is {own.kind!r}",
                remedy="Give the mechanism that made it, or leave it out if that was one of kantor's three.",
                value=kind,
            )
        return own
    if kind not in ("exogenous", "endogenous", "joint"):
        raise InputError(
            f"mechanism {kind!r} is not one of kantor's three",
            remedy="Read it with the mechanism that made it: kantor.read_clearing(path, bids, mechanism).",
            value=kind,
        )
    limit, lipschitz = float(stated["limit"]), float(stated["lipschitz"])
    if kind == "exogenous":
        return Exogenous(budget=limit, feasibility=stated["feasibility"])
    if kind == "endogenous":
        return Endogenous(reference_loss=limit, lipschitz=lipschitz, feasibility=stated["feasibility"])
    return Joint(reference_loss=limit, lipschitz=lipschitz)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is not true or false")
    return value


def _number(value: Any, missing: float) -> float:
    return missing if value is None else float(value)
