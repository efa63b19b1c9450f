"""Sharing a secret by a polynomial, and showing what was shared without showing it.

A polynomial f of degree t - 1 is known from its values at any t places, and any t - 1 of them say nothing about f(0).
So f(0) is the secret and trustee i holds f(i): Shamir's sharing (1979). Whoever chose f publishes its coefficients in
the exponent, A_k = a_k B; everybody can then compute f(i) B as the sum of i^k A_k, and trustee i sees whether the share
that it was given is right: Feldman's (1987).

Polynomials add up: if every trustee shares one of its own, the sum of all shares a secret that nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from kantor.sealing.group import ORDER, ZERO, Point, Scalar, plus, product, scalar, weighted_sum

__all__ = ["value_at", "value_in_exponent", "weights_at_zero"]


def value_at(coefficients: Sequence[Scalar], place: int) -> Scalar:
    """f(place), by Horner's rule."""
    total = ZERO
    for coefficient in reversed(coefficients):
        total = plus(product(total, scalar(place)), coefficient)
    return total


def value_in_exponent(commitments: Sequence[Point], place: int) -> Point:
    """f(place) B, from the commitments A_k: the sum of place^k A_k."""
    return weighted_sum((scalar(pow(place, power, ORDER)) for power in range(len(commitments))), commitments)


def weights_at_zero(places: Iterable[int]) -> dict[int, Scalar]:
    """Lagrange's weights: f(0) is the sum of weight x f(place) over as many places as f has coefficients."""
    known = sorted(set(places))
    return {own: _weight(own, [place for place in known if place != own]) for own in known}


def _weight(own: int, others: Sequence[int]) -> Scalar:
    return scalar(prod(others) * pow(prod(other - own for other in others), -1, ORDER))
