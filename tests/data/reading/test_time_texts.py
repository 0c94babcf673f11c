"""Times as strangers write them: read right, or refused with what to do."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from liquidtime.data import SeriesSet
from oracles.series import assert_same


def hours(words, **options):
    """Return the hours since the first sample, of one series whose times are texts."""
    frame = pl.DataFrame({"id": [1] * len(words), "t": words, "x": range(len(words))})
    return SeriesSet.from_wide(frame, id="id", time="t", time_unit="h", **options)


US = ["03/01/2024 06:15", "03/02/2024 08:15", "03/03/2024 06:15"]


def test_dates_with_two_readings_are_refused_with_both_and_a_format_decides():
    with pytest.raises(ValueError, match="2 readings") as caught:
        hours(US)
    text = str(caught.value)
    assert "'03/01/2024 06:15' in row 0 could be 2024-01-03" in text
    assert "or 2024-03-01 (`time_format` '%m/%d/%Y %H:%M')" in text
    assert "2 of 3 rows" in text  # 03/03 is the same day in both
    data = hours(US, time_format="%m/%d/%Y %H:%M")
    assert data.times.tolist() == [0.0, 26.0, 48.0]
    assert data.reading == {"time_format": "%m/%d/%Y %H:%M", "time_zone": "none"}
    assert "note: all 3 times were read as month, day, year (%m/%d/%Y %H:%M)" in map(str, data.notes)
    assert hours(US, time_format="%d/%m/%Y %H:%M").times.tolist() == [0.0, 746.0, 1440.0]
    assert hours(US, usual={"time_format": "%m/%d/%Y"}).times.tolist() == [0.0, 26.0, 48.0]


READ = {
    "iso": (["2024-03-01", "2024-03-02 06:00", "2024-03-02T07:30:00.5"], [0, 30, 31.5 + 0.5 / 3600]),
    "one digit": (["2024-3-1 6:00", "2024-3-2 6:00"], [0, 24]),
    "slashes, year first": (["2024/03/01", "2024/03/02"], [0, 24]),
    "dots": (["1.2.2024", "2.2.2024 12:00"], [0, 36]),
    "day over 12": (["13/03/2024", "01/04/2024"], [0, 19 * 24]),
    "month first by a day over 12": (["03/13/2024", "03/12/2024"], [0, 24]),
    "both readings the same": (["01/01/2024", "02/02/2024"], [0, 32 * 24]),
    "halves of the day": (["2024-01-01 12:05 AM", "2024-01-01 1:05 pm", "2024-01-01 12:05 p.m."], [0, 12, 13]),
    "month names": (["01-Mar-2024 06:00", "2-march-2024 06:00"], [0, 24]),
    "month names first": (["Mar 1, 2024 10:00", "April 1, 2024 10:00"], [0, 31 * 24]),
    "a mail's date": (["Fri, 01 Mar 2024 10:00:00 GMT", "Fri, 01 Mar 2024 12:00:00 GMT"], [0, 2]),
    "basic": (["20240301T060000", "20240301T080000"], [0, 2]),
    "two digits of a year, one reading": (["31/12/99", "30/12/99"], [0, 24]),
    "time zones": (["2024-03-31T01:30:00+01:00", "2024-03-31T03:30:00+0200", "2024-03-31 02:00Z"], [0, 1, 1.5]),
    "a decimal comma": (["2024-01-01 00:00:00,250", "2024-01-01 00:00:01"], [0, 0.75 / 3600]),
    "leap": (["2024-02-29", "2024-03-01"], [0, 24]),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_formats_that_have_one_reading_are_read(case):
    words, expected = READ[case]
    np.testing.assert_allclose(hours(words).times, sorted(expected), rtol=1e-12)


REFUSED = {
    "three readings": (["01-02-03"], "3 readings"),
    "two digits first": (["24-03-31", "24-04-01"], "'%y-%m-%d'"),
    "short with dots": (["31.01.24", "01.02.24"], "2 readings"),
    "short with month names": (["01-MAR-24"], "2 readings"),
    "month 13": (["2024-13-01"], "has dates that do not exist: 1 of 1. The first: '2024-13-01' in row 0"),
    "30 February": (["2024-02-30"], "dates that do not exist"),
    "29 February of another year": (["29.02.2023"], "dates that do not exist"),
    "25 o'clock": (["2024-01-01 25:00"], "times of day that do not exist"),
    "13 PM": (["2024-01-01 13:00 PM"], "times of day that do not exist"),
    "two formats": (
        ["2024-01-01", "01/02/2024", "2024-01-02"],
        "it has 2: 2 rows like '2024-01-01', the first is row 0; 1 rows like '01/02/2024', the first is row 1",
    ),
    "two separators": (["2024-01-01", "2024/01/02"], "it has 2"),
    "two orders": (["31/01/2024", "01/31/2024"], "1 rows can only be day, month, year ('31/01/2024' in row 0) and"),
    "with and without a zone": (["2024-01-01 00:00Z", "2024-01-01 01:00"], "1 of 2 have none, such as '2024-01-01 01"),
    "a clock without a date": (["10:30", "11:30"], "A time of day needs its date"),
    "words": (["noon"], "The first is 'noon' in row 0"),
    "numbers and dates": (["17", "2024-01-01"], "The first is '17' in row 0"),
    "unknown zone": (["2024-01-01 10:00 EST"], "must be numbers or time stamps"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_one_reading_is_refused(case):
    words, text = REFUSED[case]
    with pytest.raises((ValueError, TypeError)) as caught:
        hours(words)
    assert text in str(caught.value)


def test_several_time_zones_are_named_with_rows():
    data = hours(["2024-03-31T01:30:00+01:00", "2024-03-31T03:30:00+02:00", "2024-03-31T04:30:00+02:00"])
    assert data.reading["time_zone"] == "UTC"
    (note,) = [str(note) for note in data.notes]
    assert "+01:00 in 1 rows, the first is row 0, +02:00 in 2 rows, the first is row 1" in note


@pytest.mark.parametrize("year", ["1500", "1677", "2263", "9999"])
def test_years_that_nanoseconds_cannot_hold_are_refused_and_never_wrap(year):
    for fraction in ("", ".000001", ".000000001", ".123456789"):
        with pytest.raises(ValueError, match="outside 1678…2262, which nanoseconds cannot hold"):
            hours([f"{year}-01-01T00:00:00{fraction}", "2000-01-01T00:00:00"])
    with pytest.raises(ValueError, match="outside 1678…2262"):
        hours([f"01.01.{year} +0200"], time_format="%d.%m.%Y %z")


def test_a_format_is_taken_to_the_letter_or_refused():
    assert hours(["1|2|2024 6h", "2|2|2024 6h"], time_format="%d|%m|%Y %Hh").times.tolist() == [0, 24]
    with pytest.raises(ValueError, match=r"1 of 2. The first: '2024-01-02' in row 1"):
        hours(["01|02|2024", "2024-01-02"], time_format="%d|%m|%Y")
    with pytest.raises(ValueError, match="must be dates of `time_format` '%m/%d/%Y'"):
        hours(["31/01/2024"], time_format="%m/%d/%Y")
    stamps = pl.DataFrame({"id": [1], "t": ["2024-01-01"], "x": [1]}).with_columns(pl.col("t").str.to_date())
    with pytest.raises(ValueError, match="is for times written as text"):
        SeriesSet.from_wide(stamps, id="id", time="t", time_format="%Y")


def whole(times, **options):
    frame = pl.DataFrame({"id": [1] * len(times), "t": times, "x": range(len(times))})
    return SeriesSet.from_wide(frame, id="id", time="t", **options)


def test_whole_numbers_that_look_like_dates_are_refused_until_said_what_they_are():
    with pytest.raises(ValueError, match=r"20240131 could be 2024-01-31 \(`time_format` '%Y%m%d'\) or plain numbers"):
        whole([20240131, 20240201])
    assert whole([20240131, 20240201], time_format="%Y%m%d", time_unit="D").times.tolist() == [0, 1]
    assert whole([20240131, 20240201], time_unit="s").times.tolist() == [20240131, 20240201]
    assert whole([20241399, 20240201]).times.tolist() == [20240201, 20241399]  # no such date


@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 1000), ("us", 10**6), ("ns", 10**9)])
def test_times_since_1970_are_numbers_with_a_hint_or_stamps_on_request(unit, factor):
    times = [1709274000 * factor, 1709277600 * factor]
    plain = whole(times)
    assert np.diff(plain.times).tolist() == [3600 * factor]
    (note,) = [str(note) for note in plain.notes]
    assert f"look like {unit} since 1970" in note
    assert "2024-03-01T06:20:00" in note
    stamps = whole(times, time_format=f"epoch {unit}", time_unit="h")
    assert stamps.times.tolist() == [0, 1]
    assert stamps.origins[0] == np.datetime64("2024-03-01T06:20:00")
    assert whole(times, time_unit=unit).notes == ()


def test_a_pandas_frame_with_times_as_text_is_read_like_the_file(tmp_path):
    frame = pd.DataFrame({"id": ["a", "a", "b"], "t": ["2024-01-01", "2024-01-02T06:00", "2024-01-01"], "x": [1, 2, 3]})
    frame.to_csv(tmp_path / "f.csv", index=False)
    data = SeriesSet.from_wide(frame, id="id", time="t")
    assert_same(data, SeriesSet.from_wide(tmp_path / "f.csv", id="id", time="t"))
    assert data.times.tolist() == [0, 30 * 3600, 0]
    mixed = frame.assign(t=[pd.Timestamp("2024-01-01"), "2024-01-02T06:00", "2024-01-01"])
    assert_same(data, SeriesSet.from_wide(mixed, id="id", time="t"))
