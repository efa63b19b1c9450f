"""Opening the bids of a closed market, and nothing else.

When a market closes, a trustee is given the set of envelopes that are to be opened, with the digest of that set as the
market has published it (the *statement*). It checks each envelope, computes D_ij = x_i R_j for each, and proves for all
of them at once that it used its share: one proof of 64 bytes, bound to the statement. The values of any `threshold`
trustees, weighted by Lagrange, add up to the shared points D_j = x R_j. With these, which can be published, anybody can
open the set, and anybody can check that it is opened rightly: the key, the envelopes and the partials are public.

Only envelopes of the set are ever opened. A bid that was withdrawn or replaced is not in it, and stays sealed for ever.
A wrong value is found before it is used, and its trustee is named; whichever good ones are combined, the points are the
same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from kantor.errors import EvidenceError, InputError, PartyError
from kantor.sealing.envelope import check_envelope, envelope_point
from kantor.sealing.forms import read_list, read_record
from kantor.sealing.group import IDENTITY, Point, Scalar, add, read_unchecked, subtract, times
from kantor.sealing.keys import KeyShare, MarketKey
from kantor.sealing.polynomials import weights_at_zero
from kantor.sealing.proofs import check_many, prove_many

__all__ = ["Opening", "Sealed", "check_envelopes", "check_partials", "combine", "open_set", "partials"]

# An envelope with the context that it was sealed for.
Sealed: TypeAlias = tuple[Mapping[str, Any], Mapping[str, Any]]
_PROOF = "partials"


@dataclass(frozen=True)
class Opening:
    """How a set was opened: a shared point for each envelope, whose partials were used, whose were wrong and why."""

    points: tuple[str, ...]
    used: tuple[int, ...]
    faulty: dict[int, str]


def partials(share: KeyShare, key: MarketKey, envelopes: Sequence[Sealed], statement: str) -> dict[str, Any]:
    """A trustee's part in opening these envelopes: x_i R_j for each, and the proof. Checks every envelope first.

    Whether this is the set to open, and whether the market has closed, is for the trustee to know.
    """
    if not envelopes:
        raise InputError("there are no envelopes", remedy="A market that closed without bids needs no opening.")
    secret = share.scalar_for(key)
    check_envelopes(key, envelopes)
    points = [envelope_point(envelope) for envelope, _ in envelopes]
    images = [times(secret, point) for point in points]
    bound = _bound(key, share.trustee, statement)
    proof = prove_many(_PROOF, secret, key.verifying[share.trustee - 1], points, images, bound)
    return {
        "trustee": share.trustee,
        "statement": statement,
        "points": [image.hex() for image in images],
        "proof": proof,
    }


def check_envelopes(key: MarketKey, envelopes: Sequence[Sealed]) -> None:
    """An error that says which, unless every envelope was sealed for its context."""
    for number, (envelope, context) in enumerate(envelopes):
        try:
            check_envelope(key, envelope, context)
        except EvidenceError as fault:
            raise EvidenceError(fault.problem, remedy=fault.remedy, envelope=number) from fault


def check_partials(
    key: MarketKey, envelopes: Sequence[Sealed], statement: str, trustee: int, given: Any
) -> tuple[Point, ...]:
    """What a trustee has given, if it is right for these envelopes; otherwise an error that names the trustee."""
    points = [envelope_point(envelope) for envelope, _ in envelopes]
    try:
        images = _images(key, trustee, statement, given, len(points))
        bound = _bound(key, trustee, statement)
        check_many(_PROOF, key.verifying[trustee - 1], points, images, bound, given["proof"])
    except EvidenceError as fault:
        check_envelopes(key, envelopes)  # of a wrong envelope no trustee is guilty
        raise PartyError(
            f"the partials of trustee {trustee} are wrong: {fault.problem}",
            remedy="Ask it again. The set can be opened without it, if enough others answer.",
            party=trustee,
        ) from fault
    return images


def combine(key: MarketKey, checked: Mapping[int, Sequence[Point]]) -> list[str]:
    """The shared point of each envelope, from what `check_partials` gave for at least `threshold` trustees."""
    if len(checked) < key.threshold:
        raise PartyError(
            f"{len(checked)} of {key.trustees} trustees have answered rightly, and {key.threshold} are needed",
            remedy="Wait for more of them.",
        )
    chosen = sorted(checked)[: key.threshold]
    weights = list(weights_at_zero(chosen).values())
    columns = zip(*(checked[trustee] for trustee in chosen), strict=True)
    return [_interpolated(column, weights).hex() for column in columns]


def open_set(key: MarketKey, envelopes: Sequence[Sealed], statement: str, given: Mapping[int, Any]) -> Opening:
    """Check what trustees have given (by their number) until enough are right, and combine those."""
    good: dict[int, tuple[Point, ...]] = {}
    faulty: dict[int, str] = {}
    for trustee in sorted(given):
        if len(good) == key.threshold:
            break
        try:
            good[trustee] = check_partials(key, envelopes, statement, trustee, given[trustee])
        except PartyError as fault:
            faulty[trustee] = fault.problem
    return Opening(tuple(combine(key, good)), tuple(good), faulty)


def _images(key: MarketKey, trustee: int, statement: str, given: Any, count: int) -> tuple[Point, ...]:
    parts = read_record(given, "an answer", trustee=int, statement=str, points=list, proof=dict)
    if parts["trustee"] != trustee or not 1 <= trustee <= key.trustees:
        raise EvidenceError(
            f"they say that they are those of trustee {parts['trustee']}", remedy="Ask the trustee again."
        )
    if parts["statement"] != statement:
        raise EvidenceError("they are for another set", remedy="Ask the trustee again, for this set.")
    written = read_list(parts["points"], "the list of partials", count)
    return tuple(read_unchecked(point, "a partial") for point in written)


def _interpolated(values: Sequence[Point], weights: Sequence[Scalar]) -> Point:
    """The weighted sum. Weights add up to 1, so the first value needs no multiplication: v_0 + sum w_i (v_i - v_0)."""
    total = values[0]
    for value, weight in zip(values[1:], weights[1:], strict=True):
        difference = subtract(value, values[0])
        if difference != IDENTITY:
            total = add(total, times(weight, difference))
    return total


def _bound(key: MarketKey, trustee: int, statement: str) -> dict[str, Any]:
    return {"key": key.digest, "trustee": trustee, "statement": statement}
