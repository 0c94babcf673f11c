"""Columns of any data frame (pandas, polars, pyarrow, …), through narwhals, as numpy arrays."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt

from liquidtime.data.reading.files import read_frame
from liquidtime.errors import nearest

Column: TypeAlias = "nw.Series[Any]"
Frame: TypeAlias = "nw.DataFrame[Any]"

_BLOCK = 2**19  # rows handled at once, to keep what is made on the way small


def as_frame(argument: str, frame: Any) -> Frame:
    """Return any data frame, lazy frame or the file at a path as a narwhals frame; refuse an empty one."""
    if isinstance(frame, str | os.PathLike):
        frame = read_frame(frame)
    try:
        known = nw.from_native(frame)
    except TypeError:
        raise TypeError(
            f"`{argument}` must be a data frame (pandas, polars, pyarrow, …) or the path of a file; got "
            f"{type(frame).__name__}. For arrays use SeriesSet.from_arrays."
        ) from None
    eager = known.collect() if isinstance(known, nw.LazyFrame) else known
    if not isinstance(eager, nw.DataFrame):
        raise TypeError(f"`{argument}` must be a data frame; got a single column ({type(frame).__name__})")
    if len(eager) == 0:
        raise ValueError(f"`{argument}` must have rows; got an empty frame with columns {_listed(eager.columns)}")
    return eager


def check_column(frame: Frame, argument: str, name: str) -> str:
    """Refuse a name that is no column of the frame; the nearest names are given."""
    if name not in frame.columns:
        raise ValueError(
            f"`{argument}` must name a column; there is none called {name!r}{nearest(str(name), frame.columns) or '.'} "
            f"The columns are {_listed(frame.columns)}."
        )
    return name


def _listed(names: Iterable[str]) -> str:
    names = [repr(name) for name in names]
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def is_text(column: Column) -> bool:
    """Return whether a column holds texts rather than numbers, truth values or times."""
    return bool(column.dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object))


def texts(column: Column) -> list[str | None]:
    """Return a column as a list of texts, None where there is nothing; whole numbers lose their ``.0``."""
    return [None if item is None or item != item else label_of(item) for item in column.to_list()]


def label_of(item: Any) -> str:
    """Return the name of a category, an id or a channel as it is stored; 2.0 and 2 have one name."""
    if isinstance(item, float | np.floating) and float(item).is_integer():
        return str(int(item))
    return str(item)


def numbers(column: Column) -> npt.NDArray[Any]:
    """Return a column of numbers or truth values as an array; what is null becomes NaN.

    Whole numbers without nulls stay whole. Texts must have been parsed before.
    """
    if column.dtype == nw.Boolean or column.dtype == nw.Decimal or column.null_count() > 0:
        column = column.cast(nw.Float64)
    array: npt.NDArray[Any] = np.asarray(column.to_numpy())
    return array if array.dtype.kind in "fiu" else array.astype(np.float64)


def is_number(column: Column) -> bool:
    """Return whether a column can be read by `numbers`."""
    return bool(column.dtype.is_numeric() or column.dtype == nw.Boolean)


def parse_numbers(words: Sequence[str | None]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Read texts as numbers.

    Returns:
        (R,) the numbers, NaN where there is none, and (R,) True where a text is not a number.
    """
    import polars

    stripped = polars.Series(values=words, dtype=polars.String).str.strip_chars()
    empty = (stripped.is_null() | (stripped == "")).fill_null(True).to_numpy()
    parsed = stripped.cast(polars.Float64, strict=False)
    return parsed.to_numpy(), parsed.is_null().to_numpy() & ~empty


def time_array(column: Column, argument: str) -> npt.NDArray[Any]:
    """Return a column of times as numbers or datetime64 in UTC; null becomes NaN or NaT."""
    dtype = column.dtype
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    elif dtype == nw.Date:
        column = column.cast(nw.Datetime("us"))
    if column.dtype == nw.Datetime:
        return np.asarray(column.to_numpy()).astype(f"datetime64[{_resolution(column)}]")
    if column.dtype == nw.Duration:
        ticks = np.asarray(column.to_numpy()).astype("timedelta64[ns]")
        return np.datetime64(0, "ns") + ticks
    if is_number(column):
        return numbers(column)
    if is_text(column):
        words = texts(column)
        parsed, bad = parse_numbers(words)
        if not bad.any():
            return parsed
        row = int(np.argmax(bad))
        raise TypeError(
            f"`{argument}` must be numbers or time stamps; {int(bad.sum())} of {len(words)} are text. The first is "
            f"{words[row]!r} in row {row}. Turn the column into time stamps first (files: write ISO 8601)."
        )
    raise TypeError(f"`{argument}` must be numbers or time stamps; the column {column.name!r} is {dtype}")


def _resolution(column: Column) -> str:
    dtype = column.dtype
    return str(dtype.time_unit) if isinstance(dtype, nw.Datetime) else "us"


def factorise(column: Column) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
    """Number the distinct values of a column without nulls, in their order.

    Returns:
        (R,) codes and the (S,) sorted values: int64, or texts.
    """
    if column.dtype.is_float():
        array = np.asarray(column.to_numpy())
        whole = array.astype(np.int64)
        if (whole == array).all():
            return _factorise_whole(whole)
    if column.dtype.is_integer():
        return _factorise_whole(np.asarray(column.to_numpy()))
    if not is_text(column) or column.dtype == nw.Object:
        column = column.cast(nw.String)
    labels = sorted(column.unique().to_list())
    numbers = list(range(len(labels)))
    codes = np.empty(len(column), dtype=np.int32)
    for low in range(0, len(column), _BLOCK):
        block = column[low : low + _BLOCK].replace_strict(labels, numbers, return_dtype=nw.Int32)
        codes[low : low + _BLOCK] = block.to_numpy()
    return codes, np.array(labels, dtype=np.str_)


def _factorise_whole(array: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    low, high = int(array.min()), int(array.max())
    if high > np.iinfo(np.int64).max:
        raise ValueError(f"`id` must fit in 64-bit whole numbers; the largest is {high}. Read the ids as text.")
    if high - low > max(4 * len(array), 2**20):
        labels, codes = np.unique(array, return_inverse=True)
        return codes.astype(np.int32), labels.astype(np.int64)
    shifted = array - low if array.dtype.itemsize >= 4 and array.dtype.kind == "i" else array.astype(np.int64) - low
    seen = np.zeros(high - low + 1, dtype=bool)
    seen[shifted] = True
    table = np.cumsum(seen, dtype=np.int32) - np.int32(1)
    return table[shifted], np.flatnonzero(seen) + low
