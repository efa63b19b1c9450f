"""What Wasserstein is compared with: Kullback-Leibler, Jensen-Shannon, total variation and Kolmogorov-Smirnov.

Between two distributions all four are exact. Kolmogorov-Smirnov and total variation are the largest value and half
the total variation of D = F - G, and D turns only where the densities cross, so finding the crossings is the whole
work. Kullback-Leibler and Jensen-Shannon are integrals of densities.

Between samples only Kolmogorov-Smirnov is defined without an estimate. The other three need densities, which samples
do not have, so a way of estimating them is part of the question: `density="histogram"` compares the probabilities of
bins (a lower bound on the divergence of what the samples came from, once they are many), `density="kernel"` smooths
both with a Gaussian kernel by Scott's rule. A divergence that is infinite is returned as infinity.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy

from kantor.errors import InputError
from kantor.owners.distributions import Distribution, Vector, family
from kantor.owners.samples import Sample, as_sample, sample_or_distribution
from kantor.valuation.quadrature import breakpoints, integrate, quietly, refine, sign_changes

__all__ = ["Density", "DivergenceTarget", "js", "kl", "ks", "tv"]

Density: TypeAlias = Literal["histogram", "kernel"]
Bins: TypeAlias = int | str | Any
_MOST_BINS = 4096


def kl(
    x: Any,
    y: Any,
    x_weights: Any = None,
    y_weights: Any = None,
    *,
    density: Density = "histogram",
    bins: Bins = "auto",
) -> float:
    """Kullback-Leibler divergence of x from y, the integral of f ln(f/g), in nats: not symmetric, may be infinite."""
    left, right = _sides(x, y, x_weights, y_weights)
    return DivergenceTarget(right, density, bins).kl(left)


def js(
    x: Any,
    y: Any,
    x_weights: Any = None,
    y_weights: Any = None,
    *,
    density: Density = "histogram",
    bins: Bins = "auto",
) -> float:
    """Jensen-Shannon distance: the square root of the divergence, natural logarithm, at most sqrt(ln 2)."""
    left, right = _sides(x, y, x_weights, y_weights)
    return DivergenceTarget(right, density, bins).js(left)


def tv(
    x: Any,
    y: Any,
    x_weights: Any = None,
    y_weights: Any = None,
    *,
    density: Density = "histogram",
    bins: Bins = "auto",
) -> float:
    """Total variation distance: the largest difference in the probability of any event, at most 1."""
    left, right = _sides(x, y, x_weights, y_weights)
    return DivergenceTarget(right, density, bins).tv(left)


def ks(x: Any, y: Any, x_weights: Any = None, y_weights: Any = None) -> float:
    """Kolmogorov-Smirnov distance: the largest difference of the distribution functions. Exact for samples too."""
    left, right = _sides(x, y, x_weights, y_weights)
    return DivergenceTarget(right).ks(left)


def _sides(x: Any, y: Any, x_weights: Any, y_weights: Any) -> tuple[Sample | Distribution, Sample | Distribution]:
    return sample_or_distribution(x, x_weights, "x"), sample_or_distribution(y, y_weights, "y")


class DivergenceTarget:
    """A target to which many owners are compared: it is sorted, and its density estimated, once."""

    def __init__(self, target: Sample | Distribution, density: Density = "histogram", bins: Bins = "auto") -> None:
        if density not in ("histogram", "kernel"):
            raise InputError(
                f"density {density!r} is not known", remedy='Choose "histogram" or "kernel".', value=density
            )
        self.target, self.density, self.bins = target, density, bins

    @quietly
    def kl(self, owner: Sample | Distribution) -> float:
        """The integral of f ln(f/g), f the owner's density and g the target's."""
        if not isinstance(owner, Sample) and not isinstance(self.target, Sample):
            return _kl_exact(owner, self.target)
        if self.density == "kernel":
            log_f, log_g = _on_a_grid(_smooth(owner), self._smooth_target)
            return _kl_sum(np.exp(log_f), log_f, log_g)
        return float(scipy.special.rel_entr(*self._probabilities(owner)).sum())

    @quietly
    def js(self, owner: Sample | Distribution) -> float:
        """The root of the mean divergence of both from their mean."""
        if not isinstance(owner, Sample) and not isinstance(self.target, Sample):
            f, g = _pdf(owner), _pdf(self.target)
            divergence = integrate(lambda t: _js_terms(f(t), g(t)), _crossing_grid(owner, self.target))
        else:
            divergence = float(_js_terms(*self._probabilities(owner)).sum())
        return float(np.sqrt(max(divergence, 0.0)))

    @quietly
    def tv(self, owner: Sample | Distribution) -> float:
        """Half the total variation of F - G."""
        if not isinstance(owner, Sample) and not isinstance(self.target, Sample):
            changes = np.diff(_difference_at_crossings(owner, self.target))
        else:
            changes = np.subtract(*self._probabilities(owner))
        return min(0.5 * float(np.abs(changes).sum()), 1.0)

    @quietly
    def ks(self, owner: Sample | Distribution) -> float:
        """The largest value of |F - G|."""
        if isinstance(owner, Sample):
            return _ks_at(owner, *self._steps)
        if isinstance(self.target, Sample):
            return _ks_at(self.target, owner.cdf, owner.cdf)
        if not (hasattr(owner, "pdf") and hasattr(self.target, "pdf")):
            return _largest_difference(owner, self.target)
        return float(np.abs(_difference_at_crossings(owner, self.target)).max())

    @cached_property
    def _steps(self) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
        """The target's distribution function, and its limit from the left."""
        if not isinstance(self.target, Sample):
            return self.target.cdf, self.target.cdf
        points, levels = self.target.ordered()
        steps = np.append(0.0, levels)
        return (
            lambda t: steps[np.searchsorted(points, t, side="right")],
            lambda t: steps[np.searchsorted(points, t, side="left")],
        )

    def _probabilities(self, owner: Sample | Distribution) -> tuple[Vector, Vector]:
        """Probabilities of the same events under the owner and under the target, as two arrays that sum to one."""
        if self.density == "kernel":
            log_f, log_g = _on_a_grid(_smooth(owner), self._smooth_target)
            return np.exp(log_f), np.exp(log_g)
        if isinstance(self.target, Sample):
            edges, chances = self._binned_target
            return _bin(owner, edges), chances
        edges = _edges(owner, self.bins)
        return _bin(owner, edges), _bin(self.target, edges)

    @cached_property
    def _smooth_target(self) -> Any:
        return _smooth(self.target)

    @cached_property
    def _binned_target(self) -> tuple[Vector, Vector]:
        edges = _edges(self.target, self.bins)
        return edges, _bin(self.target, edges)


def _ks_at(sample: Sample, after: Callable[[Any], Any], before: Callable[[Any], Any]) -> float:
    """Between two points of a sample F is constant and G rises, so |F - G| is largest next to a point."""
    points, levels = sample.ordered()
    steps = np.append(0.0, levels)
    here = steps[np.searchsorted(points, points, side="right")], steps[np.searchsorted(points, points, side="left")]
    return float(max(np.abs(here[0] - after(points)).max(), np.abs(here[1] - before(points)).max()))


def _smooth(side: Sample | Distribution) -> Any:
    return _kernel(side) if isinstance(side, Sample) else side


def _on_a_grid(left: Any, right: Any) -> tuple[Vector, Vector]:
    """Logarithms of both densities as probabilities on a common grid: far from the kernels a density underflows."""
    lows, highs = zip(_range(left), _range(right), strict=True)
    grid = np.linspace(min(lows), max(highs), 2048)
    logs = []
    for part in (left, right):
        log = np.asarray(_log_pdf(part)(grid), dtype=float)
        logs.append(log - scipy.special.logsumexp(log))
    return logs[0], logs[1]


def _kl_sum(f: Vector, log_f: Vector, log_g: Vector) -> float:
    held = f > 0
    return max(float((f[held] * (log_f[held] - log_g[held])).sum()), 0.0)


def _log_pdf(distribution: Any) -> Callable[[Any], Any]:
    """The logarithm of the density, from the distribution itself where it knows one that does not underflow."""
    density = _pdf(distribution)
    function: Callable[[Any], Any] = getattr(distribution, "logpdf", lambda t: np.log(density(t)))
    return function


def _pdf(distribution: Any) -> Callable[[Any], Any]:
    if not hasattr(distribution, "pdf"):
        raise InputError(
            f"{type(distribution).__name__} has no density",
            remedy="Use a distance that needs none: wasserstein or ks.",
        )
    function: Callable[[Any], Any] = distribution.pdf
    return function


def _crossing_grid(x: Distribution, y: Distribution) -> Vector:
    """Quantiles of both, and between them every point where the densities cross."""
    left, right = _pdf(x), _pdf(y)

    def difference(t: Any) -> Any:
        return np.nan_to_num(left(t) - right(t))

    grid = refine(breakpoints(x, y), 8)
    return np.unique(np.concatenate([grid, sign_changes(difference, grid)]))


def _difference_at_crossings(x: Distribution, y: Distribution) -> Vector:
    """D = F - G at every point where it can turn, with the zeros at both ends of the line."""
    return np.concatenate([[0.0], _difference(x, y)(_crossing_grid(x, y)), [0.0]])


def _difference(x: Distribution, y: Distribution) -> Callable[[Any], Any]:
    """F - G as a function, from the upper tails where they are the smaller ones."""
    middle = float(x.ppf(0.5))
    return lambda t: np.where(np.asarray(t) > middle, y.sf(t) - x.sf(t), x.cdf(t) - y.cdf(t))


def _largest_difference(x: Distribution, y: Distribution) -> float:
    """The largest |F - G| without densities: around every peak of a fine grid, the top is searched for."""
    difference = _difference(x, y)
    grid = refine(breakpoints(x, y), 8)
    gaps = np.abs(difference(grid))
    peaks = np.flatnonzero((gaps[1:-1] >= gaps[:-2]) & (gaps[1:-1] >= gaps[2:]) & (gaps[1:-1] > 0.5 * gaps.max())) + 1
    tops = [
        -scipy.optimize.minimize_scalar(
            lambda t: -abs(float(difference(t))), bounds=(grid[i - 1], grid[i + 1]), method="bounded"
        ).fun
        for i in peaks
    ]
    return float(max([gaps.max(), *tops]))


def _js_terms(f: Any, g: Any) -> Any:
    """Half of f ln(f/m) + g ln(g/m), m the mean: written so that nearly equal densities lose no digits."""
    whole = f + g
    ratio = np.where(whole > 0, (f - g) / whole, 0.0)
    bent = scipy.special.xlog1py(1 + ratio, ratio) + scipy.special.xlog1py(1 - ratio, -ratio)
    return np.where(whole > 0, 0.25 * whole * bent, 0.0)


def _kl_exact(x: Distribution, y: Distribution) -> float:
    one, other = family(x), family(y)
    if one and other and one.name == other.name == "norm":
        ratio, shift = one.scale / other.scale, (one.location - other.location) / other.scale
        return float(0.5 * (ratio * ratio + shift * shift - 1) - np.log(ratio))
    (x_low, x_high), (y_low, y_high) = x.support(), y.support()
    if x_low < y_low or x_high > y_high:
        return float("inf")
    return _kl_integral(x, y)


def _kl_integral(x: Any, y: Any) -> float:
    """Integral of f ln(f/g) over the decades of x's probability; where they do not die out, the integral diverges."""
    log_f, log_g = _log_pdf(x), _log_pdf(y)

    def terms(t: Any) -> Any:
        f = np.asarray(x.pdf(t), dtype=float)
        return np.where(f > 0, f * (np.asarray(log_f(t)) - np.asarray(log_g(t))), 0.0)

    body = breakpoints(x)
    inner = (breakpoints(y) > body[0]) & (breakpoints(y) < body[-1])
    total = integrate(terms, np.unique(np.concatenate([body, breakpoints(y)[inner]])))
    return max(total + _kl_tail(terms, x, upper=False) + _kl_tail(terms, x, upper=True), 0.0)


def _kl_tail(terms: Callable[[Any], Any], x: Any, upper: bool) -> float:
    """One tail beyond probability 1e-16, decade by decade, down to 1e-150."""
    if np.isfinite(x.support()[int(upper)]):
        return 0.0
    inverse = x.isf if upper else x.ppf
    cuts = np.asarray(inverse(10.0 ** -np.arange(16, 151)), dtype=float)
    cuts = cuts[np.isfinite(cuts)]
    parts = np.array([integrate(terms, np.sort(cuts[i : i + 2])) for i in range(cuts.size - 1)])
    if parts.size == 0:
        return 0.0
    if not np.all(np.isfinite(parts)) or (parts.size > 20 and abs(parts[20]) >= abs(parts[0]) > 0):
        return float("inf")
    return float(parts.sum())


def _edges(sample: Any, bins: Bins) -> Vector:
    """Bin edges over a sample (the target's, where there is one); the bins outside the edges are open-ended."""
    values = sample.values
    if not isinstance(bins, (int, str)):
        return _given_edges(bins)
    if isinstance(bins, int) and not 1 <= bins <= 1_000_000:
        raise InputError(f"{bins} bins were asked for", remedy="Ask for 1 to 1,000,000.", value=bins)
    count = bins if isinstance(bins, int) else _automatic(values, bins)
    return np.linspace(values.min(), values.max(), count + 1)


def _automatic(values: Vector, rule: str) -> int:
    """How many bins a rule of NumPy's asks for, within reason: an outlier can make it ask for millions."""
    span = float(values.max() - values.min())
    if span == 0:
        return 1
    core = np.percentile(values, [25, 75])
    widths = {"fd": 2 * float(core[1] - core[0]) / np.cbrt(values.size), "sturges": span / (np.log2(values.size) + 1)}
    if rule not in ("auto", *widths):
        raise InputError(
            f"no rule for bins is called {rule!r}",
            remedy='Choose "auto", "fd" or "sturges", a number of bins, or their edges.',
            value=rule,
        )
    chosen = [w for name, w in widths.items() if rule in ("auto", name) and w > 0]
    return int(min(max(np.ceil(span / min(chosen)), 1), _MOST_BINS)) if chosen else 1


def _given_edges(bins: Any) -> Vector:
    edges = as_sample(bins, argument="bins")
    if edges.size < 2 or not np.all(np.diff(edges) > 0):
        raise InputError("bin edges do not rise", remedy="Give at least two edges in rising order.", argument="bins")
    return edges


def _bin(side: Sample | Distribution, edges: Vector) -> Vector:
    """The probability of every bin, below the first edge and above the last. A bin holds its lower edge."""
    if isinstance(side, Sample):
        place = np.searchsorted(edges, side.values, side="right")
        place = np.where(side.values == edges[-1], edges.size - 1, place)
        counts = np.bincount(place, weights=side.weights, minlength=edges.size + 1)
        return counts / counts.sum()
    middle = float(side.ppf(0.5))
    below, above = np.asarray(side.cdf(edges)), np.asarray(side.sf(edges))
    inner = np.where(edges[1:] > middle, above[:-1] - above[1:], below[1:] - below[:-1])
    return np.concatenate([[below[0]], np.asarray(inner, dtype=float), [above[-1]]])


def _kernel(sample: Sample) -> Any:
    """A Gaussian kernel estimate by Scott's rule; a large sample is binned first, finer than its bandwidth."""
    values, shares = sample
    if np.ptp(values) == 0:
        raise InputError(
            f"all samples equal {values[0]}, so there is no density to estimate",
            remedy='Use density="histogram", or a distance that needs no density: wasserstein or ks.',
            value=values[0],
        )
    count = values.size if shares is None else 1.0 / float((shares**2).sum())
    if values.size > 4 * _MOST_BINS:
        heights, edges = np.histogram(values, bins=_MOST_BINS, weights=shares)
        held = heights > 0
        values, shares = 0.5 * (edges[1:] + edges[:-1])[held], heights[held].astype(float)
    return scipy.stats.gaussian_kde(values, bw_method=count ** (-1 / 5), weights=shares)


def _range(part: Any) -> tuple[float, float]:
    if hasattr(part, "dataset"):
        reach = 4 * float(np.sqrt(part.covariance[0, 0]))
        return float(part.dataset.min()) - reach, float(part.dataset.max()) + reach
    return float(part.ppf(1e-6)), float(part.ppf(1 - 1e-6))
