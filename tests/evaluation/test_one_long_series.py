import numpy as np
import pytest

import liquidtime as lt
from estimators.small import TINY
from liquidtime.data import SeriesSet
from liquidtime.evaluation.hold_out import ends_by_share, hold_out_ends

START = np.datetime64("2024-03-01T00:00:00", "ns")


def daily(samples=1200):
    """Return one series over some weeks, with a daily course, at irregular time stamps."""
    rng = np.random.default_rng(0)
    hours = np.cumsum(rng.integers(1, 3, samples))
    values = np.sin(2 * np.pi * hours / 24)[:, None] + 0.1 * rng.normal(size=(samples, 1))
    return SeriesSet.from_arrays([(START + hours.astype("timedelta64[h]"), values)], channels=["load"], time_unit="h")


def test_one_long_series_is_split_in_time():
    data = daily()
    pieces, train, test = hold_out_ends(data, ends_by_share(data, 0.2))
    assert train.tolist() == [0]
    assert len(test) == 7
    assert pieces.lengths[train].sum() == 960
    cuts = [int(0.75 * pieces.lengths[row]) for row in test]  # where the test of forecasts cuts them
    later = [pieces[int(row)].times[cut:] for row, cut in zip(test, cuts, strict=True)]
    np.testing.assert_array_equal(np.concatenate(later), data.times[960:])  # every later sample is forecast once
    assert (np.array(cuts) >= 3 * 34).all()  # from a past that reaches into the training part
    with pytest.raises(ValueError, match="series of at least 24 samples to split in time"):
        ends_by_share(daily(20), 0.2)


def test_gaps_are_tested_in_pieces_of_the_end_alone():
    data = daily()
    pieces, train, test = hold_out_ends(data, ends_by_share(data, 0.2), with_past=False)
    assert pieces.lengths[train].sum() == 960
    assert (pieces.lengths[test] >= 32).all()
    np.testing.assert_array_equal(np.concatenate([pieces[int(row)].times for row in test]), data.times[960:])
    result = lt.train_and_test(daily(300), task="impute", refit=False, **TINY)
    assert result.record.split["test"] == "the last 20% of the samples"
    assert len(result.predictions) > 5
    assert result.predictions["time"].min() > (START + np.timedelta64(300, "h")).astype("datetime64[us]").item()


def test_train_and_test_takes_one_long_series():
    result = lt.train_and_test(
        daily(), epochs=30, refit=False, **{name: TINY[name] for name in ("hidden_size", "read_out_units")}
    )
    assert list(result.figures) == ["CfC", "last value", "straight line", "mean so far", "seasonal naive"]
    assert result.model.period_ == pytest.approx(24.0, rel=0.1)
    own = result.figures["CfC"]["mse"].value
    assert own < 1.05 * min(row["mse"].value for row in result.figures.values())
    assert own < 0.5 * result.figures["last value"]["mse"].value
    table = result.predictions
    assert table.columns == ["id", "time", "horizon", "channel", "truth", "prediction", "error", "low", "high"]
    inside = (table["low"] <= table["truth"]) & (table["truth"] <= table["high"])
    assert inside.mean() == pytest.approx(0.9, abs=0.12)
    assert table["time"].min() > (START + np.timedelta64(1200, "h")).astype("datetime64[us]").item()


def test_the_table_of_forecasts_has_time_stamps():
    data = daily(300)
    model = lt.CfCForecaster(**TINY).fit(data)
    table = lt.tasks.TASKS["forecast"].table(model, data, horizons=[1.0, 36.0])
    last = START + np.timedelta64(int(data.times[-1]), "h") + (data.origins[0] - START)
    assert table["time"].to_list()[0] == (last + np.timedelta64(1, "h")).astype("datetime64[us]").item()
    assert len(lt.tasks.TASKS["forecast"].table(model, data)) == 4  # quarters of the horizon


def test_the_calendar_is_known_where_times_are_stamps():
    data = daily(600)
    model = lt.CfCForecaster(**TINY | {"epochs": 1}).fit(data)
    seasons = model._scene.seasons
    assert seasons.calendar
    assert seasons.cycles == (24.0, 168.0)  # less than a year: nothing is known of seasons
    noon = seasons.starts(np.array(["2024-05-06T12:00"], dtype="datetime64[ns]"), 1, "h")
    assert noon[0, 0] == 12.0
    again = seasons.phases(np.array([[5.0, 29.0]]), noon)
    np.testing.assert_allclose(again[0, 0, :4], again[0, 1, :4], atol=1e-6)
    assert not seasons.phases(np.array([[5.0]]), seasons.starts(None, 1, "h")).any()
    stamps = data.origins[0] + ((data.times + 6) * 3600e9).astype("timedelta64[ns]")
    moved = SeriesSet.from_arrays([(stamps, data.values)], channels=["load"], time_unit="h")
    one, other = (model.parts(which, horizons=[3.0])["network"][0] for which in (data, moved))
    assert not np.array_equal(one, other)
    for time, values in zip(data.times, data.values, strict=True):
        model.update("live", data.origins[0] + np.timedelta64(int(time * 3600e9), "ns"), values)
    np.testing.assert_allclose(model.forecast("live", [3.0]), model.predict(data, horizons=[3.0])[0], atol=2e-5)
