"""The Hoeffding bound: a coalition's distance, guessed from its members' distances alone.

W of a coalition takes the coalition's data, and there are 2^N - 1 coalitions. Theorem 2 replaces it by a number that
needs one distance per owner. A coalition P of n owners out of N, at distances W_i from the target, is said to lie
within

    t(P) = c_n sqrt(sum of W_i^2 over P),      c_n = sqrt(ln(2/(1 - delta)) / 2) * f / n,

with confidence delta. Three things are multiplied: how sure one wants to be, the 1/n of averaging, and f, which says
how much of the population is still missing. When the N owners *are* the target, f falls to 0 as n reaches N; the
paper's optimisation programs divide by N - 1 under the root and the printed theorem by N. When the owners are few of
very many, f is 1.

Everything about a coalition enters through n and a sum of squares, so the best coalition of every size is that of the
nearest owners, and clearing is one sort away from it. What the promise is worth is another matter: the proof assumes
more than a market gives it. `kantor.valuation.coverage` measures it, and docs/decisions/0002-hoeffding-bound.md
says what to do.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from kantor.errors import InputError
from kantor.owners.distributions import Vector
from kantor.owners.samples import as_numbers
from kantor.valuation.coalitions import coalition_sizes, mean_by_size, subset_sums

__all__ = [
    "Correction",
    "Population",
    "coalition_bounds",
    "coefficient",
    "confidence_factor",
    "confidence_of",
    "hoeffding_bound",
    "mean_bounds",
    "nearest_bounds",
]

Population: TypeAlias = Literal["finite", "infinite"]
Correction: TypeAlias = Literal["program", "theorem"]


def hoeffding_bound(
    distances: Any,
    population_size: int | None = None,
    confidence: float = 0.95,
    population: Population = "finite",
    correction: Correction = "program",
) -> float:
    """The bound t(P) for the coalition whose members lie at these distances from the target (Theorem 2).

    population_size: how many owners define the target; it matters for a finite population only. The bound is 0 when
    the coalition is the whole finite population, and infinite for no owners.

    >>> round(hoeffding_bound([1.0, 2.0], population_size=8), 6)
    1.405769
    """
    values = _distances(distances)
    constant = float(coefficient(values.size, population_size, confidence, population, correction))
    if constant == 0 or values.size == 0:
        return constant
    return constant * _root_sum_of_squares(np.sort(values))


def coefficient(
    n: Any,
    population_size: int | None = None,
    confidence: float = 0.95,
    population: Population = "finite",
    correction: Correction = "program",
) -> Vector:
    """c_n, by which the root of the sum of squared distances is multiplied, for any array of coalition sizes n.

    0 for the whole finite population, N = 1 included; infinite for n = 0. (The optimisation programs' C^FIN times
    sqrt(N - n)/n, without the task's Lipschitz constant K.)
    """
    sizes = _sizes(n)
    whole = _population_size(sizes, population_size, population)
    factor = confidence_factor(confidence)
    with np.errstate(divide="ignore"):
        return factor * _missing_share(sizes, whole, population, correction) / sizes


def confidence_factor(confidence: float) -> float:
    """sqrt(ln(2/(1 - delta)) / 2), the part of the bound that the confidence delta decides."""
    if isinstance(confidence, (str, bool, type(None))) or not 0 <= confidence < 1:
        raise InputError(
            f"a confidence of {confidence} was asked for",
            remedy="Give a number from 0 up to 1 and below it, 0.95 for 95 %.",
            value=confidence,
            argument="confidence",
        )
    return float(np.sqrt(0.5 * np.log(2.0 / (1.0 - confidence))))


def confidence_of(factor: float) -> float:
    """The least confidence whose `confidence_factor` is at least this: 0 for small factors, 1 when no float reaches it.

    Floats near 1 are so coarse that factors above 4.32 are out of reach.
    """
    confidence = max(0.0, 1.0 - 2.0 * float(np.exp(-2.0 * factor * factor)))
    while confidence < 1 and confidence_factor(confidence) < factor:
        confidence = float(np.nextafter(confidence, 1.0))
    return confidence


def nearest_bounds(
    distances: Any,
    population_size: int | None = None,
    confidence: float = 0.95,
    population: Population = "finite",
    correction: Correction = "program",
) -> Vector:
    """The least bound of each size n = 1, 2, …: that of the n nearest owners. One sort and one running sum."""
    ordered = np.sort(_distances(distances))
    sizes = np.arange(1, ordered.size + 1)
    whole = ordered.size if population_size is None else population_size
    constants = coefficient(sizes, whole, confidence, population, correction)
    largest = _scale(ordered)
    return constants * largest * np.sqrt(np.cumsum((ordered / largest) ** 2))


def mean_bounds(
    distances: Any,
    population_size: int | None = None,
    confidence: float = 0.95,
    population: Population = "finite",
    correction: Correction = "program",
) -> Vector:
    """The mean bound over all coalitions of each size n = 1, 2, … (the curves of Figure 6); at most 20 owners."""
    bounds = coalition_bounds(distances, population_size, confidence, population, correction)
    return mean_by_size(bounds)


def coalition_bounds(
    distances: Any,
    population_size: int | None = None,
    confidence: float = 0.95,
    population: Population = "finite",
    correction: Correction = "program",
) -> Vector:
    """The bound of all 2^N coalitions in bitmask order, infinite for the empty one; at most 20 owners."""
    values = _distances(distances)
    whole = values.size if population_size is None else population_size
    by_size = coefficient(np.arange(values.size + 1), whole, confidence, population, correction)
    largest = _scale(values)
    roots = np.sqrt(subset_sums((values / largest) ** 2))
    roots[0] = 1.0
    return by_size[coalition_sizes(values.size)] * (largest * roots)


def _distances(distances: Any) -> Vector:
    values = np.atleast_1d(as_numbers(distances, argument="distances"))
    if values.ndim != 1:
        raise InputError(
            f"distances have one dimension, and these have shape {values.shape}",
            remedy="Give one number for each owner of the coalition.",
            argument="distances",
        )
    usable = np.isfinite(values) & (values >= 0)
    if not usable.all():
        place = int(np.argmin(usable))
        raise InputError(
            f"distance {place} (counted from 0) is {values[place]}",
            remedy="Distances are finite and not negative; leave out the owner whose distance is not known.",
            value=values[place],
            argument="distances",
        )
    return values


def _sizes(n: Any) -> Vector:
    sizes = as_numbers(n, argument="n")
    if not np.all(np.isfinite(sizes) & (sizes >= 0) & (sizes == np.floor(sizes))):
        raise InputError(
            f"a coalition of {n} owners is not one",
            remedy="Give whole numbers, none negative.",
            value=n,
            argument="n",
        )
    return sizes


def _population_size(sizes: Vector, population_size: int | None, population: str) -> float:
    if population not in ("finite", "infinite"):
        raise InputError(
            f"the population is said to be {population!r}",
            remedy="Say 'finite' when the owners make up the target, 'infinite' when they are few of very many.",
            value=population,
            argument="population",
        )
    largest = int(sizes.max(initial=0))
    if population_size is None:
        if population == "finite":
            raise InputError(
                "a finite population came without its size",
                remedy="Give population_size, the number of owners that define the target, or say 'infinite'.",
                argument="population_size",
            )
        return float(max(largest, 1))
    if not (population_size >= max(1, largest) and float(population_size).is_integer()):
        raise InputError(
            f"a population of {population_size} cannot hold a coalition of {largest}",
            remedy="population_size counts every owner that defines the target, those who do not sell included.",
            value=population_size,
            argument="population_size",
        )
    return float(population_size)


def _missing_share(sizes: Vector, whole: float, population: str, correction: str) -> Vector:
    """f: sqrt((N - n)/(N - 1)) in the programs, sqrt((N - n)/N) in Theorem 2, 1 in an infinite population."""
    if correction not in ("program", "theorem"):
        raise InputError(
            f"the finite correction is said to be {correction!r}",
            remedy="Say 'program' (N - 1 under the root, as in the MISOCP) or 'theorem' (N, as in Theorem 2).",
            value=correction,
            argument="correction",
        )
    if population == "infinite":
        return np.ones(sizes.shape)
    divisor = max(whole - 1.0, 1.0) if correction == "program" else whole
    return np.sqrt((whole - sizes) / divisor)


def _scale(values: Vector) -> float:
    """What to divide by before squaring, so that neither 1e200 nor 1e-200 is lost."""
    return float(values.max(initial=0.0)) or 1.0


def _root_sum_of_squares(values: Vector) -> float:
    largest = _scale(values)
    return largest * float(np.sqrt(np.sum((values / largest) ** 2)))
