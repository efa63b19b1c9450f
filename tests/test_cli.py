"""The command line as a user meets it: a real process, its output, its exit code, and what it leaves behind."""

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

KANTOR = Path(sys.executable).with_name("kantor")


def kantor(*arguments, cwd=None, **options):
    return subprocess.run(
        [KANTOR, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, check=False, timeout=120, **options
    )


@pytest.fixture
def owners(tmp_path):
    path = tmp_path / "owners.csv"
    path.write_text("ann,bob,cleo\n0,4,8\n2,6,10\n")
    return path


def test_value_prints_csv_into_a_pipe(owners):
    done = kantor("value", owners)
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout == "owner,distance\nann,4.0\nbob,0.0\ncleo,4.0\n"


def test_value_prints_a_table_on_a_terminal(owners):
    main, worker = pty.openpty()
    with subprocess.Popen(
        [KANTOR, "value", owners], stdout=worker, stderr=worker, env={**os.environ, "COLUMNS": "80"}
    ) as run:
        run.wait(timeout=60)
        os.close(worker)
        shown = os.read(main, 100_000).decode()
    os.close(main)
    assert "Wasserstein distance" in shown
    assert "cleo" in shown
    assert "│" in shown


def test_names_are_shown_as_they_are(tmp_path):
    path = tmp_path / "owners.csv"
    path.write_text("[red]house,[/x],[b]\n1,2,3\n")
    main, worker = pty.openpty()
    with subprocess.Popen([KANTOR, "value", path], stdout=worker, stderr=worker) as run:
        assert run.wait(timeout=60) == 0
        os.close(worker)
        shown = os.read(main, 100_000).decode()
    os.close(main)
    assert "[red]house" in shown
    assert "[/x]" in shown


def test_a_full_disk_is_said(owners):
    done = kantor("value", owners, "--json")
    assert done.returncode == 0
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
    done = kantor(*arguments, cwd=owners.parent, env={**os.environ, "COLUMNS": "200"})
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert [p.name for p in owners.parent.iterdir()] == ["owners.csv"]
    assert owners.read_bytes() == before


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


def test_help_and_version():
    assert "value" in kantor("--help").stdout
    assert "kantor demo" in kantor().stdout  # alone, it tells a newcomer how to start
    assert kantor("--version").stdout.startswith("kantor 0.")
    for command in ("value", "demo"):
        assert kantor(command, "--help").returncode == 0


def test_demo_without_figures(tmp_path):
    code = "import sys; sys.modules['matplotlib'] = None; from kantor.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", code, "demo", "--out", tmp_path / "demo"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "kantor[figures]" in done.stdout.replace("\n", " ")
    assert (tmp_path / "demo" / "values.csv").exists()


def test_demo(tmp_path):
    done = kantor("demo", "--out", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    for word in ("KL", "JS", "KS", "TV", "bound"):
        assert word in done.stdout
    table = pl.read_csv(tmp_path / "demo" / "values.csv")
    assert table.columns == ["owner", "wasserstein", "kl", "js", "ks", "tv"]
    assert table.height == 12
    assert (tmp_path / "demo" / "values.png").read_bytes().startswith(b"\x89PNG")
