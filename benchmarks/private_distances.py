"""The claim: private distances of 1,000 owners x 100 bins in 60 s, and of 100,000 owners' parameters in 5 s.

Three party processes on this machine talk over TLS; what is timed is from the market's "compute" to its result. As all
three share this machine's cores, each party's own processor time is given too: it is what three machines would take.
What a user would otherwise do is send the raw data to somebody and call `kantor.distances`.

`python -m benchmarks.private_distances` measures how the times grow and writes docs/theory/private-scale.csv.

    python -m benchmarks
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import kantor as kt
from benchmarks.timing import timed
from kantor.owners.distributions import Vector
from kantor.private.aligned import Aligned
from kantor.private.client import Market, Valuation, send_shares
from kantor.private.histogram import Histogram
from kantor.private.methods import Method
from kantor.private.parameters import Parameters
from kantor.private.run import value_in_memory
from kantor.private.trio import Trio, local_trio

SCALE = Path(__file__).parents[1] / "docs" / "theory" / "private-scale.csv"


def series(owners: int, length: int) -> Vector:
    """Owners with shapes of their own, between 0 and 10."""
    rng = np.random.default_rng(0)
    shapes = rng.uniform(1, 4, (owners, 1))
    return rng.beta(shapes, 2.0, (owners, length)) * 10


def measure(quick: bool = False) -> dict[str, object]:
    """Seconds and megabytes for each method, and the differences from the distances in the clear."""
    if quick:
        return {**_exactness(), "claim": "see the full run"}
    found: dict[str, object] = {}
    with local_trio() as trio:
        for title, method, numbers in _cases():
            taken = run(trio, method, numbers)
            found |= {f"{title}, {what}": value for what, value in taken.items()}
    return {**found, **_exactness(), **_intersection(), "claim": "histogram 60 s, parameters 5 s of computing"}


def run(trio: Trio, method: Method, numbers: dict[str, Vector]) -> dict[str, float]:
    """Value these owners; seconds of the whole, and processor seconds of the busiest party."""
    market = Market(trio.roster, trio.market, method, numbers)
    send_shares(trio.roster, market.session, {name: (market.tokens[name], part) for name, part in numbers.items()})
    before = _processor(trio)
    result: Valuation
    seconds, result = timed(market.compute)
    market.close()
    assert result.owners == len(numbers)
    busy = max(after - earlier for after, earlier in zip(_processor(trio), before, strict=True))
    return {"seconds": seconds, "processor seconds of a party": busy}


def _cases() -> list[tuple[str, Method, dict[str, Vector]]]:
    histogram = Histogram(0, 10, bins=100)
    rng = np.random.default_rng(0)
    stated = np.rint(np.column_stack([rng.uniform(0, 10, 100_000), rng.uniform(0.5, 3, 100_000)]) * 2**16)
    return [
        ("histogram 1,000 x 100", histogram, named(histogram, series(1000, 200))),
        (
            "parameters 100,000 owners, sums opened",
            Parameters(-5, 5, 3, reveal="sums"),
            {str(k): row for k, row in enumerate(stated)},
        ),
        ("aligned 100 x 365", Aligned(0, 10, 365), named(Aligned(0, 10, 365), series(100, 365))),
    ]


def named(method: Method, data: Any) -> dict[str, Vector]:
    """Each owner's numbers under a name."""
    return {str(k): method.encode(row) for k, row in enumerate(data)}


def _processor(trio: Trio) -> list[float]:
    fields = [Path(f"/proc/{process.pid}/stat").read_text().split()[13:15] for process in trio.processes]
    return [sum(map(int, ticks)) / 100 for ticks in fields]


def _exactness() -> dict[str, object]:
    data = series(20, 32)
    histogram, aligned = Histogram(0, 10, bins=10, levels=32), Aligned(0, 10, 32)
    binned = [histogram.binned(row) for row in data]
    shared = value_in_memory(histogram, data).distances
    close = value_in_memory(aligned, data).distances
    return {
        "difference of histogram from binned data": float(
            np.abs(shared - kt.distances(binned, aggregate="mixture")).max()
        ),
        "largest error of histogram / bound": float(
            np.abs(shared - kt.distances(data, aggregate="mixture")).max() / histogram.error_bound
        ),
        "largest error of aligned / bound": float(np.abs(close - kt.distances(data)).max() / aligned.error_bound),
    }


def _intersection() -> dict[str, object]:
    """The paper's route, set intersection, for one owner; and histogram for as many owners in the same time."""
    from kantor.private.cardinality import Asker, Holder

    method = Histogram(0, 10, bins=100, levels=64)
    owner, target = series(2, 64)
    holder = Holder(method, target)
    asker = Asker(method, owner)
    seconds, value = timed(lambda: asker.distance(*holder.answer("owner", asker.request())))
    clear = kt.wasserstein(method.binned(owner), method.binned(target))
    return {
        "set intersection, 100 bins x 64 levels, seconds an owner": seconds,
        "difference of set intersection from binned data": abs(value - clear),
    }


def scale() -> None:
    """How the times grow, as a table for the documentation."""
    rows = ["method,owners,columns,seconds,processor_seconds_of_a_party"]
    with local_trio(patience=600) as trio:
        for owners, bins in ((100, 100), (300, 100), (1000, 100), (3000, 100), (1000, 30), (1000, 300)):
            histogram = Histogram(0, 10, bins=bins)
            taken = run(trio, histogram, named(histogram, series(owners, 200)))
            rows.append(f"histogram,{owners},{bins},{taken['seconds']:.3g},{taken['processor seconds of a party']:.3g}")
        for owners, length in ((10, 100), (10, 365), (10, 1000), (10, 3000), (100, 365), (300, 365)):
            aligned = Aligned(0, 10, length)
            taken = run(trio, aligned, named(aligned, series(owners, length)))
            rows.append(f"aligned,{owners},{length},{taken['seconds']:.3g},{taken['processor seconds of a party']:.3g}")
        for owners in (1000, 10_000, 100_000):
            rng = np.random.default_rng(0)
            stated = np.rint(np.column_stack([rng.uniform(0, 10, owners), rng.uniform(0.5, 3, owners)]) * 2**16)
            numbers = {str(k): row for k, row in enumerate(stated)}
            taken = run(trio, Parameters(-5, 5, 3, reveal="sums"), numbers)
            rows.append(f"parameters,{owners},2,{taken['seconds']:.3g},{taken['processor seconds of a party']:.3g}")
    SCALE.parent.mkdir(exist_ok=True)
    SCALE.write_text("\n".join(rows) + "\n")
    print("\n".join(rows))


if __name__ == "__main__":
    scale()
