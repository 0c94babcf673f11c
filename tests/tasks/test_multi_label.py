"""Several labels per series, learned by one model."""

import json

import numpy as np
import polars as pl
import pytest

import liquidtime as lt
from cli.tables import WIDE, write_tables
from cli.tables import lt as command
from estimators.small import TINY, series
from liquidtime.tasks import TASKS, task_of

SMALL = {name: value for name, value in TINY.items() if name != "random_state"} | {"epochs": 2}


@pytest.fixture(scope="module")
def problem():
    data, labels, level = series(40, empty=False)
    table = np.stack([level > 0, labels == "a", level < -0.5], axis=1).astype(float)
    table[3, 1] = np.nan
    return data, table


def test_every_label_has_its_figures(problem, tmp_path):
    data, table = problem
    result = lt.train_and_test(data, table, task="multi-label", groups=np.arange(40) // 2, **SMALL)
    assert result.task is TASKS["multi-label"] is task_of(result.model)
    assert list(result.figures) == ["CfC", "gradient boosting on summary features", "guess (share)"]
    assert {"auc_0", "auc_1", "log_loss_2"} <= set(result.figures["CfC"])
    assert result.predictions.columns == [
        "id", *(f"{kind}_{k}" for kind in ("truth", "prediction", "probability") for k in range(3)),
    ]  # fmt: skip
    assert result.model.n_series_ == 40
    result.save(tmp_path / "m")
    loaded, chances = lt.load(tmp_path / "m"), result.model.predict_proba(data)
    assert chances.shape == (40, 3)
    np.testing.assert_array_equal(loaded.predict_proba(data), chances)
    np.testing.assert_array_equal(loaded.predict(data), (chances >= 0.5).astype(int))
    one = data[4]
    static = {"age": data.static[4, 0], "sex": "f"}
    for k, (t, values) in enumerate(zip(one.times, one.values, strict=True)):
        now = loaded.update("x", t, values, static=None if k else static)
    np.testing.assert_allclose(now, chances[4], atol=1e-5)
    folds = lt.train_and_test(data, table, task="multi-label", folds=2, **SMALL)
    assert len(folds.comparison.target) == 40
    assert "auc_2" in folds.figures["CfC"]


def test_labels_keep_the_names_of_their_columns(problem, tmp_path):
    data, table = problem
    frame = pl.DataFrame(table, schema=["rain", "hail", "fog"])
    result = lt.train_and_test(data, frame, task="multi-label", folds=2, **SMALL)
    assert {"auc_rain", "log_loss_fog"} <= set(result.figures["CfC"])
    assert "probability_hail" in result.predictions.columns
    alone = lt.CfCMultiLabelClassifier(**SMALL).fit(data, frame)
    alone.save(tmp_path / "m")
    assert lt.load(tmp_path / "m").classes_.tolist() == ["rain", "hail", "fog"]
    with pytest.raises(ValueError, match="label fog has only one"):
        lt.CfCMultiLabelClassifier(**SMALL).fit(data, frame.with_columns(fog=pl.lit(1.0)))
    for labels, text in ((["a", "a", "b"], "distinct names"), (["a"], "as many names"), ("abc", "distinct names")):
        with pytest.raises(ValueError, match=text):
            lt.CfCMultiLabelClassifier(labels=labels, **SMALL).fit(data, table)


def test_labels_not_known_teach_nothing(problem):
    data, table = problem
    filled, holed = np.nan_to_num(table), table.copy()
    settings = SMALL | {"random_state": 0}
    holed[10:20, 2] = np.nan
    one, other = (lt.CfCMultiLabelClassifier(**settings).fit(data, y).predict_proba(data) for y in (filled, holed))
    assert not np.allclose(one[:, 2], other[:, 2])
    weighted = lt.CfCMultiLabelClassifier(**settings).fit(data, filled, np.full(40, 2.0)).predict_proba(data)
    np.testing.assert_allclose(weighted, one, atol=1e-5)


def test_what_is_refused(problem):
    data, table = problem
    for wrong, text in [
        (table[:, 0], r"must have shape \(S, K\)"),
        (table + 1, "must be 0 or 1, or NaN"),
        (np.stack([table[:, 0], np.ones(40)], axis=1), "label 1 has only one of them"),
    ]:
        with pytest.raises(ValueError, match=text):
            lt.CfCMultiLabelClassifier(**SMALL).fit(data, wrong)


def test_on_the_command_line(tmp_path):
    write_tables(tmp_path, S=24)
    table = pl.read_csv(tmp_path / "labels.csv")
    sick = pl.col("state") == "sick"
    table.with_columns(ill=sick.cast(int), grave=(pl.col("score") > 2.9).cast(int)).write_csv(tmp_path / "two.csv")
    words = ["--labels", tmp_path / "two.csv", "--target", "ill,grave", "--task", "multi-label", "--epochs", 1]
    more = ["--values", "hr,temp", "--out", tmp_path / "m", "--json"]
    code, out, err = command("train", tmp_path / "wide.csv", *WIDE, *words, *more)
    assert code == 0, err
    assert {"auc_ill", "log_loss_grave"} <= set(json.loads(out)["test"]["CfC"])
    code, _, err = command("predict", tmp_path / "m", tmp_path / "wide.csv", "--out", tmp_path / "p.csv")
    assert code == 0, err
    assert {"prediction_ill", "probability_grave"} <= set(pl.read_csv(tmp_path / "p.csv").columns)
    code, out, err = command(
        "evaluate", tmp_path / "m", tmp_path / "wide.csv", "--labels", tmp_path / "two.csv", "--json"
    )
    assert code == 0, err
    assert "log_loss_ill" in json.loads(out)["figures"]
    words[words.index("ill,grave")] = "ill,state"
    code, _, err = command("train", tmp_path / "wide.csv", *WIDE, *words, *more[:2], "--out", tmp_path / "n")
    assert (code, "--target 'state' must be numbers" in err) == (2, True)
