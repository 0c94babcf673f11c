"""From a table to a model, its predictions and its figures, through the command line."""

import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import liquidtime
from cli.tables import LONG, WIDE, lt, write_tables
from estimators.stacking.quick import small_parts
from liquidtime.data import from_long


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("job")
    write_tables(folder)
    return folder


@pytest.fixture(scope="module")
def trained(home):
    labels = ["--labels", home / "labels.csv", "--target", "state"]
    code, out, err = lt("train", home / "long.csv", *LONG, *labels, "--out", home / "model", "--epochs", 3, "--json")
    assert code == 0, err
    return json.loads(out), err


def test_train_says_what_it_understood_and_how_good_it_is(home, trained):
    result, err = trained
    assert "60 series" in err
    assert "channels (2)" in err
    assert "training on 48 series, testing on 12" in err
    assert "classes (2): well 30 (50.0 %), sick 30 (50.0 %)" in err
    assert "samples per series: min 3, median" in err
    assert "here" in err[err.index("95 % confidence") :]  # the verdict
    assert result["series"] == {"training": 48, "test": 12}
    assert list(result["test"]) == [
        "CfC", "gradient boosting on summary features", "guess (share of each class)",
    ]  # fmt: skip
    for figures in result["test"].values():
        assert set(figures) == {"auc", "average_precision", "accuracy", "log_loss", "brier"}
        for found in figures.values():
            assert found["low"] <= found["value"] <= found["high"]
    assert result["test"]["CfC"]["auc"]["value"] > 0.9
    assert result["test"]["guess (share of each class)"]["auc"]["value"] == 0.5
    assert sorted(path.name for path in (home / "model").iterdir()) == [
        "README.md", "config.json", "job.json", "manifest.json", "model.safetensors", "report.html",
    ]  # fmt: skip
    assert not (home / "model.run").exists()
    assert "gradient boosting" in (home / "model" / "report.html").read_text()


def test_the_figures_are_those_of_the_held_out_part(home, trained):
    """Scored again from a model that saw the training part alone, on the series that were not trained on."""
    from liquidtime.evaluation import compare, hold_out

    result, _ = trained
    words = [*LONG, "--labels", home / "labels.csv", "--target", "state", "--epochs", 3, "--no-refit"]
    code, _, err = lt("train", home / "long.csv", *words, "--out", home / "before")
    assert code == 0, err
    long, truth = pl.read_csv(home / "long.csv"), pl.read_csv(home / "labels.csv")
    data = from_long(long, id="patient", time="minutes", channel="name", value="value", time_unit="min")
    y = np.array([truth.filter(pl.col("patient") == name)["state"][0] for name in data.ids])
    _, test = hold_out(len(data), 0.2, 0, y)
    again = compare(liquidtime.load(home / "before"), "CfC", None, (data[test], y[test])).to_dict()
    assert again["CfC"] == result["test"]["CfC"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predict_writes_ids_predictions_and_probabilities(home, trained, ending):
    out = home / f"predictions.{ending}"
    code, printed, err = lt("predict", home / "model", home / "long.csv", "--out", out, "--json")
    assert code == 0, err
    table = pl.read_csv(out) if ending == "csv" else pl.read_parquet(out)
    assert table.columns == ["patient", "time", "prediction", "probability_sick", "probability_well"]
    assert json.loads(printed)["columns"] == table.columns
    assert sorted(table["patient"]) == sorted(pl.read_csv(home / "labels.csv")["patient"])
    chances = table.select("probability_sick", "probability_well").to_numpy()
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-6)
    named = np.array(["sick", "well"])[chances.argmax(axis=1)]
    assert table["prediction"].to_list() == named.tolist()
    data = from_long(home / "long.csv", id="patient", time="minutes", channel="name", value="value", time_unit="min")
    expected = liquidtime.load(home / "model").predict_proba(data)
    order = [table["patient"].to_list().index(name) for name in data.ids]
    np.testing.assert_allclose(chances[order], expected, atol=1e-9)


def test_other_names_and_units_are_said_and_missing_channels_warned_of(home, trained):
    table = pl.read_csv(home / "long.csv").filter(pl.col("name") == "hr")
    renamed = table.select(pl.col("patient").alias("who"), (pl.col("minutes") / 60).alias("h"), "name", "value")
    renamed.write_csv(home / "renamed.csv")
    code, _, err = lt(
        "predict", home / "model", home / "renamed.csv", "--out", home / "r.csv", "--id", "who", "--time", "h",
        "--time-unit", "h",
    )  # fmt: skip
    assert code == 0, err
    assert "warning: 1 channels of training are missing and treated as not observed: temp" in err
    assert pl.read_csv(home / "r.csv").columns[0] == "who"
    table.write_csv(home / "hr.csv")
    code, _, err = lt("predict", home / "model", home / "hr.csv", "--out", home / "same.csv")
    assert code == 0, err
    same, other = (pl.read_csv(home / name)["probability_sick"].to_numpy() for name in ("same.csv", "r.csv"))
    np.testing.assert_allclose(same, other, atol=1e-4)


def test_evaluate_equals_the_figures_from_python(home, trained):
    code, out, err = lt("evaluate", home / "model", home / "long.csv", "--labels", home / "labels.csv", "--json")
    assert code == 0, err
    found = json.loads(out)["figures"]
    truth = pl.read_csv(home / "labels.csv")
    table = pl.read_parquet(home / "predictions.parquet") if (home / "predictions.parquet").exists() else None
    if table is None:
        lt("predict", home / "model", home / "long.csv", "--out", home / "predictions.parquet")
        table = pl.read_parquet(home / "predictions.parquet")
    both = table.join(truth, on="patient")
    assert found["accuracy"]["value"] == pytest.approx((both["prediction"] == both["state"]).mean())
    assert found["brier"]["value"] == pytest.approx(
        float(((both["probability_sick"] - (both["state"] == "sick").cast(float)) ** 2).mean()), abs=1e-6
    )


def test_info_names_the_time_scales_of_an_ensemble():
    frozen = Path(__file__).parents[1] / "estimators" / "frozen_model" / "format-2"
    facts = json.loads(lt("info", frozen, "--json")[1])
    assert facts["networks"] == 3
    assert facts["time scales"] == ["samples", 2.0]
    assert len(facts["weights of each"]) == 2
    assert facts["channels"] == ["drift", "noise", "never"]


def test_info_tells_what_a_model_is(home, trained):
    code, out, _ = lt("info", home / "model", "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["classes"] == ["sick", "well"]
    assert facts["channels"] == ["hr", "temp"]
    assert facts["columns"]["id"] == "patient"
    assert facts["target"] == "state"
    code, out, _ = lt("info", home / "model")
    assert code == 0
    assert "AUC" in out


def test_wide_parquet_with_its_own_target_regresses(home):
    words = ["--target", "score", "--task", "regress", "--values", "hr,temp", "--network", "gru", "--epochs", 30]
    code, out, err = lt("train", home / "wide.parquet", *WIDE, *words, "--out", home / "wide", "--json")
    assert code == 0, err
    result = json.loads(out)
    assert list(result["test"]) == ["gru", "gradient boosting on summary features", "guess (mean)"]
    assert result["test"]["gru"]["mae"]["value"] < result["test"]["guess (mean)"]["mae"]["value"]
    code, _, err = lt("predict", home / "wide", home / "wide.csv", "--out", home / "wide_out.csv")
    assert code == 0, err
    assert pl.read_csv(home / "wide_out.csv").columns == ["patient", "time", "prediction"]
    code, out, err = lt("evaluate", home / "wide", home / "wide.csv", "--json")
    assert code == 0, err
    assert set(json.loads(out)["figures"]) == {"mae", "rmse", "mse", "r2"}


def test_a_target_in_the_table_is_no_channel(home):
    words = ["--target", "state", "--epochs", 1]
    pl.read_csv(home / "wide.csv").drop("score").write_csv(home / "state.csv")
    code, _, err = lt("train", home / "state.csv", *WIDE, *words, "--out", home / "state")
    assert code == 0, err
    assert json.loads(lt("info", home / "state", "--json")[1])["channels"] == ["hr", "temp"]


def test_forecast(home):
    words = ["--task", "forecast", "--epochs", 1, "--values", "hr,temp"]
    code, out, err = lt("train", home / "wide.csv", *WIDE, *words, "--out", home / "forecast", "--json")
    assert code == 0, err
    assert list(json.loads(out)["test"]) == ["CfC", "last value", "straight line", "mean so far"]
    code, _, err = lt("predict", home / "forecast", home / "wide.csv", "--out", home / "f.csv", "--horizon", "5,60")
    assert code == 0, err
    table = pl.read_csv(home / "f.csv")
    assert table.columns == ["patient", "time", "horizon", "channel", "prediction", "low", "high"]
    assert (table["low"] <= table["prediction"]).all()
    assert len(table) == 60 * 2 * 2
    assert set(table["horizon"]) == {5.0, 60.0}
    code, out, err = lt("evaluate", home / "forecast", home / "wide.csv", "--json")
    assert code == 0, err
    assert set(json.loads(out)["figures"]) == {"coverage_90", "mae", "mse"}


def test_stamps_whole_ids_static_categories_and_unknown_numbers(home):
    rng = np.random.default_rng(1)
    start, rows = np.datetime64("2024-01-01T00:00:00"), []
    for robot in range(30):
        stamps = start + np.cumsum(rng.integers(60, 6000, 5)).astype("timedelta64[s]")
        for stamp in stamps:
            force = -1.0 if rng.random() < 0.2 else float(rng.normal(3 + robot % 3, 1))
            rows.append((robot, str(stamp), force, "on" if rng.random() < 0.5 else "off", 40 + robot, "abc"[robot % 3]))
    names = ["robot", "stamp", "force", "mode", "age", "kind"]
    table = pl.DataFrame(rows, schema=names, orient="row")
    table.write_csv(home / "robots.csv")
    words = ["--static", "age", "--categorical", "mode", "--missing", "-1", "--time-unit", "min", "--target", "kind"]
    places = ["--id", "robot", "--time", "stamp", "--out", home / "robots"]
    code, _, err = lt("train", home / "robots.csv", *places, *words, "--epochs", 1, "--n-estimators", 2, "--json")
    assert code == 0, err
    assert "categories off, on" in err
    assert "static features (1)" in err
    pl.read_csv(home / "robots.csv", try_parse_dates=True).drop("age").write_parquet(home / "robots.parquet")
    code, _, err = lt("predict", home / "robots", home / "robots.parquet", "--out", home / "robots_out.csv")
    assert code == 0, err
    assert "warning: 1 static features of training are missing" in err
    found = pl.read_csv(home / "robots_out.csv")
    assert found.columns == ["robot", "time", "prediction", "probability_a", "probability_b", "probability_c"]
    assert found["robot"].to_list() == list(range(30))
    facts = json.loads(lt("info", home / "robots", "--json")[1])
    assert (facts["time unit"], facts["columns"]["missing"], facts["networks"]) == ("min", [-1.0], 2)


def test_the_default_is_a_stacked_model_from_training_to_information(home):
    words = ["--labels", home / "labels.csv", "--target", "state", "--json"]
    with small_parts():
        code, out, err = lt("train", home / "long.csv", *LONG, *words, "--out", home / "stack")
    assert code == 0, err
    assert list(json.loads(out)["test"])[:2] == ["stacked model", "CfC networks alone"]
    code, _, err = lt("predict", home / "stack", home / "long.csv", "--out", home / "stack.csv")
    assert code == 0, err
    assert "prediction" in pl.read_csv(home / "stack.csv").columns
    code, _, err = lt("evaluate", home / "stack", home / "long.csv", "--labels", home / "labels.csv", "--json")
    assert code == 0, err
    facts = json.loads(lt("info", home / "stack", "--json")[1])
    assert facts["kind"] == "StackedClassifier"
    assert facts["parts"][0].startswith("CfC networks")
    code, out, err = lt("train", home / "long.csv", *LONG, *words, "--quick", "--out", home / "quick")
    assert code == 0, err
    assert next(iter(json.loads(out)["test"])) == "CfC"


def test_without_the_packages_of_the_report_everything_else_is_done(home, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    words = ["--target", "score", "--task", "regress", "--values", "hr", "--epochs", 1, "--validation-share", 0.2]
    code, out, _ = lt("train", home / "wide.csv", *WIDE, *words, "--out", home / "plain")
    assert code == 0
    assert (
        "no report: a report needs matplotlib and jinja2 (jinja2 is missing): pip install 'liquidtime[report]'" in out
    )
    assert (home / "plain" / "model.safetensors").is_file()
    assert not (home / "plain" / "report.html").exists()
    assert json.loads((home / "plain" / "config.json").read_text())["params"]["validation_fraction"] == 0.2


def test_a_model_that_is_replaced_is_kept(home):
    words = ["--target", "score", "--task", "regress", "--values", "hr", "--epochs", 1, "--out", home / "again"]
    for seed in (0, 1):
        code, _, err = lt("train", home / "wide.csv", *WIDE, *words, "--seed", seed)
        assert code == 0, err
    assert json.loads(lt("info", home / "again", "--json")[1])["seed"] == 1
    assert json.loads(lt("info", home / "again.previous", "--json")[1])["seed"] == 0


@pytest.mark.parametrize("where", ["labels", "data"])
def test_further_outcomes_are_learned_along_and_not_needed_to_predict(home, tmp_path, where):
    """The score, unknown of a third of the patients, stands beside the labels or beside each row of a wide table."""
    unknown = pl.when(pl.col("patient").str.slice(1).cast(int) % 3 > 0).then(pl.col("score")).otherwise(-99.0)
    if where == "labels":
        pl.read_csv(home / "labels.csv").with_columns(score=unknown).reverse().write_csv(tmp_path / "labels.csv")
        rows, new = [home / "long.csv", *LONG, "--labels", tmp_path / "labels.csv"], home / "long.csv"
    else:
        rows, new = [tmp_path / "wide.csv", *WIDE], tmp_path / "new.csv"
        wide = pl.read_csv(home / "wide.csv").with_columns(score=unknown)
        wide.write_csv(rows[0])
        wide.drop("score", "state").write_csv(new)
    given = [*rows, "--target", "state", "--missing", -99, "--epochs", 1]
    code, _, err = lt("train", *given, "--auxiliary", "score", "--out", tmp_path / "along", "--json")
    assert code == 0, err
    assert "channels (2)" in err
    code, _, err = lt("predict", tmp_path / "along", new, "--out", tmp_path / "found.csv")
    assert code == 0, err
    assert len(pl.read_csv(tmp_path / "found.csv")) == 60
    assert json.loads(lt("info", tmp_path / "along", "--json")[1])["auxiliary targets"] == ["score"]
    leave = ["--values", "hr,temp"] if where == "data" else []
    assert lt("train", *given, *leave, "--out", tmp_path / "plain", "--json")[0] == 0
    along, plain = (liquidtime.load(tmp_path / name).networks_[0].state_dict() for name in ("along", "plain"))
    assert list(along) == list(plain)
    assert not (along["hidden.weight"] == plain["hidden.weight"]).all()


def test_a_folder_saved_from_python_remembers_its_columns(home, tmp_path):
    columns = {"id": "patient", "time": "minutes", "channel": "name", "value": "value", "time_unit": "min"}
    data = from_long(home / "long.csv", **columns)
    truth = pl.read_csv(home / "labels.csv")
    score = np.array([truth.filter(pl.col("patient") == name)["score"][0] for name in data.ids])
    small = {"epochs": 1, "hidden_size": 8, "folder": tmp_path / "m", "target_name": "score"}
    result = liquidtime.train_and_test(data, score, columns=columns, **small)
    code, _, err = lt("predict", tmp_path / "m", home / "long.csv", "--out", tmp_path / "p.csv")
    assert code == 0, err
    table = pl.read_csv(tmp_path / "p.csv")
    np.testing.assert_allclose(table["prediction"], result.model.predict(data), rtol=1e-6)
    code, _, err = lt("evaluate", tmp_path / "m", home / "long.csv", "--labels", home / "labels.csv", "--json")
    assert code == 0, err
    assert json.loads(lt("info", tmp_path / "m", "--json")[1])["columns"]["id"] == "patient"
    for wrong, words in (({"id": "patient"}, "must name `id` and `time`"), ({"idd": "patient"}, "did you mean `id`")):
        with pytest.raises(ValueError, match=words):
            liquidtime.train_and_test(data, score, columns=wrong, **small | {"folder": tmp_path / "n"})
    assert not (tmp_path / "n").exists()
    assert not (tmp_path / "n.run").exists()


def test_a_job_of_the_first_format_is_read(trained, home, tmp_path):
    """As earlier versions wrote it, with every column of the table spelt out."""
    from dataclasses import fields

    from liquidtime.cli.columns import Columns
    from liquidtime.evaluation import JobRecord
    from liquidtime.scoring.model_files import columns_of

    stored = {
        "auxiliary": [], "columns": {"categorical": [], "channel": "name", "id": "patient", "missing": [-1.0],
        "static": [], "time": "minutes", "time_unit": "min", "value": "value", "values": []}, "format": 1,
        "labels_id": "patient", "parts": {"test": 12, "training": 48}, "target": "state", "task": "classify",
        "test": {"CfC": {"auc": {"high": 1.0, "low": 0.8, "value": 0.9}}},
    }  # fmt: skip
    record = JobRecord.from_bytes(json.dumps(stored).encode())
    assert columns_of(record) == Columns("patient", "minutes", "name", "value", missing=(-1.0,), time_unit="min")
    assert {*stored["columns"], "static_id", "reading"} == {field.name for field in fields(Columns)}
    assert json.loads(record.to_bytes()) == stored | {"split": {}}
    written = json.loads((home / "model" / "job.json").read_text())
    assert set(written) == {*stored, "split"}
    for broken in (b"[]", b"{}", b'{"format": 2}', *(
        json.dumps(stored | changed).encode()
        for changed in ({"columns": {"a": 1}}, {"test": {"CfC": {"auc": 1}}}, {"test": {"CfC": {"auc": {"value": 1}}}},
                        {"test": {"CfC": {"auc": {"value": "<", "low": 0, "high": 1}}}}, {"test": []})
    )):  # fmt: skip
        with pytest.raises(ValueError):
            JobRecord.from_bytes(broken)
