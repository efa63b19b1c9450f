"""Times in words."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from kantor.service.agent.moments import clock_line, short, span, when

NOW = "2026-11-20T12:00:00.000000Z"


@pytest.fixture
def warsaw(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Warsaw")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 seconds"),
        (1, "1 second"),
        (61, "1 minute 1 second"),
        (3600, "1 hour"),
        (3601, "1 hour"),
        (90061, "1 day 1 hour"),
        (86400 * 7 + 60, "7 days"),
    ],
)
def test_spans(seconds, said):
    assert span(seconds) == said


def test_moments_are_told_in_both_zones(warsaw):
    assert when("2026-11-21T12:00:00.000000Z", NOW) == "Sat 21 Nov 2026, 13:00 CET (21 Nov 12:00 UTC), in 1 day"
    assert when("2026-11-20T11:59:00.000000Z", NOW).endswith("1 minute ago")
    assert short(NOW) == "20 Nov 13:00 CET"


def test_the_clocks_are_compared():
    here = datetime(2026, 11, 20, 12, tzinfo=UTC)
    assert "yours agrees" in clock_line(NOW, here)
    assert "yours is 3 minutes ahead" in clock_line(NOW, here + timedelta(minutes=3))
    assert "yours is 3 minutes behind" in clock_line(NOW, here - timedelta(minutes=3))
