"""Checks on a delivery: what was promised and stated, against what came.

Every test has a share of one stated rate, `alpha`: of honest deliveries, whatever their data, at most that share is
doubted by any of the tests. Which tests are made is settled before the delivery is looked at, and each gets an equal
share (Bonferroni), so that no look at the data buys a better test. "Honest" means: the promised noise was added,
independently, to values within the bounds whose distance was stated correctly.

A doubt is for a person to weigh. It is no proof, and punishes nobody by itself: at alpha = 1e-4 a market with a hundred
thousand honest winners doubts ten of them at most, and the absence of a doubt says little where noise is large
(docs/theory/delivery-checks.md says how little).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kantor.delivery.distance_check import count_of_tests, distance_tests
from kantor.delivery.findings import Findings
from kantor.delivery.noise_check import noise_tests
from kantor.delivery.noise_law import Setting, setting_of
from kantor.delivery.reference import Others, Reference, target
from kantor.errors import InputError
from kantor.owners.release import Promise
from kantor.owners.samples import as_sample

__all__ = ["check_delivery"]


def check_delivery(
    values: Any,
    promise: Promise,
    stated_distance: float | None = None,
    reference: Any = None,
    slack: float = 0.0,
    alpha: float = 1e-4,
) -> Findings:
    """The findings of all tests on one delivery.

    stated_distance: W of the data alone from the target, without the noise's part (a bid's distance has both).
    reference: the target, as samples or a distribution; or `kantor.delivery.reference.others`, the other winners; None
        where the market has neither, and then distances are not tested.
    slack: by how much more the distance from the reference may exceed the stated one: the error of a private valuation,
        or W(reference, target).

    >>> from kantor.owners.release import promise
    >>> promised = promise("laplace", 400, bounds=(0, 1), unit="record", epsilon=4)
    >>> noise = np.random.default_rng(1).laplace(scale=promised.scale, size=400)
    >>> print(check_delivery(0.5 + noise, promised, stated_distance=0.1, reference=[0.4, 0.5, 0.6]))
    no test doubts this delivery (of honest ones, at most 0.0001 are doubted)
    >>> too_little = check_delivery(0.5 + noise / 2, promised, stated_distance=0.1, reference=[0.4, 0.5, 0.6])
    >>> [test.name for test in too_little.doubts]
    ['neighbouring values', 'distant values', 'waves']
    """
    numbers = as_sample(values, argument="values")
    if numbers.size != promise.records:
        raise InputError(
            f"there are {numbers.size} values, and the promise is about {promise.records}",
            remedy="Check the form of the delivery first, with check_form.",
            argument="values",
        )
    _check_rate(alpha)
    setting = setting_of(promise)
    noise = noise_tests(setting)
    goal = _reference(reference, setting, stated_distance, slack)
    share = alpha / (len(noise) + (count_of_tests(goal) if goal else 0))
    found = [test(numbers, setting, share) for test in noise]
    if goal is None or stated_distance is None:
        why = "The distance was not tested: there is nothing to measure it from."
        return Findings(tuple(found), alpha, (why,))
    return Findings((*found, *distance_tests(numbers, setting, stated_distance, goal, slack, share)), alpha)


def _check_rate(alpha: float) -> None:
    if not 0 < alpha < 1:
        raise InputError(
            f"the rate of false doubts is {alpha}",
            remedy="Give a share between 0 and 1, such as 1e-4.",
            value=alpha,
            argument="alpha",
        )


def _reference(reference: Any, setting: Setting, stated: float | None, slack: float) -> Reference | None:
    if reference is None:
        return None
    for name, distance in (("stated_distance", stated), ("slack", slack)):
        if distance is None or not (np.isfinite(distance) and distance >= 0):
            raise InputError(
                f"{name} is {distance}",
                remedy="A reference needs a finite distance of at least 0 to compare with.",
                value=distance,
                argument=name,
            )
    return reference if isinstance(reference, Others) else target(reference, setting)
