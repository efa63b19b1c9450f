"""What all tests share: reproducible Hypothesis runs and the published numbers."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

for _profile, _examples in (("thorough", 60), ("quick", 20)):  # `make test` and `make check`
    settings.register_profile(
        _profile, deadline=None, derandomize=True, max_examples=_examples, suppress_health_check=[HealthCheck.too_slow]
    )
settings.load_profile("thorough")

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def published():
    """The published results of the case study, first ten trials of normal owners (see data/README.md)."""
    with np.load(DATA / "gaussian_valuation.npz") as file:
        return {name: file[name] for name in file}


@pytest.fixture(scope="session")
def case():
    """The case study as published. Normal owners stand in for the sampled families, whose panels are tested apart."""
    from kantor.studies.figure import Case

    found = Case()
    normal = found.values("gaussian")
    found._known.update(uniform=normal, exponential=normal)
    return found


@pytest.fixture(scope="session")
def curves(case):
    """A figure's curves, as published."""
    import kantor as kt
    from kantor.studies.frames import Curves

    known = {}

    def of(name):
        if name not in known:
            known[name] = Curves(kt.studies.frame(name, case=case))
        return known[name]

    return of
