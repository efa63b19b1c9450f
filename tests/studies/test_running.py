"""What a run leaves behind: whole files, resumed where it stopped, and errors that say what to do."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import kantor as kt
from kantor.cli import main
from kantor.studies import store
from kantor.studies.running import is_complete, run
from kantor.studies.setting import Setting

KANTOR = Path(sys.executable).with_name("kantor")
SMALL = Setting(trials=2, owners=4)


def refused(capsys, *arguments):
    """What the command line says of bad input."""
    with pytest.raises(SystemExit) as end:
        main(["study", *map(str, arguments)])
    assert end.value.code == 2
    return capsys.readouterr().err


def test_a_study_leaves_a_table_two_drawings_and_a_line(tmp_path):
    assert run(["fig13"], tmp_path, SMALL) == ["fig13"]
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        f"fig13.{e}" for e in ("csv", "png", "provenance.json", "svg")
    ]
    line = json.loads((tmp_path / "fig13.provenance.json").read_text())
    assert (line["version"], line["seed"], line["trials"], line["owners"]) == (kt.__version__, 1345, 2, 4)
    assert line["seconds"] > 0
    table = pl.read_csv(tmp_path / "fig13.csv")
    assert table.columns == ["figure", "panel", "curve", "x", "y"]
    assert set(table["figure"]) == {"fig13"}
    assert b"Description" in (tmp_path / "fig13.png").read_bytes()


def test_what_is_complete_is_left_alone_and_what_is_not_is_made_again(tmp_path):
    run(["fig13"], tmp_path, SMALL)
    assert run(["fig13"], tmp_path, SMALL) == []
    assert not is_complete("fig13", tmp_path, Setting(trials=3, owners=4))
    (tmp_path / "fig13.csv").write_text("half a tab")
    assert not is_complete("fig13", tmp_path, SMALL)
    assert run(["fig13"], tmp_path, SMALL) == ["fig13"]
    (tmp_path / "fig13.png").unlink()
    assert not is_complete("fig13", tmp_path, SMALL)


@pytest.mark.slow
def test_a_run_is_the_same_in_one_process_and_in_two(tmp_path):
    names = ["fig06", "fig13"]
    run(names, tmp_path / "one", SMALL)
    told = []
    run(names, tmp_path / "two", SMALL, 2, lambda *step: told.append(step))
    for name in names:
        for ending in ("csv", "svg"):
            ours, theirs = ((tmp_path / folder / f"{name}.{ending}").read_bytes() for folder in ("one", "two"))
            assert ours == theirs
    assert told[-1] == (4, 4)


def test_valuations_are_kept_and_half_of_one_is_not_believed(tmp_path):
    table = store.valued_block(SMALL, "uniform", 0, 2)
    store.keep(tmp_path, SMALL, "uniform", table)
    assert (store.recall(tmp_path, SMALL, "uniform") == table).all()
    assert store.recall(tmp_path, SMALL, "exponential") is None
    file = next(tmp_path.rglob("*.npz"))
    file.write_bytes(file.read_bytes()[:100])
    assert store.recall(tmp_path, SMALL, "uniform") is None


def test_blocks_of_trials_are_those_of_the_whole():
    setting = Setting(trials=7, owners=3)
    parts = [store.valued_block(setting, "exponential", *block) for block in store.blocks(setting)]
    whole = store.valued_block(setting, "exponential", 0, 7)
    assert (pl.concat([pl.DataFrame(p.reshape(len(p), -1)) for p in parts]).to_numpy() == whole.reshape(7, -1)).all()


@pytest.mark.slow
def test_described_files_have_their_own_names(tmp_path):
    run(["fig14"], tmp_path, Setting(trials=2, owners=4, variant="as-described"))
    assert (tmp_path / "fig14-as-described.csv").exists()
    assert not (tmp_path / "fig14.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fig16"], "no figure is called 'fig16'"),
        (["fig10", "--trials", "0"], "trials is 0"),
        (["fig10", "--owners", "40"], "owners is 40"),
        (["fig10", "--jobs", "0"], "0 jobs"),
        (["fig10", "--out", "/proc/nothing"], "/proc/nothing"),
    ],
)
def test_bad_input_is_said_and_leaves_nothing(tmp_path, capsys, arguments, said):
    where = [] if "--out" in arguments else ["--out", tmp_path / "new"]
    assert said in refused(capsys, *arguments, *where)
    assert not list(tmp_path.rglob("*.csv"))


def test_a_file_in_the_place_of_the_folder(tmp_path, capsys):
    (tmp_path / "taken").write_text("mine")
    assert "this is a file" in refused(capsys, "fig11", "--out", tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"


def _listens():
    """A shell's background jobs ignore interrupts, and hand that down."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    command = [KANTOR, "study", "all", "--trials", "4", "--jobs", "2", "--out", str(tmp_path)]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=_listens
    ) as stopped:
        waited = time.monotonic() + 60
        while not list(tmp_path.glob("*.provenance.json")) and time.monotonic() < waited:
            time.sleep(0.05)
        os.killpg(stopped.pid, signal.SIGINT)
        assert stopped.wait(timeout=30) == 130
        said = stopped.stderr.read()
    assert "goes on from there" in said
    assert "Traceback" not in said
    setting = Setting(trials=4)
    before = [name for name in kt.studies.FIGURES if is_complete(name, tmp_path, setting)]
    assert 0 < len(before) < len(kt.studies.FIGURES)
    made = run(kt.studies.FIGURES, tmp_path, setting, 2)
    assert sorted([*before, *made]) == sorted(kt.studies.FIGURES)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".") and path.is_file()]
