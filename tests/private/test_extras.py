"""Without the optional libraries, whoever needs one is told which."""

import sys

import pytest

from kantor.errors import MissingExtraError
from kantor.owners.accounting import cost_of, spent
from kantor.owners.release import promise
from kantor.private.cardinality import Holder
from kantor.private.histogram import Histogram
from kantor.private.identity import make_keys
from kantor.private.randomness import Stream
from kantor.private.trio import free_addresses


def without(monkeypatch, library):
    for name in [name for name in sys.modules if name == library or name.startswith(library + ".")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, library, None)


@pytest.mark.parametrize(
    ("library", "call", "extra"),
    [
        ("opendp", lambda _: promise("laplace", 7, bounds=(0, 1.2345), unit="record", epsilon=1), "private"),
        ("cryptography", lambda _: Stream(bytes(32)), "private"),
        ("cryptography", lambda folder: make_keys(folder, free_addresses()), "private"),
        ("private_set_intersection", lambda _: Holder(Histogram(0, 1, levels=9), [0.5], 1).answer("a", b""), "psi"),
    ],
)
def test_the_extra_is_named(monkeypatch, tmp_path, library, call, extra):
    without(monkeypatch, library)
    with pytest.raises(MissingExtraError, match=rf"pip install 'kantor\[{extra}\]'"):
        call(tmp_path)


def test_composition_names_its_extra(monkeypatch):
    one = cost_of(promise("laplace", 7, bounds=(0, 1), unit="record", epsilon=0.123))
    without(monkeypatch, "dp_accounting")
    with pytest.raises(MissingExtraError, match=r"dp-accounting.*kantor\[private\]"):
        spent([one] * 3, 1.23e-6)
