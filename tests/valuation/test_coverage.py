"""How often the Hoeffding bound holds: markets solved by hand, the paper's populations, and honest intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy

from kantor.errors import InputError
from kantor.valuation.coalitions import coalition_distances, coalitions
from kantor.valuation.coverage import NeededFactors, calibrated_confidence, coverage, needed_factors
from kantor.valuation.hoeffding import confidence_factor, hoeffding_bound

ONE_FAR = [[0.0, 0.0]] * 7 + [[8.0, 8.0]]
"""Target 1. Coalitions of the seven have W = 1 at any size; those with the far owner are bounded generously."""

TWO_CAMPS = [[-1.0]] * 4 + [[1.0]] * 4
"""Target 0, every W_i = 1, so the bound is sqrt((8 - n)/7)/sqrt(n) times the factor, and W is the mean's size."""


def paper_draws() -> tuple[Any, Any]:
    random = np.random.RandomState(1345)
    return random.uniform(10, 16, (50, 8)), random.uniform(1, 3, (50, 8))


def paper_normals() -> list[list[Any]]:
    return [[scipy.stats.norm(a, b) for a, b in zip(x, y, strict=True)] for x, y in zip(*paper_draws(), strict=True)]


def paper_samples(family: str, draws: int) -> list[Any]:
    rng = np.random.default_rng(1)
    standard = {"uniform": rng.uniform, "exponential": rng.exponential}[family]
    return [x[:, None] + y[:, None] * standard(size=(8, draws)) for x, y in zip(*paper_draws(), strict=True)]


def normals(count: int) -> list[Any]:
    rng = np.random.default_rng(4)
    draws = zip(rng.uniform(10, 16, count), rng.uniform(1, 3, count), strict=True)
    return [scipy.stats.norm(a, b) for a, b in draws]


def test_a_market_in_which_the_bound_plainly_fails() -> None:
    """Said to hold with 95 %, it holds for a quarter of all pairs: those with the far owner."""
    found = coverage(ONE_FAR)
    assert found.share == pytest.approx([1, 2 / 8, 3 / 8, 4 / 8, 5 / 8, 6 / 8, 7 / 8, 1])
    assert found.falls_short.tolist() == [False] + [True] * 6 + [False]
    assert found.worst == (2, pytest.approx(0.25))
    assert found.exact.all()
    assert found.lower.tolist() == found.upper.tolist() == found.share.tolist()
    assert found.coalitions.tolist() == [8, 28, 56, 70, 56, 28, 8, 1]
    assert found.rows()[1] == {
        "size": 2, "share": 0.25, "lower": 0.25, "upper": 0.25, "exact": True, "coalitions": 28,
    }  # fmt: skip


def test_the_nearest_owners_may_never_be_covered() -> None:
    assert coverage(ONE_FAR, which="nearest").share.tolist() == [1, 0, 0, 0, 0, 0, 0, 1]


def test_owners_who_each_look_like_the_target_can_make_something_else_together() -> None:
    """Four N(0, 1) and four N(0, 15): the mean of all is N(0, 1), so W_i = 0 for the first four, and so is their
    bound. But the mean of the four is N(0, 1/4), at W = sqrt(2/pi)/2: averages of independent variables break the
    triangle inequality of the proof, and no confidence mends it."""
    owners = [scipy.stats.norm(0, 1)] * 4 + [scipy.stats.norm(0, np.sqrt(15))] * 4
    four = np.arange(8) < 4
    assert coalition_distances(owners, coalitions=four[None, :])[0] == pytest.approx(np.sqrt(2 / np.pi) / 2)
    assert coalition_distances(owners, coalitions=np.eye(8, dtype=bool)[:4]) == pytest.approx(0, abs=1e-12)
    assert coverage(owners, 1 - 1e-15).share[3] == pytest.approx(69 / 70)
    with pytest.raises(InputError, match="inf times"):
        calibrated_confidence(owners, 1.0)


def test_two_camps_by_hand() -> None:
    # A pair on one side has W = 1 against a bound of 0.889; 12 of the 28 pairs are on one side.
    assert coverage(TWO_CAMPS).share[1] == pytest.approx(16 / 28)
    # The infinite population's bound for a pair is 0.960: still short. At confidence 0.97 it is 1.025.
    assert coverage(TWO_CAMPS, population="infinite").share[1] == pytest.approx(16 / 28)
    assert coverage(TWO_CAMPS, 0.97, population="infinite").share[1] == 1
    # Single owners lie at 1: they are within the bound once sqrt(ln(2/(1 - delta))/2) is 1, at 1 - 2 exp(-2) = 0.7293.
    assert coverage(TWO_CAMPS, 0.7294).share[0] == 1
    assert coverage(TWO_CAMPS, 0.7293).share[0] == 0
    # With the theorem's N under the root, that factor has to be sqrt(8/7): 1 - 2 exp(-16/7) = 0.7966.
    assert coverage(TWO_CAMPS, 0.7967, correction="theorem").share[0] == 1
    assert coverage(TWO_CAMPS, 0.7965, correction="theorem").share[0] == 0


def test_the_whole_population_is_covered_but_not_as_part_of_a_larger_one() -> None:
    assert coverage(TWO_CAMPS, 0.0).share[-1] == 1
    assert coverage(TWO_CAMPS, 0.0, target=[5.0]).share[-1] == 0
    assert coverage(TWO_CAMPS, 0.99999, target=[1.2], population="infinite").share[-1] == 1


def test_counting_one_coalition_at_a_time() -> None:
    owners = normals(7)
    distances = coalition_distances(owners, coalitions=coalitions(7))
    alone, sizes = distances[:7], coalitions(7).sum(axis=1)
    bounds = np.array([hoeffding_bound(alone[row], 7, 0.8) for row in coalitions(7)])
    held = distances <= bounds + 1e-12
    assert coverage(owners, 0.8).share == pytest.approx([held[sizes == n].mean() for n in range(1, 8)])
    assert not held.all()


def test_calibration_by_hand() -> None:
    """The hardest coalition of two camps is all four of one: W = 1 = factor sqrt(4/7)/2, so the factor is sqrt(7)."""
    found = calibrated_confidence(TWO_CAMPS, 1.0)
    assert found.factor == pytest.approx(np.sqrt(7))
    assert found.confidence == pytest.approx(1 - 2 * np.exp(-14), abs=1e-15)
    assert found.coverage.share.tolist() == [1.0] * 8
    # 68 of 70 coalitions of four are easier; triples of one camp (8 of 56) then need most: sqrt(3)/sqrt(5/7).
    assert calibrated_confidence(TWO_CAMPS, 0.95).factor == pytest.approx(np.sqrt(21 / 5))


@pytest.mark.parametrize("wanted", [0.5, 0.8, 0.95, 1.0])
@pytest.mark.parametrize("each_size", [True, False])
def test_a_calibrated_confidence_covers_what_was_wanted_and_no_less_would(wanted: float, each_size: bool) -> None:
    owners = normals(9)
    found = calibrated_confidence(owners, wanted, each_size)

    def covered(confidence: float) -> float:
        at = coverage(owners, confidence)
        return float(at.share.min() if each_size else np.average(at.share, weights=at.coalitions))

    assert covered(found.confidence) >= wanted - 1e-12
    assert covered(found.confidence - 1e-6 * (1 - found.confidence)) < wanted


def test_a_confidence_of_nothing_may_be_enough() -> None:
    found = calibrated_confidence([[1.0], [1.0], [1.0]])
    assert found.confidence == 0
    assert found.coverage.share.tolist() == [1, 1, 1]


def test_what_no_confidence_covers_is_said() -> None:
    with pytest.raises(InputError, match=r"no confidence covers 0.95 .* 5.15 times"):
        calibrated_confidence(ONE_FAR)


def test_the_paper_s_normal_populations() -> None:
    """Design, section 3: 86 to 89 % of the coalitions of 2 to 7 owners, at a confidence of 95 %."""
    pooled = NeededFactors.pool(needed_factors(owners) for owners in paper_normals())
    found = pooled.coverage(0.95)
    assert found.share[1:7] == pytest.approx([0.8864, 0.8646, 0.8609, 0.8639, 0.8636, 0.8750], abs=5e-5)
    assert found.falls_short[1:7].all()
    assert found.share[[0, 7]].tolist() == [1, 1]
    assert (found.markets, found.coalitions.tolist()[1]) == (50, 50 * 28)
    assert not found.exact.any()
    theorem = NeededFactors.pool(needed_factors(owners, correction="theorem") for owners in paper_normals())
    assert theorem.coverage().share[1:7] == pytest.approx([0.8321, 0.8296, 0.8309, 0.8386, 0.8386, 0.85], abs=5e-5)
    assert pooled.calibrated(0.95).confidence == pytest.approx(0.99669, abs=5e-6)


@pytest.mark.parametrize("aggregate", ["euclidean", "barycenter"])
def test_twice_the_bound_covers_the_paper_s_normal_populations(aggregate: Any) -> None:
    """Twice the factor is a confidence of 1 - 2 (0.05/2)^4: deviations of up to W_i both ways have a range of 2 W_i."""
    pooled = NeededFactors.pool(needed_factors(owners, aggregate=aggregate) for owners in paper_normals())
    assert pooled.coverage(1 - 2 * 0.025**4).share.min() > 0.97


def test_the_shortfall_is_not_the_triangle_inequality_s_fault_alone() -> None:
    """Quantile averages obey it, and the same owners are covered less often, not more (docs/decisions/0002)."""
    pooled = NeededFactors.pool(needed_factors(owners, aggregate="barycenter") for owners in paper_normals())
    assert pooled.coverage().share[1:7] == pytest.approx([0.738, 0.759, 0.779, 0.799, 0.803, 0.815], abs=1e-3)
    for owners in paper_normals():
        w = coalition_distances(owners, coalitions=coalitions(8))
        assert np.all(w <= coalitions(8) @ w[:8] / coalitions(8).sum(axis=1) + 1e-12)


def test_what_the_bound_recommends_is_covered_less_often() -> None:
    """The n nearest owners of the same populations: the bound is small for them because they were chosen so."""
    pooled = NeededFactors.pool(needed_factors(owners, which="nearest") for owners in paper_normals())
    assert pooled.coverage(0.95).share == pytest.approx([1, 0.96, 0.92, 0.78, 0.68, 0.58, 0.18, 1])


@pytest.mark.parametrize(("family", "low", "high"), [("uniform", 0.735, 0.805), ("exponential", 0.835, 0.89)])
def test_the_paper_s_other_populations_with_fewer_draws(family: str, low: float, high: float) -> None:
    share = NeededFactors.pool(map(needed_factors, paper_samples(family, 1000))).coverage().share[1:7]
    assert np.all((low <= share) & (share <= high))
    assert share.max() < 0.95


@pytest.mark.slow
@pytest.mark.parametrize(("family", "low", "high"), [("uniform", 0.745, 0.805), ("exponential", 0.845, 0.885)])
def test_the_paper_s_other_populations(family: str, low: float, high: float) -> None:
    """Design, section 3: 75 to 80 % (uniform) and 85 to 88 % (exponential), 10,000 draws per owner."""
    share = NeededFactors.pool(map(needed_factors, paper_samples(family, 10_000))).coverage().share[1:7]
    assert np.all((low <= share) & (share < high))


def test_drawn_coalitions_agree_with_all_of_them() -> None:
    owners = normals(14)
    truth = coverage(owners, 0.8)
    drawn = coverage(owners, 0.8, enumerate_up_to=5, draws=500, seed=2)
    assert drawn.exact.tolist() == [n in (1, 2, 3, 11, 12, 13, 14) for n in range(1, 15)]
    assert drawn.share[drawn.exact] == pytest.approx(truth.share[drawn.exact])
    inside = (drawn.lower <= truth.share + 1e-12) & (truth.share <= drawn.upper + 1e-12)
    assert inside.all()
    sampled = ~drawn.exact
    assert np.all(drawn.upper[sampled] - drawn.lower[sampled] > 0.02)
    assert drawn.share.tolist() != coverage(owners, 0.8, enumerate_up_to=5, draws=500, seed=3).share.tolist()
    assert drawn.share.tolist() == coverage(owners, 0.8, enumerate_up_to=5, draws=500, seed=2).share.tolist()


def test_many_owners_are_looked_at_in_some_sizes() -> None:
    found = coverage(normals(200), draws=50)
    assert (found.sizes[0], found.sizes[-1], found.sizes.size) == (1, 200, 32)
    assert found.coalitions[1:-1].tolist() == [50] * 30


def test_limits_of_drawn_coalitions_are_those_of_a_binomial() -> None:
    found = coverage(normals(14), 0.8, enumerate_up_to=5, draws=400, seed=2)
    k = int(np.flatnonzero(~found.exact)[0])
    expected = scipy.stats.binomtest(round(found.share[k] * 400), 400).proportion_ci(0.95, "exact")
    assert (found.lower[k], found.upper[k]) == pytest.approx((expected.low, expected.high))


def test_what_drawn_coalitions_leave_open_is_no_shortfall() -> None:
    """18 of 20 is below 95 %, and far from showing that all would be: the limits reach from 0.683 to 0.988."""
    factors = np.where(np.arange(20) < 18, 0.0, 9.0)
    drawn = NeededFactors(np.array([2]), ((factors,),), np.array([False])).coverage(0.95)
    assert (drawn.share[0], drawn.lower[0], drawn.upper[0]) == pytest.approx((0.9, 0.683, 0.988), abs=1e-3)
    assert not drawn.falls_short.any()
    assert NeededFactors(np.array([2]), ((factors,),), np.array([True])).coverage(0.95).falls_short.all()


def test_rounding_is_no_failure_and_a_millionth_is() -> None:
    factor = confidence_factor(0.95)
    market = NeededFactors(np.array([2]), ((factor * np.array([1, 1 + 1e-12, 1 + 1e-6]),),), np.array([True]))
    assert market.coverage(0.95).share == pytest.approx([2 / 3])


@pytest.mark.parametrize("markets", [30, 5])
def test_limits_over_markets_hold_the_mean_as_often_as_they_say(markets: int) -> None:
    """Markets whose shares vary a lot: counting coalitions as if they were independent would fail here."""
    rng = np.random.default_rng(0)
    hits = []
    for _ in range(400):
        shares = rng.beta(4.25, 0.75, markets)  # mean 0.85, standard deviation 0.146
        pooled = NeededFactors.pool(
            NeededFactors(np.array([2]), ((np.where(np.arange(100) < round(100 * s), 0.0, 9.0),),), np.array([True]))
            for s in shares
        )
        found = pooled.coverage()
        hits.append(found.lower[0] <= 0.85 <= found.upper[0])
    assert 0.92 <= np.mean(hits) <= 0.985


def test_one_market_that_always_holds_says_little_about_others() -> None:
    pooled = NeededFactors.pool([needed_factors([[1.0], [1.0], [1.0]])] * 10).coverage()
    assert pooled.share.tolist() == [1, 1, 1]
    assert pooled.lower == pytest.approx([0.025**0.1] * 3)  # ten successes of ten


@pytest.mark.parametrize(
    ("question", "says"),
    [
        (lambda: coverage(TWO_CAMPS, which="best"), "'best'"),  # type: ignore[arg-type]
        (lambda: coverage(TWO_CAMPS, 1.0), "confidence of 1.0"),
        (lambda: coverage(TWO_CAMPS, enumerate_up_to=2, draws=0), "0 coalitions of each size"),
        (lambda: calibrated_confidence(TWO_CAMPS, 0.0), "share of 0.0"),
        (lambda: calibrated_confidence(TWO_CAMPS, 1.5), "share of 1.5"),
        (lambda: NeededFactors.pool([]), "no markets"),
        (
            lambda: NeededFactors.pool(map(needed_factors, (TWO_CAMPS, TWO_CAMPS[1:]))),
            "1 to 8, this one of sizes 1 to 7",
        ),
    ],
)
def test_what_is_refused_and_how(question: Any, says: str) -> None:
    with pytest.raises(InputError, match=says) as failure:
        question()
    assert failure.value.remedy
