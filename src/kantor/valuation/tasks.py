"""Tasks: what a buyer does with the data, and what it loses by having other data than the target.

Every task here is of one form: *decide with X, pay with Y*. A decision is made from the data at hand (a forecast, a
quantile, an order), then the world draws from the target and sends the bill. The loss L(X, Y) is the expected bill,
and the excess L(X, Y) - L(Y, Y) is what deciding with X instead of the target costs.

The reason for pricing data by their Wasserstein distance is that this excess is at most K W(X, Y), without looking
at the task (paper, Theorem 1). The theorem bounds *one* loss function under two distributions, while here the
decision changes as well, so a task carries four constants that should not be mixed up:

    lipschitz              the K that the paper's case study uses
    lipschitz_in_data      the slope of l(q, y) in the data y, for any one decision q
    lipschitz_in_decision  the slope of the expected loss in a decision q
    guarantee              the K for which |excess| <= K W(X, Y) is proved, infinity where none is; `proof` says why

What is proved for decisions that are optimal for their own data, and all that is needed, is this. Let q_X minimise
E l(q, X), let q_Y do so for Y, and let g(y) = l(q_X, y) - l(q_Y, y). Then E g(X) <= 0, so

    excess = E g(Y) <= E g(Y) - E g(X) <= Lip(g) W(X, Y),

and Lip(g) is at most twice the slope in the data. It is the slope of the *difference* of two losses that counts.
docs/decisions/0003-lipschitz-constants.md has the examples that show where less is not enough.

A task is chosen by name, and takes samples or distributions on either side:

    >>> from kantor.valuation import tasks
    >>> tasks.quantile(0.5).loss([0, 0, 1], [0, 1, 1])
    0.3333333333333333
    >>> absolute_log = tasks.Task.of("absolute log", decide=np.median, lipschitz=1.0,
    ...                              loss=lambda q, y: abs(np.log(q) - np.log(y)))
    >>> round(absolute_log.excess([1, 2, 4], [2, 4, 8]), 12)
    0.231049060187
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np
import scipy

from kantor.errors import InputError
from kantor.owners.distributions import Vector
from kantor.owners.samples import Sample, sample_or_distribution
from kantor.valuation.expectations import (
    Side,
    average,
    ends,
    expectation,
    mean_distance,
    mean_of,
    normal_pair,
    plain_numbers,
    quantile_of,
    sides,
    variance,
)
from kantor.valuation.families import family_distance
from kantor.valuation.wasserstein import wasserstein

__all__ = ["Task", "estimate", "mean", "mean_square", "median", "newsvendor", "quantile"]


@dataclass(frozen=True, kw_only=True)
class Task:
    """Decide with x, pay with y; see the module's opening for the four constants.

    `optimal` says that the decision minimises the expected loss under the data it was made with: the excess is then
    never negative. The tasks `mean` and `median` decide by drawing from the data, and can lose less with other data.
    """

    name: str
    lipschitz: float
    lipschitz_in_data: float
    lipschitz_in_decision: float
    guarantee: float
    proof: str
    optimal: bool = False

    @staticmethod
    def of(
        name: str,
        *,
        decide: Callable[[Vector], Any],
        loss: Callable[[Any, Vector], Any],
        lipschitz: float,
        lipschitz_in_decision: float = inf,
        optimal: bool = False,
        guarantee: float | None = None,
    ) -> Task:
        """A task of one's own: `decide` turns 1-D data into a decision q, `loss(q, y)` gives one number for each y.

        `lipschitz` is the slope of the loss in y for any one decision; `kantor.slope_in_data` estimates it. Say
        `optimal=True` if `decide` minimises the expected loss of the data it is given: then twice the slope is
        proved to be a guarantee. Otherwise nothing is, unless you have a proof of your own and state `guarantee`.

        `decide` sees equally weighted numbers: the samples, or, for a distribution or a weighted sample, its
        quantiles at levels (k + 1/2) / 10,000. The expected loss is exact for samples and integrated over quantiles
        for distributions.
        """
        slopes = [lipschitz, lipschitz_in_decision, *([] if guarantee is None else [guarantee])]
        if not all(slope >= 0 for slope in slopes):
            raise InputError(f"the constants are {slopes}", remedy="Constants are at least 0.", value=slopes)
        proved, proof = _own_guarantee(lipschitz, optimal, guarantee)
        return _Own(
            name=name,
            lipschitz=lipschitz,
            lipschitz_in_data=lipschitz,
            lipschitz_in_decision=lipschitz_in_decision,
            guarantee=proved,
            proof=proof,
            optimal=optimal,
            decision=decide,
            payment=loss,
        )

    def loss(self, x: Any, y: Any, x_weights: Any = None, y_weights: Any = None) -> float:
        """L(x, y): the expected loss of deciding with x when y is what happens. Independent of each other."""
        return self._expected(*sides(x, y, x_weights, y_weights))

    def excess(self, x: Any, y: Any, x_weights: Any = None, y_weights: Any = None) -> float:
        """L(x, y) - L(y, y): what deciding with x costs more than deciding with the target y itself."""
        left, right = sides(x, y, x_weights, y_weights)
        base = self._expected(right, right)
        if not isfinite(base):
            raise InputError(
                f"{self.name} loses {base} under the target itself, so there is no excess over it",
                remedy="Bound the data or the loss.",
                value=base,
            )
        return self._expected(left, right) - base

    def pay(self, q: Any, y: Any) -> Any:
        """The bill l(q, y) of one decision, vectorised over y; for the RMSE tasks the square, before mean and root."""
        raise NotImplementedError

    def decide(self, x: Any, x_weights: Any = None) -> Any:
        """The decision q made with x."""
        return self._decision(sample_or_distribution(x, x_weights, "x"))

    def of_normals(self, x_mean: Any, x_scale: Any, y_mean: Any, y_scale: Any) -> Any:
        """L for normal data, vectorised over arrays of means and standard deviations."""
        raise InputError(
            f"{self.name} has no closed form for normals",
            remedy="Call loss(x, y), which integrates.",
            value=(x_mean, x_scale, y_mean, y_scale),
        )

    def after(self, lipschitz: float, model: Callable[[Vector], Any] | None = None) -> Task:
        """The task fed by a model whose output moves at most `lipschitz` times as far as its input: constants multiply.

        If |f(a) - f(b)| <= k |a - b|, then moving every point of the best coupling of X and Y through f gives
        W(f(X), f(Y)) <= k W(X, Y), so whatever holds for the task with K on the model's outputs holds with k K on
        the owners' data. Models in a row multiply in the same way. f has to be the same for both: where it was itself
        fitted to the data, it is a decision, and belongs in `Task.of(..., decide=fit, optimal=True)`.

        The slope in the decision stays: decisions are made about outputs. `loss` needs the model, a vectorised
        function of 1-D data (a distribution is replaced by 10,000 quantiles); constants do not.
        """
        if not 0 < lipschitz < inf:
            raise InputError(
                f"the model's Lipschitz constant is {lipschitz}",
                remedy="Give a positive finite constant.",
                value=lipschitz,
            )
        proof = self.proof if lipschitz == 1 else f"{self.proof}; times {lipschitz:g} for the model before it"
        return _Stacked(
            name=f"{self.name} after a {lipschitz:g}-Lipschitz model",
            lipschitz=self.lipschitz * lipschitz,
            lipschitz_in_data=self.lipschitz_in_data * lipschitz,
            lipschitz_in_decision=self.lipschitz_in_decision,
            guarantee=self.guarantee * lipschitz,
            proof=proof,
            optimal=self.optimal,
            task=self,
            model=model,
        )

    def _expected(self, x: Side, y: Side) -> float:
        raise NotImplementedError

    def _decision(self, x: Side) -> Any:  # noqa: ARG002  tasks that do decide need it
        raise InputError(f"{self.name} decides by drawing from the data", remedy="Ask for its loss instead.")


def _own_guarantee(lipschitz: float, optimal: bool, guarantee: float | None) -> tuple[float, str]:
    if guarantee is not None:
        return guarantee, "stated with the task, not proved here"
    if optimal:
        return (
            2 * lipschitz,
            "proved, given the stated slope and optimality: Lip(g) is at most twice the slope",
        )
    return inf, "unproved: the decision is not known to be optimal for its data"


@dataclass(frozen=True, kw_only=True)
class _Median(Task):
    """MAE = E|X - Y|. For two points it is their distance; |excess| <= W.

    Let Y' be a copy of Y, coupled with X so that E|X - Y'| = W, both independent of Y. Then
    |E|X - Y| - E|Y' - Y|| <= E|X - Y'| = W. Shifts show that no smaller constant will do.
    """

    def pay(self, q: Any, y: Any) -> Any:
        return np.abs(q - np.asarray(y))

    def of_normals(self, x_mean: Any, x_scale: Any, y_mean: Any, y_scale: Any) -> Any:
        return family_distance("norm", np.subtract(x_mean, y_mean), np.hypot(x_scale, y_scale))

    def _expected(self, x: Side, y: Side) -> float:
        normals = normal_pair(x, y)
        return float(self.of_normals(*normals)) if normals else mean_distance(x, y)


@dataclass(frozen=True, kw_only=True)
class _Mean(Task):
    """RMSE = sqrt(E(X - Y)^2) of independent draws: not Lipschitz in W, not even on bounded data.

    The triangle inequality of mean squares gives |excess| <= W_2. W_1 does not bound it: let Y be 0 and X be 1 with
    probability e. Then W = e and the excess is sqrt(e).
    """

    def pay(self, q: Any, y: Any) -> Any:
        return np.square(q - np.asarray(y))

    def of_normals(self, x_mean: Any, x_scale: Any, y_mean: Any, y_scale: Any) -> Any:
        return np.hypot(np.subtract(x_mean, y_mean), np.hypot(x_scale, y_scale))

    def _expected(self, x: Side, y: Side) -> float:
        return float(self.of_normals(mean_of(x), np.sqrt(variance(x)), mean_of(y), np.sqrt(variance(y))))


@dataclass(frozen=True, kw_only=True)
class _Estimate(Task):
    """Decide with E X, pay sqrt(E(E X - Y)^2): the RMSE of a point forecast, which is 1-Lipschitz on any data.

    The root of (q - E Y)^2 + var Y has slope at most 1 in q, and |E X - E Y| <= W.
    """

    def pay(self, q: Any, y: Any) -> Any:
        return np.square(q - np.asarray(y))

    def of_normals(self, x_mean: Any, x_scale: Any, y_mean: Any, y_scale: Any) -> Any:
        return np.hypot(np.subtract(x_mean, y_mean), y_scale) + np.zeros(np.shape(x_scale))

    def _decision(self, x: Side) -> float:
        return mean_of(x)

    def _expected(self, x: Side, y: Side) -> float:
        return float(np.hypot(mean_of(x) - mean_of(y), np.sqrt(variance(y))))


@dataclass(frozen=True, kw_only=True)
class _MeanSquare(Task):
    """Decide with E X, pay E(E X - Y)^2, on data that lie in an interval of width D.

    The loss (q - y)^2 has slope 2|q - y| <= 2D in y and in q. The excess is (E X - E Y)^2 exactly, at most W^2, and
    as W <= D on such data, at most D W: half the slope is enough, and points D apart show that no less is.
    """

    width: float

    def pay(self, q: Any, y: Any) -> Any:
        return np.square(q - np.asarray(y))

    def _decision(self, x: Side) -> float:
        return mean_of(x)

    def _expected(self, x: Side, y: Side) -> float:
        lows, highs = zip(ends(x), ends(y), strict=True)
        spread = max(highs) - min(lows)
        if not spread <= self.width * (1 + 1e-12):
            raise InputError(
                f"the data spread over {spread:g}, and the task was made for an interval of width {self.width:g}",
                remedy="Give the width of an interval that holds all data, or clip the data.",
                value=spread,
            )
        return (mean_of(x) - mean_of(y)) ** 2 + variance(y)


@dataclass(frozen=True, kw_only=True)
class _Pinball(Task):
    """factor x (pinball loss of x's tau-quantile under y) - margin x E Y.

    Lip(g): between the two quantiles the pinball losses of the two decisions have slopes tau and tau - 1, beyond
    them the same slope, so g has slope 0 or +-1, whatever tau is. A term in y alone drops out of g.
    """

    tau: float
    factor: float = 1.0
    margin: float = 0.0

    def pay(self, q: Any, y: Any) -> Any:
        gap = np.asarray(y) - q
        return self.factor * np.where(gap > 0, self.tau * gap, (self.tau - 1) * gap) - self.margin * np.asarray(y)

    def of_normals(self, x_mean: Any, x_scale: Any, y_mean: Any, y_scale: Any) -> Any:
        q = np.asarray(x_mean) + np.asarray(x_scale) * scipy.special.ndtri(self.tau)
        gap = np.subtract(y_mean, q)
        return self._bill(family_distance("norm", gap, y_scale), gap, y_mean)

    def _bill(self, distance: Any, gap: Any, y_mean: Any) -> Any:
        """From E|Y - q| and E Y - q, for the pinball loss is |y - q| / 2 + (tau - 1/2)(y - q)."""
        return self.factor * (0.5 * distance + (self.tau - 0.5) * gap) - self.margin * y_mean

    def _decision(self, x: Side) -> float:
        return quantile_of(x, self.tau)

    def _expected(self, x: Side, y: Side) -> float:
        q = self._decision(x)
        if isinstance(y, Sample):
            return average(self.pay(q, y.values), y.weights)
        centre = mean_of(y)
        return float(self._bill(wasserstein([q], y), centre - q, centre))


@dataclass(frozen=True, kw_only=True)
class _Own(Task):
    """A user's task."""

    decision: Callable[[Vector], Any]
    payment: Callable[[Any, Vector], Any]

    def pay(self, q: Any, y: Any) -> Any:
        points = np.asarray(y, dtype=float)
        bills = np.asarray(self.payment(q, points), dtype=float)
        if bills.shape != points.shape:
            raise InputError(
                f"the loss of {self.name} gave shape {bills.shape} for data of shape {points.shape}",
                remedy="loss(q, y) returns one number for each y; use NumPy functions, and do not average.",
            )
        if np.isnan(bills).any():
            place = points[np.isnan(bills)].flat[0]
            raise InputError(
                f"the loss of {self.name} is not a number at y = {place}",
                remedy="Define the loss for all data that can occur.",
                value=place,
            )
        return bills

    def _decision(self, x: Side) -> Any:
        return self.decision(plain_numbers(x))

    def _expected(self, x: Side, y: Side) -> float:
        q = self._decision(x)
        return expectation(lambda points: self.pay(q, points), y)


@dataclass(frozen=True, kw_only=True)
class _Stacked(Task):
    """A task on the outputs of a model."""

    task: Task
    model: Callable[[Vector], Any] | None

    def pay(self, q: Any, y: Any) -> Any:
        return self.task.pay(q, self._through(Sample(np.asarray(y, dtype=float))).values)

    def _through(self, side: Side) -> Sample:
        if self.model is None:
            raise InputError(
                f"{self.name}: the model is not known, only its constant",
                remedy="Give the model as well: task.after(lipschitz, model).",
            )
        values, weights = side if isinstance(side, Sample) else (plain_numbers(side), None)
        outputs = np.asarray(self.model(values), dtype=float)
        if outputs.shape != values.shape:
            raise InputError(
                f"the model gave shape {outputs.shape} for data of shape {values.shape}",
                remedy="A model here returns one number for each datum.",
            )
        return Sample(outputs, weights)

    def _decision(self, x: Side) -> Any:
        return self.task.decide(self._through(x))

    def _expected(self, x: Side, y: Side) -> float:
        return self.task.loss(self._through(x), self._through(y))


mean: Task = _Mean(
    name="mean (RMSE)",
    lipschitz=1.0,
    lipschitz_in_data=inf,
    lipschitz_in_decision=1.0,
    guarantee=inf,
    proof="not Lipschitz, on bounded data either: |excess| <= W_2 is proved, but sqrt(e) is reached at W = e",
)
"""The paper's mean estimation: RMSE between independent draws. K = 1 there, without a proof; see `estimate`."""

estimate: Task = _Estimate(
    name="point estimate (RMSE)",
    lipschitz=1.0,
    lipschitz_in_data=inf,
    lipschitz_in_decision=1.0,
    guarantee=1.0,
    proof="proved: the RMSE of a point q has slope at most 1 in q, and |E X - E Y| <= W",
    optimal=True,
)
"""Mean estimation with the mean itself instead of a draw: RMSE about E X, with K = 1 proved."""

median: Task = _Median(
    name="median (MAE)",
    lipschitz=1.0,
    lipschitz_in_data=1.0,
    lipschitz_in_decision=1.0,
    guarantee=1.0,
    proof="proved: couple X with a copy of Y; E|X - Y| changes by at most their mean distance",
)
"""The paper's median estimation: MAE between independent draws, K = 1."""


def quantile(tau: float) -> Task:
    """Estimating a quantile: the pinball loss (MPL) of x's tau-quantile under y.

    The tau-quantile of a sample is the inverse of its empirical F: the least sample x_k with F(x_k) >= tau. It is a
    minimiser of the sample's own pinball loss, so the excess is never negative. The paper's K is max(tau, 1 - tau),
    the slope of the loss in data; what is proved is 1, and no smaller constant holds at any tau.
    """
    if not 0 < tau < 1:
        raise InputError(f"tau is {tau}", remedy="A quantile's level lies strictly between 0 and 1.", value=tau)
    slope = max(tau, 1 - tau)
    return _Pinball(
        name=f"quantile {tau:g} (MPL)",
        lipschitz=slope,
        lipschitz_in_data=slope,
        lipschitz_in_decision=slope,
        guarantee=1.0,
        proof="proved: the quantile is optimal, and the difference of two pinball losses has slope at most 1",
        optimal=True,
        tau=tau,
    )


def newsvendor(price: float = 0.10, cost: float = 0.06, shortage: float = 0.16, salvage: float = 0.03) -> Task:
    """Ordering q before demand y is known: the loss is minus the profit.

    l(q, y) = -price y + cost q + shortage (y - q)+ - salvage (q - y)+. Demand is always served, what is missing is
    bought at `shortage` and what is left over is sold at `salvage`. With q = y - (y - q)+ + (q - y)+ this is

        -(price - cost) y + (shortage - cost)(y - q)+ + (cost - salvage)(q - y)+,

    a pinball loss times shortage - salvage at tau = (shortage - cost) / (shortage - salvage), less what perfect
    foresight earns. The slope is max(|shortage - price|, |price - salvage|) in data, max(shortage - cost, cost -
    salvage) in the decision, and Lip(g) = shortage - salvage: the paper's 0.13, which is proved.
    """
    terms = {"price": price, "cost": cost, "shortage": shortage, "salvage": salvage}
    unusable = [name for name, term in terms.items() if not isfinite(term)]
    if unusable or not salvage < cost < shortage:
        raise InputError(
            f"salvage, cost and shortage are {salvage}, {cost} and {shortage}, the price is {price}",
            remedy="Give finite prices with salvage < cost < shortage; else ordering nothing or endlessly is best.",
            value=terms,
        )
    swing = shortage - salvage
    return _Pinball(
        name="newsvendor (NV)",
        lipschitz=swing,
        lipschitz_in_data=max(abs(shortage - price), abs(price - salvage)),
        lipschitz_in_decision=max(shortage - cost, cost - salvage),
        guarantee=swing,
        proof="proved: the order is optimal, and two orders' losses differ with slope at most shortage - salvage",
        optimal=True,
        tau=(shortage - cost) / swing,
        factor=swing,
        margin=price - cost,
    )


def mean_square(width: float) -> Task:
    """Estimating the mean with the MSE, on data in an interval of that width: excess = (E X - E Y)^2 <= width x W.

    `lipschitz` is the slope of (q - y)^2 on such data, 2 x width. On unbounded data the MSE has no constant.
    """
    if not 0 < width < inf:
        raise InputError(
            f"the width is {width}", remedy="Give the positive width of an interval that holds all data.", value=width
        )
    return _MeanSquare(
        name=f"mean square on width {width:g} (MSE)",
        lipschitz=2 * width,
        lipschitz_in_data=2 * width,
        lipschitz_in_decision=2 * width,
        guarantee=width,
        proof="proved: the excess is (E X - E Y)^2 <= W^2, and W is at most the width",
        optimal=True,
        width=width,
    )
