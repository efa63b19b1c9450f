"""Samples: what an owner's data are, once read.

A sample is a set of numbers, each with a weight; without weights all count alike. `as_sample` is the one place where
numbers enter from outside. It refuses whatever would turn into a plausible wrong answer later: missing values,
infinities, text, complex numbers, an empty list, or more than one dimension.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kantor.errors import InputError
from kantor.owners.distributions import Vector

__all__ = ["as_numbers", "as_sample", "as_weights", "sort_sample"]


def as_numbers(values: Any, **where: object) -> Vector:
    """The values as an array of floats, whatever its shape; text, dates and complex numbers are refused."""
    try:
        array = np.asarray(values)
        if array.dtype.kind in "biuf":
            return array.astype(np.float64, copy=False)
        if array.dtype.kind == "O":
            return array.astype(np.float64)
    except (TypeError, ValueError) as fault:
        raise InputError(f"these are not numbers ({fault})", remedy="Give numbers only.", **where) from fault
    raise InputError(
        f"these are not numbers but {array.dtype} values",
        remedy="Give real numbers; convert dates and categories to numbers first.",
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
        raise InputError(
            "there are no samples", remedy="Give at least one number, or leave the owner out.", **where
        )
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


def sort_sample(values: Vector, weights: Vector | None) -> tuple[Vector, Vector]:
    """The sample in rising order, its weights alongside; points without weight are dropped."""
    if weights is None:
        return np.sort(values), np.full(values.size, 1.0 / values.size)
    held = weights > 0
    order = np.argsort(values[held], kind="stable")
    return values[held][order], weights[held][order]
