"""The main job from Python: what it takes, what it returns, and that it looks at nothing twice."""

import json
import sys

import numpy as np
import polars as pl
import pytest

import liquidtime as lt
from estimators.small import TINY, series
from liquidtime.data import SeriesEncoder
from liquidtime.evaluation import Result, compare, hold_out
from liquidtime.tasks import TASKS, find_task, infer_task, task_of
from liquidtime.training import FolderInUse
from liquidtime.training.run_folder import RunFolder

SMALL = {name: value for name, value in TINY.items() if name != "random_state"} | {"epochs": 2}
TESTED = SMALL | {"refit": False}


@pytest.fixture(scope="module")
def problem():
    return series(60, empty=False)


@pytest.fixture(scope="module")
def result(problem):
    data, labels, level = problem
    return lt.train_and_test(data, labels, auxiliary=level, target_name="trend", auxiliary_names=["level"], **TESTED)


def test_the_figures_are_those_of_the_held_out_part(problem, result):
    data, labels, level = problem
    train, test = hold_out(60, 0.2, 0, labels)
    assert {name: rows.tolist() for name, rows in result.parts.items()} == {
        "training": train.tolist(), "test": test.tolist(),
    }  # fmt: skip
    model = lt.CfCClassifier(**SMALL, random_state=0).fit(data[train], labels[train], auxiliary=level[train])
    again = compare(model, "CfC", (data[train], labels[train]), (data[test], labels[test]))
    assert result.comparison.to_dict() == again.to_dict()
    assert list(result.figures) == ["CfC", "gradient boosting on summary features", "guess (share of each class)"]
    assert result.figures["CfC"]["auc"].low <= result.figures["CfC"]["auc"].value
    np.testing.assert_array_equal(result.model.predict_proba(data[test]), model.predict_proba(data[test]))


def test_the_predictions_are_a_table_with_the_truth(problem, result):
    data, labels, _ = problem
    table, test = result.predictions, result.parts["test"]
    assert table.columns == ["id", "truth", "prediction", "probability_a", "probability_b", "probability_c"]
    assert table["id"].to_list() == data.ids[test].tolist()
    assert table["truth"].to_list() == labels[test].tolist()
    assert table["prediction"].to_list() == result.model.predict(data[test]).tolist()
    right = (table["truth"] == table["prediction"]).mean()
    assert result.figures["CfC"]["accuracy"].value == pytest.approx(right)


def test_it_shows_itself(result):
    text = repr(result)
    assert "task 'classify', because the targets are texts" in text
    assert "Classification of trend" in text
    assert "48 series trained on, 12 tested on, seed 0" in text
    header, rule, *rows = text.splitlines()[2:9]
    assert set(rule) == {"─"}
    start = header.index("gradient")
    assert all(row[start - 1] == " " and row[start] != " " for row in rows)
    assert [row.split("  ")[0] for row in rows] == ["AUC", "avg. precision", "accuracy", "log loss ↓", "Brier score ↓"]
    page = result._repr_html_()
    assert "<table>" in page
    assert page.count("<b>") >= 6  # the headline, and the best of each metric


@pytest.mark.parametrize(("kind", "members", "encoders"), [("a", 3, 3), ("b", 1, 1), (None, 1, 1)])
def test_the_test_part_is_encoded_once(kind, members, encoders, monkeypatch):
    """By each encoder, whatever the figures, the table and the drawings ask of it; looking inside needs others."""
    monkeypatch.setattr(sys.modules["liquidtime.evaluation.report_data"], "explain", lambda *data, **options: None)
    data, labels, level = series(60, empty=False, longest=100)
    sizes = []
    encode = SeriesEncoder.encode
    monkeypatch.setattr(SeriesEncoder, "encode", lambda self, steps: sizes.append(len(steps)) or encode(self, steps))
    target = {"a": labels, "b": level, None: None}[kind]
    found = lt.train_and_test(data, target, n_estimators=members, **TESTED)
    assert len(found.model.encoders_) == encoders
    # 48 are the training part; a forecaster weighs its mixture on a fifth of it; 4 are drawn, and read again for that
    others = {48, 4} if kind is not None else {48, 38, 10, 4}
    assert [size for size in sizes if size not in others] == [12] * encoders
    assert len(found.contents.series) == 4
    assert len(found.predictions) >= 12


def test_without_the_packages_of_the_report_a_model_is_saved_all_the_same(result, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.warns(UserWarning, match=r"saved without its report.*pip install 'liquidtime\[report\]'"):
        result.save(tmp_path / "m")
    assert lt.load(tmp_path / "m").metrics_
    assert not (tmp_path / "m" / "report.html").exists()
    with pytest.raises(ImportError, match="jinja2 is missing"):
        result.save(tmp_path / "n", report=True)
    assert not (tmp_path / "n").exists()


def test_the_model_folder_is_written_once_and_read_by_all(problem, result, tmp_path, monkeypatch):
    import liquidtime.estimators.files.model_folder as files

    writes = []
    write = files.write_folder
    monkeypatch.setattr(files, "write_folder", lambda path, parts: writes.append(sorted(parts)) or write(path, parts))
    result.save(tmp_path / "m")
    names = ["README.md", "config.json", "job.json", "manifest.json", "model.safetensors", "report.html"]
    assert writes == [[name for name in names if name != "manifest.json"]]
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == names
    data, _, _ = problem
    np.testing.assert_array_equal(lt.load(tmp_path / "m").predict_proba(data), result.model.predict_proba(data))
    job = json.loads((tmp_path / "m" / "job.json").read_text())
    assert (job["task"], job["target"], job["columns"], job["auxiliary"]) == ("classify", "trend", None, ["level"])
    assert lt.load(tmp_path / "m").metrics_["auc_low"] == result.figures["CfC"]["auc"].low
    assert result.report(tmp_path / "r.html").read_text() == (tmp_path / "m" / "report.html").read_text()


def test_further_files_of_a_model_may_not_be_its_own_or_pickles(result, tmp_path):
    for name in ("config.json", "manifest.json", "weights.pkl"):
        with pytest.raises(ValueError, match="`files` must have other names"):
            result.model.save(tmp_path / "m", files={name: b""})
    assert not (tmp_path / "m").exists()


def test_without_the_packages_of_the_report_the_model_is_saved(problem, tmp_path, monkeypatch):
    data, labels, _ = problem
    monkeypatch.setitem(sys.modules, "jinja2", None)
    lines = []
    found = lt.train_and_test(data, labels, folder=tmp_path / "m", log=lines.append, **TESTED)
    assert lines[-1].startswith("no report: a report needs matplotlib and jinja2 (jinja2 is missing)")
    assert not (tmp_path / "m" / "report.html").exists()
    assert not RunFolder(tmp_path / "m").path.exists()
    with pytest.raises(ImportError, match="jinja2 is missing"):
        found.report(tmp_path / "r.html")


def test_a_stopped_run_is_resumed_to_the_same_model(problem, tmp_path):
    data, labels, _ = problem
    whole = lt.train_and_test(data, labels, **TESTED)
    epochs = []

    def stop(*_):
        epochs.append(1)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("liquidtime.evaluation.training_job.TrainingJob.compare", stop)
        with pytest.raises(KeyboardInterrupt):
            lt.train_and_test(data, labels, folder=tmp_path / "m", **TESTED)
    assert (len(epochs), (tmp_path / "m").exists()) == (1, False)
    with pytest.raises(FileExistsError, match="Add resume=True to resume it, or restart=True"):
        lt.train_and_test(data, labels, folder=tmp_path / "m", **TESTED)
    with pytest.raises(ValueError, match="an interrupted run with other data or settings"):
        lt.train_and_test(data, labels, folder=tmp_path / "m", resume=True, seed=1, **TESTED)
    with pytest.raises(ValueError, match="give only one of them"):
        lt.train_and_test(data, labels, folder=tmp_path / "m", resume=True, restart=True, **TESTED)
    with RunFolder(tmp_path / "m")._locked(), pytest.raises(FolderInUse, match="is at work"):
        lt.train_and_test(data, labels, folder=tmp_path / "m", resume=True, **TESTED)
    again = lt.train_and_test(data, labels, folder=tmp_path / "m", resume=True, verbose=False, **TESTED)
    assert again.comparison.to_dict() == whole.comparison.to_dict()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m"]
    np.testing.assert_array_equal(lt.load(tmp_path / "m").predict_proba(data), whole.model.predict_proba(data))


def test_an_estimator_of_ones_own_is_copied(problem):
    data, _, level = problem
    mine = lt.CfCRegressor(network="gru", n_estimators=2, **SMALL)
    found = lt.train_and_test(data, level, estimator=mine, seed=3, refit=False)
    assert isinstance(found, Result)
    assert not hasattr(mine, "networks_")
    assert (found.model.random_state, mine.random_state) == (3, None)
    assert next(iter(found.figures)) == "gru, 2 networks"
    assert found.predictions.columns == ["id", "truth", "prediction"]
    assert found.reason == ""
    own = lt.train_and_test(data, level, estimator=lt.CfCRegressor(random_state=7, **SMALL), seed=3, refit=False)
    assert own.model.random_state == 7


def test_several_numbers_are_compared_with_rivals_of_each(problem):
    data, _, level = problem
    found = lt.train_and_test(data, np.stack([level, 2 * level + 1], axis=1), **TESTED)
    assert found.predictions.columns == ["id", "truth_0", "truth_1", "prediction_0", "prediction_1"]
    assert {prediction.shape for prediction in found.comparison.predictions.values()} == {(12, 2)}
    assert "<svg" in found.page()


@pytest.mark.parametrize(
    ("target", "task", "words"),
    [
        (None, "forecast", "there is no target"),
        (["a", "b"] * 4, "classify", "texts"),
        (np.array(["a", "b"] * 4, dtype=object), "classify", "texts"),
        ([True, False] * 4, "classify", "truth values"),
        ([0, 1] * 4, "classify", "2 different whole numbers"),
        (np.arange(8), "regress", "numbers"),
        (list(range(30)) * 2, "regress", "numbers"),
        ([0.0, 1.0] * 4, "regress", "numbers"),
        (np.array([1.5, 2, 3, 4] * 2, dtype=object), "regress", "numbers"),
        (np.zeros((8, 2), dtype=int), "regress", "numbers"),
    ],
)
def test_the_target_suggests_the_task(target, task, words):
    found, reason = infer_task(target)
    assert (found.name, words in reason) == (task, True)


def test_frames_are_targets(problem):
    data, labels, level = problem
    found = lt.train_and_test(data, pl.Series(labels), auxiliary=pl.DataFrame({"level": level}), **TESTED)
    assert found.task is TASKS["classify"]


def test_what_is_refused(problem):
    data, labels, level = problem
    refused = [
        ((np.zeros((5, 3)), labels), {}, TypeError, "`data` must be a SeriesSet"),
        ((data, labels), {"task": "clasify"}, ValueError, "did you mean `classify`"),
        ((data, labels[:9]), {}, ValueError, r"`y` must have shape \(S,\)"),
        ((data, labels), {"task": "forecast"}, ValueError, "`target` must be left out to forecast"),
        ((data, labels), {"task": "regress"}, TypeError, "must be numbers for regression"),
        ((data, labels), {"epoch": 3}, TypeError, "CfCClassifier has no setting `epoch`; did you mean `epochs`"),
        ((data, level), {"class_weight": "balanced"}, TypeError, "CfCRegressor has no setting `class_weight`"),
        ((data, labels), {"auxiliary": level[:5]}, ValueError, "`auxiliary` must have one row per series, 60"),
        ((data,), {"auxiliary": level}, ValueError, "`auxiliary` is not for the task 'forecast'"),
        ((data, level), {"per_step": True}, ValueError, "`per_step` is not for this task"),
        ((data, level), {"estimator": lt.CfCClassifier(), "task": "regress"}, ValueError, "this one solves 'classify'"),
        ((data, level), {"estimator": lt.CfCRegressor(), "epochs": 3}, TypeError, "leave out epochs"),
        ((data, level), {"estimator": object()}, TypeError, "`estimator` must be one of CfCClassifier"),
        ((data, level), {"test_share": 1.0}, ValueError, "between 0 and 1"),
    ]
    for arguments, keywords, error, words in refused:
        with pytest.raises(error, match=words):
            lt.train_and_test(*arguments, **keywords)
    with pytest.raises(ValueError, match="must be one of"):
        find_task("guess")
    assert task_of(lt.CfCForecaster()) is TASKS["forecast"]
