"""Bids: what owners tell the market, and what the market makes of it.

The platform receives from each owner its distance W_i, its reserve price theta_i and, if noise is to be added, its
privacy budget epsilon_i (paper, section 3.1.3). With the prior of each that is all a clearing needs: owners enter it by
their distance and their virtual cost.

Bids never change. Arrays are read-only, and `replace`, `take` and `with_noise` give new bids that share what stays the
same, so that an audit can try a thousand other reports cheaply. `canonical` is the order in which all sums and ties are
taken (virtual cost, distance, owner), and `hash` covers everything an owner said: neither depends on the order of rows.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from kantor.bids import checks
from kantor.bids.order import Places, rising
from kantor.bids.priors import Priors, fingerprint, notation
from kantor.errors import InputError
from kantor.owners.calibration import Calibration, Mechanism
from kantor.owners.distributions import Distribution, Vector
from kantor.valuation.noise import noise_distance

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Bids"]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Bids:
    """One bid for each owner, in the order given.

    distance: how far each owner's data lie from the target, noise included. reserve: the least it wants to be paid.
    prior: a frozen scipy.stats distribution, an `EmpiricalPrior` or a short form such as "uniform:0:1", for all owners
    or one each; None is uniform(0, 1). owner: names, "0", "1", ... by default. epsilon: privacy budgets.

    >>> bids = Bids(distance=[0.3, 0.1], reserve=[0.2, 0.4], owner=["anna", "ben"])
    >>> bids.virtual.tolist()
    [0.4, 0.8]
    """

    distance: Vector
    reserve: Vector
    epsilon: Vector | None
    priors: Priors
    """What is believed of each owner's price, with psi and its inverse for all at once."""
    noise: str | None
    """The noise whose distance `with_noise` added; None before."""
    _names: tuple[str, ...] | None

    def __init__(
        self, *, distance: Any, reserve: Any, prior: Any = None, owner: Any = None, epsilon: Any = None
    ) -> None:
        self._fill(distance, reserve, prior, owner, epsilon, checks.ARRAYS)

    def _fill(self, distance: Any, reserve: Any, prior: Any, owner: Any, epsilon: Any, source: checks.Source) -> None:
        size = checks.count(distance)
        names = checks.names(owner, size, source)
        values = checks.amounts("distance", distance, size, names, source)
        prices = checks.amounts("reserve", reserve, size, names, source)
        budgets = None if epsilon is None else checks.budgets(epsilon, size, names, source)
        priors = Priors.of(scipy.stats.uniform(0, 1) if prior is None else prior, size)
        checks.supported(prices, priors, names, source)
        _set(self, distance=values, reserve=prices, epsilon=budgets, priors=priors, noise=None, _names=names)

    def _copy(self, **changed: object) -> Bids:
        new = object.__new__(Bids)
        kept = {name: getattr(self, name) for name in self.__dataclass_fields__}
        _set(new, **{**kept, **changed})
        return new

    @classmethod
    def from_frame(cls, frame: Any, prior: Any = None) -> Bids:
        """Bids from a pandas or polars frame with columns owner, distance, reserve[, epsilon][, prior].

        prior: stands in where the frame has no prior column, or an empty cell in it.
        """
        from kantor.bids.tables import columns_of

        return cls._from_columns(columns_of(frame, None), prior)

    @classmethod
    def read(cls, path: str | Path, prior: Any = None) -> Bids:
        """Bids from a CSV or Parquet file with columns owner, distance, reserve[, epsilon][, prior]."""
        from kantor.bids.tables import read_columns

        return cls._from_columns(read_columns(path), prior)

    @classmethod
    def _from_columns(cls, columns: Any, prior: Any) -> Bids:
        new = object.__new__(cls)
        new._fill(
            columns.distance,
            columns.reserve,
            columns.priors(prior),
            columns.owner,
            columns.epsilon,
            checks.Source(columns.file, table=True),
        )
        return new

    def __len__(self) -> int:
        return int(self.distance.size)

    def __repr__(self) -> str:
        prior = "a prior each" if self.priors.codes is not None else f"prior {_text(self.priors.distinct[0])}"
        noise = f", {self.noise} noise included" if self.noise else ""
        return f"Bids({len(self)} {'owner' if len(self) == 1 else 'owners'}, {prior}{noise})"

    @cached_property
    def owner(self) -> tuple[str, ...]:
        """Each owner's name."""
        return tuple(map(str, range(len(self)))) if self._names is None else self._names

    def name(self, place: int) -> str:
        """One owner's name."""
        return str(place) if self._names is None else self._names[place]

    def place(self, owner: str) -> int:
        """The place of the owner of this name."""
        try:
            return self._places[str(owner)]
        except KeyError:
            raise InputError(
                f"there is no owner {owner!r} among the {len(self)} bids",
                remedy=f"Name owners as the bids do, such as {self.name(0)!r}.",
                value=owner,
                argument="owner",
            ) from None

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.owner)}

    @property
    def prior(self) -> Distribution | tuple[Distribution, ...]:
        """The prior of all owners, or a tuple with one for each."""
        priors = self.priors
        return priors.distinct[0] if priors.codes is None else tuple(priors.distinct[code] for code in priors.codes)

    @cached_property
    def virtual(self) -> Vector:
        """psi_i(theta_i), ironed: what each owner counts with in a clearing; infinite if it is never bought."""
        return checks.frozen(self.priors.virtual(self.reserve))

    @cached_property
    def canonical(self) -> Places:
        """The places of all owners by rising virtual cost, then distance, then name."""
        order = rising(self.virtual, self.distance, self.name)
        order.flags.writeable = False
        return order

    @cached_property
    def by_distance(self) -> Places:
        """The places of all owners by rising distance, then name: an order that no reserve price can move."""
        order = rising(self.distance, self.distance, self.name)
        order.flags.writeable = False
        return order

    @cached_property
    def hash(self) -> str:
        """SHA-256 over every owner's name, distance, reserve, epsilon and prior, whatever the order of rows."""
        order = rising(self.reserve, self.distance, self.name)
        texts = [fingerprint(prior) for prior in self.priors.distinct]
        used = sorted(
            set(texts) if self.priors.codes is None else {texts[code] for code in np.unique(self.priors.codes)}
        )
        ranks = np.array([used.index(text) if text in used else -1 for text in texts], dtype="<i8")
        codes = np.zeros(len(self), dtype="<i8") if self.priors.codes is None else ranks[self.priors.codes[order]]
        digest = hashlib.sha256(json.dumps(["kantor bids 1", len(self), self.epsilon is not None, used]).encode())
        for array in (self.distance, self.reserve, self.epsilon):
            if array is not None:
                digest.update(array[order].astype("<f8").tobytes())
        digest.update(codes.tobytes())
        digest.update(json.dumps([self.name(place) for place in order.tolist()]).encode())
        return digest.hexdigest()

    def replace(self, *, distance: Any = None, reserve: Any = None, epsilon: Any = None) -> Bids:
        """The same owners with other reports, checked as the first ones were."""
        size, names, changed = len(self), self._names, {}
        if distance is not None:
            changed["distance"] = checks.amounts("distance", distance, size, names)
        if epsilon is not None:
            changed["epsilon"] = checks.budgets(epsilon, size, names)
        if reserve is not None:
            changed["reserve"] = checks.amounts("reserve", reserve, size, names)
            checks.supported(changed["reserve"], self.priors, names)
        new = self._copy(**changed)
        self._share(new, virtual=reserve is None, by_distance=distance is None)
        return new

    def _share(self, new: Bids, **same: bool) -> None:
        """What was computed before and stays as it was is not computed again."""
        _set(new, **{name: self.__dict__[name] for name, kept in same.items() if kept and name in self.__dict__})

    def with_report(self, place: int, *, reserve: float | None = None, distance: float | None = None) -> Bids:
        """The same bids with one owner's report changed; virtual costs known before are not computed again."""
        reports = {"reserve": (self.reserve, reserve), "distance": (self.distance, distance)}
        changed: dict[str, Vector] = {}
        for name, (array, report) in reports.items():
            if report is not None:
                checks.report(name, report, self.name(place))
                changed[name] = _with(array, place, report)
        if reserve is not None:
            checks.within(reserve, self.priors.costs(place), self.name(place))
        new = self._copy(**changed)
        self._share(new, by_distance=distance is None)
        if "virtual" in self.__dict__:
            cost = float(self.priors.costs(place).cost(new.reserve[place]))
            _set(new, virtual=_with(self.virtual, place, cost))
        return new

    def take(self, places: Any) -> Bids:
        """The bids of some owners, by their places or by a mask, under their names."""
        chosen = np.arange(len(self))[np.asarray(places)]
        if chosen.size == 0:
            raise InputError("no owner is left", remedy="Keep at least one bid.", argument="places")
        new = self._copy(
            distance=checks.frozen(self.distance[chosen]),
            reserve=checks.frozen(self.reserve[chosen]),
            epsilon=None if self.epsilon is None else checks.frozen(self.epsilon[chosen]),
            priors=self.priors.take(chosen),
            _names=tuple(self.name(place) for place in chosen.tolist()),
        )
        if "virtual" in self.__dict__:
            _set(new, virtual=checks.frozen(self.virtual[chosen]))
        return new

    def with_noise(
        self,
        mechanism: Mechanism,
        *,
        sensitivity: Any,
        delta: float | None = None,
        calibration: Calibration = "classical",
    ) -> Bids:
        """New bids whose distances include W(X_DP, delta_0), from each owner's epsilon (paper, equation for W_i).

        sensitivity: one number, or one for each owner.
        """
        if self.epsilon is None:
            raise InputError(
                "noise was asked for, and the bids state no privacy budgets",
                remedy="Give epsilon, one positive number for each owner.",
                argument="epsilon",
            )
        if self.noise is not None:
            raise InputError(
                f"the distances include {self.noise} noise already",
                remedy="Call with_noise once, on the bids without noise.",
                argument="mechanism",
            )
        widths = checks.sensitivities(sensitivity, len(self), self._names)
        added = widths * _unit_noise(self.epsilon, mechanism, delta, calibration)
        noised = checks.amounts("distance", self.distance + added, len(self), self._names)
        new = self._copy(distance=noised, noise=mechanism)
        self._share(new, virtual=True)
        return new

    def to_frame(self) -> pl.DataFrame:
        """A polars frame with owner, distance, reserve, epsilon (if stated) and prior, which `from_frame` reads."""
        import polars as pl

        texts = [notation(prior) for prior in self.priors.distinct]
        columns: dict[str, Any] = {"owner": list(self.owner), "distance": self.distance, "reserve": self.reserve}
        if self.epsilon is not None:
            columns["epsilon"] = self.epsilon
        codes = np.zeros(len(self), dtype=np.int64) if self.priors.codes is None else self.priors.codes
        return pl.DataFrame({**columns, "prior": pl.Series(texts, dtype=pl.String).gather(codes)})


def _set(bids: Bids, **parts: object) -> None:
    for name, part in parts.items():
        object.__setattr__(bids, name, part)


def _unit_noise(epsilon: Vector, mechanism: Mechanism, delta: float | None, calibration: Calibration) -> Vector:
    """The noise's distance at sensitivity 1. Laplace and classical Gaussian noise are inverse to epsilon."""
    if mechanism == "laplace" or calibration == "classical":
        one = noise_distance(mechanism, sensitivity=1.0, epsilon=1.0, delta=delta, calibration=calibration)
        return one / epsilon
    levels, which = np.unique(epsilon, return_inverse=True)
    scales = [
        noise_distance(mechanism, sensitivity=1.0, epsilon=float(level), delta=delta, calibration=calibration)
        for level in levels
    ]
    return np.array(scales)[which]


def _with(array: Vector, place: int, value: float) -> Vector:
    changed = array.copy()
    changed[place] = value
    return checks.frozen(changed)


def _text(prior: Distribution) -> str:
    try:
        text = notation(prior)
    except InputError:
        return type(prior).__name__
    return text if len(text) < 60 else repr(prior)[:60]
