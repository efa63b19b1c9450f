"""`kantor party` as a user meets it."""

import json
import signal
import subprocess

import pytest

import kantor as kt
from kantor.cli import main
from kantor.errors import PartyError
from kantor.private.client import wait_for_parties
from kantor.private.frames import call
from kantor.private.identity import Roster
from kantor.private.trio import start_party
from test_cli import kantor

from test_cli import KANTOR  # isort: skip


@pytest.fixture
def refused(capsys):
    """Run a command in this process, which has to refuse; what it says."""

    def run(*arguments):
        with pytest.raises(SystemExit) as done:
            main([str(argument) for argument in arguments])
        assert done.value.code == 2
        return capsys.readouterr().err

    return run


@pytest.fixture
def owners(tmp_path):
    path = tmp_path / "owners.csv"
    path.write_text("ann,bob,cleo\n0,4,8\n2,6,9\n1,5,3\n")
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "aggregate"),
    [
        ([], "mixture"),
        (["--method", "aligned"], "euclidean"),
    ],
)
def test_a_trial_values_a_file_through_three_parties(owners, how, aggregate):
    done = kantor("party", "value", owners, "--low", 0, "--high", 10, "--json", *how)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    exact = kt.distances(owners, aggregate=aggregate)
    assert [row["owner"] for row in said["owners"]] == ["ann", "bob", "cleo"]
    assert said["left_out"] == {}
    for row, expected in zip(said["owners"], exact, strict=True):
        assert abs(row["distance"] - expected) <= said["error_bound"]


def test_what_cannot_be_tried_is_said_before_anything_starts(owners, tmp_path, refused):
    for how, message in (
        (["--low", 0, "--high", 5], "owner bob: sample 1 (counted from 0) is 6.0, outside the market's limits"),
        (["--low", 5, "--high", 0], "the limits are 5.0 and 0.0"),
        (["--low", 0, "--high", 10, "--method", "parameters"], "needs --widest"),
        (["--low", 0, "--high", 10, "--widest", 3], "--widest has no meaning for --method histogram"),
        (["--low", 0, "--high", 10, "--folder", tmp_path], "there is no roster"),
    ):
        assert message in refused("party", "value", owners, *how)


def test_keys_are_made_once_and_secret(tmp_path, refused):
    folder = tmp_path / "parties"
    addresses = [f"--address={host}.example:7001" for host in "abc"]
    with pytest.raises(SystemExit) as done:
        main(["party", "keys", str(folder), *addresses])
    assert done.value.code == 0
    assert sorted(file.name for file in folder.iterdir()) == [
        "market.pem", "party1.pem", "party2.pem", "party3.pem", "roster.json",
    ]  # fmt: skip
    assert all(file.stat().st_mode & 0o077 == 0 for file in folder.glob("*.pem"))
    assert "PRIVATE" not in (folder / "roster.json").read_text()
    assert [str(address) for address in Roster.read(folder).addresses] == [
        "a.example:7001",
        "b.example:7001",
        "c.example:7001",
    ]
    assert "there is a roster already" in refused("party", "keys", folder)
    (folder / "party2.pem").unlink()
    for number, message in ((2, "there is no such key"), (1, "party 1 cannot listen on a.example:7001")):
        assert message in refused("party", "start", folder, "--number", number)
    assert "is no address" in refused("party", "keys", tmp_path / "x", "--address", "here")


@pytest.mark.slow
def test_a_local_trio_runs_until_it_is_stopped(tmp_path):
    folder = tmp_path / "trio"
    with subprocess.Popen([KANTOR, "party", "trio", folder], stdout=subprocess.PIPE, text=True) as run:
        assert "Three parties listen on 127.0.0.1:" in run.stdout.readline()
        roster = Roster.read(folder)
        wait_for_parties(roster)
        taken = start_party(folder, 1, 1.0)
        assert taken.wait(timeout=30) == 2  # somebody listens there already
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=30) == 0
    with pytest.raises(PartyError, match="cannot be reached"):
        call(roster, 0, None, {"ask": "ping"})
