"""A set on disk behaves as the one in memory that was written."""

import copy
import os
import pickle

import numpy as np
import pytest

import liquidtime as lt
from liquidtime.data import SeriesEncoder, SeriesSet
from liquidtime.data.stored import StoredSet, stored_set
from liquidtime.training import DamagedFolder
from oracles.series import assert_same, random_set

LENGTHS = [5, 0, 1, 30, 12, 7, 0, 3]


@pytest.fixture
def data():
    return random_set(1, LENGTHS)


@pytest.fixture(params=["parts in memory", "parts on disk"])
def stored(data, tmp_path, request, monkeypatch):
    if request.param == "parts on disk":
        monkeypatch.setattr(stored_set, "IN_MEMORY", 0)
    return data.write(tmp_path / "set")


def test_everything_is_read_back(data, stored):
    assert isinstance(stored, StoredSet)
    assert_same(stored, data)
    assert_same(stored.load(), data)
    assert type(stored.load()) is SeriesSet
    assert_same(lt.open_set(stored.path), data)
    assert (len(stored), stored.shape, stored.nbytes) == (len(data), data.shape, data.nbytes)
    assert repr(stored) == repr(data)
    assert str(stored.describe()) == str(data.describe())


KEYS = [slice(2, 6), slice(None, None, -1), slice(0, 0), [5, 0, 5, 3], np.array([True, False] * 4), [-1, 3], []]


@pytest.mark.parametrize("key", KEYS)
def test_parts_are_those_of_the_set_in_memory(data, stored, key):
    assert_same(stored[key], data[key])
    assert_same(stored[key][:2], data[key][:2])
    assert_same(stored[3:][[2, 0]], data[3:][[2, 0]])


def test_single_series(data, stored):
    for one, other in zip(stored, data, strict=True):
        assert one.id == other.id
        np.testing.assert_array_equal(one.times, other.times)
        np.testing.assert_array_equal(one.values, other.values)
    with pytest.raises(IndexError, match="a set of 8 series; got 8"):
        stored[8]


def test_other_columns_units_and_fields(data, stored):
    wanted = ("k", "b", "new"), ("ward",), {"k": ("top", "low"), "ward": ("west", "east")}
    assert_same(stored.arranged_as(*wanted), data.arranged_as(*wanted))
    assert_same(stored.arranged_as(*wanted)[2:5], data.arranged_as(*wanted)[2:5])
    assert_same(stored.in_unit("s")[1:], data.in_unit("s")[1:])
    assert_same(stored.in_unit("min").arranged_as(*wanted)[[3]], data.in_unit("min").arranged_as(*wanted)[[3]])
    assert_same(stored.with_empty(np.array(["x"])), data.with_empty(np.array(["x"])))
    assert_same(stored.head(2), data.head(2))
    assert stored.with_notes([lt.data.Note("kept", "odd", 1, 2)]).notes[-1].what == "odd"
    assert_same(SeriesSet.concatenate([stored[:3], stored[3:]]), data)
    with pytest.raises(ValueError, match="time_unit"):
        stored.in_unit("years")
    with pytest.raises(TypeError, match="open_set"):
        StoredSet()


def test_copies_for_other_processes_read_the_same_folder(data, stored):
    for part in (stored, stored[3:], stored.in_unit("s"), stored.arranged_as(("a",), (), {"k": (), "ward": ()})):
        again = pickle.loads(pickle.dumps(part))
        assert_same(again, part)
        assert_same(copy.deepcopy(part)[1:3], part[1:3])
    small = sum(array.nbytes for array in (data.static, data.ids, data.offsets))
    assert len(pickle.dumps(lt.open_set(stored.path))) < 4000 + small


@pytest.mark.parametrize("kind", ["stamps", "whole", "ids", "nothing"])
def test_other_kinds_of_times_and_ids(kind, tmp_path):
    import polars as pl

    frame = pl.DataFrame({"id": [1, 1, 2], "t": [1, 2, 3], "a": [1.0, 2.0, 3.0]})
    if kind == "stamps":
        frame = frame.with_columns(t=pl.datetime(2024, 1, pl.col("t")))
    if kind == "whole":
        frame = frame.with_columns(t=pl.col("t") + 2**60)
    if kind == "ids":
        frame = frame.with_columns(id=pl.lit("日本") + pl.col("id").cast(pl.String))
    data = SeriesSet.from_wide(frame, id="id", time="t")
    data = data.with_empty(np.array([9], dtype=data.ids.dtype) if kind != "ids" else np.array(["empty one"]))
    data = data[:0] if kind == "nothing" else data
    stored = data.write(tmp_path / "set")
    assert_same(lt.open_set(stored.path), data)
    assert (stored.origins is None) == (data.origins is None)
    if data.origins is not None:
        assert stored.origins.dtype == data.origins.dtype
        np.testing.assert_array_equal(stored.origins, data.origins)
    assert stored.reading == data.reading


def test_encoding_reads_a_stored_set(data, stored):
    for width in (None, 3.0):
        one, other = (SeriesEncoder(bin_width=width).fit_transform(each) for each in (stored, data))
        np.testing.assert_array_equal(one.x, other.x)


def test_nothing_is_replaced_unless_asked(data, tmp_path):
    data.write(tmp_path / "set")
    with pytest.raises(FileExistsError, match="replace=True"):
        data[:2].write(tmp_path / "set")
    assert len(data[:2].write(tmp_path / "set", replace=True)) == 2
    (tmp_path / "set" / "mine.txt").write_text("notes")
    with pytest.raises(FileExistsError, match=r"mine\.txt"):
        data.write(tmp_path / "set", replace=True)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.tex").write_text("mine")
    for place in ("folder", "folder/thesis.tex"):
        with pytest.raises(FileExistsError, match="not a stored set"):
            data.write(tmp_path / place, replace=True)
    with pytest.raises(FileNotFoundError, match="folder that exists"):
        data.write(tmp_path / "nowhere" / "set")
    assert sorted(os.listdir(tmp_path)) == ["folder", "set"]


def test_a_write_that_fails_leaves_what_was_there(data, tmp_path):
    from liquidtime.data.stored import SetFacts, write_blocks

    data[:2].write(tmp_path / "set")

    def broken():
        yield data[:3]
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match=r"No space left.*unchanged"):
        write_blocks(SetFacts.of(data), broken(), tmp_path / "set", replace=True)
    assert_same(lt.open_set(tmp_path / "set"), data[:2])
    assert os.listdir(tmp_path) == ["set"]
    with pytest.raises(ValueError, match="rows were written"):
        write_blocks(SetFacts.of(data), [data[:3]], tmp_path / "other")
    assert os.listdir(tmp_path) == ["set"]


def test_a_file_that_becomes_shorter_while_open_is_named(data, tmp_path):
    stored = data.write(tmp_path / "set")
    os.truncate(tmp_path / "set" / "values.npy", 300)
    with pytest.raises(DamagedFolder, match=r"values\.npy has been shortened"):
        stored[3:5]
