"""kt.distances: every form of input, every target, the same numbers."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.stats as st
from hypothesis import given
from hypothesis import strategies as hs

import kantor as kt
from kantor.errors import InputError

rng = np.random.default_rng(2)
MATRIX = rng.normal(rng.uniform(10, 16, 6)[:, None], rng.uniform(1, 3, 6)[:, None], (6, 40))
NAMES = [f"o{i}" for i in range(6)]
RAGGED = [MATRIX[0], MATRIX[1][:7], MATRIX[2][:13], MATRIX[3][:7]]
WIDE = pl.DataFrame(dict(zip(NAMES, MATRIX, strict=True)))
LONG = pl.DataFrame({"owner": np.repeat(NAMES, 40), "value": MATRIX.ravel()}).sample(fraction=1, shuffle=True, seed=1)


def saved(folder, table, name):
    path = folder / name
    table.write_parquet(path) if name.endswith("parquet") else table.write_csv(path)
    return path


@pytest.fixture(params=["list", "dict", "polars", "pandas", "lazy", "csv", "tsv-like", "parquet", "str path"])
def wide(request, tmp_path):
    match request.param:
        case "list":
            return [list(row) for row in MATRIX]
        case "dict":
            return dict(zip(NAMES, MATRIX, strict=True))
        case "polars":
            return WIDE
        case "pandas":
            return pd.DataFrame(dict(zip(NAMES, MATRIX, strict=True)))
        case "lazy":
            return WIDE.lazy()
        case "csv":
            return saved(tmp_path, WIDE, "w.csv")
        case "tsv-like":
            path = tmp_path / "w.csv"
            WIDE.write_csv(path, separator=";", decimal_comma=True)
            return path
        case "parquet":
            return saved(tmp_path, WIDE, "w.parquet")
        case _:
            return str(saved(tmp_path, WIDE, "w.csv"))


def test_wide_forms_agree(wide):
    assert kt.distances(wide) == pytest.approx(kt.distances(MATRIX), rel=1e-12)


@pytest.mark.parametrize("form", ["polars", "pandas", "csv", "parquet"])
def test_long_forms_agree(form, tmp_path):
    data = {
        "polars": LONG,
        "pandas": pd.DataFrame(LONG.to_dict(as_series=False)),
        "csv": saved(tmp_path, LONG, "l.csv"),
        "parquet": saved(tmp_path, LONG, "l.parquet"),
    }[form]
    owners = kt.as_owners(data)
    ours = dict(zip(owners.names, kt.distances(owners, aggregate="mixture"), strict=True))
    expected = kt.distances(MATRIX, aggregate="mixture")
    assert [ours[name] for name in NAMES] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("metric", list(kt.METRICS))
def test_each_metric_is_the_function_of_its_name(metric):
    target = MATRIX.mean(axis=0)
    function = kt.METRICS[metric].function
    assert kt.distances(MATRIX, metric=metric) == pytest.approx([function(row, target) for row in MATRIX], rel=1e-9)


@pytest.mark.parametrize("metric", list(kt.METRICS))
@pytest.mark.parametrize("aggregate", ["euclidean", "mixture", "barycenter"])
def test_distributions(metric, aggregate):
    owners = [st.norm(i, 1 + i / 2) for i in range(3)]
    target = kt.aggregate(owners, aggregate)
    expected = [kt.METRICS[metric].function(owner, target) for owner in owners]
    assert kt.distances(owners, metric=metric, aggregate=aggregate) == pytest.approx(expected, rel=1e-9)


def test_unequal_lengths():
    target = MATRIX[5]
    expected = [kt.wasserstein(row, target) for row in RAGGED]
    assert kt.distances(RAGGED, target) == pytest.approx(expected, rel=1e-12)
    pooled = np.concatenate(RAGGED)
    weights = np.concatenate([np.full(row.size, 1 / row.size) for row in RAGGED])
    expected = [kt.wasserstein(row, pooled, None, weights) for row in RAGGED]
    assert kt.distances(RAGGED, aggregate="mixture") == pytest.approx(expected, rel=1e-12)
    with pytest.raises(InputError, match="owner 1 has 7 where owner 0 has 40"):
        kt.distances(RAGGED)


@pytest.mark.parametrize("target", [st.norm(13, 1), st.gamma(9.0), st.poisson(12), [12.0, 14.0], MATRIX[0]])
def test_targets(target):
    expected = [kt.wasserstein(row, target) for row in MATRIX]
    assert kt.distances(MATRIX, target) == pytest.approx(expected, rel=1e-12)


def test_target_from_a_file(tmp_path):
    path = tmp_path / "target.csv"
    path.write_text("load\n12\n14\n")
    assert kt.distances(MATRIX, path) == pytest.approx(kt.distances(MATRIX, [12, 14]))
    assert kt.distances(MATRIX, str(path)) == pytest.approx(kt.distances(MATRIX, [12, 14]))


def test_single_owner_and_single_samples():
    assert kt.distances([[1.0, 2.0]]).tolist() == [0.0]
    assert kt.distances([[1, 2, 4, 9, 17, 1e9], [1, 2, 4, 9, 17, 1e9]]).tolist() == [0.0, 0.0]  # not only nearly
    assert kt.distances([[1.0], [3.0]]).tolist() == [1.0, 1.0]
    assert kt.distances([[1.0], [3.0]], [0.0]).tolist() == [1.0, 3.0]


def test_progress_reaches_the_end():
    seen = []
    kt.distances(RAGGED, [1.0], progress=lambda done, whole: seen.append((done, whole)))
    assert seen[-1] == (4, 4)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.parametrize("kind", ["int16", "float32", "bool", "object"])
def test_numbers_of_any_kind(kind):
    matrix = MATRIX.round().astype(kind)
    assert kt.distances(matrix).tolist() == kt.distances(matrix.astype(float)).tolist()


def test_narrow_numbers_are_widened_a_block_at_a_time():
    matrix = np.random.default_rng(3).random((1000, 4000), dtype=np.float32)
    tracemalloc.start()
    kt.distances(matrix, [0.0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < matrix.nbytes  # as floats they would take twice as much


@given(hs.integers(1, 5), hs.integers(1, 6), hs.integers(1, 9), hs.integers(0, 2**32 - 1))
def test_order_of_owners_does_not_matter(count, length, size, seed):
    draws = np.random.default_rng(seed)
    rows, target = draws.integers(-4, 4, (count, length)).astype(float), draws.integers(-4, 4, size).astype(float)
    order = draws.permutation(count)
    assert kt.distances(rows[order], target) == pytest.approx(kt.distances(rows, target)[order], abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "no owners"),
        (([1, 2, 3],), "single numbers"),
        (([[1, 2], []],), "owner 1: there are no samples"),
        (([[1, 2], ["a", "b"]],), "owner 1: these are not numbers"),
        (([[1, 2], [1, np.nan]],), "owner 1: sample 1 .* is nan"),
        ((np.array([[1, 2], [np.inf, 1]]),), "owner 1: sample 0 .* is inf"),
        ((np.zeros(3),), "rows"),
        ((np.zeros((2, 0)),), "holds no samples"),
        ((5,), "cannot be read from int"),
        (([st.norm(), [1, 2]],), "owner 1: some owners state distributions"),
        (([st.norm(), st.poisson(2)],), "discrete"),
        (([st.gamma(2), st.norm()],), "normal owners only"),
        ((np.ma.masked_equal([[1, 2], [3, 4]], 2),), "values are masked"),
        ((pd.DataFrame({"owner": [1, 2], "value": [1, 2], "day": [1, 2]}),), "column day: beside"),
        (([[1e308, 1e308], [1e308, 1.1e308]],), "larger units"),
        (([[-1.7e308, 0], [1, 2]], [1.7e308]), "larger units"),
        (([[-1.7e308, 0], [1, 2]], [1.7e308, 0]), "larger units"),
        ((MATRIX, None, "manhattan"), "metric 'manhattan' is not known"),
        ((MATRIX, None, "wasserstein", "median"), "aggregate 'median' is not known"),
        ((MATRIX, [1.0], "wasserstein", "median"), "aggregate 'median' is not known"),
        ((MATRIX, [np.nan]), "target: sample 0"),
        ((MATRIX, st.gamma), r"argument target: scipy.stats.gamma is a family .* scipy.stats.gamma\(a, loc, scale\)"),
        (([st.norm(), st.poisson],), r"scipy.stats.poisson is a family .* scipy.stats.poisson\(mu, loc\)"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(InputError, match=message):
        kt.distances(*arguments)


def test_options_that_mean_nothing_are_refused():
    with pytest.raises(InputError, match="no meaning"):
        kt.distances(MATRIX, bins=3)
    with pytest.raises(InputError, match="no option 'bin'"):
        kt.distances(MATRIX, metric="tv", bin=3)
    assert kt.distances(MATRIX, metric="tv", bins=3)[0] <= 1
