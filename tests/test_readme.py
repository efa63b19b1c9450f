"""The README's code runs as it stands, and its commands exist."""

import re
from pathlib import Path

import pytest

import kantor as kt
from kantor.cli import app

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS)
def test_code_runs(block, capsys):
    exec(compile(block, str(README), "exec"), {})  # noqa: S102
    assert "alone" in capsys.readouterr().out


def test_there_is_code():
    assert BLOCKS


def test_names_in_the_readme_exist():
    for name in set(re.findall(r"`kt\.(\w+)", README.read_text())):
        assert hasattr(kt, name), name


def test_commands_in_the_readme_exist():
    known = {command.name for command in app.registered_commands}
    for name in set(re.findall(r"^\$ kantor (\w+)", README.read_text(), flags=re.MULTILINE)):
        assert name in known, name


def test_links_lead_somewhere():
    for link in re.findall(r"\]\(([^)#]+)\)", README.read_text()):
        assert (README.parent / link).exists(), link


def test_every_public_name_is_there_and_documented():
    for name in kt.__all__:
        assert getattr(kt, name) is not None
        if callable(getattr(kt, name)):
            assert getattr(kt, name).__doc__, name
