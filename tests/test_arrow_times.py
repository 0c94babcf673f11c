"""Columns of pyarrow as times: stamps of every unit and zone, dates, durations, gaps."""

import datetime

import pandas as pd
import pyarrow as pa
import pytest
import torch

import liquidtime as lt


@pytest.mark.parametrize(
    ("kind", "ticks"), [("ns", 1), ("us", 10**3), ("ms", 10**6), ("s", 10**9)], ids=["ns", "us", "ms", "s"]
)
@pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
def test_columns_of_pyarrow(kind, ticks, zone):
    column = pa.array([0, 100, 250], pa.timestamp(kind, zone))
    for times in (column, pa.chunked_array([column]), pd.Series(column, dtype=pd.ArrowDtype(column.type))):
        assert lt.elapsed(times, unit="ns", dtype=torch.float64).tolist() == [0.0, 100.0 * ticks, 150.0 * ticks]


def test_dates_and_gaps_of_pyarrow():
    days = [datetime.date(1500, 1, 1), datetime.date(1500, 1, 4)]
    assert lt.elapsed(pa.array(days), unit="D").tolist() == [0.0, 3.0]
    with pytest.raises(ValueError, match="The first is NaT in series 0 at position 1"):
        lt.elapsed(pa.array([days[0], None]))
    with pytest.raises(ValueError, match="The first is nan in series 0 at position 1"):
        lt.elapsed(pa.array([1, None]))


def test_durations_of_pyarrow():
    times = pa.array([3000, 8000], pa.duration("ms"))
    assert lt.elapsed(times).tolist() == [0.0, 5.0]
    assert lt.elapsed(times, unit="ms").tolist() == [0.0, 5000.0]
