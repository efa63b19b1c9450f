"""Receipts: what the server has signed for one owner in one market, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kantor.errors import EvidenceError
from kantor.evidence.signing import check_signature

__all__ = ["all_receipts", "check_receipt", "last_bid", "merged", "standing_bid"]


def check_receipt(receipt: Mapping[str, Any], server: str, **expected: str) -> None:
    """An error unless this key signed the receipt, and it is for what is expected."""
    said = {name: value for name, value in receipt.items() if name not in ("signature", "server")}
    check_signature(server, "receipt", said, receipt["signature"])
    for name, value in expected.items():
        if said.get(name) != value:
            raise EvidenceError(f"the receipt is for another {name}", remedy="Send it again; tell the operator.")


def all_receipts(known: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every receipt that the notes hold, in the order of the log."""
    found = [bid["receipt"] for bid in known.get("bids", [])] + known.get("withdrawals", [])
    found += [known["delivery"]] if "delivery" in known else []
    return sorted(found, key=lambda receipt: int(receipt["seq"]))


def last_bid(known: Mapping[str, Any]) -> dict[str, Any] | None:
    """The bid with the highest number."""
    return max(known.get("bids", []), key=lambda bid: int(bid["receipt"]["number"]), default=None)


def standing_bid(known: Mapping[str, Any]) -> dict[str, Any] | None:
    """The bid that has to count: the last one, unless it (or one that came after it) was withdrawn."""
    last = last_bid(known)
    withdrawn = max((int(receipt["number"]) for receipt in known.get("withdrawals", [])), default=0)
    return None if last is None or int(last["receipt"]["number"]) <= withdrawn else last


def merged(known: Mapping[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The notes' bids and withdrawals with those that the server knows and the notes do not. rows: its `bids`."""
    bids, withdrawals = list(known.get("bids", [])), list(known.get("withdrawals", []))
    pending = known.get("pending")
    have = {bid["receipt"]["nonce"] for bid in bids}
    gone = {receipt["nonce"] for receipt in withdrawals}
    for row in rows:
        nonce, mine = row["nonce"], pending is not None and pending["said"]["nonce"] == row["nonce"]
        if row["state"] == "withdrawn" and nonce not in gone:
            withdrawals.append(row["receipt"])
        elif row["state"] != "withdrawn" and nonce not in have:
            blank = {"ask": None, "said": None, "entry": None}
            bids.append({**(pending if mine and pending is not None else blank), "receipt": row["receipt"]})
        pending = None if mine else pending
    return {"bids": sorted(bids, key=lambda bid: int(bid["receipt"]["number"])), "withdrawals": withdrawals,
            "pending": pending}  # fmt: skip
