"""Columns of any data frame (pandas, polars, pyarrow, …) as numpy arrays, by narwhals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt

from liquidtime.errors import nearest

Column: TypeAlias = "nw.Series[Any]"
Frame: TypeAlias = "nw.DataFrame[Any]"

_LONGEST_SHOWN = 60
_BLOCK = 2**19  # number of rows processed at once, to save memory


def check_column(frame: Frame, argument: str, name: str) -> str:
    """Refuse a name that is not a column of the frame; the message gives the nearest name."""
    if name not in frame.columns:
        hint = ""
        if len(frame.columns) == 1:
            hint = " Where these are several, say what separates them with `separator`."
        raise ValueError(
            f"`{argument}` must name a column; there is none called {name!r}{nearest(str(name), frame.columns) or '.'} "
            f"The columns are {listed(frame.columns)}.{hint}"
        )
    return name


def listed(names: Iterable[str]) -> str:
    """Return the first names of columns, in quotes, as one text."""
    names = [shown(name) for name in names]
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def shown(word: str | None) -> str:
    """Return a word in quotes for a message, shortened if it is very long."""
    return repr(word if word is None or len(word) <= _LONGEST_SHOWN else word[: _LONGEST_SHOWN - 1] + "…")


def is_text(column: Column) -> bool:
    """Return whether a column holds texts rather than numbers, truth values or times."""
    return bool(column.dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object))


def texts(column: Column) -> list[str | None]:
    """Return a column as a list of texts, None for null; whole numbers are written without ``.0``."""
    return [None if item is None or item != item else label_of(item) for item in column.to_list()]


def label_of(item: Any) -> str:
    """Return the name of a category, id or channel as it is stored; 2.0 and 2 have the same name."""
    if isinstance(item, float | np.floating) and float(item).is_integer():
        return str(int(item))
    return str(item)


def numbers(column: Column) -> npt.NDArray[Any]:
    """Return a column of numbers or truth values as an array; null becomes NaN.

    Whole numbers without nulls stay whole numbers. Texts must be parsed before.
    """
    if column.dtype == nw.Boolean or column.dtype == nw.Decimal or column.null_count() > 0:
        column = column.cast(nw.Float64)
    array: npt.NDArray[Any] = np.asarray(column.to_numpy())
    return array if array.dtype.kind in "fiu" else array.astype(np.float64)


def is_number(column: Column) -> bool:
    """Return whether a column can be read by `numbers`."""
    return bool(column.dtype.is_numeric() or column.dtype == nw.Boolean)


def factorise(column: Column) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
    """Number the distinct values of a column without nulls, in sorted order.

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
