"""Result files appear whole or not at all."""

import os

import polars as pl
import pytest

from kantor.errors import InputError
from kantor.writing import check_destination, replacing, write_table


def test_failure_keeps_the_old_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")

    def write_half():
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_success_replaces_it_with_usual_permissions(tmp_path):
    path = tmp_path / "a.csv"
    write_table(pl.DataFrame({"a": [1]}), path)
    assert path.read_text() == "a\n1\n"
    plain = tmp_path / "plain"
    plain.write_text("")
    assert path.stat().st_mode == plain.stat().st_mode


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "kept").mkdir()
    link, kept = tmp_path / "a.csv", tmp_path / "kept" / "b.csv"
    link.symlink_to(kept)
    write_table(pl.DataFrame({"a": [1]}), link)
    assert link.is_symlink()
    assert kept.read_text() == "a\n1\n"
    assert [p.name for p in kept.parent.iterdir()] == ["b.csv"]


def test_a_write_protected_file_is_kept(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda place, _: place != path)  # whoever runs the tests may be allowed to all
    with pytest.raises(InputError, match="write-protected"):
        write_table(pl.DataFrame({"a": [1]}), path)
    assert path.read_text() == "old"


def test_a_file_without_any_right_to_write_is_kept_from_root_too(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    path.chmod(0o444)
    with pytest.raises(InputError, match="write-protected"):
        write_table(pl.DataFrame({"a": [1]}), path)
    assert path.read_text() == "old"


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "d.csv").mkdir()
    for name, message in {"a.txt": "not written as", "d.csv": "folder", "x/a.csv": "no folder"}.items():
        with pytest.raises(InputError, match=message):
            check_destination(tmp_path / name)
