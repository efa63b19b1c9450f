"""Whether what one party sees tells two data sets apart.

A party's view is every message that it receives and every number that is opened to it. For each data set the protocol
runs many times; everything that the party knows beforehand or is given (its keys, its shares of the inputs, the coins)
is held fixed, and only what it does not know is drawn afresh (the third key, which two others share; the third
component follows from the data). A protocol that shows nothing gives views of one distribution, whatever the data: then
the frequencies of all bits, and of the bits of differences and exclusive ors of pairs of messages (which a mask that is
used twice would show), agree between the data sets up to chance.

The verdict is the largest of all z statistics of these frequencies, against the bound that chance exceeds once in a
million, for so many statistics.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from unittest import mock

import numpy as np
import scipy

from kantor.private import products
from kantor.private.engine import Engine
from kantor.private.run import run_party
from kantor.private.sharing import PARTIES
from kantor.private.wire import memory_wires

WORDS = 3
PAIRS = 1500


@dataclass(frozen=True)
class Comparison:
    """The largest z, the bound for chance, and whether lengths and order of the messages agree."""

    largest: float
    bound: float
    same_shape: bool

    @property
    def alike(self):
        return self.same_shape and self.largest <= self.bound


def compare_views(method, first, second, party, runs=80, engine=Engine):
    """Run the protocol on both data sets and compare what this party sees."""
    rng = np.random.default_rng(17)
    known = rng.integers(0, 2**64, (2, len(first), method.size), dtype=np.uint64)
    with mock.patch.object(products.secrets, "token_bytes", lambda size: b"c" * size):
        views = [[_view(method, data, party, known, run, engine) for run in range(runs)] for data in (first, second)]
    shapes = {tuple((sender, label, len(words)) for sender, label, words in view) for side in views for view in side}
    if len(shapes) > 1:
        return Comparison(np.inf, 0.0, same_shape=False)
    words = [np.array([_features(view) for view in side]) for side in views]
    z = np.concatenate([_z(*(side[:, part] for side in words)) for part in _chunks(words[0].shape[1])])
    bound = scipy.stats.norm.isf(0.5e-6 / z.size)
    return Comparison(float(z.max()), float(bound), same_shape=True)


def _view(method, data, party, known, run, engine_type):
    numbers = np.array([method.encode(values) for values in data]).astype(np.int64).view(np.uint64)
    components = {party: known[0], (party + 1) % PARTIES: known[1]}
    components[(party + 2) % PARTIES] = numbers - known[0] - known[1]
    wires = memory_wires()
    wires[party].received = []
    seen = []

    def key(index):
        fresh = f"{run} {np.sum(numbers)}" if index == (party + 2) % PARTIES else ""
        return f"key {index} {fresh}".encode().ljust(32, b".")[:32]

    def one(index):
        engine = engine_type(wires[index], key(index))
        if index == party:
            opening = engine.open
            engine.open = lambda rows: seen.append(opening(rows)) or seen[-1]
        rows = np.stack([components[component] for component in engine.holds])
        run_party(engine, method, rows, rows[:, :0])

    with ThreadPoolExecutor(PARTIES) as pool:
        list(pool.map(one, range(PARTIES)))
    # Two senders' messages may arrive in any order; each sender's own are in order.
    ordered = sorted(wires[party].received, key=lambda message: message[0])
    return [(s, what, np.frombuffer(c[: len(c) // 8 * 8], dtype=np.uint64)) for s, what, c in ordered] + [
        (party, "opened", values.ravel()) for values in seen
    ]


def _features(view):
    """Some words of each message, and differences and exclusive ors of pairs of them."""
    words = np.concatenate(
        [words[np.linspace(0, len(words) - 1, WORDS).astype(int)] for _, _, words in view if len(words)]
    )
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, len(words), (2, PAIRS))
    left = np.concatenate([left, np.arange(len(words) - WORDS)])
    right = np.concatenate([right, np.arange(WORDS, len(words))])
    return np.concatenate([words, words[left] - words[right], words[left] ^ words[right]])


def _chunks(count):
    return [slice(start, start + 500) for start in range(0, count, 500)]


def _z(first, second):
    """Two-sample z of the frequency of each bit."""
    shares = [
        np.unpackbits(side.view(np.uint8), axis=1).mean(axis=0) for side in map(np.ascontiguousarray, (first, second))
    ]
    pooled = (shares[0] + shares[1]) / 2
    spread = np.sqrt(np.maximum(pooled * (1 - pooled), 1e-3) * 2 / len(first))
    return np.abs(shares[0] - shares[1]) / spread
