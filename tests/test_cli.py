"""The command line as a user meets it: its output, its exit code, and what it leaves behind.

Starting a process takes longer than most commands do, so that arguments are tried in this one; pipes, terminals, full
disks and interruptions are met by the installed command in a process of its own.
"""

import contextlib
import io
import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from kantor.cli import main

KANTOR = Path(sys.executable).with_name("kantor")


def kantor(*arguments, cwd="."):
    """The command run here, on lines of 200 characters."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.ExitStack() as around:
        around.enter_context(pytest.MonkeyPatch.context()).setenv("COLUMNS", "200")
        for context in (contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)):
            around.enter_context(context)
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
    return subprocess.CompletedProcess(arguments, ended.value.code, out.getvalue(), err.getvalue())


def installed(*arguments, **options):
    """The command as it is installed, in a process of its own."""
    return subprocess.run(
        [KANTOR, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120, **options
    )


def shown_on_a_terminal(*arguments, width=100):
    main, worker = pty.openpty()
    with subprocess.Popen(
        [KANTOR, *map(str, arguments)], stdout=worker, stderr=worker, env={**os.environ, "COLUMNS": str(width)}
    ) as run:
        code = run.wait(timeout=60)
        os.close(worker)
        shown = os.read(main, 100_000).decode()
    os.close(main)
    return code, shown


@pytest.fixture
def owners(tmp_path):
    path = tmp_path / "owners.csv"
    path.write_text("ann,bob,cleo\n0,4,8\n2,6,10\n")
    return path


def test_value_prints_csv_into_a_pipe(owners):
    for run in (kantor, installed):
        done = run("value", owners)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "owner,distance\nann,4.0\nbob,0.0\ncleo,4.0\n"


def test_value_prints_a_table_on_a_terminal(owners):
    _, shown = shown_on_a_terminal("value", owners, width=80)
    assert "Wasserstein distance" in shown
    assert "cleo" in shown
    assert "│" in shown


def test_names_are_shown_as_they_are(tmp_path):
    path = tmp_path / "owners.csv"
    path.write_text("[red]house,[/x],[b]\n1,2,3\n")
    code, shown = shown_on_a_terminal("value", path)
    assert code == 0
    assert "[red]house" in shown
    assert "[/x]" in shown


def test_a_full_disk_is_said(owners):
    with Path("/dev/full").open("w") as full:
        broken = subprocess.run([KANTOR, "value", owners], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert broken.returncode == 2
    assert "Traceback" not in broken.stderr


def test_json(owners):
    answer = json.loads(kantor("value", owners, "--metric", "ks", "--json").stdout)
    assert answer["metric"] == "ks"
    assert [row["owner"] for row in answer["owners"]] == ["ann", "bob", "cleo"]
    assert answer["owners"][0]["distance"] == pytest.approx(1)


def test_infinity_is_null_in_json_and_inf_in_csv(owners):
    arguments = ("value", owners, "--metric", "kl", "--bins", "3")
    assert json.loads(kantor(*arguments, "--json").stdout)["owners"][0]["distance"] is None
    assert "ann,inf" in kantor(*arguments).stdout


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_result_file(owners, tmp_path, ending):
    out = tmp_path / f"values.{ending}"
    assert kantor("value", owners, "--out", out).returncode == 0
    table = pl.read_csv(out) if ending == "csv" else pl.read_parquet(out)
    assert table.columns == ["owner", "distance"]
    assert table["distance"].to_list() == [4.0, 0.0, 4.0]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["owners.csv", out.name]


def test_target_aggregate_and_ignored_column(tmp_path):
    path = tmp_path / "owners.csv"
    path.write_text("day,a,b\n2020-01-01,1,5\n2020-01-02,2,8\n")
    target = tmp_path / "target.csv"
    target.write_text("load\n0\n")
    assert kantor("value", path, "--ignore", "day", "--target", target).stdout == "owner,distance\na,1.5\nb,6.5\n"
    assert kantor("value", path, "--ignore", "day", "--aggregate", "mixture").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["value", "missing.csv"], "missing.csv: there is no such file"),
        (["value", "owners.csv", "--target", "none.csv"], "none.csv: there is no such file"),
        (["value", "owners.csv", "--out", "x.txt"], "x.txt: results are not written as .txt"),
        (["value", "owners.csv", "--out", "no/such/x.csv"], "there is no folder no/such"),
        (["value", "owners.csv", "--bins", "3"], "no meaning for --metric wasserstein"),
        (["value", "owners.csv", "--metric", "manhattan"], "manhattan"),
        (["value"], "Missing argument"),
        (["valeu"], "No such command"),
        (["value", "owners.csv", "--out", "owners.csv"], "replace the data it comes from"),
        (["value", "owners.csv", "--out", "/proc/x.csv"], "/proc/x.csv"),
        (["demo", "--out", "owners.csv"], "this is a file"),
        (["demo", "--out", "/proc/x"], "cannot be made"),
    ],
)
def test_mistakes_go_to_stderr_with_code_2_and_change_nothing(owners, arguments, message):
    before = owners.read_bytes()
    done = kantor(*arguments, cwd=owners.parent)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert [p.name for p in owners.parent.iterdir()] == ["owners.csv"]
    assert owners.read_bytes() == before


def test_the_installed_command_fails_with_code_2(owners):
    for arguments in (["value", "missing.csv"], ["value", "owners.csv", "--metric", "manhattan"]):
        done, here = installed(*arguments, cwd=owners.parent), kantor(*arguments, cwd=owners.parent)
        assert (done.returncode, done.stdout) == (here.returncode, here.stdout) == (2, "")
        assert "Traceback" not in done.stderr
        assert "missing.csv: there is no such file" in done.stderr or "manhattan" in done.stderr


def test_mistakes_are_json_too(owners):
    owners.write_text("ann,bob\n1,2\n3,x\n")
    done = kantor("value", owners, "--json")
    assert done.returncode == 2
    failure = json.loads(done.stderr)
    assert failure["where"] == {"file": str(owners), "row": 3, "column": "bob"}
    assert failure["value"] == "x"
    assert failure["remedy"]
    usage = kantor("value", owners, "--metric", "manhattan", "--json")
    assert usage.returncode == 2
    assert "manhattan" in json.loads(usage.stderr)["message"]


def test_an_interrupted_run_leaves_no_half_file(tmp_path):
    rng = np.random.default_rng(0)
    pl.DataFrame({f"o{i}": rng.normal(size=2000) for i in range(1500)}).write_parquet(tmp_path / "owners.parquet")
    out = tmp_path / "values.csv"
    out.write_text("old\n")
    command = [KANTOR, "value", tmp_path / "owners.parquet", "--metric", "kl", "--density", "kernel", "--out", out]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        time.sleep(2.0)
        run.kill()
    assert out.read_text() == "old\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["owners.parquet", "values.csv"]


def test_a_reader_that_stops_early_is_no_error(tmp_path):
    pl.DataFrame({f"o{i}": [float(i), 1.0] for i in range(20_000)}).write_parquet(tmp_path / "o.parquet")
    pipe = f"'{KANTOR}' value '{tmp_path}/o.parquet' | head -2"
    done = subprocess.run(["bash", "-c", pipe], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.startswith("owner,distance\n")
    assert done.stderr == ""


BIDS = """owner,distance,reserve
anna,0.5,0.05
ben,0.8,0.02
cleo,0.3,0.3
dora,1.5,0.01
emil,0.6,0.12
fay,0.4,0.08
"""


@pytest.fixture
def bids(tmp_path):
    path = tmp_path / "bids.csv"
    path.write_text(BIDS)
    return path


JOINT = ("--mechanism", "joint", "--reference-loss", "2")


def test_clear_prints_every_owner_into_a_pipe(bids):
    done = kantor("clear", bids, *JOINT)
    assert done.returncode == 0
    assert "Bought: 2 of 6 owners" in done.stderr  # the table alone goes into the pipe
    table = pl.read_csv(done.stdout.encode())
    assert table.columns == ["owner", "selected", "payment", "distance", "reserve", "virtual"]
    assert table.filter("selected")["owner"].to_list() == ["anna", "fay"]
    assert table["virtual"].to_list() == [0.1, 0.04, 0.6, 0.02, 0.24, 0.16]


def test_clear_tells_a_person_what_happened(bids):
    code, shown = shown_on_a_terminal("clear", bids, *JOINT, "--explain", "cleo")
    assert code == 0
    for words in ("anna", "2 of 6 owners", "proved optimal", "No owner gains", "cleo asked for 0.3", "0.120735"):
        assert words in shown
    assert "dora" not in shown
    code, shown = shown_on_a_terminal("clear", bids, "--mechanism", "exogenous", "--budget", "0")
    assert code == 0
    assert "Nothing is bought of 6 owners" in shown


@pytest.mark.parametrize(
    "options",
    [
        (*JOINT, "--payments", "virtual"),
        (*JOINT, "--lipschitz", "3", "--population", "infinite", "--confidence", "0.8", "--population-size", "9"),
        ("--mechanism", "exogenous", "--budget", "0.3", "--payments", "clock"),
        ("--mechanism", "endogenous", "--reference-loss", "0.9", "--feasibility", "interim"),
        ("--mechanism", "endogenous", "--reference-loss", "0.9", "--solver", "enumerate"),
    ],
    ids=" ".join,
)
def test_clear_as_json_is_what_the_library_says(bids, options):
    import kantor as kt

    said = json.loads(kantor("clear", bids, *options, "--prior", "uniform:0:0.5", "--json").stdout)
    given = dict(zip((name[2:].replace("-", "_") for name in options[::2]), options[1::2], strict=True))
    parts = {name: float(given.pop(name)) for name in ("budget", "reference_loss", "lipschitz") if name in given}
    parts |= {name: given.pop(name) for name in ("feasibility",) if name in given}
    kind = {"joint": kt.Joint, "exogenous": kt.Exogenous, "endogenous": kt.Endogenous}[given.pop("mechanism")]
    numbers = {"confidence": float, "population_size": int}
    rest = {name: numbers.get(name, str)(value) for name, value in given.items()}
    c = kt.clear(kt.Bids.read(bids, prior="uniform:0:0.5"), kind(**parts), **rest)
    assert said == json.loads(c.to_json())


def test_clear_writes_what_audit_reads(bids, tmp_path):
    files = [tmp_path / name for name in ("c.json", "c.csv", "c.parquet")]
    arguments = [part for file in files for part in ("--out", file)]
    assert kantor("clear", bids, *JOINT, *arguments).returncode == 0
    assert pl.read_csv(files[1]).rows() == pl.read_parquet(files[2]).rows()
    done = kantor("audit", bids, files[0], "--draws", "20")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Passed")


def test_audit_fails_with_code_1_where_a_promise_is_broken(bids, tmp_path):
    kantor("clear", bids, *JOINT, "--payments", "virtual", "--out", tmp_path / "c.json")
    done = kantor("audit", bids, tmp_path / "c.json", "--draws", "0", "--json", "--out", tmp_path / "lies.csv")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert not found["passed"]
    assert found["max_gain"]["gain"] > 0.01
    table = pl.read_csv(tmp_path / "lies.csv")
    assert table.columns == ["owner", "report", "gain"]
    assert table["gain"].max() == found["max_gain"]["gain"]


def test_audit_refuses_other_bids(bids, tmp_path):
    kantor("clear", bids, *JOINT, "--out", tmp_path / "c.json")
    bids.write_text(BIDS.replace("0.05", "0.06"))
    done = kantor("audit", bids, tmp_path / "c.json")
    assert done.returncode == 2
    assert "are not those that were cleared" in done.stderr


def test_audit_of_named_owners(bids, tmp_path):
    kantor("clear", bids, *JOINT, "--out", tmp_path / "c.json")
    arguments = ("audit", bids, tmp_path / "c.json", "--draws", "0", "--json")
    assert json.loads(kantor(*arguments, "--owner", "ben", "--owner", "fay").stdout)["audited"] == ["ben", "fay"]
    assert len(json.loads(kantor(*arguments, "--owners", "3").stdout)["audited"]) == 3


def test_plan(bids, tmp_path):
    files = [tmp_path / name for name in ("p.csv", "p.json", "p.png", "p.svg")]
    arguments = [part for file in files for part in ("--out", file)]
    done = kantor("plan", bids, "--to", "0.5", "--steps", "6", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    table = pl.read_csv(files[0])
    assert done.stdout.encode() == files[0].read_bytes()
    assert table["budget"].to_list() == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.5])
    assert json.loads(files[1].read_text())["nothing"] == pytest.approx(0.02, rel=1e-3)
    assert files[2].read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in files[3].read_text()
    code, shown = shown_on_a_terminal("plan", bids, "--mechanism", "endogenous", "--steps", "5")
    assert code == 0
    assert "buying nothing is best" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["clear", "none.csv", *JOINT], "none.csv: there is no such file"),
        (["clear", "bids.csv"], "Missing option"),
        (["clear", "bids.csv", "--mechanism", "joint"], "--mechanism joint needs --reference-loss"),
        (["clear", "bids.csv", "--mechanism", "exogenous"], "needs --budget"),
        (["clear", "bids.csv", *JOINT, "--budget", "1"], "--budget has no meaning for --mechanism joint"),
        (["clear", "bids.csv", *JOINT, "--feasibility", "interim"], "--feasibility has no meaning"),
        (["clear", "bids.csv", "--mechanism", "exogenous", "--budget", "1", "--lipschitz", "2"], "--lipschitz has no"),
        (["clear", "bids.csv", "--mechanism", "exogenous", "--budget", "-1"], "budget is -1"),
        (["clear", "bids.csv", *JOINT, "--confidence", "1"], "confidence"),
        (["clear", "bids.csv", *JOINT, "--population-size", "3"], "population_size is 3, and there are 6 bids"),
        (["clear", "bids.csv", *JOINT, "--prior", "uniform:0:0.2"], "reserve"),
        (["clear", "bids.csv", *JOINT, "--prior", "unifrom"], "uniform"),
        (["clear", "bids.csv", *JOINT, "--solver", "magic"], "solver 'magic'"),
        (["clear", "bids.csv", *JOINT, "--explain", "zoe"], "no owner 'zoe' among the 6 bids"),
        (["clear", "bids.csv", *JOINT, "--out", "bids.csv"], "replace the data it comes from"),
        (["clear", "bids.csv", *JOINT, "--out", "x.txt"], "x.txt: results are not written as .txt"),
        (["audit", "bids.csv", "none.json"], "none.json: it cannot be read"),
        (["audit", "bids.csv", "bids.csv"], "not valid JSON"),
        (["plan", "bids.csv", "--from", "1"], "--from was given without --to"),
        (["plan", "bids.csv", "--from", "2", "--to", "1"], "run from 2 to 1"),
        (["plan", "bids.csv", "--sweep", "reference_loss"], "exogenous has no reference_loss"),
        (["plan", "bids.csv", "--sweep", "confidence"], "needs --budget"),
        (["plan", "bids.csv", "--out", "p.xlsx"], "not written as .xlsx"),
    ],
)
def test_mistakes_in_a_market_change_nothing(bids, arguments, message):
    done = kantor(*arguments, cwd=bids.parent)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert [p.name for p in bids.parent.iterdir()] == ["bids.csv"]
    assert bids.read_text() == BIDS


def test_mistakes_in_bids_name_the_row(bids):
    bids.write_text(BIDS.replace("1.5", "-1.5"))
    failure = json.loads(kantor("clear", bids, *JOINT, "--json").stderr)
    assert failure["where"]["row"] == 5
    assert failure["where"]["column"] == "distance"
    assert failure["value"] == "-1.5"


def test_help_and_version():
    assert "value" in kantor("--help").stdout
    assert "kantor demo" in kantor().stdout  # alone, it tells a newcomer how to start
    assert installed("--version").stdout == kantor("--version").stdout
    assert kantor("--version").stdout.startswith("kantor 0.")
    for command in ("value", "clear", "audit", "plan", "demo"):
        assert kantor(command, "--help").returncode == 0
