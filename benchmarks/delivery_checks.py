"""The claim: honest deliveries are doubted no more often than stated, and planted faults are found.

What an operator would do otherwise is look at the numbers. Noise here is NumPy's, seeded, so that thousands of
deliveries take a minute or two; the law is that of a release. Data lie between 0 and 1, one value is hidden at a time.

`python -m benchmarks.delivery_checks` prints the tables of docs/theory/delivery-checks.md and draws its picture.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import kantor as kt
from kantor.delivery.checks import check_delivery
from kantor.delivery.form import Delivery
from kantor.delivery.reference import others
from kantor.owners.distributions import Vector
from kantor.owners.release import Promise, promise

PICTURE = Path(__file__).parents[1] / "docs" / "theory" / "delivery-power.png"
KINDS: dict[str, dict[str, Any]] = {"laplace": {}, "gaussian": {"delta": 1e-5}}
LENGTHS = (100, 400, 1_600, 6_400, 20_000)
EPSILONS = (1.0, 3.0, 10.0)
Random = np.random.Generator

SHAPES: dict[str, Callable[[Random, int], Vector]] = {
    "constant": lambda _, m: np.full(m, 0.5),
    "bimodal": lambda rng, m: (rng.random(m) < 0.5).astype(float),
    "skewed": lambda rng, m: np.clip(rng.gamma(2.0, 0.08, m), 0, 1),
    "discrete": lambda rng, m: rng.integers(0, 5, m) / 4,
    "daily wave": lambda _, m: 0.5 + 0.45 * np.sin(2 * np.pi * np.arange(m) / 96),
}
FAULTS = ("no noise", "half the noise", "double the noise", "the other kind of noise")
LIES = ("half the distance: to one side", "half the distance: another shape")


def promised(kind: str, length: int, epsilon: float, unit: Any = "record") -> Promise:
    """What is promised of a series between 0 and 1."""
    return promise(kind, length, bounds=(0.0, 1.0), unit=unit, epsilon=epsilon, **KINDS[kind])  # type: ignore[arg-type]


def drawn(rng: Random, kind: str, scale: float, length: int) -> Vector:
    """Noise of one kind."""
    return rng.laplace(0, scale, length) if kind == "laplace" else rng.normal(0, scale, length)


def noise_with(rng: Random, made: Promise, fault: str) -> Vector:
    """Noise as promised, or with a fault. The other kind has the same standard deviation."""
    kind, scale, length = made.mechanism, made.scale, made.records
    if fault == "the other kind of noise":
        return drawn(rng, *(("gaussian", scale * 2**0.5) if kind == "laplace" else ("laplace", scale / 2**0.5)), length)
    times = {"no noise": 0.0, "half the noise": 0.5, "double the noise": 2.0}.get(fault, 1.0)
    return times * drawn(rng, kind, scale, length) if times else np.zeros(length)


def power_against_fault(made: Promise, shape: str, fault: str, runs: int, seed: int = 0) -> float:
    """The share of deliveries with this fault of the noise that are doubted at the default rate."""
    rng = np.random.default_rng(seed)
    doubted = [
        bool(check_delivery(SHAPES[shape](rng, made.records) + noise_with(rng, made, fault), made).doubts)
        for _ in range(runs)
    ]
    return float(np.mean(doubted))


def power_against_lie(made: Promise, lie: str, runs: int, seed: int = 0) -> float:
    """The share of deliveries that are doubted although the noise is right: half the distance was stated."""
    rng = np.random.default_rng(seed)
    goal = np.clip(rng.normal(0.4, 0.12, 2_000), 0, 1)
    doubted = []
    for _ in range(runs):
        two = np.where(rng.random(made.records) < 0.5, 0.0, 0.8)
        data = np.clip(rng.normal(0.75, 0.12, made.records), 0, 1) if lie.endswith("side") else two
        values = data + noise_with(rng, made, "")
        doubted.append(bool(check_delivery(values, made, kt.wasserstein(data, goal) / 2, goal).doubts))
    return float(np.mean(doubted))


def false_doubts(kind: str, shape: str, alpha: float, runs: int, seed: int = 0) -> float:
    """The share of honest deliveries that are doubted; the stated distance is true, and the mean is all of it."""
    rng = np.random.default_rng(seed)
    doubted = []
    for run in range(runs):
        made = promised(kind, (50, 300, 1_000)[run % 3], EPSILONS[run // 3 % 3])
        data = SHAPES[shape](rng, made.records)
        goal = data + 0.2
        inside = np.clip(goal, 0, 1)
        values = data + noise_with(rng, made, "")
        doubted.append(bool(check_delivery(values, made, kt.wasserstein(data, inside), inside, alpha=alpha).doubts))
    return float(np.mean(doubted))


def false_table(runs: int) -> dict[tuple[str, float, str], float]:
    """The rates of false doubts, by kind, stated rate and shape."""
    return {
        (kind, alpha, shape): false_doubts(kind, shape, alpha, runs)
        for kind in KINDS
        for alpha in (0.1, 0.01)
        for shape in SHAPES
    }


def power_table(runs: int, lengths: tuple[int, ...] = LENGTHS) -> dict[tuple[str, float, str, int], float]:
    """The powers by kind, epsilon, fault and length; for faults of the noise the least of three shapes."""
    found = {}
    for kind in KINDS:
        for epsilon in EPSILONS:
            for length in lengths:
                made = promised(kind, length, epsilon)
                for fault in FAULTS:
                    of_shapes = [power_against_fault(made, s, fault, runs) for s in ("constant", "bimodal", "skewed")]
                    found[kind, epsilon, fault, length] = min(of_shapes)
                for lie in LIES:
                    found[kind, epsilon, lie, length] = power_against_lie(made, lie, runs)
    return found


def series_table(runs: int) -> dict[tuple[str, int], float]:
    """The powers against Laplace noise of epsilon 1 that hides the whole series."""
    found = {}
    for length in (100, 1_600):
        made = promised("laplace", length, 1.0, "series")
        found |= {(fault, length): power_against_fault(made, "skewed", fault, runs) for fault in FAULTS}
        found |= {(lie, length): power_against_lie(made, lie, runs) for lie in LIES}
    return found


def power_of_others(true: float, runs: int, known: bool = False, seed: int = 0) -> float:
    """Ten others at a distance of 0.1, or the target itself, are the reference; an owner this far away states 0.05."""
    rng = np.random.default_rng(seed)
    made = promised("laplace", 1_600, 3.0)
    doubted = []
    for _ in range(runs):
        sides = np.where(np.arange(10) % 2, 0.3, 0.5)
        those = [Delivery(str(i), x + noise_with(rng, made, ""), made) for i, x in enumerate(sides)]
        reference = [0.4] if known else others(those, {one.owner: 0.1 for one in those})
        values = 0.4 + true + noise_with(rng, made, "")
        doubted.append(bool(check_delivery(values, made, 0.05, reference).doubts))
    return float(np.mean(doubted))


def measure(quick: bool = False) -> dict[str, object]:
    """Rates of false doubts beside the stated ones, and powers at one length."""
    false, power = false_table(20 if quick else 400), power_table(2 if quick else 20, (400,))
    largest = max(rate - alpha for (_, alpha, _), rate in false.items())
    chance = 4 * np.sqrt(0.1 * 0.9 / (20 if quick else 400))
    return {
        "false doubts where 0.1 is stated": max(rate for (_, alpha, _), rate in false.items() if alpha > 0.05),
        "false doubts where 0.01 is stated": max(rate for (_, alpha, _), rate in false.items() if alpha < 0.05),
        "difference above the stated rate, beyond chance": max(largest - chance, 0.0),
        **{f"{kind}, epsilon {eps:g}, {fault}": rate for (kind, eps, fault, _), rate in power.items()},
        "claim": "false doubts at most as stated",
    }


def print_tables(false: dict[Any, float], power: dict[Any, float]) -> None:
    """As Markdown."""
    print("| noise | stated | " + " | ".join(SHAPES) + " |\n|" + "---|" * (2 + len(SHAPES)))
    for kind in KINDS:
        for alpha in (0.1, 0.01):
            rates = " | ".join(f"{false[kind, alpha, shape]:.4f}" for shape in SHAPES)
            print(f"| {kind} | {alpha:g} | {rates} |")
    print("\n| noise | epsilon | fault | " + " | ".join(f"{m:,}" for m in LENGTHS) + " |\n|" + "---|" * 8)
    for kind in KINDS:
        for epsilon in EPSILONS:
            for fault in (*FAULTS, *LIES):
                rates = " | ".join(f"{power[kind, epsilon, fault, m]:.2f}" for m in LENGTHS)
                print(f"| {kind} | {epsilon:g} | {fault} | {rates} |")


def draw(power: dict[Any, float]) -> None:
    """Power by fault and length of the series, a pane for each noise and epsilon."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, panes = plt.subplots(2, 3, figsize=(11.5, 5.6), layout="constrained", sharex=True, sharey=True)
    faults = (*FAULTS, *LIES)
    for row, kind in zip(panes, KINDS, strict=True):
        for axes, epsilon in zip(row, EPSILONS, strict=True):
            found = np.array([[power[kind, epsilon, fault, m] for m in LENGTHS] for fault in faults])
            axes.imshow(found, cmap="Blues", vmin=0, vmax=1.25, aspect="auto")
            for (y, x), share in np.ndenumerate(found):
                ink = "white" if share > 0.7 else "#222222"
                axes.text(x, y, f"{100 * share:.0f}", ha="center", va="center", color=ink, fontsize=9)
            scale = promised(kind, 100, epsilon).scale
            title = f"{kind.capitalize()}, epsilon {epsilon:g}: noise of {scale:.2g} × the width"
            axes.set_title(title, fontsize=9.5, loc="left")
            axes.set_xticks(range(len(LENGTHS)), [f"{m:,}" for m in LENGTHS], fontsize=9)
            axes.set_yticks(range(len(faults)), faults, fontsize=9)
            axes.axhline(len(FAULTS) - 0.5, color="white", lw=4)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
    for axes in panes[1]:
        axes.set_xlabel("values in the series", fontsize=9)
    figure.suptitle(
        "Deliveries doubted, in per cent, where one honest one in 10,000 may be", fontsize=11, x=0.01, ha="left"
    )
    figure.savefig(PICTURE, dpi=120)


if __name__ == "__main__":
    rates, powers = false_table(400), power_table(10)
    print_tables(rates, powers)
    print("\nA whole series hidden, Laplace, epsilon 1:")
    for (what, values), doubted in series_table(10).items():
        print(f"{what}, {values} values: {doubted:.2f}")
    print("\nAgainst ten others at 0.1, stated 0.05 (1,600 values, Laplace, epsilon 3):")
    for distance in (0.1, 0.15, 0.2, 0.3, 0.4):
        known = power_of_others(distance, 50, known=True)
        print(f"in truth {distance}: {power_of_others(distance, 50):.2f}; with the target known {known:.2f}")
    draw(powers)
