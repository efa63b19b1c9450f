"""The demo: a small one for real, and its drawings."""

import json
import re
import subprocess
import sys
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from kantor.demo.drawing import Curve, Dot, curves, scatter, timeline
from kantor.demo.people import DAYS, HIGH, households
from kantor.demo.story import _clear
from kantor.errors import InputError


@pytest.mark.slow
def test_a_small_demo(tmp_path):
    command = [sys.executable, "-m", "kantor", "demo", "--out", str(tmp_path / "demo"), "--owners", "5"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    for word in ("5 households bid", "settled", "auditor bundle holds", "report.html"):
        assert word in done.stdout
    told = json.loads((tmp_path / "demo" / "summary.json").read_text())
    assert told["verified"] == {"public": True, "auditor": True}
    assert 0 < told["bought"] <= 5
    assert told["spend"] <= told["budget"]
    page = (tmp_path / "demo" / "report.html").read_text()
    assert page.count("<svg") == 3
    assert not re.search(r'(src|href)="https?://', page)
    raw = households(5)[0].loads
    kept = (tmp_path / "demo" / "server" / "market.db").read_bytes()
    assert np.asarray(raw, dtype="<f8").tobytes() not in kept


def test_people_fit_their_market():
    people = households(40)
    assert len({person.name for person in people}) == 40
    for person in people:
        assert person.loads.size == DAYS
        assert 0 < person.loads.min() <= person.loads.max() <= HIGH
        assert 0 < person.price < 500
    assert all((one.loads == other.loads).all() for one, other in zip(people, households(40), strict=True))


def test_a_folder_that_no_demo_made_is_left_alone(tmp_path):
    (tmp_path / "server").mkdir()
    (tmp_path / "server" / "mine").write_text("x")
    with pytest.raises(InputError, match="no demo has made"):
        _clear(tmp_path)
    assert (tmp_path / "server" / "mine").read_text() == "x"
    (tmp_path / ".kantor-demo").touch()
    _clear(tmp_path)
    assert not (tmp_path / "server").exists()


def test_drawings_are_whole_and_hold_every_point():
    dots = [Dot(1.0, 2.0, True, 'a "quoted" <name>'), Dot(3.0, 0.5, False, "b")]
    for drawing, circles in (
        (scatter(dots, ("x", "y & z"), "points"), 2),
        (curves([Curve("one", [0.0, 1.0], [2.0, 2.0], "truth")], ("x", "y"), "lines"), 0),
        (timeline([("enrolling", 0.0, 2.0), ("bidding", 2.0, 2.0)], "stages"), 0),
    ):
        tree = ET.fromstring(drawing)  # noqa: S314  our own
        assert len(list(tree.iter("circle"))) == circles
        for part in tree.iter():
            for name in ("x", "y", "cx", "cy", "x1", "y1"):
                assert name not in part.attrib or np.isfinite(float(part.attrib[name]))
