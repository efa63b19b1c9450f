"""Samples: what an owner's data are, once read.

A sample is a set of numbers, each with a weight; without weights all count alike. `as_sample` is the one place where
numbers enter from outside. It refuses whatever would turn into a plausible wrong answer later: missing values,
infinities, text, complex numbers, an empty list, or more than one dimension. `sample_or_distribution` is the one
place that decides which of the two somebody meant.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy

from kantor.errors import InputError
from kantor.owners.distributions import Distribution, Vector, atoms, is_discrete, is_distribution

__all__ = ["Sample", "as_numbers", "as_sample", "as_weights", "check_finite", "sample_or_distribution"]


class Sample(NamedTuple):
    """Numbers and their weights, which sum to one; None where all count alike."""

    values: Vector
    weights: Vector | None = None

    def ordered(self) -> tuple[Vector, Vector]:
        """The values in rising order and, after each, the share of the sample up to and with it (the last is 1)."""
        if self.weights is None:
            return np.sort(self.values), np.arange(1, self.values.size + 1) / self.values.size
        held = self.weights > 0
        order = np.argsort(self.values[held], kind="stable")
        levels = np.cumsum(self.weights[held][order])
        return self.values[held][order], levels / levels[-1]


def as_numbers(values: Any, **where: object) -> Vector:
    """The values as an array of floats, whatever its shape; text, dates and complex numbers are refused."""
    if np.ma.is_masked(values):
        raise InputError("some of the values are masked", remedy="Leave them out: x.compressed().", **where)
    try:
        array = np.asarray(values)
        if array.dtype.kind in "biuf":
            return array.astype(np.float64, copy=False)
        if array.dtype.kind == "O" and not any(isinstance(v, (str, bytes)) for v in array.ravel()):
            return array.astype(np.float64)
    except (TypeError, ValueError) as fault:
        raise InputError(f"these are not numbers ({fault})", remedy="Give numbers only.", **where) from fault
    raise InputError(
        f"these are not numbers but {array.dtype} values",
        remedy="Give real numbers; convert text, dates and categories to numbers first.",
        **where,
    )


def as_sample(values: Any, **where: object) -> Vector:
    """A 1-D array of finite floats, at least one."""
    array = as_numbers(values, **where)
    if array.ndim != 1:
        raise InputError(
            f"a sample has one dimension, and this has shape {array.shape}",
            remedy="Give one row of numbers for each owner.",
            **where,
        )
    if array.size == 0:
        raise InputError("there are no samples", remedy="Give at least one number, or leave the owner out.", **where)
    check_finite(array, **where)
    return array


def check_finite(array: Vector, **where: object) -> None:
    """Refuse NaN and infinity, naming the first of them by its place."""
    finite = np.isfinite(array)
    if not finite.all():
        place = int(np.argmin(finite))
        value = array[place]
        raise InputError(
            f"sample {place} (counted from 0) is {value}",
            remedy="Leave out missing values, or replace them by what was measured.",
            value=value,
            **where,
        )


def as_weights(weights: Any, size: int, **where: object) -> Vector:
    """Weights that sum to one."""
    array = as_numbers(weights, **where)
    if array.shape != (size,):
        raise InputError(
            f"there are {size} samples and weights of shape {array.shape}",
            remedy="Give one weight for each sample.",
            **where,
        )
    if not np.all(np.isfinite(array)) or array.min() < 0 or not array.max() > 0:
        place = int(np.argmin(np.isfinite(array) & (array >= 0)))
        raise InputError(
            f"weight {place} (counted from 0) is {array[place]}",
            remedy="Weights are finite, none negative, and not all zero.",
            value=array[place],
            **where,
        )
    scaled: Vector = array / array.max()
    return scaled / scaled.sum()


def _parameters(unfrozen: Any) -> str:
    """The parameters that a family of scipy.stats takes, by name."""
    named = [unfrozen.shapes] if unfrozen.shapes else []
    return ", ".join([*named, "loc", "scale"] if hasattr(unfrozen, "pdf") else [*named, "loc"])


def sample_or_distribution(thing: Any, weights: Any = None, argument: str = "x") -> Sample | Distribution:
    """What was given to be compared: a distribution as it is, a discrete one as its atoms, numbers as a sample."""
    if isinstance(thing, Sample):
        return thing
    if isinstance(thing, (scipy.stats.rv_continuous, scipy.stats.rv_discrete)):
        raise InputError(
            f"scipy.stats.{thing.name} is a family of distributions and not one of them",
            remedy=f"Give its parameters, as in scipy.stats.{thing.name}({_parameters(thing)}).",
            argument=argument,
        )
    if is_distribution(thing):
        if weights is not None:
            raise InputError(
                "weights were given for a distribution",
                remedy="Weights go with samples; leave them out here.",
                argument=f"{argument}_weights",
            )
        distribution: Distribution = thing
        return Sample(*atoms(distribution)) if is_discrete(distribution) else distribution
    if isinstance(thing, str) or np.ndim(thing) == 0:
        raise InputError(
            f"{type(thing).__name__} {thing!r} is neither a sample nor a distribution",
            remedy="Give a list of numbers, or a frozen distribution such as scipy.stats.norm(0, 1).",
            argument=argument,
        )
    values = as_sample(thing, argument=argument)
    return Sample(values, None if weights is None else as_weights(weights, values.size, argument=f"{argument}_weights"))
