"""The same set, bit by bit, however its table is spread: a frame, lazy, files, shards, a dataset, with series split."""

import itertools
import os

import numpy as np
import polars as pl
import pytest

import liquidtime as lt
from liquidtime.data import SeriesSet, from_long, from_wide
from liquidtime.data.reading import shards
from oracles.series import assert_same, random_set

LONG = {"id": "id", "time": "t", "channel": "what", "value": "x"}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(shards, "ROWS", 40)


def long_frame(seed=0, texts=False):
    """Rows in any order, of series of which most are larger than a piece."""
    rng = np.random.default_rng(seed)
    R = 300
    ids = rng.integers(0, 12, R)
    return pl.DataFrame({
        "id": [f"bed {one}" for one in ids] if texts else ids,
        "t": rng.integers(0, 40, R) / 4,
        "what": np.array(["HR", "BP", "Temp", "ward"])[rng.integers(0, 4, R)],
        "x": rng.normal(size=R).round(3),
        "age": (20 + ids).astype(float),
    })  # fmt: skip


def spread(frame, folder, cuts=(70, 71, 200)):
    folder.mkdir()
    edges = [0, *cuts, len(frame)]
    for number, (low, high) in enumerate(itertools.pairwise(edges)):
        frame[low:high].write_parquet(folder / f"shard-{number:02}.parquet")
    return folder


@pytest.mark.parametrize("texts", [False, True])
def test_long_tables(tmp_path, texts):
    import pyarrow.dataset

    frame = long_frame(texts=texts)
    options = {**LONG, "static": ["age"], "time_unit": "h"}
    whole = from_long(frame, **options)
    folder = spread(frame, tmp_path / "shards")
    frame.write_parquet(tmp_path / "one.parquet")
    frame.write_csv(tmp_path / "one.csv")
    sources = {
        "frame": frame,
        "lazy frame": frame.lazy(),
        "scanned": pl.scan_parquet(folder),
        "file": tmp_path / "one.parquet",
        "text": tmp_path / "one.csv",
        "folder": folder,
        "pattern": str(folder / "shard-*.parquet"),
        "files": sorted(folder.iterdir()),
        "dataset": pyarrow.dataset.dataset(folder),
        "pandas": frame.to_pandas(),
    }
    for name, source in sources.items():
        assert_same(from_long(source, **options), whole)
        stored = from_long(source, **options, out=tmp_path / f"stored {name}")
        assert_same(stored, whole)
        assert [str(note) for note in stored.notes if "share" in note.what] == [
            str(note) for note in whole.notes if "share" in note.what
        ] or len(stored.notes) == len(whole.notes)
        assert_same(from_long(stored.path, **LONG), whole)
        assert stored.columns["channel"] == "what"
    assert sorted(os.listdir(tmp_path)) == sorted(
        ["shards", "one.parquet", "one.csv", *(f"stored {n}" for n in sources)]
    )


def test_wide_tables_with_categories_stamps_and_a_static_table(tmp_path):
    data = random_set(3, [20, 33, 0, 9, 41, 60])
    frame = data.to_polars().with_columns(
        time=pl.datetime(2024, 3, 1) + pl.duration(milliseconds=(pl.col("time") * 1e6).cast(pl.Int64))
    ).sample(fraction=1.0, shuffle=True, seed=0)  # fmt: skip
    table = pl.DataFrame({"id": [f"s{k}" for k in range(5)], "height": np.arange(5.0), "house": list("abcab")})
    options = {
        "id": "id", "time": "time", "static": ["age", "ward"], "categorical": ["k", "ward", "house"],
        "static_table": table, "time_unit": "min",
    }  # fmt: skip
    whole = from_wide(frame, **options)
    stored = from_wide(spread(frame, tmp_path / "shards", (30, 77, 110)), **options, out=tmp_path / "set")
    assert_same(stored, whole)
    np.testing.assert_array_equal(stored.origins, whole.origins)
    assert stored.columns["static_id"] == "id"


def test_channels_and_static_ones_that_only_some_pieces_have(tmp_path):
    frame = long_frame(1).filter(pl.col("what") != "ward").with_columns(what=pl.col("what").cast(pl.String))
    more = pl.DataFrame({"id": [3], "t": [0.0], "what": ["Weight"], "x": [80.0], "age": [23.0]})
    frame = pl.concat([frame, more])
    folder = spread(frame, tmp_path / "shards", (90, 180))
    assert_same(
        from_long(folder, **LONG, static=["Weight"], out=tmp_path / "set"), from_long(frame, **LONG, static=["Weight"])
    )
    with pytest.raises(ValueError, match=r"`static` must name columns or channels; 'Wieght' is neither.*Weight"):
        from_long(folder, **LONG, static=["Wieght"], out=tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_whole_numbers_of_channels_and_large_times_in_some_pieces(tmp_path):
    frame = pl.DataFrame(
        {"id": [1, 1, 2, 2], "t": [1, 5, 2**60, 2**60 + 7], "what": [10, 2, 2, 10], "x": [1.0, 2.0, 3.0, 4.0]}
    )
    folder = spread(frame, tmp_path / "shards", (2,))
    stored, whole = from_long(folder, **LONG, out=tmp_path / "set"), from_long(frame, **LONG)
    assert_same(stored, whole)
    np.testing.assert_array_equal(stored.origins, whole.origins)


def test_a_series_in_two_files_is_refused_by_name_without_the_first_pass(tmp_path):
    frame = long_frame().sort("id")
    folder = spread(frame, tmp_path / "shards", (70,))
    with pytest.raises(ValueError, match=r"series \d+ is in 'shard-00.parquet' and in 'shard-01.*gather=False"):
        from_long(folder, **LONG, out=tmp_path / "set", gather=False)
    whole = frame.partition_by("id")
    os.mkdir(tmp_path / "clean")
    for number, part in enumerate(whole):
        part.write_parquet(tmp_path / "clean" / f"{number}.parquet")
    assert_same(from_long(tmp_path / "clean", **LONG, out=tmp_path / "set", gather=False), from_long(frame, **LONG))


def test_a_file_that_lacks_a_column_is_named(tmp_path):
    folder = spread(long_frame(), tmp_path / "shards")
    pl.read_parquet(folder / "shard-02.parquet").drop("x").write_parquet(folder / "shard-02.parquet")
    with pytest.raises(ValueError, match=r"'shard-02.parquet' lacks 'x'"):
        from_long(folder, **LONG, out=tmp_path / "set")
    with pytest.raises(ValueError, match="`id` must name a column; there is none called 'bed'"):
        from_long(folder / "shard-00.parquet", **LONG | {"id": "bed"}, out=tmp_path / "set")
    (folder / "shard-01.parquet").write_bytes(b"PAR1 not at all")
    with pytest.raises(ValueError, match=r"'shard-01.parquet' cannot be read as parquet"):
        from_long(folder, **LONG, out=tmp_path / "set")
    assert os.listdir(tmp_path) == ["shards"]


def test_bad_values_name_their_file(tmp_path):
    folder = spread(long_frame(), tmp_path / "shards")
    bad = pl.read_parquet(folder / "shard-03.parquet").with_columns(t=pl.lit(None, dtype=pl.Float64))
    bad.write_parquet(folder / "shard-03.parquet")
    with pytest.raises(ValueError, match=r"shard-03.parquet: `time` must be finite|gathered series \d: `time` must be"):
        from_long(folder, **LONG, out=tmp_path / "set")


def test_files_may_be_the_series(tmp_path):
    (tmp_path / "walks").mkdir()
    for name in ("anna", "ben"):
        pl.DataFrame({"t": [0.0, 1.0], "speed": [1.0, 2.0]}).write_csv(tmp_path / "walks" / f"{name}.csv")
    stored = from_wide(tmp_path / "walks", id="file", time="t", out=tmp_path / "set")
    assert stored.ids.tolist() == ["anna", "ben"]
    assert_same(stored, from_wide(tmp_path / "walks", id="file", time="t"))


def test_what_would_be_ignored_is_refused(tmp_path):
    stored = random_set(0, [3, 4]).write(tmp_path / "set")
    assert from_wide(stored) is stored
    with pytest.raises(ValueError, match="`categorical` is for tables"):
        from_wide(stored.path, id="id", time="t", categorical=["k"])
    with pytest.raises(ValueError, match="`ids` is for sets in memory"):
        from_long(long_frame(), **LONG, ids=[1], out=tmp_path / "other")
    with pytest.raises(FileExistsError, match="replace=True"):
        SeriesSet.from_long(long_frame(), **LONG, out=tmp_path / "set")
    assert len(SeriesSet.from_long(long_frame(), **LONG, out=tmp_path / "set", replace=True)) == 12
    assert len(lt.open_set(tmp_path / "set")) == 12
