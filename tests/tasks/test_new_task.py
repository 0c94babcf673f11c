"""A new task is its estimator, its file and a line in each of two tables; everything else reads those."""

import json

import numpy as np
import polars as pl
import pytest

import liquidtime as lq
from cli.tables import WIDE, lt, write_tables
from estimators.small import TINY, series
from liquidtime.estimators.faces import ESTIMATORS
from liquidtime.estimators.stacking import STACKED
from liquidtime.evaluation.report.score_plots import PLOTS
from liquidtime.tasks import TASKS, Task, task_of
from liquidtime.tasks.comparison import compared
from liquidtime.tasks.series_view import SeriesView, extremes


class Alarm(lq.CfCRegressor):
    """How alarming a series is: twice the prediction of the numbers it was fitted to."""

    _kind = "Alarm"
    _purpose = "says how alarming irregular series are"

    def alarm(self, X):
        return 2 * self.predict(X)


class Alarming(Task):
    name = "alarm"
    title = "Alarm"
    estimators = (Alarm,)
    metrics = ("r2", "mae")
    plots = ("residuals",)
    unit = "in bells"
    options = ("loudness",)

    def suggested_by(self, target):
        return ""

    def check_target(self, target, S):
        values = np.asarray(target, dtype=float)
        if values.shape != (S,):
            raise ValueError(f"`target` must be ({S},) bells; got {values.shape}")
        return values

    def strata(self, target):
        return target > np.median(target)

    def compare(self, model, name, train, test, seed=0):
        encoded = model.encode(test[0])
        predictions = {name: model.alarm(encoded), "silence": np.zeros(len(encoded))}
        return compared(self.metrics, test[1], predictions, encoded, seed)

    def predict(self, model, data, *, loudness=1.0, **options):
        return {"": data.ids, "alarm": loudness * model.alarm(data)}

    def tested(self, model, comparison):
        return {"": comparison.series.data.ids, "alarm": comparison.predictions[comparison.name]}

    def views(self, model, comparison):
        data = comparison.series.data
        errors = np.abs(comparison.predictions[comparison.name] - comparison.target)
        kinds, rows = extremes(errors, data.lengths)
        return [
            SeriesView(kind, str(data.ids[row]), "rings", data[row].times, data[row].values, data.channels,
                       data[row].times, np.zeros(len(data[row].times)))
            for kind, row in zip(kinds, rows, strict=True)
        ]  # fmt: skip


@pytest.fixture
def alarm(monkeypatch):
    task = Alarming()
    monkeypatch.setitem(TASKS, task.name, task)
    monkeypatch.setitem(ESTIMATORS, Alarm._kind, Alarm)
    return task


def test_from_python(alarm, tmp_path):
    data, _, level = series(40, empty=False)
    result = lq.train_and_test(data, level, task="alarm", **TINY)
    assert result.task is alarm is task_of(result.model)
    assert list(result.figures) == ["CfC", "silence"]
    assert list(result.figures["CfC"]) == ["r2", "mae"]
    assert result.predictions.columns == ["id", "alarm"]
    assert "in bells" in repr(result)
    page = result.report(tmp_path / "alarm.html").read_text()
    assert page.count("<figcaption>Residuals") == 1
    assert page.count("rings") >= 4
    assert "ROC" not in page
    table = alarm.table(result.model, data, id="who", loudness=10.0)
    np.testing.assert_allclose(table["alarm"], 10 * result.model.alarm(data))
    with pytest.raises(ValueError, match="`horizons` is not an option of the task 'alarm'"):
        alarm.table(result.model, data, horizons=[1.0])
    with pytest.raises(ValueError, match=r"must be \(40,\) bells"):
        lq.train_and_test(data, level[:7], task="alarm", **TINY)


def test_from_the_command_line(alarm, tmp_path):
    write_tables(tmp_path, S=24)
    words = ["--target", "score", "--task", "alarm", "--values", "hr,temp", "--epochs", 1, "--json"]
    code, out, err = lt("train", tmp_path / "wide.csv", *WIDE, *words, "--out", tmp_path / "m")
    assert code == 0, err
    assert list(json.loads(out)["test"]) == ["CfC", "silence"]
    assert "in bells" in err
    assert "says how alarming irregular series are" in (tmp_path / "m" / "README.md").read_text()
    code, _, err = lt("predict", tmp_path / "m", tmp_path / "wide.csv", "--out", tmp_path / "p.csv")
    assert code == 0, err
    assert pl.read_csv(tmp_path / "p.csv").columns == ["patient", "time", "alarm"]
    code, out, err = lt("evaluate", tmp_path / "m", tmp_path / "wide.csv", "--json")
    assert code == 0, err
    assert set(json.loads(out)["figures"]) == {"mae", "r2"}
    code, _, err = lt("predict", tmp_path / "m", tmp_path / "wide.csv", "--out", tmp_path / "q.csv", "--horizon", 1)
    assert (code, "--horizon is for a model of --task forecast" in err) == (2, True)
    code, _, err = lt("train", tmp_path / "wide.csv", *WIDE, *words, "--balanced", "--out", tmp_path / "n")
    assert (code, "--balanced is for --task classify and classify-samples; got 'alarm'" in err) == (2, True)


def test_every_task_in_the_table_is_whole():
    from liquidtime.training import METRICS

    for name, task in TASKS.items():
        assert task.name == name
        assert set(task.metrics) <= set(METRICS)
        assert set(task.plots) <= set(PLOTS)
        assert set(task.estimators) <= {*ESTIMATORS.values(), *STACKED.values()}
        assert task.title
        assert task.has_target or task.unnamed_target
