"""A search sees the training part alone, continues where it stopped, and says what it tried."""

from __future__ import annotations

import contextlib
import dataclasses
import sqlite3

import numpy as np
import pytest

import liquidtime as lt
from cli.tables import WIDE, write_tables
from cli.tables import lt as command
from estimators.small import series
from liquidtime.tuning.space import Choices, Range, read_text, space_of
from liquidtime.tuning.study import open_storage, without_password
from liquidtime.tuning.trials import Material

optuna = pytest.importorskip("optuna")
pytestmark = pytest.mark.slow
SPACE = {"hidden_size": (4, 8), "learning_rate": "1e-3..1e-2:log", "dropout": [0.0, 0.5]}
FIXED = {"epochs": 2, "batch_size": 16, "backbone_units": 8, "read_out_units": 8, "space": SPACE}


@pytest.fixture(scope="module")
def problem():
    data, labels, _ = series(S=48, empty=False)
    return data, np.where(labels == "c", "b", labels)


@pytest.fixture(scope="module")
def storage(tmp_path_factory):
    return f"sqlite:///{tmp_path_factory.mktemp('study')}/search.db"


@pytest.fixture(scope="module")
def found(problem, storage):
    return lt.search(*problem, trials=4, storage=storage, seed=1, **FIXED)


def test_the_best_trial_is_trained_and_tested_once(found):
    assert [trial.state for trial in found.trials] == ["complete"] * 4
    assert found.loss == min(trial.loss for trial in found.trials)
    assert set(found.best) == set(SPACE)
    assert found.model.hidden_size == found.best["hidden_size"]
    assert found.result.parts["test"].size == 10
    assert len(found.table) == 4
    assert all(len(trial.curve) == 2 for trial in found.trials)


def test_no_trial_sees_the_test_part(problem, found, monkeypatch):
    data, labels = problem
    test = found.result.parts["test"]
    rest = np.setdiff1d(np.arange(48), test)
    values = data.values.copy()
    for row in test:
        values[data.offsets[row] : data.offsets[row + 1], 0] = 1e6
    poisoned = dataclasses.replace(data, values=values)
    wrong = np.where(labels[test] == "a", "b", "a")
    seen = []
    loss = Material.loss
    monkeypatch.setattr(Material, "loss", lambda self, trial: seen.append(len(self.data)) or loss(self, trial))
    clean, other = (
        lt.search(data[rest], labels[rest], trials=1, seed=1, test=held, **FIXED)
        for held in ((data[test], labels[test]), (poisoned[test], wrong))
    )
    assert clean.loss == other.loss
    assert clean.best == other.best
    assert seen == [len(rest)] * 2
    assert clean.figures["CfC"]["accuracy"] != other.figures["CfC"]["accuracy"]


def test_a_search_is_continued_up_to_its_trials_and_refuses_other_data(problem, storage, found):
    lines = []
    more = lt.search(*problem, trials=5, storage=storage, seed=1, log=lines.append, **FIXED)
    assert [trial.loss for trial in more.trials[:4]] == [trial.loss for trial in found.trials]
    assert len(more.trials) == 5
    assert "with 1 trials on 38 training series; 4 are already done" in lines[0]
    with pytest.raises(ValueError, match="was made with other data, other settings or another space"):
        lt.search(*problem, trials=5, storage=storage, seed=2, **FIXED)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_study_of_another_program_is_left_alone(problem, tmp_path, direction):
    storage = f"sqlite:///{tmp_path}/theirs.db"
    theirs = optuna.create_study(storage=storage, study_name="liquidtime", direction=direction)
    theirs.add_trial(optuna.trial.create_trial(value=1.0))
    with pytest.raises(ValueError, match=r"made by another program\. Choose another `name`"):
        lt.search(*problem, trials=1, storage=storage, name="liquidtime", **FIXED)
    assert len(theirs.get_trials()) == 1
    assert not theirs.user_attrs


def test_a_storage_that_breaks_during_a_search_is_named(problem, tmp_path):
    path = tmp_path / "search.db"

    def log(line: str) -> None:
        if line.startswith("searching"):
            path.write_bytes(b"not a database" * 1000)

    with pytest.raises(ConnectionError, match=r"search.db failed during the search: .*the same call continues"):
        lt.search(*problem, trials=1, storage=f"sqlite:///{path}", log=log, **FIXED)


def test_a_locked_storage_is_no_reason_to_choose_another_file(tmp_path, monkeypatch):
    path = tmp_path / "locked.db"
    connect = sqlite3.connect
    with contextlib.closing(connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE studies (a)")
        other.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr(sqlite3, "connect", lambda path, timeout: connect(path, timeout=0.1))
        with pytest.raises(ConnectionError, match=r"locked.db cannot be opened: database is locked"):
            open_storage(f"sqlite:///{path}")


def test_the_page_is_whole_and_says_what_was_tried(found, tmp_path):
    page = found.report(tmp_path / "search.html").read_text()
    assert "no trial has used the test part" in page
    assert "learning_rate" in page
    assert page.count("<svg") >= 5
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page


def test_the_command_writes_model_and_page(tmp_path):
    write_tables(tmp_path, S=40)
    code, out, err = command(
        "search", tmp_path / "wide.csv", *WIDE, "--values", "hr,temp", "--target", "state", "--epochs", 1, "--trials",
        2, "--space", "hidden_size=4..8", "--out", tmp_path / "model", "--json",
    )  # fmt: skip
    assert code == 0, err
    assert '"trials": 2' in out
    assert (tmp_path / "model.search.html").is_file()
    assert lt.load(tmp_path / "model").hidden_size in range(4, 9)
    for words, said in (
        (["--space", "hidden"], "--space must be a setting and the values to try"),
        (["--space", "hiden_size=4..8"], "not a setting that can be searched"),
        (["--storage", "search.db"], "must be a URL such as sqlite:///search.db"),
        (["--storage", f"sqlite:///{tmp_path}/none/s.db"], "must be in a folder that exists"),
    ):
        code, _, err = command(
            "search", tmp_path / "wide.csv", *WIDE, "--values", "hr,temp", "--target", "state", "--out", tmp_path / "x",
            *words,
        )  # fmt: skip
        assert code == 2
        assert said in err


def test_spaces_are_read_as_they_are_meant():
    assert read_text("16..128:log") == Range(16, 128, log=True, whole=True)
    assert read_text("0.1..0.5") == Range(0.1, 0.5)
    assert read_text("cfc,gru,none,3") == Choices(("cfc", "gru", None, 3))
    for wrong in ("5..4", "0..1:log", "a..b", "1..2:exp", "cfc"):
        with pytest.raises(ValueError, match=r"range|two different"):
            read_text(wrong)
    with pytest.raises(ValueError, match="has the value 8 and is also in `space`"):
        space_of({"hidden_size": (4, 8)}, {"hidden_size": 8}, ["hidden_size"])
    assert without_password("postgresql://me:secret@host/db") == "postgresql://me@host/db"


@pytest.mark.parametrize("option", ["--resume", "--force"])
def test_a_search_whose_last_training_was_interrupted_goes_on(tmp_path, monkeypatch, option):
    from liquidtime.evaluation.result import Result

    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path, S=24)
    words = ["search", "wide.csv", *WIDE, "--target", "state", "--values", "hr,temp", "--epochs", 2, "--trials", 2]
    words += ["--space", "hidden_size=4..8", "--storage", "sqlite:///trials.db", "--out", "model"]

    def killed(*given, **options):
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(Result, "save", killed)
        assert command(*words)[0] == 1
    assert (tmp_path / "model.run" / "job.sha256").exists()
    code, _, err = command(*words)
    assert (code, "Add --resume to resume it, or --force to start over." in err) == (2, True), err
    code, _, err = command(*words, option)
    assert code == 0, err
    assert (tmp_path / "model" / "model.safetensors").exists()
    assert not (tmp_path / "model.run").exists()
