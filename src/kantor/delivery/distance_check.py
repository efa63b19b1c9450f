"""Are the data as near to the target as was stated? Three tests, each of which bounds the distance from below.

Noise hides how far data lie from a target, it never adds to it: W(X + noise, T + noise) <= W(X, T). So a delivery that
lies further from the noised target than was stated, and than chance explains, shows that the statement was too small.
The converse does not hold. Two distributions that differ in details finer than the noise look alike once it is added,
and so no delivery shows that an owner stated too much (it would have sold its data for less, too).

- The **mean** is moved by at most W, and noise does not hide it at all: the strongest test of data that lie to one
  side.
- The **shape**, W itself between the values and the noised target, sees every way of lying apart, and loses to the
  noise whatever is finer than it: strong where the noise is small.
- **Waves** can be undone: noise multiplies a wave's strength by a known number. W bounds each, |wave of X - wave of T|
  <= frequency W, with the noise gone from the comparison and its price in chance. They see what the shape has lost.

Every statistic is in the data's units: a distance that the delivery shows, to be compared with the one stated.
"""

from __future__ import annotations

import numpy as np

from kantor.delivery.deviations import Part, sampling_distance, stray, stray_of_waves
from kantor.delivery.findings import Finding
from kantor.delivery.noise_law import Noise, Setting
from kantor.delivery.reference import Others, Reference, Target
from kantor.owners.distributions import Vector

__all__ = ["count_of_tests", "distance_tests"]

_KNOTS = 2_000
_WAVES = 10
_LEFT = 5.0


def count_of_tests(reference: Reference) -> int:
    """How many tests there are; the shape needs a target in the clear."""
    return 3 if isinstance(reference, Target) else 2


def distance_tests(
    values: Vector, setting: Setting, stated: float, reference: Reference, slack: float, alpha: float
) -> list[Finding]:
    """The findings. alpha: the share of each test."""
    allowed = stated + slack + (reference.lost if isinstance(reference, Target) else reference.slack)
    parts = [Part(setting.noise, values.size), *(reference.parts if isinstance(reference, Others) else [])]
    found = [_mean(values, reference, parts, allowed, alpha)]
    if isinstance(reference, Target):
        found.append(_shape(values, setting, reference, allowed, alpha))
    found.append(_waves(values, setting, reference, parts, allowed, alpha))
    return found


def _mean(values: Vector, reference: Reference, parts: list[Part], allowed: float, alpha: float) -> Finding:
    """|E mean Y - mean T| <= W."""
    shown = abs(float(values.mean()) - reference.mean)
    return _finding("mean", "The means lie", shown, allowed, stray(parts, alpha / 2), alpha)


def _shape(values: Vector, setting: Setting, goal: Target, allowed: float, alpha: float) -> Finding:
    """W(values, T + noise) <= W(X + noise, T + noise) + W(values, X + noise), and the last term is chance."""
    noise, count = setting.noise, values.size
    chance = sampling_distance(noise, count, setting.width) + stray([Part(noise, count)], alpha)
    shown = _least_distance(np.sort(values), goal.atoms, noise)
    return _finding("shape", "As a whole the values and the noised target lie", shown, allowed, chance, alpha)


def _least_distance(ordered: Vector, atoms: Vector, noise: Noise) -> float:
    """At most W(values, atoms + noise): between each two of some of the values, the area |integral of F - G|."""
    places = np.unique(np.linspace(0, ordered.size - 1, min(ordered.size, _KNOTS)).astype(int))
    knots = ordered[places]
    below = np.cumsum(ordered)[places]
    of_values = (knots * (places + 1) - below) / ordered.size
    of_target = noise.under(knots[:, None] - atoms[None, :]).mean(axis=1)
    above = of_target[-1] - knots[-1] + atoms.mean()
    return float(of_target[0] + np.abs(np.diff(of_values - of_target)).sum() + above)


def _waves(
    values: Vector, setting: Setting, reference: Reference, parts: list[Part], allowed: float, alpha: float
) -> Finding:
    """|E exp(i t X) - E exp(i t T)| <= t W, for every t."""
    frequencies = _frequencies(setting, parts, allowed)
    own = np.exp(1j * np.outer(frequencies, values)).mean(axis=1) / setting.noise.wave(frequencies)
    shown = np.abs(own - reference.waves(frequencies)) / frequencies
    chance = stray_of_waves(parts, frequencies, alpha / frequencies.size) / frequencies
    worst = int(np.argmax(shown - chance))
    what = f"Waves of length {2 * np.pi / frequencies[worst]:.4g} lie"
    return _finding("waves of the data", what, float(shown[worst]), allowed, float(chance[worst]), alpha)


def _frequencies(setting: Setting, parts: list[Part], allowed: float) -> Vector:
    """From waves as long as bounds and noise are wide up to those that cannot differ by 2, or are lost in the noise."""
    first = 1 / max(setting.width, *(part.noise.scale for part in parts))
    grid = first * np.geomspace(1, 1e6, 400)
    least = min(_LEFT / np.sqrt(parts[0].values), 0.5)
    left = np.min([part.noise.wave(grid) for part in parts], axis=0)
    useful = grid[(left >= least) & (grid * allowed <= 2)]
    last = float(useful[-1]) if useful.size else first
    return np.geomspace(first, last, _WAVES) if last > first else np.array([first])


def _finding(name: str, what: str, shown: float, allowed: float, chance: float, alpha: float) -> Finding:
    least = max(shown - chance, 0.0)
    told = (
        f"{what} {shown:.4g} apart, of which chance explains {chance:.4g}: the distance is at least {least:.4g}, "
        f"and {allowed:.4g} is allowed by what was stated."
    )
    return Finding(name, shown, allowed + chance, alpha, told)
