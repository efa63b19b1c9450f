"""The noise that terms and a bid ask for: what it adds to the distance, and what the release has to promise.

Owner's agent and server work both out from the same terms, so there is nothing to agree on but the terms. Signed
records hold no floats: a manifest travels with its numbers as text, and values as the bytes that they are.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from kantor.errors import InputError
from kantor.owners.distributions import Vector
from kantor.owners.release import Promise, promise, sensitivity_of
from kantor.service.terms import Terms
from kantor.valuation.noise import noise_distance

__all__ = ["as_text", "fixed", "manifest_from", "noise_of", "promised", "values_from", "values_text"]

_NUMBERS = ("epsilon", "delta", "low", "high", "sensitivity", "scale")


def fixed(distance: float) -> str:
    """A distance as it is kept: six digits after the point."""
    return f"{distance:.6f}"


def noise_of(terms: Terms, epsilon: str) -> str:
    """W of the noise that an owner adds at this epsilon, as it is kept (paper, section 2.3)."""
    privacy, data = terms.privacy, terms.data
    width = float(data.high) - float(data.low)
    added = noise_distance(
        privacy.noise,
        sensitivity=sensitivity_of(privacy.noise, privacy.unit, data.records, width),
        epsilon=float(epsilon),
        delta=_delta(terms),
        calibration="analytic" if privacy.noise == "gaussian" else "classical",
    )
    return fixed(added)


def promised(terms: Terms, epsilon: str) -> Promise:
    """The promise that a release under these terms makes at this epsilon."""
    data, privacy = terms.data, terms.privacy
    low, high = float(data.low), float(data.high)
    return _promised(privacy.noise, data.records, low, high, privacy.unit, float(epsilon), _delta(terms))


@lru_cache(maxsize=4096)
def _promised(
    noise: Any, records: int, low: float, high: float, unit: Any, epsilon: float, delta: float | None
) -> Promise:
    return promise(noise, records, bounds=(low, high), unit=unit, epsilon=epsilon, delta=delta)


def _delta(terms: Terms) -> float | None:
    return None if terms.privacy.delta is None else float(terms.privacy.delta)


def as_text(value: Any) -> Any:
    """Plain data as they are signed: floats as text that reads back to them."""
    if isinstance(value, Mapping):
        return {name: as_text(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [as_text(part) for part in value]
    return repr(float(value)) if isinstance(value, float) else value


def manifest_from(texts: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest as it was."""
    try:
        return {
            name: float(value) if name in _NUMBERS and isinstance(value, str) else value
            for name, value in texts.items()
        }
    except ValueError as fault:
        raise InputError(
            f"the manifest has a number that is none ({fault})", remedy="Upload it as the agent made it."
        ) from fault


def values_text(values: Vector) -> tuple[str, bytes]:
    """Values as they travel, and the bytes whose hash is signed."""
    content = np.ascontiguousarray(values, dtype="<f8").tobytes()
    return base64.b64encode(content).decode(), content


def values_from(text: str) -> tuple[Vector, bytes]:
    """Values from what travelled, and their bytes."""
    try:
        content = base64.b64decode(text, validate=True)
    except ValueError as fault:
        raise InputError(f"the values are not base64 ({fault})", remedy="Use this version's agent.") from fault
    if len(content) % 8:
        raise InputError(f"{len(content)} bytes are no float64 values", remedy="Use this version's agent.")
    return np.frombuffer(content, dtype="<f8").astype(np.float64), content
