"""Was the promised noise added? Six tests that hold whatever the data under the noise are.

The data x are unknown and fixed, only the noise z is random, and only Y = x + z is seen. That rules out asking how Y is
distributed; it leaves what no data can do. Noise makes neighbours differ, however alike the data are. It damps every
wave in the data, so that none can be left stronger than the noise leaves it. It makes no interval much fuller than the
next one. And beyond the bounds there are no data, so that what lies there is noise and nothing else: Laplace noise,
which forgets how it got there, has exactly the same law there for all data.

Too little noise shows in the first three, too much in the last three, and the wrong kind in several.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from kantor.delivery.deviations import Part, least_gaps, stray_of_waves
from kantor.delivery.findings import Finding
from kantor.delivery.noise_law import Laplace, Setting
from kantor.owners.distributions import Vector

__all__ = ["NoiseTest", "noise_tests"]

NoiseTest: TypeAlias = Callable[[Vector, Setting, float], Finding]
"""Takes the values, the setting and the test's share of alpha."""

_FREQUENCIES = np.array([0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0])
_BEYOND = np.array([0.0, 1.0, 2.0, 3.5])
_REACH = 5.0
_CELLS = 128


def noise_tests(setting: Setting) -> tuple[NoiseTest, ...]:
    """The tests on noise of this kind, in order; chosen without looking at the delivery."""
    for_all: tuple[NoiseTest, ...] = neighbours, halves, waves, steps, beyond
    return (*for_all, excess, shape_of_excess) if isinstance(setting.noise, Laplace) else for_all


def neighbours(values: Vector, setting: Setting, alpha: float) -> Finding:
    """Values next to each other differ at least as the noise alone does: finds too little noise on smooth series."""
    pairs = values.size // 2
    gaps = np.abs(values[1 : 2 * pairs : 2] - values[0 : 2 * pairs : 2])
    return _gaps("neighbouring values", "Neighbouring values", gaps, setting, alpha)


def halves(values: Vector, setting: Setting, alpha: float) -> Finding:
    """So do values half a series apart, in whatever order the values were put."""
    pairs = values.size // 2
    gaps = np.abs(values[pairs : 2 * pairs] - values[:pairs])
    return _gaps("distant values", "Values half a series apart", gaps, setting, alpha)


def _gaps(name: str, which: str, gaps: Vector, setting: Setting, alpha: float) -> Finding:
    """By Anderson's inequality no data bring Y and Y' closer together: least for x = x', where the law is known."""
    expected = setting.noise.gap * setting.noise.scale
    if gaps.size == 0:
        return Finding(name, 0.0, 1.0, alpha, f"{which}: there is only one value.")
    found, least = float(gaps.mean()), least_gaps(setting.noise, gaps.size, alpha)
    told = (
        f"{which} differ by {found:.4g} on average; noise alone makes it {expected:.4g}, and less than {least:.4g} "
        "is not chance, whatever the data."
    )
    return Finding(name, 1 - found / expected, 1 - least / expected, alpha, told)


def waves(values: Vector, setting: Setting, alpha: float) -> Finding:
    """No wave is stronger than the noise leaves it: |E mean exp(i t Y)| <= wave(t), as |exp(i t x)| = 1."""
    noise = setting.noise
    frequencies = _FREQUENCIES / noise.scale
    left = noise.wave(frequencies)
    strays = left * stray_of_waves([Part(noise, values.size)], frequencies, alpha / frequencies.size)
    found = np.abs(np.exp(1j * np.outer(frequencies, values)).mean(axis=1))
    worst = int(np.argmax(found - left - strays))
    told = (
        f"A wave of length {2 * np.pi / frequencies[worst]:.4g} has strength {found[worst]:.3f} in the values; the "
        f"noise leaves at most {left[worst]:.3f} of any, and chance adds up to {strays[worst]:.3f}."
    )
    return Finding("waves", float(found[worst]), float(left[worst] + strays[worst]), alpha, told)


class _Counts(NamedTuple):
    """Numbers of values, each at most binomial: so many tries, with this chance."""

    found: npt.NDArray[np.int64]
    tries: npt.NDArray[np.int64]
    chance: Vector

    def worst(self, alpha: float) -> tuple[int, int]:
        """The least likely of the counts, and the most that it may be."""
        place = int(np.argmin(scipy.stats.binom.sf(self.found - 1, self.tries, self.chance)))
        share = alpha / self.found.size
        return place, int(scipy.stats.binom.isf(share, self.tries[place], self.chance[place]))


def steps(values: Vector, setting: Setting, alpha: float) -> Finding:
    """No cell is much fuller than the next: the promise of privacy itself, read off the released values.

    Of two neighbouring cells, the chance that a value of the two lies in the lower one falls as x rises (the noise is
    log-concave), so it is at most that for x = low, and at least that for x = high.
    """
    edges = _edges(setting)
    inside, _ = np.histogram(values, edges)
    of_low, of_high = (setting.noise.within(edges[:-1] - x, edges[1:] - x) for x in (setting.low, setting.high))
    tries = inside[:-1] + inside[1:]
    counts = _Counts(
        np.concatenate([inside[:-1], inside[1:]]),
        np.concatenate([tries, tries]),
        np.concatenate([_share(of_low[:-1], of_low[1:]), _share(of_high[1:], of_high[:-1])]),
    )
    worst, most = counts.worst(alpha)
    pair, upper = worst % tries.size, worst >= tries.size
    cell = pair + int(upper)
    told = (
        f"Of the {tries[pair]} values between {edges[pair]:.4g} and {edges[pair + 2]:.4g}, {counts.found[worst]} lie "
        f"between {edges[cell]:.4g} and {edges[cell + 1]:.4g}; the promised noise puts at most {most} there, whatever "
        "the data."
    )
    return Finding("steps", float(counts.found[worst]), float(most), alpha, told)


def _edges(setting: Setting) -> Vector:
    """Cells of one scale, or more where there would be too many, and one without end on each side."""
    reach = setting.width + 2 * _REACH * setting.noise.scale
    cells = min(max(int(np.ceil(reach / setting.noise.scale)), 2), _CELLS)
    middle = (setting.low + setting.high) / 2
    inner = middle + max(reach / cells, setting.noise.scale) * (np.arange(cells + 1) - cells / 2)
    return np.concatenate([[-np.inf], inner, [np.inf]])


def _share(one: Vector, other: Vector) -> Vector:
    """What one has of both; 1, which nothing exceeds, where both are too small for floats."""
    both = one + other
    return np.divide(one, both, out=np.ones_like(both), where=both > 0)


def beyond(values: Vector, setting: Setting, alpha: float) -> Finding:
    """Not too many values lie beyond the bounds, and none so far that one is too many: finds too much noise.

    P(Y > high + t or Y < low - t) is convex in x, so at most that on a bound: P(z > t) + P(z > t + width).
    """
    noise = setting.noise
    none = noise.reach(alpha / (_BEYOND.size + 1) / (2 * values.size))
    margins = np.append(_BEYOND * noise.scale, none)
    outside = _outside(values, setting)
    found = (outside[None, :] > margins[:, None]).sum(axis=1)
    chance = np.minimum(noise.beyond(margins) + noise.beyond(margins + setting.width), 1.0)
    worst, most = _Counts(found, np.full(found.size, values.size), chance).worst(alpha)
    told = (
        f"{found[worst]} of {values.size} values lie more than {margins[worst]:.4g} beyond the bounds; the promised "
        f"noise puts at most {most} there, whatever the data."
    )
    return Finding("beyond the bounds", float(found[worst]), float(most), alpha, told)


def _outside(values: Vector, setting: Setting) -> Vector:
    """How far each value lies beyond the bounds; negative inside."""
    return np.maximum(values - setting.high, setting.low - values)


def excess(values: Vector, setting: Setting, alpha: float) -> Finding:
    """Laplace noise beyond the bounds goes on for one scale more on average, exactly: too much and too little show.

    Given that z > a, z - a is exponential for every a, and so for every x below the bound. The sum of n is a Gamma(n).
    """
    further = _further(values, setting)
    if further.size == 0:
        return Finding("excess", 0.0, 1.0, alpha, "No value lies beyond the bounds, where noise could be seen alone.")
    mean, sums = float(further.mean()), scipy.stats.gamma(further.size)
    least, most = float(sums.ppf(alpha / 2)) / further.size, float(sums.isf(alpha / 2)) / further.size
    told = (
        f"The {further.size} values beyond the bounds lie {mean:.3f} scales beyond on average; it is 1 for the "
        f"promised noise, and {least:.3f} to {most:.3f} by chance, whatever the data."
    )
    return Finding("excess", abs(mean - 1), most - 1 if mean > 1 else 1 - least, alpha, told)


def shape_of_excess(values: Vector, setting: Setting, alpha: float) -> Finding:
    """And it is exponential in shape: Massart's inequality on the distance of the distribution functions."""
    name, further = "shape of the excess", np.sort(_further(values, setting))
    if further.size == 0:
        return Finding(name, 0.0, 1.0, alpha, "No value lies beyond the bounds, where noise could be seen alone.")
    levels, promised = np.arange(further.size + 1) / further.size, -np.expm1(-further)
    found = float(max((levels[1:] - promised).max(), (promised - levels[:-1]).max()))
    most = float(np.sqrt(np.log(2 / alpha) / (2 * further.size)))
    told = (
        f"How far the {further.size} values beyond the bounds lie beyond them differs from the promised law by "
        f"{found:.3f} of the values; chance explains up to {min(most, 1):.3f}, whatever the data."
    )
    return Finding(name, found, most, alpha, told)


def _further(values: Vector, setting: Setting) -> Vector:
    outside = _outside(values, setting)
    return outside[outside > 0] / setting.noise.scale
