"""A set of series as a table or an array of another library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from liquidtime.data.container.clock import sample_times

if TYPE_CHECKING:
    import polars

    from liquidtime.data.container.series_set import SeriesSet


def to_polars(data: SeriesSet, id: str = "id", time: str = "time") -> polars.DataFrame:
    """Return one row per sample: the id, the time, the channels, and the static features of the series.

    Values that were not observed are null, categories are texts, and times have the form in which they were read. A
    series without a sample has no row.

    Args:
        data: S series.
        id: name of the column of ids.
        time: name of the column of times.

    Raises:
        ValueError: `id` or `time` is the name of a channel or a static feature.

    """
    import polars

    names = [id, time, *data.channels, *data.static_names]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"`id` and `time` must differ from the names of channels and features; got {twice!r}")
    columns: dict[str, Any] = {id: np.repeat(data.ids, data.lengths), time: sample_times(data)}
    for place, name in enumerate(data.channels):
        columns[name] = _column(data, name, data.values[:, place])
    for place, name in enumerate(data.static_names):
        columns[name] = _column(data, name, np.repeat(data.static[:, place], data.lengths))
    return polars.DataFrame({name: polars.Series(name, column) for name, column in columns.items()})


def to_pandas(data: SeriesSet, id: str = "id", time: str = "time") -> Any:
    """Return the table of `to_polars` as a pandas frame."""
    import pandas  # type: ignore[import-untyped]
    import polars

    table = to_polars(data, id, time)
    return pandas.DataFrame(
        {column.name: column.to_list() if column.dtype == polars.String else column.to_numpy() for column in table}
    )


def _column(data: SeriesSet, name: str, values: npt.NDArray[np.float32]) -> Any:
    """Return numbers with null for NaN, or the names of categories."""
    import polars

    labels = data.categories.get(name)
    if labels is None:
        return polars.Series(name, values, nan_to_null=True)
    codes = np.where(np.isnan(values), -1, values).astype(np.int64)
    return polars.Series(name, [labels[code] if code >= 0 else None for code in codes], dtype=polars.String)


def to_xarray(data: SeriesSet) -> Any:
    """Return an xarray `Dataset`: `values` (series, step, channel), padded with NaN, and `static` (series, feature).

    The times of the steps are the coordinate `time` (series, step), the number of samples of each series is `length`.

    Args:
        data: S series.
    """
    try:
        import xarray
    except ImportError:
        raise ImportError("to_xarray needs the package xarray: pip install 'liquidtime[xarray]'") from None
    S, T = len(data), int(data.lengths.max()) if len(data) else 0
    inside = np.arange(T) < data.lengths[:, None]
    values = np.full((S, T, len(data.channels)), np.nan, dtype=np.float32)
    values[inside] = data.values
    told = sample_times(data)
    nothing: Any = np.datetime64("NaT") if told.dtype.kind == "M" else np.nan
    times = np.full((S, T), nothing, dtype=told.dtype if told.dtype.kind == "M" else np.float64)
    times[inside] = told
    return xarray.Dataset(
        {
            "values": (("series", "step", "channel"), values),
            "static": (("series", "feature"), data.static),
            "length": (("series",), data.lengths),
        },
        coords={
            "series": data.ids,
            "channel": list(data.channels),
            "feature": list(data.static_names),
            "time": (("series", "step"), times),
        },
        attrs={"time_unit": data.time_unit or ""},
    )
