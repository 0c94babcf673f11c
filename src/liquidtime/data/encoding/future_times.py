"""Times to forecast, as gaps after the last sample of each series."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data.container import SeriesSet, as_ticks
from liquidtime.data.encoding.encoder import SeriesEncoder
from liquidtime.errors import wrong_shape
from liquidtime.times import _as_array

Values = npt.NDArray[np.float64]


def gaps_to(data: SeriesSet, encoder: SeriesEncoder, times: Any, horizons: Any) -> tuple[Values, list[int] | None]:
    """Return (S, Q) scaled gaps after the last step of each series, and, for ragged times, how many each series has.

    Args:
        data: S series.
        encoder: encoder with the unit and the bins.
        times: argument of `CfCForecaster.predict`.
        horizons: argument of `CfCForecaster.predict`.

    Raises:
        ValueError: both are given, times are before the last sample of a series, or have another shape.

    """
    if times is not None and horizons is not None:
        raise ValueError("`times` and `horizons` mean the same in two ways; give only one of them")
    S = len(data)
    steps = encoder.steps(data)
    last, last_step = last_times(data), last_times(steps)
    if times is None:
        ahead = np.atleast_1d(np.asarray([encoder.time_scale_] if horizons is None else horizons, dtype=np.float64))
        if ahead.ndim != 1 or not (np.isfinite(ahead) & (ahead >= 0)).all():
            raise ValueError(f"`horizons` must be (Q,) finite times of at least 0; got {horizons!r}")
        query_times, sizes = last[:, None] + ahead, None
    else:
        query_times, sizes = _times_asked_for(data, times)
    early = (query_times < last[:, None]) & ~np.isnan(query_times)
    if early.any():
        row = int(np.argmax(early.any(axis=1)))
        raise ValueError(
            f"`times` must not be before the last sample; {int(early.sum())} are. The first is "
            f"{query_times[row][early[row]][0]:g} of series {data.ids[row]}, whose last sample is at {last[row]:g}."
        )
    assert len(query_times) == S
    return np.nan_to_num(query_times - last_step[:, None]) / encoder.time_scale_, sizes


def split_rows(forecasts: Values, sizes: list[int] | None) -> Any:
    """Return (S, Q, C) forecasts unchanged, or, for ragged times, as a list of (Q_i, C)."""
    return forecasts if sizes is None else [row[:size] for row, size in zip(forecasts, sizes, strict=True)]


def last_times(data: SeriesSet) -> Values:
    """Return (S,) the time of the last sample of each series; 0 if it has none."""
    last = np.zeros(len(data))
    some = data.lengths > 0
    last[some] = data.ends()[1][some]
    return last


def _times_asked_for(data: SeriesSet, times: Any) -> tuple[Values, list[int] | None]:
    S = len(data)
    ragged = isinstance(times, list) and bool(times) and np.ndim(times[0]) == 1
    if not ragged:
        array = _as_array(times)
        if array.ndim not in (1, 2) or (array.ndim == 2 and len(array) != S):
            raise wrong_shape("times", "(Q,) or (S, Q)", [S, "Q"], array.shape, "Or a list of S arrays.")
        query_times = _on_clock(data, np.broadcast_to(array, (S, array.shape[-1])))
        if not np.isfinite(query_times).all():
            raise ValueError(f"`times` must be finite; {int((~np.isfinite(query_times)).sum())} are not")
        return query_times, None
    rows = [_as_array(row) for row in times]
    if len(rows) != S:
        raise ValueError(f"`times` must have one array per series, {S}; got {len(rows)}")
    sizes = [len(row) for row in rows]
    query_times = np.full((S, max(sizes)), np.nan)
    for i, row in enumerate(rows):
        query_times[i, : len(row)] = _on_clock(data[i : i + 1], row[None])[0]
        if not np.isfinite(query_times[i, : len(row)]).all():
            raise ValueError(f"`times` must be finite; some of series {data.ids[i]} are not")
    return query_times, sizes


def _on_clock(data: SeriesSet, times: npt.NDArray[Any]) -> Values:
    """Return (S, Q) times on the clocks of the series, which count from `origins` if the set has them."""
    if times.dtype.kind != "M":
        return times.astype(np.float64)
    if data.origins is None or data.origins.dtype.kind != "M":
        raise TypeError("`times` are time stamps, but the series' times are numbers; give numbers")
    ticks = as_ticks(times.reshape(-1), data.time_unit)
    since = ticks.values.reshape(times.shape) - data.origins.astype("datetime64[ns]").astype(np.int64)[:, None]
    return since / round(1.0 / ticks.factor)
