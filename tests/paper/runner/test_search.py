"""Trials of a search: each has a file, none sees the test part, and the best on validation becomes a row."""

import dataclasses
import json

import pytest
import torch

from liquidtime.paper.datasets import Split
from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.models.network import SequenceNetwork
from liquidtime.paper.models.network_model import NetworkModel
from liquidtime.paper.runner import run, tune
from liquidtime.paper.runner.results import Key
from liquidtime.paper.runner.runner import _data
from liquidtime.paper.runner.search import best, trials_of
from paper.small_runs import cheapen_all, shrink_xor, written


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    cheapen_all(monkeypatch)
    shrink_xor(monkeypatch)
    _data.cache_clear()
    yield
    _data.cache_clear()


@pytest.fixture
def root(tmp_path_factory):
    return written(tmp_path_factory.getbasetemp() / "data")


@pytest.mark.parametrize("name", [name for name, one in EXPERIMENTS.items() if one.search is not None])
def test_the_best_trial_becomes_a_row(name, root, tmp_path):
    experiment = EXPERIMENTS[name]
    model = experiment.search.rows[-1]
    said = []
    records, chosen = tune(name, model, limit=20, data_dir=root, out=tmp_path, progress=False, log=said.append)
    assert [record["trial"] for record in records] == [0, 1]
    assert len(said) == 2
    values = [record["validation"] for record in records]
    higher = experiment.task.metric != "mse"
    assert chosen["validation"] == (max(values) if higher else min(values))
    (path,) = run(name, f"{model}_searched", [3], limit=20, data_dir=root, out=tmp_path, jobs=1, progress=False)
    record = json.loads(path.read_text())
    assert record["settings"] == chosen["settings"]
    assert record["search"] == {"model": model, "trial": chosen["trial"]}
    assert record["title"].endswith("(searched)")


def test_short_trials_leave_the_row_its_length(tmp_path, monkeypatch):
    search = EXPERIMENTS["xor"].search
    short = dataclasses.replace(search, fixed={**search.fixed, "epochs": 2}, epochs=1, sequences=8)
    monkeypatch.setitem(EXPERIMENTS, "xor", dataclasses.replace(EXPERIMENTS["xor"], search=short))
    learned, true_train = [], NetworkModel.train
    monkeypatch.setattr(
        NetworkModel, "train", lambda self, trial, s: learned.append(trial.split.train.x) or true_train(self, trial, s)
    )
    records, chosen = tune("xor", "lstm", limit=20, out=tmp_path, progress=False)
    assert [(one["epochs"], one["sequences"]) for one in records] == [(1, 8), (1, 8)]
    (path,) = run("xor", "lstm_searched", [0], limit=20, out=tmp_path, jobs=1, progress=False)
    record = json.loads(path.read_text())
    assert record["settings"]["epochs"] == chosen["settings"]["epochs"] == 2
    assert (record["epochs"], record["sizes"]["train"]) == (2, 20)
    whole = EXPERIMENTS["xor"].data("honest", None, 20).train.x
    assert [torch.equal(x, whole[: len(x)]) for x in learned] == [True, True, True]
    assert [len(x) for x in learned] == [8, 8, 20]


def test_a_row_runs_the_trials_that_are_missing_and_no_others(tmp_path, monkeypatch):
    trained, true_train = [], NetworkModel.train

    def counted(self, trial, settings):
        trained.append((settings.base_lr, trial.split.test is trial.split.validation))
        return true_train(self, trial, settings)

    monkeypatch.setattr(NetworkModel, "train", counted)
    options = {"limit": 20, "out": tmp_path, "jobs": 1, "progress": False}
    tune("xor", "lstm", limit=20, out=tmp_path, progress=False)
    assert [blind for _, blind in trained] == [True, True]
    run("xor", "lstm_searched", [0], **options)
    assert [blind for _, blind in trained] == [True, True, False]
    (tmp_path / "search" / "xor" / "lstm-limit20-trial1.json").unlink()
    run("xor", "lstm_searched", [1], **options)
    assert [blind for _, blind in trained] == [True, True, False, True, False]


def test_a_poisoned_test_part_changes_no_trial(tmp_path):
    split = EXPERIMENTS["xor"].data("honest", None, 20)
    spoiled = dataclasses.replace(split.test, x=split.test.x * float("nan"), y=1 - split.test.y)
    key = Key("xor", "cfc", "honest", 0, None, 20)
    clean = trials_of(key, split, tmp_path / "clean", False)
    other = trials_of(key, Split(split.train, split.validation, spoiled), tmp_path / "spoiled", False)
    facts = [[(one["settings"], one["validation"], one["best_epoch"]) for one in each] for each in (clean, other)]
    assert facts[0] == facts[1]
    changed = dataclasses.replace(split.validation, y=torch.ones_like(split.validation.y))
    third = trials_of(key, Split(split.train, changed, split.test), tmp_path / "third", False)
    assert [one["validation"] for one in third] != [one["validation"] for one in clean]


def test_a_trial_cut_short_is_resumed(tmp_path, monkeypatch):
    options = {"limit": 20, "epochs": 3, "progress": False}
    whole, _ = tune("xor", "gru", out=tmp_path / "whole", **options)
    true_forward, calls = SequenceNetwork.forward, []

    def counted(self, batch):
        calls.append(self.training)
        if len(calls) == 7:
            raise RuntimeError("cut short")
        return true_forward(self, batch)

    monkeypatch.setattr(SequenceNetwork, "forward", counted)
    with pytest.raises(RuntimeError, match="cut short"):
        tune("xor", "gru", out=tmp_path / "cut", **options)
    cut, _ = tune("xor", "gru", out=tmp_path / "cut", **options)
    assert [one["validation"] for one in cut] == [one["validation"] for one in whole]
    assert [one["epochs"] for one in cut] == [3, 3]


def test_trials_that_diverged_are_never_the_best():
    experiment = EXPERIMENTS["walker2d"]
    records = [
        {"model": "cfc", "trial": number, "validation": value}
        for number, value in enumerate((None, 0.5, float("nan"), 0.4, 0.4))
    ]
    assert best(experiment, records)["trial"] == 3
    with pytest.raises(ValueError, match="all trials of cfc diverged"):
        best(experiment, records[:1])


def test_refusals(tmp_path):
    with pytest.raises(ValueError, match=r"the search of xor has no model 'cfc_tuned'; it has .*lstm"):
        tune("xor", "cfc_tuned", out=tmp_path)
    with pytest.raises(ValueError, match=r"gradients declares no search; those that do: xor"):
        tune("gradients", "cfc_10", out=tmp_path)
    with pytest.raises(ValueError, match="`limit` must be at least 1; got 0"):
        tune("xor", "cfc", limit=0, out=tmp_path)
    split = EXPERIMENTS["xor"].data("published", None, 20)
    with pytest.raises(ValueError, match="this split has none"):
        trials_of(Key("xor", "cfc", "honest", 0), split, tmp_path)
    assert torch.get_num_threads() == 1
