"""Files as users have them: the right answer, or an error that names file, row, column and remedy."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pytest

import kantor as kt
from kantor.errors import InputError
from kantor.owners.files import read_owners, read_target

WRONG = {
    "empty": ("", {"file"}, "is empty"),
    "blank": ("\n", {"file", "row", "column"}, "row 1, column 1: the column has no name"),
    "header only": ("a,b\n", {"file"}, "table is empty"),
    "text": ("a,b\n1,2\n3,x\n", {"file", "row", "column"}, "row 3, column b: 'x' is not a number"),
    "decimal comma": ('a,b\n1,"1,5"\n2,3\n', {"file", "row", "column"}, "row 2, column b: '1,5' .* point"),
    "NaN": ("a,b\n1,2\n3,NaN\n", {"file", "row", "column"}, "row 3, column b: the value is nan"),
    "infinity": ("a,b\n-inf,2\n3,4\n", {"file", "row", "column"}, "row 2, column a: the value is -inf"),
    "duplicate owner": ("a,b,a\n1,2,3\n", {"file", "row", "column"}, "owner 'a' stands in two columns"),
    "no header, one column": ("1\n2\n", {"file", "row"}, "looks like data"),
    "no header, same number": ("5,5\n3,4\n", {"file", "row"}, "looks like data"),
    "no header": ("1.5,2.5\n3,4\n", {"file", "row"}, "looks like data"),
    "nameless column": ("a,\n1,2\n", {"file", "row", "column"}, "row 1, column 2: the column has no name"),
    "hole": ("a,b\n1,2\n,3\n4,5\n", {"file", "row", "column"}, "row 3, column a: the cell is empty"),
    "no samples": ("a,b\n1,\n2,\n", {"file", "column"}, "column b: the owner has no samples"),
    "long form and more": ("owner,value,day\n1,5,1\n2,6,1\n", {"file", "row", "column"}, "others .day..* --ignore day"),
    "long row": ("a,b\n1,2\n3,4,5\n", {"file", "row"}, "row 3: the row has 3 cells"),
    "time stamp": ("time,a\n2020-01-01,1\n", {"file", "row", "column"}, "column time: '2020-01-01'"),
    "long, no value": ("owner,value\na,1\nb,\n", {"file", "row", "column"}, "row 3, column value: the cell is empty"),
    "long, no owner": ("owner,value\na,1\n,2\n", {"file", "row", "column"}, "row 3, column owner: the cell is empty"),
    "long, text": ("owner,value\na,1\nb,much\n", {"file", "row", "column"}, "row 3, column value: 'much'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named(case, tmp_path):
    text, places, message = WRONG[case]
    path = tmp_path / "owners.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_owners(path)
    assert set(caught.value.where) == places
    assert caught.value.remedy.endswith(".")
    assert str(path) in str(caught.value)


def test_files_that_are_not_files(tmp_path):
    (tmp_path / "a.xlsx").write_text("x")
    (tmp_path / "b.parquet").write_text("not parquet at all")
    (tmp_path / "c.csv").write_bytes("a,b\n1,é\n".encode("latin1"))
    (tmp_path / "d.csv").mkdir()
    for name, message in {
        "missing.csv": "no such file",
        "a.xlsx": "xlsx are not read",
        "b.parquet": "cannot be read",
        "c.csv": "utf-8",
        "d.csv": "folder",
    }.items():
        with pytest.raises(InputError, match=message):
            read_owners(tmp_path / name)


def write(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "names", "samples"),
    [
        ("a\n1\n2\n", ("a",), [[1, 2]]),  # a single column
        ("a,b\n1,2\n", ("a", "b"), [[1], [2]]),  # one sample per owner
        ("a,b\n1,2\n3,\n", ("a", "b"), [[1, 3], [2]]),  # a shorter owner
        ("a,b\n1,2\n3\n", ("a", "b"), [[1, 3], [2]]),
        ("a,b\n 1 , 2\n3, x".replace("x", "4"), ("a", "b"), [[1, 3], [2, 4]]),  # spaces
        ("a;b\n1,5;2,5\n2;3\n", ("a", "b"), [[1.5, 2], [2.5, 3]]),
        ("a\tb\n1\t2\n", ("a", "b"), [[1], [2]]),
        ("Owner,Value\nz,3\na,1\nz,2\n", ("z", "a"), [[3, 2], [1]]),  # long form, order of appearance
        ("owner,value\n7,3\n8,1\n", ("7", "8"), [[3], [1]]),
        ("2023,2024\n1,2\n", ("2023", "2024"), [[1], [2]]),  # owners named by numbers
        ('"a,1";b\n1;2\n', ("a,1", "b"), [[1], [2]]),
        ("a, b\n1,2\n", ("a", "b"), [[1], [2]]),  # spaces around names
        ('"a,1",b\n1,2\n', ("a,1", "b"), [[1], [2]]),
        ("a,b\n1e3,-2\n", ("a", "b"), [[1000], [-2]]),
    ],
)
def test_what_is_right_is_read(text, names, samples, tmp_path):
    owners = read_owners(write(tmp_path / "owners.csv", text))
    assert owners.names == names
    found = {int(place): row.tolist() for block in owners.blocks() for place, row in zip(*block, strict=True)}
    assert [found[i] for i in range(len(names))] == samples


@pytest.mark.parametrize("form", ["wide.csv", "long.csv", "wide.parquet"])
def test_owners_of_unequal_length_are_named_with_their_file(form, tmp_path):
    path = tmp_path / form
    if form == "wide.parquet":
        pl.DataFrame({"a": [1, 2], "b": [3, None]}).write_parquet(path)
    else:
        path.write_text("a,b\n1,3\n2,\n" if form == "wide.csv" else "owner,value\na,1\na,2\nb,3\n")
    with pytest.raises(InputError, match="owner b has 1 where owner a has 2") as caught:
        kt.distances(path)
    assert caught.value.where == {"file": str(path)}


def test_compressed_csv(tmp_path):
    path = tmp_path / "owners.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n3,5\n"))
    assert read_owners(path).names == ("a", "b")


def test_a_column_can_be_ignored(tmp_path):
    path = write(tmp_path / "owners.csv", "day,a\n2020-01-01,1\n2020-01-02,2\n")
    assert read_owners(path, ignore=["day"]).names == ("a",)
    with pytest.raises(InputError, match="no column 'week' to ignore"):
        read_owners(path, ignore=["week"])


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_million_rows(form, tmp_path):
    values = np.random.default_rng(0).normal(size=1_000_000).round(3)
    table = pl.DataFrame({"owner": np.arange(1_000_000) % 1000, "value": values})
    path = tmp_path / f"owners.{form}"
    table.write_csv(path) if form == "csv" else table.write_parquet(path)
    owners = read_owners(path)
    assert len(owners) == 1000
    assert kt.distances(owners, [0.0])[7] == pytest.approx(np.abs(values[7::1000]).mean())


def test_wide_parquet_is_read_in_blocks(tmp_path):
    columns = {f"o{i}": np.random.default_rng(i).normal(size=3000) for i in range(200)}
    pl.DataFrame(columns).write_parquet(tmp_path / "wide.parquet")
    owners = read_owners(tmp_path / "wide.parquet")
    blocks = list(owners.blocks())
    assert max(block.rows.size for block in blocks) <= 1 << 18
    assert sum(len(block.places) for block in blocks) == 200
    assert np.array_equal(blocks[1].rows[0], columns[owners.names[blocks[1].places[0]]])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pl.DataFrame({"a": [1.0, None, 2.0]}), "row 3, column a"),
        (pl.DataFrame({"a": [10**30]}, schema={"a": pl.Int128}), None),
        (pl.DataFrame({"a": [1.0, float("nan")]}), "row 3, column a: the value is nan"),
        (pl.DataFrame({"a": [[1.0], [2.0]]}), "column a: the column holds List"),
        (pl.DataFrame(), "table is empty"),
        (pd.DataFrame({"a": [1.0, None, 2.0]}), "row 3, column a"),
        (pd.DataFrame({"a": ["1", "two"]}), "row 3, column a: 'two' is not a number"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "owner 'a' stands in two columns"),
        (pd.DataFrame({"t": pd.to_datetime(["2020-01-01"])}), "column t"),
    ],
)
def test_frames(table, message):
    if message is None:
        assert kt.as_owners(table).lengths.tolist() == [table.height]
        return
    with pytest.raises(InputError, match=message):
        kt.as_owners(table)


def test_pandas_columns_of_unequal_length():
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, np.nan, np.nan]})
    assert kt.as_owners(table).lengths.tolist() == [3, 1]


@pytest.mark.parametrize(
    ("text", "samples"),
    [("load\n1\n2\n", [1, 2]), ("day,value\n1,5\n2,6\n", [5, 6]), ("load\n1\n\n2\n", [1, 2])],
)
def test_targets(text, samples, tmp_path):
    assert read_target(write(tmp_path / "t.csv", text)).values.tolist() == samples


@pytest.mark.parametrize(
    ("text", "message"), [("a,b\n1,2\n", "2 columns"), ("a\nx\n", "row 2, column a"), ("a,b\n", "2 columns")]
)
def test_bad_targets(text, message, tmp_path):
    with pytest.raises(InputError, match=message):
        read_target(write(tmp_path / "t.csv", text))
