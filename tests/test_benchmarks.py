"""The benchmarks run and measure what they claim to; no time is asserted."""

import pytest
from benchmarks.__main__ import CLAIMS


@pytest.mark.slow
@pytest.mark.parametrize("title", CLAIMS)
def test_quick_run(title):
    numbers = CLAIMS[title].measure(quick=True)
    differences = [value for name, value in numbers.items() if "difference" in name]
    assert differences
    assert all(value <= 1e-9 for value in differences)
