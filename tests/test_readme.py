"""The code in the README and in the docs runs as it stands, and the names, commands and links in them exist."""

import re
from pathlib import Path

import pytest

import kantor as kt
from kantor.cli import app

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
WITH_CODE = [page for page in PAGES if "```python" in page.read_text()]


def names(pages):
    return [str(page.relative_to(ROOT)) for page in pages]


@pytest.mark.parametrize("page", WITH_CODE, ids=names(WITH_CODE))
def test_code_runs(page, tmp_path, monkeypatch):
    """The blocks of a page run one after another, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    shared = {"__name__": "__page__"}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        exec(compile(block, str(page), "exec"), shared)  # noqa: S102


def test_there_is_code():
    assert README in WITH_CODE


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_names_exist(page):
    for name in set(re.findall(r"`kt\.(\w+)", page.read_text())):
        assert hasattr(kt, name), name


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_commands_exist(page):
    known = {command.name for command in (*app.registered_commands, *app.registered_groups)}
    for name in set(re.findall(r"^\$ kantor (\w+)", page.read_text(), flags=re.MULTILINE)):
        assert name in known, name


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert link.startswith("http") or (page.parent / link).exists(), link


def test_every_public_name_is_there_and_documented():
    for name in kt.__all__:
        assert getattr(kt, name) is not None
        if callable(getattr(kt, name)):
            assert getattr(kt, name).__doc__, name
