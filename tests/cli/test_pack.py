"""Tables packed into a stored set, which every command takes in place of a table, and never reads whole."""

import json
import os

import numpy as np
import polars as pl
import pytest

import liquidtime
from cli.tables import LONG, lt, write_tables
from liquidtime.data.stored import StoredSet, stored_set
from liquidtime.scoring import prediction_files
from oracles.series import assert_same

QUICK = ["--quick", "--epochs", 1, "--hidden-size", 4, "--no-refit", "--target", "state", "--labels-id", "patient"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pack")
    long, truth = write_tables(folder, S=500)
    (folder / "shards").mkdir()
    for number, low in enumerate(range(0, len(long), 1500)):
        long[low : low + 1500].write_parquet(folder / "shards" / f"{number}.parquet")
    long.join(truth, on="patient").write_parquet(folder / "labelled.parquet")
    code, out, err = lt("pack", folder / "shards", *LONG, "--out", folder / "set", "--json")
    assert code == 0, err
    assert json.loads(out)["series"] == 500
    return folder


def whole_arrays_are_refused(monkeypatch, home):
    """Make every look at the samples of over half of the series at once an error."""
    total = int(liquidtime.open_set(home / "set").offsets[-1])
    monkeypatch.setattr(stored_set, "IN_MEMORY", total * 24 * 6 // 10)

    def refusing(name):
        def look(self):
            assert int(self.offsets[-1]) <= 0.6 * total, f"`{name}` of {len(self)} series was read at once"
            return getattr(self.load(), name)

        return property(look)

    for name in ("times", "values"):
        monkeypatch.setattr(StoredSet, name, refusing(name))


def train(home, data, out, *words):
    code, _, err = lt("train", data, *words, *QUICK, "--labels", home / "labels.csv", "--out", home / out)
    assert code == 0, err
    return home / out


def predictions(home, model, data, *words):
    out = home / "out.parquet"
    code, _, err = lt("predict", model, data, "--out", out, "--force", *words)
    assert code == 0, err
    return pl.read_parquet(out)


def test_the_set_is_that_of_the_table(home):
    long = ["patient", "minutes", "name", "value"]
    names = dict(zip(("id", "time", "channel", "value"), long, strict=True))
    whole = liquidtime.SeriesSet.from_long(pl.read_csv(home / "long.csv"), **names, time_unit="min")
    assert_same(liquidtime.open_set(home / "set"), whole)


def test_training_and_predicting_from_disk_gives_the_same_bits(home, monkeypatch):
    eager = train(home, home / "long.csv", "eager", *LONG)
    table = predictions(home, eager, home / "long.csv")
    whole_arrays_are_refused(monkeypatch, home)
    stored = train(home, home / "set", "stored")
    for data in ("set", "shards", "long.csv"):
        assert predictions(home, stored, home / data).equals(table)
    monkeypatch.setattr(prediction_files, "_SERIES", 130)
    for words in ((), ("--each-sample",)):
        sliced = predictions(home, stored, home / "set", *words)
        assert sliced.equals(predictions(home, eager, home / "long.csv", *words))
    ends = sliced.group_by("patient", maintain_order=True).last()
    np.testing.assert_allclose(ends["probability_sick"], table["probability_sick"], atol=1e-6)
    code, _, err = lt("predict", stored, home / "set", "--out", home / "out.csv", "--force")
    assert code == 0, err
    written = pl.read_csv(home / "out.csv")
    assert written["patient"].to_list() == table["patient"].to_list()
    np.testing.assert_allclose(written["probability_sick"], table["probability_sick"], atol=1e-6)
    codes = [
        lt("evaluate", stored, home / "set", "--labels", home / "labels.csv", "--json"),
        lt("evaluate", stored, home / "long.csv", "--labels", home / "labels.csv", "--json"),
    ]
    assert codes[0][0] == 0, codes[0][2]
    assert json.loads(codes[0][1])["figures"] == json.loads(codes[1][1])["figures"]
    assert not [name for name in os.listdir(home) if name.startswith(".")]


def test_a_target_beside_each_row_is_packed_as_a_static_feature(home):
    code, _, err = lt(
        "pack", home / "labelled.parquet", *LONG, "--static", "state,score", "--categorical", "state", "--out",
        home / "labelled",
    )  # fmt: skip
    assert code == 0, err
    words = ["--quick", "--epochs", 1, "--hidden-size", 4, "--no-refit", "--target", "state", "--auxiliary", "score"]
    code, _, err = lt("train", home / "labelled", *words, "--out", home / "model")
    assert code == 0, err
    model = liquidtime.load(home / "model")
    assert model.encoder_.static_names_ == ()
    assert model.classes_.tolist() == ["sick", "well"]
    code, _, err = lt("evaluate", home / "model", home / "labelled", "--json")
    assert code == 0, err


@pytest.mark.parametrize(("words", "message"), [
    (["train", "set", "--id", "patient", "--target", "state", "--out", "x"], "--id is for tables"),
    (["train", "set", "--static", "age", "--target", "state", "--out", "x"], "--static is for tables"),
    (["train", "long.csv", "--time", "minutes", "--target", "state", "--out", "x"], "--id must name a column of DATA"),
    (["train", "set", "--target", "state", "--out", "x"], "pack the set again with --static state"),
    (["train", "set", "long.csv", "--id", "a", "--time", "b", "--target", "state", "--out", "x"], "the only source"),
    (["pack", "shards", *LONG, "--out", "set"], "exists"),
    (["pack", "shards", *LONG, "--no-gather", "--out", "x"], "1.parquet"),
    (["pack", "shards", *LONG[2:], "--id", "bed", "--out", "x"], "--id must name a column"),
    (["pack", "nowhere", *LONG, "--out", "x"], "there is no file"),
    (["pack", "long.csv", "--id", "patient", "--time", "minutes", "--channel", "name", "--out", "x"], "needs --value"),
    (["pack", "long.csv", *LONG, "--out", "nowhere/x"], "folder that exists"),
])  # fmt: skip
def test_refusals(home, words, message, monkeypatch):
    monkeypatch.chdir(home)
    code, _, err = lt(*words)
    assert (code, message in err) == (2, True), err
    assert "gather=False" not in err
    assert not (home / "x").exists()


def test_a_damaged_set_is_refused(home, tmp_path):
    import shutil

    shutil.copytree(home / "set", tmp_path / "set")
    raw = (tmp_path / "set" / "values.npy").read_bytes()
    (tmp_path / "set" / "values.npy").write_bytes(raw[:-5] + b"\x01" + raw[-4:])
    code, _, err = lt("train", tmp_path / "set", *QUICK, "--labels", home / "labels.csv", "--out", tmp_path / "model")
    assert code == 2
    assert "the file is damaged or was changed" in err
