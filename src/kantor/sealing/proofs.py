"""Showing that one knows a secret, and has used it, without showing it.

One protocol serves everywhere: "I know one x that takes each of these bases to its image", x G_k = P_k. The prover
takes a nonce v, commits itself to v G_k, takes as challenge c a hash of everything, and answers s = v + c x. The
verifier computes s G_k - c P_k, which are the commitments if all is right, and compares the hash. With one base it is
Schnorr's proof of knowledge (1991); with two, Chaum and Pedersen's (1992), that two points have the same logarithm.

The hash covers bases, images, commitments and a statement (the *strong* Fiat-Shamir transform; Bernhard, Pereira and
Warinschi, 2012, show what hashing less did to Helios). The nonce is a hash of the secret and of all that the challenge
depends on, as in Ed25519: the same proof is made again to the same bytes, and no two proofs share a nonce.

Ten thousand images of ten thousand points by the same x need one proof: of their sums, weighted by hashes of the whole
statement, every point and image included (RFC 9497, section 2.2.1). If a single image is wrong, the weighted sums match
with a chance of 1/L for each statement that a cheat has hashed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kantor.errors import EvidenceError
from kantor.evidence.canonical import tagged
from kantor.sealing.forms import read_record
from kantor.sealing.group import (
    BASE,
    ZERO,
    Point,
    Scalar,
    hash_bytes,
    hash_to_scalar,
    plus,
    product,
    read_scalar,
    subtract,
    times,
    weighted_sum,
)

__all__ = ["check", "check_many", "prove", "prove_many"]


def prove(
    kind: str, secret: Scalar, bases: Sequence[Point], images: Sequence[Point], statement: Mapping[str, Any]
) -> dict[str, str]:
    """That the prover knows the secret that takes each base to its image; bound to a statement of this kind."""
    about = {"bases": _hex(bases), "images": _hex(images), "statement": statement}
    nonce = hash_to_scalar(f"{kind} nonce", {**about, "secret": secret.hex()})
    challenge = hash_to_scalar(kind, {**about, "commitments": _hex(times(nonce, base) for base in bases)})
    return {"challenge": challenge.hex(), "response": plus(nonce, product(challenge, secret)).hex()}


def check(kind: str, bases: Sequence[Point], images: Sequence[Point], statement: Mapping[str, Any], proof: Any) -> None:
    """An error unless the proof holds. Bases are ours; images may be unchecked, and are checked by this."""
    parts = read_record(proof, "a proof", challenge=str, response=str)
    challenge, response = (read_scalar(parts[name], f"the {name} of a proof") for name in ("challenge", "response"))
    commitments = (
        subtract(times(response, base), times(challenge, image)) for base, image in zip(bases, images, strict=True)
    )
    about = {"bases": _hex(bases), "images": _hex(images), "statement": statement}
    if challenge == ZERO or hash_to_scalar(kind, {**about, "commitments": _hex(commitments)}) != challenge:
        raise EvidenceError("a proof does not hold", remedy="Do not rely on what it should prove.")


def prove_many(
    kind: str,
    secret: Scalar,
    public: Point,
    points: Sequence[Point],
    images: Sequence[Point],
    statement: Mapping[str, Any],
) -> dict[str, str]:
    """That the logarithm of `public` takes every point to its image; one proof for all of them."""
    seed = _seed(kind, public, points, images, statement)
    composite = weighted_sum(_weights(seed, len(points)), points)
    return prove(kind, secret, (BASE, composite), (public, times(secret, composite)), {"weights": seed.hex()})


def check_many(
    kind: str,
    public: Point,
    points: Sequence[Point],
    images: Sequence[Point],
    statement: Mapping[str, Any],
    proof: Any,
) -> None:
    """An error unless the one proof for all of them holds. Points and images may be unchecked."""
    seed = _seed(kind, public, points, images, statement)
    composites = [weighted_sum(_weights(seed, len(points)), each) for each in (points, images)]
    check(kind, (BASE, composites[0]), (public, composites[1]), {"weights": seed.hex()}, proof)


def _seed(
    kind: str, public: Point, points: Sequence[Point], images: Sequence[Point], statement: Mapping[str, Any]
) -> bytes:
    whole = {"public": public.hex(), "points": _hex(points), "images": _hex(images), "statement": statement}
    return hashlib.sha512(tagged(f"{kind} weights", whole)).digest()


def _weights(seed: bytes, count: int) -> Iterator[Scalar]:
    return (hash_bytes(seed + number.to_bytes(8, "little")) for number in range(count))


def _hex(points: Any) -> list[str]:
    return [point.hex() for point in points]
