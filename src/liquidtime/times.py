"""Converts the times at which samples were taken to the intervals between them."""

from __future__ import annotations

import datetime
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from liquidtime._checks import check_choice, check_lengths, check_size

__all__ = ["SECONDS", "elapsed", "equidistant"]

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "D": 86400.0}
"""Length of each unit of time in seconds."""


def elapsed(
    times: Any,
    *,
    lengths: Any = None,
    first: float = 0.0,
    unit: str | None = None,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Return the time since the previous sample of each series, from absolute times.

        dt[..., 0] = first,   dt[..., k] = times[..., k] - times[..., k - 1]

    Epoch seconds in float32 lose everything below two minutes, so differences are computed in float64 (for whole
    numbers and time stamps: exactly, in whole numbers) and only the differences are converted to `dtype`.

    Args:
        times: (T,) or (B, T) absolute times: a tensor, array, list, or a pandas, polars or pyarrow column of floats,
            whole numbers, time stamps, dates, or durations since some moment. They must not decrease within a series;
            equal times are allowed.
        lengths: (B,) number of samples of each series; what follows is padding and becomes 0.
        first: the interval before the first sample.
        unit: unit of the result for time stamps and durations: "ns", "us", "ms", "s" (if None), "min", "h" or "D".
            Numbers already have a unit, so `unit` must be None for them.
        dtype: type of the result.

    Returns:
        (T,) or (B, T) intervals, at least 0.

    Raises:
        TypeError: times are not numbers or time stamps, or are half precision floats.
        ValueError: times are NaN, NaT, infinite or decreasing; the message names the series and the position.

    """
    array = _as_array(times)
    if array.ndim not in (1, 2):
        raise ValueError(f"`times` must have shape (T,) or (B, T); got {array.shape}. Drop or select the other axes.")
    rows = array[None] if array.ndim == 1 else array  # (B, T)
    B, T = rows.shape
    valid = np.ones((B, T), dtype=bool)
    if lengths is not None:
        counts = check_lengths(lengths, B, T, torch.device("cpu")).numpy()
        valid = np.arange(T) < counts[:, None]
    stamps = rows.dtype.kind == "M"
    if unit is not None:
        check_choice("unit", unit, SECONDS)
        if not stamps:
            raise ValueError(
                f"`unit` applies only to time stamps; the times are {rows.dtype} numbers, which already have a unit. "
                "Leave it out."
            )
    _refuse_unknown(rows, valid)
    steps = _steps(rows)  # (B, T - 1), float64 or whole numbers
    _refuse_decreasing(steps, valid)
    dt = np.zeros((B, T), dtype=np.float64)
    dt[:, :1] = first
    dt[:, 1:] = steps
    if stamps:
        resolution, count = np.datetime_data(rows.dtype)
        ratio = count * _exact(_resolution_seconds(resolution)) / _exact(SECONDS[unit or "s"])
        dt[:, 1:] = dt[:, 1:] * ratio.numerator / ratio.denominator
    dt[~valid] = 0.0
    result = torch.from_numpy(dt).to(dtype)
    return result[0] if array.ndim == 1 else result


def equidistant(T: int, a: float, b: float, *, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return T equidistant times between a and b, used by the paper for data without meaningful times.

    The paper samples "t … with equidistant intervals within two hyperparameters a and b"; its t corresponds to the
    argument `dt` of a network.

    Args:
        T: number of samples.
        a: the first time, at least 0.
        b: the last time, at least 0.
        dtype: type of the result.

    Returns:
        (T,) times.

    """
    T = check_size("T", T, least=0)
    for name, value in (("a", a), ("b", b)):
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(f"`{name}` must be finite and at least 0, because it is used as `dt`; got {value}")
    return torch.linspace(a, b, T, dtype=torch.float64).to(dtype)


def _as_array(times: Any) -> npt.NDArray[Any]:
    if isinstance(times, Tensor):
        if times.dtype in (torch.float16, torch.bfloat16):
            raise TypeError(f"`times` must not be {times.dtype}: absolute times need float64 or whole numbers.")
        array: npt.NDArray[Any] = times.detach().cpu().numpy()
    elif hasattr(times, "to_numpy"):
        whole = {"zero_copy_only": False} if type(times).__module__.startswith("pyarrow") else {}
        array = np.asarray(times.to_numpy(**whole))
    else:
        array = np.asarray(times)
        if array.dtype.kind == "M" and not isinstance(times, np.ndarray):
            array = _of_several_resolutions(times, array)
    if array.dtype.kind == "O":
        array = _from_objects(array)
    if array.dtype.kind == "m":  # durations since an unknown moment, which does not matter
        array = _from_1970(array)
    if array.dtype == np.float16:
        raise TypeError("`times` must not be float16: absolute times need float64 or whole numbers.")
    if array.dtype.kind not in "fiuM":
        raise TypeError(f"`times` must be numbers or time stamps; got {array.dtype}")
    return array


def _from_objects(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Convert columns with time zones and lists of `datetime`, which arrive as objects, to UTC."""
    flat = list(array.ravel())
    known = [item for item in flat if not _is_missing(item)]
    if known and all(isinstance(item, datetime.timedelta | np.timedelta64) for item in known):
        lengths = [np.timedelta64("NaT") if _is_missing(item) else _duration(item) for item in flat]
        return np.array(lengths).reshape(array.shape)
    strange = next((item for item in known if not isinstance(item, datetime.date | np.datetime64)), None)
    if strange is not None or not known:
        raise TypeError(f"`times` must be numbers or time stamps; got objects such as {strange!r}")
    aware = [getattr(item, "tzinfo", None) is not None for item in known]
    if any(aware) and not all(aware):
        row = next(row for row, item in enumerate(flat) if item is known[aware.index(not aware[0])])
        raise TypeError(f"`times` mixes time stamps with and without a time zone; the first change is at {row}")
    nothing = np.datetime64("NaT")
    stamps = [nothing if _is_missing(item) else as_utc(item) for item in flat]
    resolutions = {np.datetime_data(stamp.dtype)[0] for stamp in stamps}
    if len(resolutions & {"ns", "us"}) == 2 and not _held_by_nanoseconds(stamps):
        raise ValueError(
            "`times` has nanoseconds as well as time stamps outside 1678…2262, which nanoseconds cannot hold. Round "
            "them to microseconds."
        )
    return np.array(stamps).reshape(array.shape)


def _duration(item: Any) -> np.timedelta64:
    """Return a duration in full precision."""
    exact = item.to_timedelta64() if hasattr(item, "to_timedelta64") else item  # pandas, which keeps nanoseconds
    return exact if isinstance(exact, np.timedelta64) else np.timedelta64(exact, "us")


def _from_1970(durations: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return durations as time stamps, counted from 1970."""
    return durations.view(durations.dtype.str.replace("m8", "M8", 1))


def _of_several_resolutions(times: Any, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the time stamps of a list as objects if the resolution chosen by numpy cannot represent all of them."""
    rows = zip(times, array, strict=True)
    if all(np.array_equal(stamps.astype(np.asarray(item).dtype), item, equal_nan=True) for item, stamps in rows):
        return array
    objects = np.empty(array.size, dtype=object)
    objects[:] = [stamp for item in times for stamp in np.atleast_1d(np.asarray(item))]
    return objects.reshape(array.shape)


def _is_missing(item: Any) -> bool:
    """Return whether an object represents a missing time: None, NaT, pandas' NA."""
    return type(item).__name__ in ("NoneType", "NaTType", "NAType") or (
        isinstance(item, np.datetime64) and bool(np.isnat(item))
    )


def as_utc(item: Any) -> np.datetime64:
    """Return a time stamp, date, or duration since 1970 in UTC in full precision, in nanoseconds or microseconds."""
    if isinstance(item, datetime.timedelta | np.timedelta64):
        item = _from_1970(np.array([_duration(item)]))[0]
    if hasattr(item, "to_datetime64"):  # pandas, which keeps nanoseconds and is in UTC already
        item = item.to_datetime64()
    if isinstance(item, np.datetime64):
        coarse = item.astype("datetime64[us]")
        return coarse if coarse == item else item
    offset = item.utcoffset() if isinstance(item, datetime.datetime) else None
    if offset is None:
        return np.datetime64(item, "us")
    local: np.datetime64 = np.datetime64(item.replace(tzinfo=None), "us")
    return local - np.timedelta64(offset // datetime.timedelta(microseconds=1), "us")


def _held_by_nanoseconds(stamps: list[np.datetime64]) -> bool:
    years = [int(stamp.astype("datetime64[Y]").astype(np.int64)) + 1970 for stamp in stamps if not np.isnat(stamp)]
    return min(years) >= 1678 and max(years) < 2262


def _refuse_unknown(rows: npt.NDArray[Any], valid: npt.NDArray[np.bool_]) -> None:
    bad = np.isnat(rows) if rows.dtype.kind == "M" else ~np.isfinite(rows)
    bad &= valid
    if bad.any():
        row, step = (int(index) for index in np.argwhere(bad)[0])
        raise ValueError(
            f"`times` must be finite; {int(bad.sum())} of {int(valid.sum())} are not. The first is {rows[row, step]} "
            f"in series {row} at position {step}. Drop those samples."
        )


def _steps(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the (B, T - 1) differences; whole numbers are subtracted as such, so that unsigned ones do not wrap."""
    if rows.dtype.kind == "M":
        rows = rows.view(np.int64)
    if rows.dtype.kind in "iu":
        later, earlier = rows[:, 1:], rows[:, :-1]
        high, low = np.maximum(later, earlier).astype(np.uint64), np.minimum(later, earlier).astype(np.uint64)
        size = (high - low).astype(np.float64)  # modulo 2**64, which can represent the true difference
        return np.asarray(np.where(later >= earlier, size, -size))
    with np.errstate(invalid="ignore"):  # padding may contain anything
        return np.diff(rows.astype(np.float64), axis=1)


def _refuse_decreasing(steps: npt.NDArray[Any], valid: npt.NDArray[np.bool_]) -> None:
    bad = (steps < 0) & valid[:, 1:]
    if bad.any():
        row, step = (int(index) for index in np.argwhere(bad)[0])
        raise ValueError(
            f"`times` must not decrease within a series; they do so {int(bad.sum())} times, first in "
            f"series {row} at position {step + 1}. Sort each series by time."
        )


def _exact(seconds: float) -> Fraction:
    """Return a length of time as the decimal number in which it is written."""
    return Fraction(repr(seconds))


def _resolution_seconds(resolution: str) -> float:
    names = {"m": 60.0, "h": 3600.0, "W": 604800.0, "ps": 1e-12, "fs": 1e-15, "as": 1e-18}
    if resolution in ("Y", "M"):
        raise TypeError("`times` in months or years have no fixed length; convert them to days or seconds first.")
    return names[resolution] if resolution in names else SECONDS[resolution]
