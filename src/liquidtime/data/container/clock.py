"""Times of series on the clock that they came with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from liquidtime.times import SECONDS

if TYPE_CHECKING:
    from liquidtime.data.container.series_set import SeriesSet


def absolute_times(data: SeriesSet, times: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """Return times (S, Q) on the series' clocks as they would have been told: time stamps where they came as such.

    A series without a sample has no time stamp. Large whole numbers come back as such.

    Args:
        data: S series.
        times: numbers on their clocks.
    """
    return times if data.origins is None else _told(data.origins[:, None], times, data.time_unit)


def sample_times(data: SeriesSet) -> npt.NDArray[Any]:
    """Return (N,) the times of all samples, as they would have been told."""
    if data.origins is None:
        return data.times
    return _told(np.repeat(data.origins, data.lengths), data.times, data.time_unit)


def _told(origins: npt.NDArray[Any], times: npt.NDArray[np.float64], unit: str | None) -> npt.NDArray[Any]:
    if origins.dtype.kind != "M":
        return origins + np.round(times).astype(np.int64)
    assert unit is not None
    nanoseconds = np.round(times * (SECONDS[unit] * 1e9))
    stamps: npt.NDArray[Any] = origins + nanoseconds.astype(np.int64).astype("timedelta64[ns]")
    return stamps
