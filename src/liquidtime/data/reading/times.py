"""Read a column of times: numbers, time stamps, or either of them written as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from liquidtime.data.container import Note, Ticks, as_ticks
from liquidtime.data.reading.calendar import valid_dates
from liquidtime.data.reading.columns import Column, is_number, is_text, numbers, texts
from liquidtime.data.reading.number_texts import read_numbers, stripped
from liquidtime.data.reading.options import Reading
from liquidtime.data.reading.time_texts import read_times

EPOCHS = {"epoch s": "s", "epoch ms": "ms", "epoch us": "us", "epoch ns": "ns"}
"""Formats of whole numbers counted since 1970."""
ZONE = "calendar_zone"
"""Key of `SeriesSet.reading`: the named time zone of a column, whose times are read as UTC."""
_YEARS = {"s": (3.1e8, 4.2e9), "ms": (3.1e11, 4.2e12), "us": (3.1e14, 4.2e15), "ns": (3.1e17, 4.2e18)}
"""1980 to 2100, in seconds since 1970."""


@dataclass(frozen=True, eq=False)
class Times:
    """The times of the rows of a table.

    Args:
        ticks: (R,) the times.
        formats: detected formats, as in `SeriesSet.reading`.
        notes: choices that might surprise a reader of the data.
    """

    ticks: Ticks
    formats: Mapping[str, str]
    notes: tuple[Note, ...]


def read_time_column(column: Column, argument: str, unit: str | None, reading: Reading) -> Times:
    """Read a column of times.

    Args:
        column: column of a table.
        argument: name of the column, for errors.
        unit: unit of numbers, or unit to which time stamps are converted.
        reading: options, of which `time_format`, `decimal`, `missing` and `usual` are used.

    Raises:
        TypeError: the column has neither numbers nor time stamps, or both.
        ValueError: dates are ambiguous, there are several formats, or anything else that `read_times` refuses.

    """
    array, formats, notes = _read(column, argument, unit, reading)
    return Times(as_ticks(array, unit), formats, tuple(notes))


def _read(
    column: Column, argument: str, unit: str | None, reading: Reading
) -> tuple[npt.NDArray[Any], Mapping[str, str], tuple[Note, ...]]:
    style, dtype = reading.time_format, column.dtype
    typed = isinstance(dtype, nw.Datetime | nw.Duration) or dtype in (nw.Datetime, nw.Date, nw.Duration)
    if typed:
        if style is not None:
            raise ValueError(
                f"`time_format` is for times written as text; {column.name!r} holds {dtype}. Leave it out."
            )
        zone = dtype.time_zone if isinstance(dtype, nw.Datetime) else None
        formats = {"time_format": "time stamps", "time_zone": "none" if zone is None else "UTC"}
        if zone is not None and "/" in zone:
            formats[ZONE] = zone
        return _stamps(column), formats, ()
    if is_number(column):
        return _from_numbers(numbers(column), column.name, argument, unit, style)
    if not is_text(column):
        raise TypeError(f"`{argument}` must be numbers or time stamps; the column {column.name!r} is {dtype}")
    words = stripped(texts(column))
    if style is None or style in EPOCHS:
        parsed = read_numbers(column.name, words, reading.decimal or ".", reading.missing)
        if not parsed.bad.any():
            array = parsed.values.to_numpy()
            whole = words.str.contains(r"^\d+$").all() and words.null_count() == 0
            return _from_numbers(array.astype(np.int64) if whole else array, column.name, argument, unit, style)
    times = read_times(words, argument, time_format=style, usual=reading.usual, missing=reading.missing)
    return times.stamps, times.formats, times.notes


def _stamps(column: Column) -> npt.NDArray[Any]:
    """Return time stamps as datetime64 in UTC; null becomes NaT."""
    dtype = column.dtype
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    elif dtype == nw.Date:
        column = column.cast(nw.Datetime("us"))
    if column.dtype == nw.Duration:
        return np.datetime64(0, "ns") + np.asarray(column.to_numpy()).astype("timedelta64[ns]")
    resolution = str(column.dtype.time_unit) if isinstance(column.dtype, nw.Datetime) else "us"
    return np.asarray(column.to_numpy()).astype(f"datetime64[{resolution}]")


def _from_numbers(
    array: npt.NDArray[Any], name: str, argument: str, unit: str | None, style: str | None
) -> tuple[npt.NDArray[Any], Mapping[str, str], tuple[Note, ...]]:
    """Return numbers unchanged, or as time stamps if there is a format."""
    if style in EPOCHS:
        if array.dtype.kind not in "iu":
            whole = np.where(np.isfinite(array), array, 0.0)
            if (whole != np.floor(whole)).any():
                raise ValueError(f"`time_format` {style!r} needs whole numbers; {name!r} has fractions")
            stamps = whole.astype(np.int64).astype(f"datetime64[{EPOCHS[style]}]")
            stamps[~np.isfinite(array)] = np.datetime64("NaT")
        else:
            stamps = array.astype(np.int64).astype(f"datetime64[{EPOCHS[style]}]")
        return stamps, {"time_format": style, "time_zone": "UTC"}, ()
    if style is not None:
        words = stripped([None if item != item else str(int(item)) for item in array.tolist()])
        times = read_times(words, argument, time_format=style)
        return times.stamps, times.formats, times.notes
    if unit is None:
        _refuse_compact_dates(array, argument)
    return array, {"time_format": "numbers"}, _epoch_notes(array, unit)


def _refuse_compact_dates(array: npt.NDArray[Any], argument: str) -> None:
    """Refuse whole numbers that are all dates such as 20240131, because their differences are not intervals."""
    if array.dtype.kind not in "iu" or not len(array) or array.min() < 19000101 or array.max() > 21001231:
        return
    whole = array.astype(np.int64)
    year, month, day = whole // 10000, whole // 100 % 100, whole % 100
    if valid_dates(year, month, day).all():
        raise ValueError(
            f"`{argument}` has whole numbers that look like dates: {whole[0]} could be "
            f"{year[0]:04}-{month[0]:02}-{day[0]:02} (`time_format` '%Y%m%d') or plain numbers (then give their "
            f"`time_unit`); all {len(whole)} rows are ambiguous like this."
        )


def _epoch_notes(array: npt.NDArray[Any], unit: str | None) -> tuple[Note, ...]:
    """Return a note if numbers without a unit look as if they were counted since 1970."""
    if unit is not None or not len(array) or not np.isfinite(array).all():
        return ()
    for name, (low, high) in _YEARS.items():
        if low <= array.min() and array.max() <= high:
            date = array[:1].astype(np.int64).astype(f"datetime64[{name}]").astype("datetime64[s]")[0]
            what = (
                f"times look like {name} since 1970 and are read as numbers without a unit; "
                f"`time_unit` {name!r} gives them one, `time_format` 'epoch {name}' makes them time stamps"
            )
            return (Note("kept", what, len(array), len(array), (f"{array[0]:g} is {date}",)),)
    return ()
