"""The page: whole, self-contained, decided by the tables."""

import re
from html.parser import HTMLParser

import pytest

import kantor as kt
from kantor.studies import report
from kantor.studies.figure import Claim, Difference
from kantor.studies.page import page
from kantor.studies.report import Section, sections, write_report
from kantor.studies.running import run
from kantor.studies.setting import Setting

SMALL = Setting(trials=2, owners=4)
DESCRIBED = Setting(trials=2, owners=4, variant="as-described")


class Tags(HTMLParser):
    """Opens and closes, and whatever is fetched."""

    def __init__(self):
        super().__init__()
        self.open, self.fetched = [], []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)
        self.fetched += [value for name, value in attributes if name in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def section(claims=(), differences=()):
    made = {"version": "0", "made": "today", "seconds": 1.0}
    return Section(
        kt.studies.catalogue.figure_of("fig11"),
        list(claims),
        {"never": Claim("never", True, "4")},
        list(differences),
        "data:,x",
        None,
        made,
    )


def test_the_page_stands_alone_and_says_what_is_decided():
    claims = [Claim("a < b", True, "1 & 2"), Claim("never", False, "3")]
    text = page([section(claims, [Difference("says", "does", "by 4", "fig11 somewhere")])], SMALL)
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert all(address.startswith(("data:", "#")) for address in tags.fetched)
    assert "<script" not in text
    assert "a &lt; b" in text
    assert re.search(r"supports <strong>1</strong>\s+and\s+does not support <strong>1</strong>", text)
    assert "As described it is supported: 4" in text
    assert '<a href="#fig11">fig11 somewhere</a>' in text


@pytest.mark.slow
def test_a_report_of_complete_studies(tmp_path, monkeypatch):
    names = ("fig06", "fig12", "fig15")
    monkeypatch.setattr(report, "FIGURES", names)
    monkeypatch.setattr(report, "BEYOND", ("reference",))
    run([*names, "reference"], tmp_path, SMALL)
    with pytest.raises(kt.errors.InputError, match="fig06-as-described is not complete"):
        write_report(tmp_path, SMALL)
    run(names, tmp_path, DESCRIBED)
    text = write_report(tmp_path, SMALL).read_text()
    assert len(re.findall("data:image/svg", text)) == 7
    for found in sections(tmp_path, SMALL):
        assert f'id="{found.figure.name}"' in text
        assert found.claims
