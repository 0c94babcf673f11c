import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from liquidtime.data import SeriesSet

STAMPS = ["2024-03-30T23:00:00.000000001", "2024-03-31T03:00:00.000000002", "2024-03-30T22:00:00"]


def read(frame, **options):
    return SeriesSet.from_wide(frame, id="who", time="t", values=["x"], **options)


def columns(stamps):
    return {"who": [1, 1, 2], "t": stamps, "x": [1.0, 2.0, 3.0]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_nanoseconds_between_time_stamps_are_exact(make):
    data = read(make(columns(np.array(STAMPS, dtype="datetime64[ns]"))), time_unit="ns")
    assert data.times.tolist() == [0.0, 4 * 3600e9 + 1, 0.0]
    assert data.origins.astype(str).tolist() == [STAMPS[0], STAMPS[2] + ".000000000"]


@pytest.mark.parametrize(("unit", "four_hours"), [(None, 14400.0), ("min", 240.0), ("h", 4.0), ("D", 4 / 24)])
def test_time_stamps_come_in_the_unit_asked_for(unit, four_hours):
    data = read(pd.DataFrame(columns(np.array(STAMPS, dtype="datetime64[s]"))), time_unit=unit)
    assert data.times.tolist() == [0.0, four_hours, 0.0]
    assert data.time_unit == (unit or "s")


def test_a_time_zone_counts_real_hours_over_a_change_of_clocks():
    local = pd.DatetimeIndex(["2024-03-31 00:00", "2024-03-31 04:00", "2024-01-01"]).tz_localize("Europe/Paris")
    for frame in (pd.DataFrame(columns(local)), pl.from_pandas(pd.DataFrame(columns(local)))):
        data = read(frame, time_unit="h")
        assert data.times.tolist() == [0.0, 3.0, 0.0]
        assert str(data.origins[0]) == "2024-03-30T23:00:00.000000000"


def test_dates_and_durations_are_times():
    days = [dt.date(2024, 1, 1), dt.date(2024, 1, 3), dt.date(2024, 1, 2)]
    assert read(pl.DataFrame(columns(days)), time_unit="D").times.tolist() == [0.0, 2.0, 0.0]
    waits = [dt.timedelta(minutes=m) for m in (1, 3, 5)]
    assert read(pl.DataFrame(columns(waits)), time_unit="min").times.tolist() == [0.0, 2.0, 0.0]


def test_large_whole_numbers_keep_their_differences():
    start = 1_700_000_000_000_000_001
    data = read(pl.DataFrame(columns([start, start + 1, start + 5])), time_unit="ns")
    assert data.times.tolist() == [0.0, 1.0, 0.0]
    assert data.origins.tolist() == [start, start + 5]
    assert (data[:1] + data[1:]).origins.tolist() == data.origins.tolist()


def test_numbers_stay_as_they_are():
    data = read(pl.DataFrame(columns([0.25, 1e9 + 0.5, -3.0])), time_unit="s")
    assert data.times.tolist() == [0.25, 1e9 + 0.5, -3.0]
    assert data.origins is None


def test_unknown_stamps_and_far_ones_are_refused():
    with pytest.raises(
        ValueError, match=r"`time` must be finite; 1 of 3 are not. The first: NaT in series 2 at position 0"
    ):
        read(pl.DataFrame(columns([dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2), None])))
    with pytest.raises(ValueError, match=r"outside 1678…2262"):
        read(pl.DataFrame(columns([dt.datetime(1500, 1, 1)] * 3)))
    with pytest.raises(ValueError, match=r"`time_unit` must be one of"):
        read(pl.DataFrame(columns([1, 2, 3])), time_unit="seconds")


def test_arrays_of_objects_keep_nanoseconds_and_refuse_what_they_cannot_hold():
    stamps = pd.to_datetime([0, 100, 250], unit="ns").tz_localize("UTC")
    values = np.zeros((3, 1))
    for times in (stamps, list(stamps), pd.Series(stamps)):
        assert SeriesSet.from_arrays([(times, values)], time_unit="ns").times.tolist() == [0.0, 100.0, 250.0]
    early = [dt.datetime(1500, 1, day) for day in (1, 2, 3)]
    for pairs in ([(early, values)], [(early, values), (stamps.tz_localize(None), values)]):
        with pytest.raises(ValueError, match="outside 1678…2262"):
            SeriesSet.from_arrays(pairs)


def test_five_hundred_years_fit_in_a_series():
    days = read(pl.DataFrame(columns(np.array(["1700", "2200", "1700"], "datetime64[ns]"))), time_unit="D").times
    assert days.tolist() == [0.0, 182621.0, 0.0]
    ends = np.iinfo(np.int64)
    assert read(pl.DataFrame(columns([ends.min + 1, ends.max, 0]))).times.tolist() == [0.0, 2.0**64, 0.0]
