"""Every experiment runs in small; what is done is skipped, what was cut short goes on with the same bits."""

import dataclasses
import json

import numpy as np
import pytest

from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.models.network import SequenceNetwork
from liquidtime.paper.runner import progress_of, run
from liquidtime.paper.runner.results import Key
from liquidtime.paper.runner.runner import _data
from paper.small_runs import cheapen_all, shrink_xor, written


@pytest.fixture(autouse=True)
def _fresh():
    _data.cache_clear()
    yield
    _data.cache_clear()


@pytest.fixture
def small(monkeypatch):
    cheapen_all(monkeypatch)
    shrink_xor(monkeypatch)


@pytest.fixture
def root(tmp_path_factory):
    return written(tmp_path_factory.getbasetemp() / "data")


@pytest.mark.parametrize(
    ("name", "protocol"),
    [(name, protocol) for name in EXPERIMENTS if name != "driving" for protocol in EXPERIMENTS[name].protocols],
)  # driving: tests/paper/models/driving
def test_smoke(name, protocol, root, tmp_path, small):
    experiment = EXPERIMENTS[name]
    for model, row in experiment.rows.items():
        if row.search is not None:
            continue  # tests/paper/runner/test_search.py
        if row.protocols and protocol not in row.protocols:
            with pytest.raises(ValueError, match="`protocol` must be one of"):
                run(name, model, [4], protocol=protocol, data_dir=root, out=tmp_path)
            continue
        said = []
        (path,) = run(
            name, model, [4], protocol=protocol, limit=20, data_dir=root, out=tmp_path, jobs=1, progress=False,
            log=said.append,
        )  # fmt: skip
        record = json.loads(path.read_text())
        assert record["key"] == {
            "experiment": name, "model": model, "protocol": protocol, "seed": 4, "epochs": None, "limit": 20,
        }  # fmt: skip
        test = record["figures"]["test"]
        assert test["metric"] == experiment.task.metric
        assert test["low"] <= test["value"] <= test["high"]
        assert {"torch", "numpy", "python", "liquidtime"} <= set(record["versions"])
        assert record["cores"] >= 1
        assert record["threads"] == 1
        assert str(path) in said[0]
        if row.settings is not None:
            assert record["epochs"] == 1
            assert record["seconds_per_epoch"] == record["curves"]["seconds"][0] > 0
            assert record["weights"] > 0
            assert record["settings"]["hidden_size"] == 6
            assert (record["best_epoch"] is None) == (protocol != "honest" or row.last_epoch)
    assert not (tmp_path / "runs" / name).exists() or not list((tmp_path / "runs" / name).iterdir())
    text = "".join(path.read_text() for path in (tmp_path / name).iterdir())
    assert str(tmp_path) not in text
    assert str(root) not in text


def test_what_is_done_is_not_run_again(tmp_path, monkeypatch, small):
    (path,) = run("xor", "cfc", [0], out=tmp_path, jobs=1, progress=False)
    before = path.read_bytes()
    monkeypatch.setattr(SequenceNetwork, "forward", None)
    said = []
    assert run("xor", "cfc", [0], out=tmp_path, jobs=1, progress=False, log=said.append) == [path]
    assert path.read_bytes() == before
    assert said == [f"{path}: already done"]


def comparable(path):
    record = json.loads(path.read_text())
    del record["curves"]["seconds"], record["seconds_per_epoch"]
    return record


def test_a_run_cut_short_goes_on_and_ends_as_if_nothing_had_happened(tmp_path, monkeypatch, small):
    options = {"epochs": 4, "jobs": 1, "progress": False}
    (whole,) = run("xor", "mm_rnn", [1], out=tmp_path / "whole", **options)
    true_forward, calls = SequenceNetwork.forward, []

    def counted(self, batch):
        calls.append(self.training)
        if len(calls) == 15:
            raise RuntimeError("cut short")
        return true_forward(self, batch)

    monkeypatch.setattr(SequenceNetwork, "forward", counted)
    with pytest.raises(RuntimeError, match="cut short"):
        run("xor", "mm_rnn", [1], out=tmp_path / "cut", **options)
    assert not Key("xor", "mm_rnn", "honest", 1, 4).file(tmp_path / "cut").exists()
    calls.clear()
    (cut,) = run("xor", "mm_rnn", [1], out=tmp_path / "cut", **options)
    assert comparable(cut) == comparable(whole)
    steps = -(-72 // 15)  # batches of an epoch
    assert calls.count(True) < 4 * steps - 5  # the epochs before the cut are not trained again


def test_seeds_side_by_side_are_those_one_after_another(root, tmp_path):
    """The settings are the paper's here: other processes know nothing of what a test has made cheap."""
    options = {"epochs": 1, "limit": 10, "progress": False, "data_dir": root}
    said = []
    pair = run("walker2d", "cfc", [0, 1], out=tmp_path / "pair", jobs=2, log=said.append, every=0.2, **options)
    assert {line.split(":")[0] for line in said} >= {str(path) for path in pair}
    alone = run("walker2d", "cfc", [1], out=tmp_path / "alone", jobs=1, **options)
    one, other = comparable(alone[0]), comparable(pair[1])
    assert (one.pop("side_by_side"), other.pop("side_by_side")) == (1, 2)
    assert one == other
    assert comparable(pair[0])["figures"] != other["figures"]


def test_a_row_may_have_its_own_data_options(root, tmp_path, small, monkeypatch):
    experiment = EXPERIMENTS["physionet"]
    plain = experiment.rows["lstm"]
    coarse = dataclasses.replace(plain, label="coarse", options={"hours": 12.0})
    rows = {**experiment.rows, "lstm_coarse": coarse}
    monkeypatch.setitem(EXPERIMENTS, "physionet", dataclasses.replace(experiment, rows=rows))
    (path,) = run("physionet", "lstm_coarse", [0], data_dir=root, out=tmp_path, jobs=1, progress=False)
    record = json.loads(path.read_text())
    assert record["data"] == {"protocol": "honest", "hours": 12.0}
    assert record["title"] == "LSTM (coarse)"
    (other,) = run("physionet", "lstm", [0], data_dir=root, out=tmp_path, jobs=1, progress=False)
    assert json.loads(other.read_text())["curves"]["loss"] != record["curves"]["loss"]


def test_a_row_of_averages_is_made_from_seeds_of_another(root, tmp_path, small):
    options = {"limit": 20, "data_dir": root, "out": tmp_path, "jobs": 1, "progress": False}
    run("imdb", "mm_rnn", [6], **options)
    keys = [Key("imdb", "mm_rnn", "honest", seed, None, 20) for seed in range(5, 10)]
    before = keys[1].file(tmp_path).read_bytes()
    (path,) = run("imdb", "mm_rnn_five", [1], **options)
    assert keys[1].file(tmp_path).read_bytes() == before
    record, singles = json.loads(path.read_text()), [json.loads(key.file(tmp_path).read_text()) for key in keys]
    assert record["weights"] == 5 * singles[0]["weights"]
    assert record["train_settings"] == {"row": "mm_rnn", "seeds": [5, 6, 7, 8, 9]}
    mean = np.mean([np.load(key.prediction(tmp_path)) for key in keys], axis=0)
    target = EXPERIMENTS["imdb"].data("honest", root, 20).test.y.numpy()
    assert record["figures"]["test"]["value"] == np.mean(mean.argmax(1) == target)


def test_a_line_about_a_seed_under_way(tmp_path):
    key = Key("xor", "cfc", "honest", 3)
    assert progress_of(key, tmp_path) == ""
    key.folder(tmp_path).mkdir(parents=True)
    log = '{"epoch": 4, "step": 50, "loss": 0.25, "seconds": 1.0, "val_accuracy": 0.5}\n{"epoch": 5, "st'
    (key.folder(tmp_path) / "metrics.jsonl").write_text(log)
    assert progress_of(key, tmp_path) == "xor cfc-honest-seed3: epoch 5, loss 0.2500 val_accuracy 0.5000"


def test_refusals(tmp_path):
    with pytest.raises(ValueError, match=r"`experiment` must be one of 'xor', .*; got 'xro'; did you mean `xor`"):
        run("xro", "cfc", [0], out=tmp_path)
    with pytest.raises(ValueError, match=r"`model` must be one of 'cf_s', .*; got 'boosting'"):
        run("xor", "boosting", [0], out=tmp_path)
    with pytest.raises(ValueError, match="`protocol` must be one of 'honest', 'published'; got 'fair'"):
        run("xor", "cfc", [0], protocol="fair", out=tmp_path)
    with pytest.raises(ValueError, match="`epochs` must be at least 1; got 0"):
        run("xor", "cfc", [0], epochs=0, out=tmp_path)
