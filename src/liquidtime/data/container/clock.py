"""Convert times of series back to the form in which they were read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from liquidtime.times import SECONDS

if TYPE_CHECKING:
    from liquidtime.data.container.series_set import SeriesSet


def absolute_times(data: SeriesSet, times: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """Return times (S, Q) in the form in which the times of the series were read, such as time stamps.

    A series without a sample has no time stamp. Large whole numbers stay large whole numbers.

    Args:
        data: S series.
        times: numbers on the clocks of the series.
    """
    return times if data.origins is None else _absolute(data.origins[:, None], times, data.time_unit)


def sample_times(data: SeriesSet) -> npt.NDArray[Any]:
    """Return (N,) the times of all samples, in the form in which they were read."""
    if data.origins is None:
        return data.times
    return _absolute(np.repeat(data.origins, data.lengths), data.times, data.time_unit)


def _absolute(origins: npt.NDArray[Any], times: npt.NDArray[np.float64], unit: str | None) -> npt.NDArray[Any]:
    if origins.dtype.kind != "M":
        return origins + np.round(times).astype(np.int64)
    assert unit is not None
    nanoseconds = np.round(times * (SECONDS[unit] * 1e9))
    stamps: npt.NDArray[Any] = origins + nanoseconds.astype(np.int64).astype("timedelta64[ns]")
    return stamps
