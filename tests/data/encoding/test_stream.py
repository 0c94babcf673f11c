import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from liquidtime.data import SeriesEncoder, SeriesSet
from oracles.series import random_set

LENGTHS = [30, 1, 25]


def steps_of(stream, samples):
    """The steps as a model sees them: a revised one replaces the one before."""
    found = []
    for t, values in samples:
        step = stream.update(t, values)
        if stream.revises:
            found.pop()
        found.append(step)
    return np.array([x for x, _ in found]), np.array([dt for _, dt in found])


@settings(max_examples=25)
@given(st.integers(0, 99), st.sampled_from([None, 0.5, 6.0]), st.booleans())
def test_the_stream_equals_the_whole(seed, width, named):
    data = random_set(seed, LENGTHS)
    encoder = SeriesEncoder(bin_width=width).fit(data)
    whole = encoder.transform(data)
    for row, series in enumerate(data):
        ward = np.array(["east", "west"])[int(series.static[1])]
        stream = encoder.stream(static={"age": series.static[0], "ward": ward})
        np.testing.assert_array_equal(stream.static, whole.static[row])
        samples = zip(series.times, series.values, strict=True)
        if named:
            label = data.categories["k"]
            rows = [dict(zip(data.channels, values, strict=True)) for values in series.values]
            rows = [r | {"k": None if np.isnan(r["k"]) else label[int(r["k"])]} for r in rows]
            samples = zip(series.times, rows, strict=True)
        x, steps = steps_of(stream, samples)
        mine = slice(whole.offsets[row], whole.offsets[row + 1])
        np.testing.assert_allclose(x, whole.x[mine], rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(steps, whole.dt[mine])
        assert x.dtype == np.float32


@pytest.mark.parametrize("width", [None, 2.0])
def test_measurements_one_by_one_equal_the_frame(width):
    rows = [
        (0.0, "a", 1.0),
        (0.0, "b", 2.0),
        (0.0, "a", 4.0),
        (1.0, "a", 7.0),
        (5.0, "b", 3.0),
        (5.5, "b", 8.0),
        (9.0, "a", 0.0),
    ]
    frame = pl.DataFrame(
        {"id": [1] * 7, "t": [r[0] for r in rows], "c": [r[1] for r in rows], "v": [r[2] for r in rows]}
    )
    data = SeriesSet.from_long(frame, id="id", time="t", channel="c", value="v")
    encoder = SeriesEncoder(bin_width=width, log=False).fit(data)
    whole = encoder.transform(data)
    x, steps = steps_of(encoder.stream(), [(t, {c: v}) for t, c, v in rows])
    np.testing.assert_allclose(x, whole.x, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(steps, whole.dt)


def test_an_open_bin_is_revised_with_the_values_so_far():
    data = SeriesSet([0, 3], [0.0, 1.0, 10.0], [[1.0], [3.0], [5.0]], ("a",))
    encoder = SeriesEncoder(bin_width=5.0, log=False, clip=None).fit(data)
    stream = encoder.stream()
    first, _ = stream.update(0.0, [1.0])
    assert not stream.revises
    second, dt_second = stream.update(1.0, [3.0])
    assert stream.revises
    assert dt_second == 0.0
    mean, deviation = encoder.scaling_.mean[0], encoder.scaling_.scale[0]
    assert first[0] == pytest.approx((1 - mean) / deviation)
    assert second[0] == pytest.approx((2 - mean) / deviation)
    _, dt_third = stream.update(10.0, [np.nan])
    assert not stream.revises
    assert dt_third == pytest.approx(10.0 / encoder.time_scale_)


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris"])
def test_nanoseconds_of_a_stream_are_those_of_the_frame(zone):
    stamps = pd.to_datetime([0, 150, 900, 2300, 5200], unit="ns").tz_localize(zone)
    values = [1.0, 2.0, 3.0, 4.0, 5.0]
    frame = pd.DataFrame({"id": 1, "t": stamps, "a": values})
    encoder = SeriesEncoder().fit(SeriesSet.from_wide(frame, id="id", time="t", time_unit="us"))
    x, steps = steps_of(encoder.stream(), [(t, {"a": v}) for t, v in zip(stamps, values, strict=True)])
    whole = encoder.transform(SeriesSet.from_wide(frame, id="id", time="t", time_unit="us"))
    np.testing.assert_array_equal(steps, whole.dt)
    np.testing.assert_allclose(steps[1:] * encoder.time_scale_, [0.15, 0.75, 1.4, 2.9], rtol=1e-6)
    np.testing.assert_allclose(x, whole.x, rtol=1e-6)


SINCE = [dt.timedelta(0), dt.timedelta(hours=5), dt.timedelta(days=3, microseconds=7)]
DAYS = [dt.date(2024, 2, 28), dt.date(2024, 3, 1), dt.date(2024, 3, 9)]


@pytest.mark.parametrize(
    ("column", "singles"),
    [
        (SINCE, SINCE),
        (SINCE, pd.to_timedelta(SINCE)),
        (pd.to_timedelta(SINCE), np.array(SINCE, "m8[us]")),
        (DAYS, DAYS),
        (DAYS, np.array(DAYS, "M8[D]")),
    ],
)
def test_durations_and_dates_of_a_stream_are_those_of_the_frame(column, singles):
    frame = pl.DataFrame({"id": 1, "t": list(column), "a": [1.0, 2.0, 3.0]})
    data = SeriesSet.from_wide(frame, id="id", time="t", time_unit="h")
    pairs = SeriesSet.from_arrays([(column, np.array([1.0, 2.0, 3.0]))], time_unit="h")
    np.testing.assert_array_equal(data.times, pairs.times)
    encoder = SeriesEncoder().fit(data)
    _, steps = steps_of(encoder.stream(), [(t, {"a": 1.0}) for t in singles])
    np.testing.assert_array_equal(steps, encoder.transform(data).dt)


@pytest.mark.parametrize("zone", [None, dt.UTC])
def test_time_stamps_give_the_intervals_of_the_frame(zone):
    stamps = [dt.datetime(2024, 1, 1, 0, 0, 0, micro, tzinfo=zone) for micro in (1, 2, 700)]
    frame = pl.DataFrame({"id": [1] * 3, "t": stamps, "a": [1.0, 2.0, 3.0]})
    data = SeriesSet.from_wide(frame, id="id", time="t", time_unit="ms")
    encoder = SeriesEncoder().fit(data)
    whole = encoder.transform(data)
    x, steps = steps_of(encoder.stream(), [(t, {"a": v}) for t, v in zip(stamps, (1, 2, 3), strict=True)])
    np.testing.assert_array_equal(steps, whole.dt)
    np.testing.assert_allclose(x, whole.x, rtol=1e-6)
    large = [1_700_000_000_000_000_001 + k for k in (0, 1, 9)]
    frame = pl.DataFrame({"id": [1] * 3, "t": large, "a": [1.0, 2.0, 3.0]})
    encoder = SeriesEncoder().fit(SeriesSet.from_wide(frame, id="id", time="t"))
    _, steps = steps_of(encoder.stream(), [(t, [1.0]) for t in large])
    assert (steps * encoder.time_scale_).tolist() == [0.0, 1.0, 8.0]


def test_wrong_samples_are_refused_and_change_nothing():
    data = random_set(0, [5])
    encoder = SeriesEncoder().fit(data)
    stream, other = encoder.stream(), encoder.stream()
    for one in (stream, other):
        one.update(3.0, {"a": 1.0})
    for t, values, text in (
        (2.0, {"a": 1.0}, "`t` must not be earlier than the previous sample, at 3.0; got 2.0"),
        (float("nan"), {"a": 1.0}, "`t` must be finite"),
        (4.0, {"aa": 1.0}, "'aa' is neither; did you mean `a`"),
        (4.0, {"a": float("inf")}, "'a' is infinite"),
        (4.0, [1.0], r"`values` must have shape \(C,\) = \(4,\); got \(1,\)"),
        (np.datetime64("NaT"), {"a": 1.0}, "NaT"),
    ):
        with pytest.raises(ValueError, match=text):
            stream.update(t, values)
    np.testing.assert_array_equal(stream.update(5.0, {"b": 2.0})[0], other.update(5.0, {"b": 2.0})[0])


def test_an_unknown_category_is_none_of_the_known():
    encoder = SeriesEncoder().fit(random_set(0, [5]))
    x, _ = encoder.stream().update(0.0, {"k": "strange"})
    got = dict(zip(encoder.layout_.inputs, x.tolist(), strict=True))
    assert (got["k=low"], got["k=mid"], got["k=top"], got["k observed"]) == (0, 0, 0, 1)
