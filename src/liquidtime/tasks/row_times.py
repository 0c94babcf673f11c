"""The times of the rows of a table of predictions, as time stamps if the series have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data import SeriesSet
from liquidtime.data.container import absolute_times
from liquidtime.data.encoding.future_times import last_times
from liquidtime.tasks.prediction_table import Columns


def times_of_last_samples(data: SeriesSet) -> npt.NDArray[Any]:
    """Return (S,) the time of each series' last sample; NaN or NaT if there is none.

    Args:
        data: S series.
    """
    times = absolute_times(data, last_times(data)[:, None])[:, 0]
    empty = data.lengths == 0
    if times.dtype.kind == "f":
        return np.where(empty, np.nan, times)
    return times


def rows_of_samples(data: SeriesSet, evolution: Any) -> Columns:
    """Return the ids and times of predictions after every sample, as the first columns of a table.

    Args:
        data: S series.
        evolution: evolution of a model's predictions for those series.
    """
    owners = np.repeat(np.arange(len(data)), np.diff(evolution.offsets))
    if data.origins is None:
        return {"": data.ids[owners], "time": evolution.times}
    clocks = data.replace_unchecked(origins=data.origins[owners])  # one per row, without copies of the samples
    return {"": data.ids[owners], "time": absolute_times(clocks, evolution.times[:, None])[:, 0]}


def told_times(data: SeriesSet, times: Any) -> Any:
    """Return times of a table in the form of the series' times: time stamps with a time zone if these had one."""
    if times.dtype.kind != "M" or data.reading.get("time_zone") != "UTC":
        return times
    import polars

    return polars.Series(times).dt.replace_time_zone("UTC")
