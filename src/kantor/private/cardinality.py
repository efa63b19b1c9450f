"""The paper's route for empirical data: the distance as the size of a set intersection, between two.

Here one side holds the target in the clear (a buyer's reference data, a public profile) and an owner asks how far its
data lie from it. Both encode their cumulative counts as a set: for each inner edge k and each level j the element
(k, j, [j <= F(k)]). However the data lie, the set has (bins - 1) levels elements, so that its size says nothing; the
obvious encoding, {(k, j): j <= F(k)}, has a size that gives the mean away. Two such sets have in common, at edge k,
levels - |F(k) - G(k)| elements, so

    W = width/levels * ((bins - 1) levels - |A and B|).

openmined-psi computes the size with elliptic-curve commutative encryption (Diffie-Hellman), with the plain ("raw")
structure: its Bloom filter and Golomb sets count too many.

The owner learns the distance alone, the holder nothing but that somebody asked. Both are trusted to follow the
protocol: an owner that asks with chosen sets instead of its own learns as many counts of the target as it asks
questions, so the holder answers each owner a limited number of times, with a fresh key each time. Compared with
`histogram` (see `benchmarks/private_distances.py`) it needs no third party, and takes some thousand times as long.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from kantor.errors import InputError, MissingExtraError, PartyError
from kantor.private.histogram import Histogram

__all__ = ["Asker", "Holder"]

_MOST = 1 << 20


class Holder:
    """Who has the target: answers each owner at most `queries` times. method: the bins and levels, public."""

    def __init__(self, method: Histogram, target: Any, queries: int = 1) -> None:
        if queries < 1:
            raise InputError(f"the limit is {queries} queries", remedy="Give at least 1.", value=queries)
        self.method, self.queries = method, queries
        self._elements = _elements(method, target, "the target")
        self._asked: Counter[str] = Counter()

    def answer(self, owner: str, request: bytes) -> tuple[bytes, bytes]:
        """The encrypted target and the answer to a request; charged to this owner before it is computed."""
        psi = _psi()
        if self._asked[owner] >= self.queries:
            raise PartyError(
                f"owner {owner} has asked {self.queries} times already",
                remedy="More answers would give the target away. Enrol again for the next market.",
            )
        self._asked[owner] += 1
        asked = psi.Request()
        try:
            asked.ParseFromString(request)
        except Exception as fault:
            raise PartyError(f"the request of owner {owner} is none", remedy="Ask with this version.") from fault
        size = len(self._elements)
        if len(asked.encrypted_elements) != size or len(set(asked.encrypted_elements)) != size:
            raise PartyError(
                f"the request of owner {owner} has {len(set(asked.encrypted_elements))} different elements of "
                f"{len(asked.encrypted_elements)}, where {size} belong",
                remedy="Ask with the market's bins and levels.",
            )
        server = psi.server.CreateWithNewKey(False)
        setup = server.CreateSetupMessage(1e-9, size, self._elements, psi.DataStructure.RAW)
        return setup.SerializeToString(), server.ProcessRequest(asked).SerializeToString()


class Asker:
    """An owner that asks once."""

    def __init__(self, method: Histogram, data: Any, owner: str | None = None) -> None:
        self.method = method
        self._elements = _elements(method, data, owner)
        self._client = _psi().client.CreateWithNewKey(False)

    def request(self) -> bytes:
        """What is sent to the holder: encrypted elements, always equally many."""
        content: bytes = self._client.CreateRequest(self._elements).SerializeToString()
        return content

    def distance(self, setup: bytes, response: bytes) -> float:
        """W, from the holder's answer."""
        psi = _psi()
        target, answered = psi.ServerSetup(), psi.Response()
        try:
            target.ParseFromString(setup)
            answered.ParseFromString(response)
            common = self._client.GetIntersectionSize(target, answered)
        except Exception as fault:
            raise PartyError("the holder's answer cannot be read", remedy="There is no result. Ask again.") from fault
        missing = len(self._elements) - int(common)
        if not 0 <= missing <= len(self._elements):
            raise PartyError(f"{common} common elements are impossible", remedy="There is no result. Ask again.")
        return missing * self.method.width / self.method.levels


def _elements(method: Histogram, data: Any, owner: str | None) -> list[str]:
    if method.size * method.levels > _MOST:
        raise InputError(
            f"{method.size} edges of {method.levels} levels make {method.size * method.levels:,} elements",
            remedy=f"Choose bins and levels whose product is at most {_MOST:,}, or the method histogram.",
        )
    counts = method.encode(data, owner).astype(np.int64)
    return [
        f"{edge}:{level}:{int(level <= count)}"
        for edge, count in enumerate(counts)
        for level in range(1, method.levels + 1)
    ]


def _psi() -> Any:
    try:
        import private_set_intersection.python as psi
    except ImportError as missing:
        raise MissingExtraError("Distances by set intersection", "openmined-psi", "psi") from missing
    return psi
