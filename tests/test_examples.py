"""The shipped population is what its script makes."""

import polars as pl
from polars.testing import assert_frame_equal

from kantor.examples import HOUSEHOLDS, make_households


def test_the_shipped_file_can_be_made_again():
    assert_frame_equal(make_households(), pl.read_csv(HOUSEHOLDS))
