"""Crowds of bidders, at modest size; `make soak` takes them to thousands."""

import pytest

from service.faults.crowds import at_closing, repeated

pytestmark = pytest.mark.slow


def test_a_key_has_one_effect_however_often_it_is_sent(tmp_path, url):
    assert repeated(tmp_path, url, 60, seed=1) == []


def test_receipts_are_the_closed_set(tmp_path, url):
    faults, in_time = at_closing(tmp_path, url, 120, seed=2)
    assert faults == []
    assert in_time < 120
