import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

import liquidtime as lt

EPOCH = 1_700_000_000


class TestElapsed:
    def test_differences_come_before_the_cast(self):
        times = torch.tensor([EPOCH, EPOCH + 1.5, EPOCH + 61.25], dtype=torch.float64)
        dt = lt.elapsed(times)
        assert dt.dtype == torch.float32
        assert dt.tolist() == [0.0, 1.5, 59.75]
        assert times.float().diff().tolist() != [1.5, 59.75]  # what a cast first would have given

    def test_every_series_by_itself(self):
        dt = lt.elapsed(np.array([[0.0, 1.0, 4.0], [10.0, 10.0, 30.0]]), first=0.5)
        assert dt.tolist() == [[0.5, 1.0, 3.0], [0.5, 0.0, 20.0]]

    @pytest.mark.parametrize("dtype", [np.int16, np.int64, np.uint8, np.uint64])
    def test_whole_numbers_do_not_wrap(self, dtype):
        assert lt.elapsed(np.array([3, 100, 101], dtype=dtype)).tolist() == [0.0, 97.0, 1.0]

    def test_nanoseconds_as_whole_numbers_are_exact(self):
        start = EPOCH * 10**9
        assert lt.elapsed([start, start + 7], dtype=torch.float64).tolist() == [0.0, 7.0]

    @pytest.mark.parametrize("resolution", ["ns", "us", "ms", "s"])
    def test_time_stamps_in_any_resolution(self, resolution):
        stamps = np.array(["2024-01-01T00:00", "2024-01-01T00:01", "2024-01-03T00:01"], f"datetime64[{resolution}]")
        assert lt.elapsed(stamps).tolist() == [0.0, 60.0, 172800.0]
        assert lt.elapsed(stamps, unit="min").tolist() == [0.0, 1.0, 2880.0]
        assert lt.elapsed(stamps, unit="D")[2] == 2.0

    def test_minutes_and_days_as_resolutions(self):
        assert lt.elapsed(np.array(["2024-01-01T00:00", "2024-01-01T00:05"], "datetime64[m]")).tolist() == [0, 300]
        assert lt.elapsed(np.array(["2024-01-01", "2024-01-15"], "datetime64[D]"), unit="D").tolist() == [0, 14]

    def test_columns_of_data_frames(self):
        stamps = [datetime.datetime(2024, 3, 1, 12, 0, s) for s in (0, 2, 30)]
        expected = [0.0, 2.0, 28.0]
        assert lt.elapsed(pd.Series(stamps)).tolist() == expected
        assert lt.elapsed(pl.Series(stamps)).tolist() == expected
        assert lt.elapsed(stamps).tolist() == expected
        assert lt.elapsed(pd.Series([0.5, 2.5])).tolist() == [0.0, 2.0]
        assert lt.elapsed(pl.Series([1, 5])).tolist() == [0.0, 4.0]
        assert lt.elapsed(pd.DatetimeIndex(stamps)).tolist() == expected

    def test_time_zones_and_the_change_of_the_clock(self):
        local = pd.Series(pd.to_datetime(["2024-03-31 00:30", "2024-03-31 01:30"]).tz_localize("UTC"))
        assert lt.elapsed(local.dt.tz_convert("Europe/Paris"), unit="h").tolist() == [0.0, 1.0]
        aware = [datetime.datetime(2024, 1, 1, h, tzinfo=datetime.UTC) for h in (1, 4)]
        assert lt.elapsed(aware, unit="h").tolist() == [0.0, 3.0]

    @pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris"])
    @pytest.mark.parametrize("form", [pd.Series, list, lambda stamps: np.array(list(stamps), dtype=object)])
    def test_nanoseconds_survive_whatever_holds_them(self, zone, form):
        stamps = pd.to_datetime([0, 100, 250], unit="ns").tz_localize(zone)
        assert lt.elapsed(form(stamps), unit="ns").tolist() == [0.0, 100.0, 150.0]
        mixed = [stamps[0].to_pydatetime(), *stamps[1:]]
        assert lt.elapsed(mixed, unit="ns").tolist() == [0.0, 100.0, 150.0]

    @pytest.mark.parametrize("years", [(1500, 1600), (1, 9999), (1600, 2300), (1700, 2200)])
    def test_any_year_of_the_calendar(self, years):
        days = float((datetime.date(years[1], 1, 1) - datetime.date(years[0], 1, 1)).days)
        zone = datetime.timezone(datetime.timedelta(hours=14))  # midnight of the year 1 there is no UTC datetime
        for stamps in (
            [datetime.datetime(year, 1, 1) for year in years],
            [datetime.datetime(year, 1, 1, tzinfo=zone) for year in years],
            [datetime.date(year, 1, 1) for year in years],
            [pd.Timestamp(f"{year:04}-01-01") for year in years],
            np.array([f"{year:04}" for year in years], "datetime64[us]"),
        ):
            assert lt.elapsed(stamps, unit="D").tolist() == [0.0, days]

    def test_five_hundred_years_in_nanoseconds(self):
        assert lt.elapsed(np.array(["1700", "2200"], "datetime64[ns]"), unit="D").tolist() == [0.0, 182621.0]
        most = np.iinfo(np.int64)
        assert lt.elapsed(np.array([most.min + 1, most.max]), dtype=torch.float64).tolist() == [0.0, 2.0**64]

    def test_a_list_of_stamps_of_several_resolutions(self):
        old, new = np.datetime64("1500-01-01"), np.datetime64("2000-01-01T00:00:00", "ns")
        days = float((datetime.date(2000, 1, 1) - datetime.date(1500, 1, 1)).days)
        assert lt.elapsed([old, new], unit="D").tolist() == [0.0, days]
        rows = [np.array([old, old + 3]), np.array([new, new + np.timedelta64(2, "D")])]
        assert lt.elapsed(rows, unit="D").tolist() == [[0.0, 3.0], [0.0, 2.0]]
        with pytest.raises(ValueError, match="nanoseconds as well as time stamps outside 1678…2262"):
            lt.elapsed([old, new + np.timedelta64(1, "ns")])

    @pytest.mark.parametrize(
        "times",
        [
            [datetime.timedelta(seconds=3), datetime.timedelta(seconds=8)],
            pd.Series(pd.to_timedelta([3, 8], unit="s")),
            [pd.Timedelta(3, "s"), pd.Timedelta(8, "s")],
            pl.Series([datetime.timedelta(seconds=3), datetime.timedelta(seconds=8)]),
            np.array([3, 8], "m8[s]"),
        ],
    )
    def test_durations_since_some_moment(self, times):
        assert lt.elapsed(times).tolist() == [0.0, 5.0]
        assert lt.elapsed(times, unit="ms").tolist() == [0.0, 5000.0]

    def test_durations_keep_their_digits_and_their_units(self):
        assert lt.elapsed([pd.Timedelta(0), pd.Timedelta(7, "ns")], unit="ns").tolist() == [0.0, 7.0]
        assert lt.elapsed(np.array([0, 3], "m8[15m]"), unit="min").tolist() == [0.0, 45.0]
        assert lt.elapsed([np.timedelta64(1, "s"), np.timedelta64(1500, "ms")], unit="ms").tolist() == [0.0, 500.0]
        with pytest.raises(ValueError, match="The first is NaT in series 0 at position 1"):
            lt.elapsed([datetime.timedelta(0), None])
        with pytest.raises(TypeError, match="got objects such as"):
            lt.elapsed([datetime.timedelta(0), 3.0])

    def test_a_stamp_that_is_missing_is_named(self):
        stamps = pd.Series(pd.to_datetime([0, 1], unit="s").tz_localize("UTC"))
        for times in (stamps.shift(-1), [stamps[0], None], [datetime.datetime(2024, 1, 1), pd.NaT]):
            with pytest.raises(ValueError, match=r"1 of 2 are not. The first is NaT in series 0 at position 1"):
                lt.elapsed(times)

    def test_several_ticks_of_a_resolution_are_counted(self):
        quarters = np.array([0, 1, 5], dtype="datetime64[15m]")
        assert lt.elapsed(quarters, unit="min").tolist() == [0.0, 15.0, 60.0]
        assert lt.elapsed(np.array([0, 3], dtype="datetime64[100ns]"), unit="ns").tolist() == [0.0, 300.0]

    def test_padding_may_hold_anything(self):
        times = np.array([[0.0, 2.0, np.nan], [5.0, np.inf, -1.0]])
        assert lt.elapsed(times, lengths=[2, 1], first=9.0).tolist() == [[9.0, 2.0, 0.0], [9.0, 0.0, 0.0]]
        assert lt.elapsed(times, lengths=[0, 0]).tolist() == [[0.0] * 3] * 2

    def test_nothing_is_nothing(self):
        assert lt.elapsed(np.zeros((3, 0))).shape == (3, 0)

    @pytest.mark.parametrize(
        ("times", "options", "error", "text"),
        [
            ([0.0, 2.0, 1.0, 0.5], {}, ValueError, "decrease .* 2 times, first in series 0 at position 2"),
            ([[0, 1], [3, 2]], {}, ValueError, "in series 1 at position 1. Sort each series"),
            ([[0.0, 1.0], [np.nan, 2.0]], {}, ValueError, "1 of 4 are not. The first is nan in series 1 at position 0"),
            (np.array(["2024-01-01", "NaT"], "M8[s]"), {}, ValueError, "The first is NaT in series 0 at position 1"),
            ([0.0, 1.0], {"unit": "s"}, ValueError, "`unit` applies only to time stamps"),
            (np.array(["2024-01-01"], "M8[s]"), {"unit": "hours"}, ValueError, "`unit` must be one of"),
            (
                [pd.Timestamp(5), pd.Timestamp("1500")],
                {},
                ValueError,
                "nanoseconds as well as time stamps outside 1678…2262",
            ),
            ([datetime.date(2024, 1, 1), "today"], {}, TypeError, "got objects such as 'today'"),
            (["yesterday", "today"], {}, TypeError, "`times` must be numbers or time stamps"),
            (np.array(["2024-01"], "M8[M]"), {}, TypeError, "months or years"),
            (torch.zeros(3, dtype=torch.bfloat16), {}, TypeError, "need float64"),
            (np.zeros(3, np.float16), {}, TypeError, "need float64"),
            (np.zeros((2, 2, 2)), {}, ValueError, r"shape \(T,\) or \(B, T\); got \(2, 2, 2\)"),
            ([[0.0, 1.0]], {"lengths": [3]}, ValueError, "series 0 has 3"),
        ],
    )
    def test_refusals(self, times, options, error, text):
        with pytest.raises(error, match=text):
            lt.elapsed(times, **options)

    def test_mixed_time_zones_are_refused(self):
        mixed = [datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), datetime.datetime(2024, 1, 2)]
        with pytest.raises(TypeError, match="with and without a time zone; the first change is at 1"):
            lt.elapsed(mixed)


def test_equidistant():
    assert lt.equidistant(5, 0.0, 1.0).tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert lt.equidistant(0, 0.0, 1.0).shape == (0,)
    with pytest.raises(ValueError, match="`a` must be finite and at least 0"):
        lt.equidistant(5, -1.0, 1.0)
    y, _ = lt.CfC(2, 3)(torch.randn(4, 5, 2), dt=lt.equidistant(5, 0.0, 1.0))
    assert y.shape == (4, 5, 3)
