"""What a forecast's table, figures and commands say."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import liquidtime as lt
from estimators.stacking.small_forecasts import small_forecasts, swings
from liquidtime.cli.app import app
from liquidtime.data import SeriesSet
from liquidtime.tasks import TASKS


@pytest.fixture(scope="module")
def result():
    with small_forecasts():
        return lt.train_and_test(swings(40, 0), n_networks=1, targets=["one", "two"])


def test_the_default_is_stacked_beside_networks_and_naive_forecasts(result):
    assert type(result.model) is lt.StackedForecaster
    names = ["stacked model", "CfC networks alone", "last value", "straight line", "mean so far"]
    assert list(result.figures)[:5] == names
    assert 0.5 < result.figures["stacked model"]["coverage_90"].value <= 1.0
    assert "coverage_90" not in result.figures["last value"]
    assert "part: boosting" in result.page()
    assert type(TASKS["forecast"].make({}, quick=True)) is lt.CfCForecaster


def test_errors_by_channel_and_gap_are_in_own_units(result):
    rows = pl.DataFrame(result.comparison.details())
    assert set(rows["channel"]) == {"one", "two"}
    whole = {row["channel"]: row for row in rows.to_dicts() if row["from"] == 0.0 and row["to"] == rows["to"].max()}
    table = result.predictions
    for name in ("one", "two"):
        errors = table.filter(pl.col("channel") == name)["error"].to_numpy()
        assert whole[name]["mae, stacked model"] == pytest.approx(np.abs(errors).mean())
        assert whole[name]["rmse, stacked model"] == pytest.approx(np.sqrt((errors**2).mean()))
        low, high, truth = (table.filter(pl.col("channel") == name)[column] for column in ("low", "high", "truth"))
        assert whole[name]["coverage"] == pytest.approx(((low <= truth) & (truth <= high)).mean())
    assert len(rows) > 4


def test_the_saved_model_keeps_what_the_tested_one_chose(monkeypatch):
    fits, whole = [], lt.StackedForecaster.fit
    monkeypatch.setattr(lt.StackedForecaster, "fit", lambda *given, **more: fits.append(1) or whole(*given, **more))
    with small_forecasts():
        saved = lt.train_and_test(swings(40, 0), n_networks=1, targets=["one", "two"]).model
        tested = lt.train_and_test(swings(40, 0), n_networks=1, targets=["one", "two"], refit=False).model
    assert len(fits) == 2
    assert (saved.n_series_, tested.n_series_) == (40, 32)
    np.testing.assert_array_equal(saved.blend_.weights, tested.blend_.weights)


def test_time_stamps_with_a_zone_come_back_with_it():
    start = np.datetime64("2024-03-01T00:00:00", "ns")
    stamps = start + (np.arange(20 * 12) * 30).astype("timedelta64[m]")
    frame = pl.DataFrame(
        {"id": np.repeat(np.arange(20), 12), "when": stamps, "x": np.sin(np.arange(240.0))}
    ).with_columns(pl.col("when").dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin"))
    data = SeriesSet.from_wide(frame, id="id", time="when")
    with small_forecasts():
        model = lt.StackedForecaster(n_networks=1, random_state=0, horizon=3 * 3600.0).fit(data)
    table = TASKS["forecast"].table(model, data, horizons=[3600.0])
    assert table["time"].dtype.time_zone == "UTC"
    ends = frame.group_by("id").agg(pl.col("when").max()).sort("id")["when"].dt.convert_time_zone("UTC")
    assert data.time_unit == "s"
    assert ((table["time"] - ends).dt.total_seconds() == 3600).all()


def test_commands_take_targets_horizon_known_and_intervals(tmp_path):
    data = swings(24, 0)
    rows = [
        {"id": int(one.id), "time": float(time), **dict(zip(data.channels, map(float, values), strict=True))}
        for one in data
        for time, values in zip(one.times, one.values, strict=True)
    ]
    pl.DataFrame(rows).with_columns(pl.all().fill_nan(None)).write_csv(tmp_path / "data.csv")
    columns = ["--id", "id", "--time", "time"]
    runner = CliRunner()
    with small_forecasts():
        done = runner.invoke(
            app,
            ["train", str(tmp_path / "data.csv"), *columns, "--task", "forecast", "--targets", "one,two", "--known",
             "driver", "--horizon", "5", "--no-refit", "--out", str(tmp_path / "m"), "--json"],
        )  # fmt: skip
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout[done.stdout.index("{") :])
    assert {row["channel"] for row in said["details"]} == {"one", "two"}
    model = lt.load(tmp_path / "m")
    assert (model.channels_, model.horizon_, model.known) == (("one", "two"), 5.0, ["driver"])
    widths = []
    for level in ("0.5", "0.95"):
        out = tmp_path / f"{level}.csv"
        arguments = ["predict", str(tmp_path / "m"), str(tmp_path / "data.csv"), "--out", str(out), "--horizon", "1"]
        done = runner.invoke(app, [*arguments, "--intervals", level])
        assert done.exit_code == 0, done.output
        table = pl.read_csv(out)
        widths.append((table["high"] - table["low"]).mean())
    assert widths[0] < widths[1]
    wrong = runner.invoke(
        app,
        ["train", str(tmp_path / "data.csv"), *columns, "--target", "driver", "--known", "one",
         "--out", str(tmp_path / "n")],
    )  # fmt: skip
    assert wrong.exit_code == 2
    assert "--known is for --task forecast" in wrong.output


def test_a_table_of_one_series_needs_no_ids(tmp_path):
    hours = np.arange(200.0)
    table = pl.DataFrame({"hour": hours, "load": np.sin(hours / 4.0)})
    table.write_csv(tmp_path / "data.csv")
    pl.concat([table, table]).write_csv(tmp_path / "two.csv")
    runner, how = CliRunner(), ["--time", "hour", "--task", "forecast", "--no-refit", "--out", str(tmp_path / "m")]
    refused = runner.invoke(app, ["train", str(tmp_path / "two.csv"), *how])
    assert refused.exit_code == 2
    assert "200 rows repeat a time" in refused.output
    assert "--id" in refused.output
    with small_forecasts():
        done = runner.invoke(app, ["train", str(tmp_path / "data.csv"), *how, "--test-share", "0"])
    assert done.exit_code == 0, done.output
    out = tmp_path / "forecasts.csv"
    done = runner.invoke(
        app, ["predict", str(tmp_path / "m"), str(tmp_path / "data.csv"), "--out", str(out), "--horizon", "2"]
    )
    assert done.exit_code == 0, done.output
    assert pl.read_csv(out)["time"].to_list() == [201.0]
    needed = runner.invoke(app, ["train", str(tmp_path / "data.csv"), "--time", "hour", "--target", "load", *how[-2:]])
    assert needed.exit_code == 2
    assert "--id must name a column" in needed.output
