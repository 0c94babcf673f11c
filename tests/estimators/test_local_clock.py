"""The phases of the day go by the clock of a named time zone, also over its changes."""

import datetime
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest

import liquidtime as lt
from estimators.stacking.small_forecasts import forecaster
from liquidtime.data import SeriesSet
from liquidtime.data.reading import ZONE
from liquidtime.estimators.forecast.local_clock import LocalClock
from liquidtime.estimators.forecast.season import find_seasons


def seconds(year, month, day, hour):
    return datetime.datetime(year, month, day, hour, tzinfo=datetime.UTC).timestamp()


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kolkata"])
def test_a_clock_is_ahead_as_its_zone_says(zone):
    rng = np.random.default_rng(0)
    moments = rng.uniform(seconds(1971, 1, 1, 0), seconds(2098, 1, 1, 0), 500).round()
    clock = LocalClock.of(zone)
    known = [datetime.datetime.fromtimestamp(s, ZoneInfo(zone)).utcoffset().total_seconds() for s in moments]
    np.testing.assert_array_equal(clock.ahead(moments), known)
    assert LocalClock.from_dict(clock.to_dict()) == clock


def test_the_hour_of_a_change():
    clock = LocalClock.of("Europe/Berlin")
    change = seconds(2024, 3, 31, 1)
    np.testing.assert_array_equal(clock.ahead(np.array([change - 1, change])), [3600.0, 7200.0])
    assert LocalClock.of("Nowhere/Here") is None


@pytest.mark.parametrize(
    "change",
    [
        {"offsets": [0.0]},
        {"moments": [2.0, 1.0], "offsets": [0.0, 1.0, 0.0]},
        {"offsets": [0.0, 1e6]},
        {"moments": [float("nan")]},
        {"zone": 3},
        {"more": 1},
    ],
)
def test_forged_clocks_are_refused(change):
    with pytest.raises(ValueError, match="clock"):
        LocalClock.from_dict({"zone": "A/B", "moments": [1.0], "offsets": [0.0, 3600.0]} | change)


def opening_hours(zone="Europe/Berlin", S=16, days=24):
    """Series over a change of the clock, one when doors are open by the clock on the wall, else 0."""
    first = pl.datetime(2024, 3, 11, time_zone="UTC")
    stamps = pl.datetime_range(first, first + pl.duration(hours=24 * days - 2), "2h", eager=True)
    local = stamps.dt.convert_time_zone(zone or "UTC")
    wall = stamps.dt.convert_time_zone("Europe/Berlin").dt.hour().to_numpy()
    value = ((wall >= 8) & (wall < 18)).astype(float)
    rng = np.random.default_rng(0)
    tables = [
        pl.DataFrame({"id": np.full(len(value), s), "time": local, "open": value + 0.05 * rng.normal(size=len(value))})
        for s in range(S)
    ]
    return SeriesSet.from_wide(pl.concat(tables), id="id", time="time", time_unit="h")


def test_phases_are_those_of_the_wall():
    data = opening_hours()
    assert data.reading[ZONE] == "Europe/Berlin"
    assert ZONE not in opening_hours(None).reading
    seasons = find_seasons(data, [0], 2.0)
    starts = seasons.starts(data.origins, len(data), "h")
    at = np.array([[5 * 24.0, 6 * 24.0, 22 * 24.0 - 1.0, 23 * 24.0 - 1.0]])  # 1 o'clock on the wall, on four days
    phases = seasons.phases(at, starts[:1])
    np.testing.assert_allclose(phases[0, :, :4], np.broadcast_to(phases[0, 0, :4], (4, 4)), atol=1e-6)
    utc = find_seasons(opening_hours(None), [0], 2.0)
    assert np.abs(np.diff(utc.phases(at, utc.starts(data.origins, 16, "h"))[0, 1:3, 0])) > 0.2
    assert np.isnan(seasons.starts(None, 3, "h")).all()
    assert not seasons.phases(at, seasons.starts(None, 1, "h")).any()


def test_forecasts_live_and_from_a_folder_go_by_the_wall(tmp_path):
    data = opening_hours(days=30)
    model = forecaster(data.head(np.full(16, 27 * 12)), horizon=24.0)
    past = data.head(np.full(16, 28 * 12))
    said = model.predict(past, horizons=np.arange(2.0, 25.0, 2.0))
    truth = data.values.reshape(16, -1)[:, 28 * 12 : 29 * 12, None]
    assert ((said - truth) ** 2).mean() < 0.1
    model.save(tmp_path / "m")
    again = lt.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(past, horizons=[2.0, 9.0]), model.predict(past, horizons=[2.0, 9.0]))
    assert again.cfc_._scene.seasons.clock == LocalClock.of("Europe/Berlin")
    one = past[0]
    for time, values in zip(one.times, one.values, strict=True):
        again.update("live", one.origin + np.timedelta64(round(time * 3600), "s"), values)
    whole = model.predict(past, horizons=[2.0, 9.0])[0]
    np.testing.assert_allclose(again.forecast("live", [2.0, 9.0]), whole, atol=1e-4)
