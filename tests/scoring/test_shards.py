"""Predictions shard by shard: one file for each, every id once whoever dies, nothing of the user's lost."""

import os
import signal
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import liquidtime
from cli.tables import WIDE, lt, write_shards, write_tables
from liquidtime.scoring import frames, predict_frame, predict_shards, shards

pytestmark = pytest.mark.slow
SMALL = ["--epochs", 1, "--hidden-size", 4, "--n-estimators", 1]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    write_tables(folder, S=24)
    write_shards(folder, each=6)
    code, _, err = lt(
        "train", folder / "wide.parquet", *WIDE, "--values", "hr,temp", "--target", "state", *SMALL, "--out",
        folder / "model",
    )  # fmt: skip
    assert code == 0, err
    return folder


@pytest.fixture(scope="module")
def whole(home):
    code, _, err = lt("predict", home / "model", home / "wide.parquet", "--out", home / "whole.parquet")
    assert code == 0, err
    return pl.read_parquet(home / "whole.parquet").sort("patient")


def together(out):
    files = sorted(out.iterdir())
    assert [file.name for file in files] == [f"part-{number}.parquet" for number in range(4)]
    return pl.concat([pl.read_parquet(file) for file in files]).sort("patient")


def assert_same(table, whole):
    assert table["patient"].to_list() == whole["patient"].to_list()
    np.testing.assert_allclose(table["probability_sick"], whole["probability_sick"], atol=1e-6)


def test_each_shard_becomes_one_file_and_finished_ones_are_left(home, whole, tmp_path):
    out = tmp_path / "out"
    code, said, err = lt("predict", home / "model", home / "shards", "--out", out)
    assert code == 0, err
    assert "4 of 4 shards predicted: 24 series" in said
    assert_same(together(out), whole)
    before = {file.name: file.stat().st_mtime_ns for file in out.iterdir()}
    (out / "part-2.parquet").unlink()
    code, said, err = lt("predict", home / "model", home / "shards", "--out", out)
    assert code == 0, err
    assert "1 of 4 shards predicted, 3 had been predicted before: 6 series" in said
    assert_same(together(out), whole)
    after = {file.name: file.stat().st_mtime_ns for file in out.iterdir()}
    assert {name for name in before if before[name] != after[name]} == {"part-2.parquet"}


def test_a_killed_worker_is_reported_and_every_id_is_there_once(home, whole, tmp_path, monkeypatch):
    predict = shards.predict_shard

    def die_once(request, shard, again=False):
        if shard.name == "part-1.parquet" and not again:
            (shard.out.parent / f".{shard.out.name}.{os.getpid()}.tmp").write_bytes(b"half")
            os.kill(os.getpid(), signal.SIGKILL)
        return predict(request, shard, again)

    monkeypatch.setattr(shards, "predict_shard", die_once)
    with pytest.warns(UserWarning, match=r"a worker process died; repeating: .*part-1\.parquet"):
        done = predict_shards(home / "model", home / "shards", tmp_path / "out", workers=2)
    assert (len(done.files), done.skipped, done.series) == (4, 0, 24)
    killed = together(tmp_path / "out")
    assert_same(killed, whole)
    monkeypatch.undo()
    predict_shards(home / "model", str(home / "shards" / "*.parquet"), tmp_path / "one")
    assert killed.equals(together(tmp_path / "one"))  # bit by bit, by one process or two, killed or not


def test_nothing_of_others_is_replaced_unasked(home, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "part-3.parquet").write_text("years of work")
    (out / "notes.txt").write_text("mine")
    words = ["predict", home / "model", home / "shards", "--out", out]
    code, _, err = lt(*words)
    assert (code, "part-3.parquet was not written by `liquidtime predict`; replace it with --force" in err) == (2, True)
    assert sorted(file.name for file in out.iterdir()) == ["notes.txt", "part-3.parquet"]
    assert (out / "part-3.parquet").read_text() == "years of work"
    assert lt(*words, "--force")[0] == 0
    assert (out / "notes.txt").read_text() == "mine"
    code, _, err = lt(*words, "--threshold", 0.3)
    assert (code, "predictions of another model, other options or an older shard" in err) == (2, True)
    code, _, err = lt("predict", home / "model", home / "shards" / "part-0.parquet", "--out", out)
    assert (code, "part-1.parquet has predictions of a shard that is not among those named" in err) == (2, True)
    code, _, err = lt("predict", home / "model", home / "shards", "--out", home / "shards")
    assert (code, "is the folder with the shards" in err) == (2, True)
    code, _, err = lt("predict", home / "model", home / "shards", "--out", home / "model" / "inner")
    assert (code, "whose files are sealed" in err) == (2, True)
    code, _, err = lt("predict", home / "model", home / "shards", "--out", out / "x.csv", "--workers", 2)
    assert (code, "name a folder as --out" in err) == (2, True)


def test_wrong_shards_are_named_before_anything_is_written(home, tmp_path):
    for number in range(2):
        table = pl.read_parquet(home / "shards" / f"part-{number}.parquet")
        table.write_parquet(tmp_path / f"{number}.parquet")
    table.drop("temp").write_parquet(tmp_path / "2.parquet")
    out = tmp_path / "out"
    code, _, err = lt("predict", home / "model", tmp_path, "--out", out)
    assert (code, err.strip()) == (2, "error: the shard '2.parquet' lacks the column 'temp', which '0.parquet' has")
    table.with_columns(pl.lit("p2").alias("patient")).write_parquet(tmp_path / "2.parquet")
    code, _, err = lt("predict", home / "model", tmp_path, "--out", out)
    assert (code, "series 'p2' is in two shards, '0.parquet' and '2.parquet'" in err) == (2, True)
    assert len(err.strip().splitlines()) == 1
    (tmp_path / "2.parquet").write_bytes(b"PAR1 no more")
    code, _, err = lt("predict", home / "model", tmp_path, "--out", out)
    assert (code, "'2.parquet' cannot be read as parquet" in err) == (2, True)
    code, _, err = lt(
        "predict", home / "model", tmp_path / "1.parquet", home / "shards" / "part-0.parquet", "--out", out
    )
    assert code == 0, err
    table.write_csv(tmp_path / "1.csv")
    code, _, err = lt("predict", home / "model", tmp_path / "1.parquet", tmp_path / "1.csv", "--out", tmp_path / "two")
    assert (code, "would both be written to 1.parquet" in err) == (2, True)
    assert not (tmp_path / "two").exists()


def test_a_shard_without_rows_and_a_stored_set_have_their_files(home, whole, tmp_path, monkeypatch):
    (tmp_path / "shards").mkdir()
    table = pl.read_parquet(home / "shards" / "part-0.parquet")
    table.clear().write_parquet(tmp_path / "shards" / "a.parquet")
    table.write_parquet(tmp_path / "shards" / "b.parquet")
    predict_shards(home / "model", tmp_path / "shards", tmp_path / "out")
    empty, full = (pl.read_parquet(tmp_path / "out" / f"{name}.parquet") for name in "ab")
    assert (len(empty), len(full)) == (0, 6)
    assert empty.schema == full.schema
    code, _, err = lt(
        "pack", home / "shards", *WIDE, "--values", "hr,temp", "--out", tmp_path / "set",
    )  # fmt: skip
    assert code == 0, err
    monkeypatch.setattr("liquidtime.scoring.shard_plan.BLOCK", 10)
    done = predict_shards(home / "model", tmp_path / "set", tmp_path / "blocks")
    assert [file.name for file in done.files] == [f"series-{low:09d}.parquet" for low in (0, 10, 20)]
    assert_same(pl.concat([pl.read_parquet(file) for file in done.files]).sort("patient"), whole)


def test_a_frame_becomes_a_frame_of_its_library_with_the_model_loaded_once(home, whole, monkeypatch):
    table = pl.read_parquet(home / "wide.parquet")
    frames._LOADED.clear()
    loads = []
    load = liquidtime.estimators.load
    monkeypatch.setattr(liquidtime.estimators, "load", lambda folder: loads.append(folder) or load(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for frame in (table, table.to_pandas(), table.to_arrow()):
            made = predict_frame(frame, home / "model")
            assert type(made) is type(frame)
            made = pl.DataFrame(made) if not isinstance(made, pl.DataFrame) else made
            assert_same(made.sort("patient"), whole)
            empty = predict_frame(frame[:0], str(home / "model"))
            assert type(empty) is type(frame)
            assert list(pl.DataFrame(empty).columns) == made.columns
    assert len(loads) == 1
    assert predict_frame(table.clear(), home / "model").schema == predict_frame(table, home / "model").schema
    renamed = predict_frame(table.rename({"patient": "stay"}), home / "model", id="stay")
    assert renamed.columns[0] == "stay"
    with pytest.raises(FileNotFoundError, match="there is no model folder"):
        predict_frame(table, Path("nowhere"))
    with pytest.raises(ValueError, match="minutes"):
        predict_frame(table.drop("minutes"), home / "model")
