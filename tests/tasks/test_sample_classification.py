"""Classes of every sample: in Python and on the command line, causal, live, saved, with intervals over series."""

import json

import numpy as np
import polars as pl
import pytest

import liquidtime as lt
from cli.tables import lt as command
from estimators.small import TINY
from liquidtime.baselines.features import RunningFeatures, Trees
from liquidtime.baselines.features import trees as trees_module
from liquidtime.data import SeriesSet
from liquidtime.tasks import TASKS, infer_task, task_of

SMALL = {name: value for name, value in TINY.items() if name != "random_state"}


def alarms(S=40, seed=0):
    """Return series whose samples are alarms once the running mean of the first channel is over 0.5, and the labels."""
    rng = np.random.default_rng(seed)
    parts, labels = [], []
    for i in range(S):
        T = int(rng.integers(1, 16))
        times = np.cumsum(rng.exponential(1.0, T)) + np.arange(T) * 0.01
        level = rng.normal(0, 0.2, T) + (1.0 if i % 2 else 0.0) * (np.arange(T) > 4)
        values = np.stack([level, rng.normal(size=T)], axis=1)
        values[rng.random((T, 2)) < 0.3] = np.nan
        parts.append((times, values))
        labels.append(np.where((i % 2 == 1) & (np.arange(T) > 4), "alarm", "calm"))
    data = SeriesSet.from_arrays(parts, channels=["level", "noise"], ids=[f"bed {i}" for i in range(S)], time_unit="h")
    return data, labels


@pytest.fixture(scope="module")
def stacked():
    data, labels = alarms()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trees, "_rounds", lambda self: 12)
        patch.setattr(trees_module, "CHECKPOINTS", 3)
        patch.setattr(
            lt.StackedStepClassifier, "_networks",
            lambda self, seed: lt.CfCClassifier(**SMALL, per_step=True, random_state=seed % 2**31),
        )  # fmt: skip
        result = lt.train_and_test(data, labels)
    return data, labels, result


def test_running_features_use_the_samples_up_to_their_own_alone():
    data, _ = alarms(12)
    features = RunningFeatures().fit(data)
    whole = features.transform(data)
    assert whole.shape == (len(data.times), len(features.names_))
    for series in range(len(data)):
        for count in range(1, int(data.lengths[series]) + 1):
            head = features.transform(data[[series]].head(count))
            np.testing.assert_allclose(head[-1], whole[data.offsets[series] + count - 1], rtol=1e-5, atol=1e-6)
    place = features.names_.index("level: recent")
    one = int(np.argmax(data.lengths))
    seen = data[one].values[:, 0]
    expected = np.nanmean(seen[~np.isnan(seen)][-5:])
    assert whole[data.offsets[one + 1] - 1, place] == pytest.approx(expected, rel=1e-5)


def test_the_target_says_the_task(stacked):
    data, labels, result = stacked
    assert result.task is TASKS["classify-samples"] is task_of(result.model)
    assert "there is one target per sample" in result.reason
    assert infer_task(np.concatenate(labels)[: len(data)])[0].name == "classify"
    assert task_of(lt.CfCClassifier(per_step=True)) is result.task
    assert list(result.figures) == [
        "stacked model", "CfC networks alone", "gradient boosting on running features", "guess (share of each class)",
    ]  # fmt: skip
    assert result.figures["stacked model"]["auc"].value > 0.8
    assert result.figures["guess (share of each class)"]["auc"].value == 0.5
    assert result.model.n_series_ == 40
    assert "<svg" in result.page()


def test_the_table_has_ids_and_times(stacked):
    data, labels, result = stacked
    table, test = result.predictions, result.parts["test"]
    assert table.columns == ["id", "time", "truth", "prediction", "probability_alarm", "probability_calm"]
    assert len(table) == data.lengths[test].sum()
    assert table["truth"].to_list() == np.concatenate([labels[row] for row in test]).tolist()
    np.testing.assert_array_equal(table["time"], data[test].times)
    right = (table["truth"] == table["prediction"]).mean()
    assert result.figures["stacked model"]["accuracy"].value == pytest.approx(right)


def test_a_prediction_uses_what_came_before_and_arrives_live(stacked, tmp_path):
    data, _, result = stacked
    model = result.model
    assert {part.name for part in model.parts_ if part.weight > 0} >= {"boosting on running features"}
    whole = model.predict_proba(data)
    cut = data.head(np.maximum(data.lengths // 2, 1))
    rows = np.concatenate([np.arange(a, a + n) for a, n in zip(data.offsets[:-1], cut.lengths, strict=True)])
    np.testing.assert_allclose(model.predict_proba(cut), whole[rows], atol=1e-5)
    result.save(tmp_path / "m")
    loaded = lt.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict_proba(data), whole)
    one = data[int(np.argmax(data.lengths))]
    begin = data.offsets[int(np.argmax(data.lengths))]
    for k, (t, values) in enumerate(zip(one.times, one.values, strict=True)):
        np.testing.assert_allclose(loaded.update("x", t, values), whole[begin + k], atol=1e-5)


def test_networks_alone_weights_thresholds_and_unknown_labels():
    data, labels = alarms(30)
    holed = [np.where(np.arange(len(part)) == 1, None, part) for part in labels]
    model = lt.CfCClassifier(per_step=True, threshold="f1", random_state=0, **SMALL)
    model.fit(data, holed, np.where(np.arange(30) % 2, 2.0, 1.0))
    assert model.predict_proba(data).shape == (len(data.times), 2)
    said = np.where(model.predict_proba(data)[:, 1] >= model.threshold_, "calm", "alarm")
    assert model.predict(data).tolist() == said.tolist()
    assert 0 <= model.score(data, labels) <= 1
    with pytest.raises(ValueError, match=r"series bed 0 has \d+ samples and 0 classes"):
        model.fit(data, [[], *holed[1:]])
    with pytest.raises(ValueError, match="leave out `bin_width`"):
        lt.CfCClassifier(per_step=True, bin_width=2.0).fit(data, labels)
    with pytest.raises(ValueError, match="one class per series; give one per sample"):
        lt.train_and_test(data, np.arange(30) % 2, per_step=True)
    with pytest.raises(ValueError, match="one class per sample"):
        lt.train_and_test(data, np.arange(30) % 2, task="classify-samples")


def test_intervals_resample_series():
    """Copies of each sample within its series tell nothing new: the interval stays as wide."""
    from liquidtime.training import bootstrap_interval

    rng = np.random.default_rng(0)
    owner = np.repeat(np.arange(30), 20)
    y = np.repeat(rng.integers(0, 2, 30), 20)
    p = np.clip(np.repeat(rng.random(30), 20) + 0.2 * y - 0.1, 0, 1)
    plain, clustered = (bootstrap_interval("auc", y, p, seed=1, clusters=c) for c in (None, owner))
    assert plain.value == clustered.value
    assert clustered.high - clustered.low > 2.5 * (plain.high - plain.low)
    with pytest.raises(ValueError, match="one entry per row"):
        bootstrap_interval("auc", y, p, clusters=owner[:5])


@pytest.mark.parametrize("form", ["wide", "long", "labels"])
def test_on_the_command_line(form, tmp_path):
    data, labels = alarms(24)
    owner = np.repeat(data.ids, data.lengths)
    wide = pl.DataFrame({
        "bed": owner, "hour": data.times, "level": data.values[:, 0], "noise": data.values[:, 1],
        "state": np.concatenate(labels),
    }).fill_nan(None).sample(fraction=1.0, shuffle=True, seed=0)  # fmt: skip
    file = tmp_path / "data.csv"
    columns, more = ["--id", "bed", "--time", "hour"], []
    if form == "wide":
        wide.write_csv(file)
    else:
        long = wide.unpivot(["level", "noise"], index=["bed", "hour"], variable_name="what").drop_nulls()
        columns += ["--channel", "what", "--value", "value"]
        if form == "long":
            codes = wide.select("bed", "hour", what=pl.lit("state"), value=(pl.col("state") == "alarm").cast(float))
            pl.concat([long, codes], how="vertical_relaxed").write_csv(file)
        else:
            long.write_csv(file)
            wide.select("bed", "hour", "state").write_csv(tmp_path / "labels.csv")
            more = ["--labels", tmp_path / "labels.csv"]
    if form == "long":
        more = ["--each-sample"]
    words = ["--target", "state", "--epochs", 2, "--hidden-size", 8, "--out", tmp_path / "m", "--json"]
    code, out, err = command("train", file, *columns, *more, *words)
    assert code == 0, err
    assert json.loads(out)["task"] == "classify-samples"
    assert "every sample is classified" in err or form == "long"
    assert "state" not in json.loads(command("info", tmp_path / "m", "--json")[1])["channels"]
    code, _, err = command("predict", tmp_path / "m", file, "--out", tmp_path / "p.csv")
    assert code == 0, err
    table = pl.read_csv(tmp_path / "p.csv")
    assert table.columns[:3] == ["bed", "time", "prediction"]
    code, out, err = command("evaluate", tmp_path / "m", file, *more[: 2 if form == "labels" else 0], "--json")
    assert code == 0, err
    assert "auc" in json.loads(out)["figures"]
