"""An owner's home: what is made, what is refused, and that nothing existing is replaced."""

import numpy as np
import pytest

from kantor.errors import InputError
from kantor.service.agent.home import Home, read_series

TOKEN = "kantor_a_b"  # noqa: S105  nobody's


def make(folder, data, **more):
    given = {"server": "http://there", "token": TOKEN, "epsilon": 5.0, "delta": 0.0, "unit": "record"}
    return Home.make(folder, data=data, **{**given, **more})


@pytest.fixture
def data(tmp_path):
    file = tmp_path / "meter.csv"
    file.write_text("day,kwh\n1,5.5\n2,6\n3,7.25\n")
    return file


def test_what_is_secret_is_for_the_owner_alone(tmp_path, data):
    home = make(tmp_path / "home", data, column="kwh")
    assert home.data.tolist() == [5.5, 6.0, 7.25]
    assert home.token == TOKEN
    for name in ("seed", "token", "balance.db", "settings.json"):
        assert (home.folder / name).stat().st_mode & 0o077 == 0
    assert home.folder.stat().st_mode & 0o077 == 0


def test_a_home_is_never_replaced(tmp_path, data):
    home = make(tmp_path / "home", data, column="kwh")
    seed = (home.folder / "seed").read_text()
    with pytest.raises(InputError, match="there is an owner's home already"):
        make(tmp_path / "home", data, column="kwh", epsilon=50.0)
    assert (home.folder / "seed").read_text() == seed
    assert home.balance.limit.epsilon == 5.0


def test_nothing_is_made_of_what_is_no_data(tmp_path, data):
    for more in ({}, {"column": "kw"}, {"column": "kwh", "epsilon": 0.0}):
        with pytest.raises(InputError):
            make(tmp_path / "home", data, **more)
        assert not (tmp_path / "home").exists()


def test_a_balance_from_an_interrupted_init_is_not_forgotten(tmp_path, data):
    home = make(tmp_path / "home", data, column="kwh")
    (home.folder / "settings.json").unlink()
    with pytest.raises(InputError, match="there is a balance already, of epsilon 5"):
        make(tmp_path / "home", data, column="kwh", epsilon=50.0)
    assert make(tmp_path / "home", data, column="kwh").data.size == 3


def test_which_column_is_said_or_asked_for(tmp_path, data):
    with pytest.raises(InputError, match=r"has 2 columns \(day, kwh\).*--column NAME"):
        read_series(data)
    with pytest.raises(InputError, match=r"there is no column .watt.\. The columns are: day, kwh"):
        read_series(data, "watt")
    single = tmp_path / "single.parquet"
    import polars as pl

    pl.DataFrame({"load": [1.0, 2.0]}).write_parquet(single)
    series = read_series(single)
    assert (series.column, series.values.tolist()) == ("load", [1.0, 2.0])
    assert series.place(1) == {"file": single, "row": 3, "column": "load"}


def test_a_gap_in_the_series_is_not_closed_silently(tmp_path):
    file = tmp_path / "meter.csv"
    file.write_text("day,kwh\n1,5.5\n2,\n3,7.25\n")
    with pytest.raises(InputError, match="row 3, column kwh: the cell is empty"):
        read_series(file, "kwh")


def test_markets_know_an_owner_by_different_keys(tmp_path, data):
    home = make(tmp_path / "home", data, column="kwh")
    values = np.array([1.0])
    assert home.signer("a").public != home.signer("b").public
    assert home.commitment("a", values) != home.commitment("b", values)


def test_a_home_without_its_seed_says_what_to_do(tmp_path, data):
    home = make(tmp_path / "home", data, column="kwh")
    (home.folder / "seed").unlink()
    with pytest.raises(InputError, match="Put it back from a copy"):
        home.signer("a")
    with pytest.raises(InputError, match="this is no owner's home"):
        _ = Home(tmp_path).settings
