"""What all tests share: reproducible Hypothesis runs and the published numbers."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "kantor", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("kantor")

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def published():
    """The published results of the case study, first ten trials of normal owners (see data/README.md)."""
    with np.load(DATA / "gaussian_valuation.npz") as file:
        return {name: file[name] for name in file}
