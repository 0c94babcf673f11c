"""From the times at which samples were taken to the intervals between them."""

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
"""Seconds of each unit of time."""


def elapsed(
    times: Any,
    *,
    lengths: Any = None,
    first: float = 0.0,
    unit: str | None = None,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Return the time since the previous sample of each series, differenced before any cast.

        dt[..., 0] = first,   dt[..., k] = times[..., k] - times[..., k - 1]

    Epoch seconds in float32 lose everything under two minutes, so the difference is taken in float64 (whole
    numbers and time stamps: in whole numbers, exactly) and only the difference becomes `dtype`.

    Args:
        times: (T,) or (B, T) absolute times: a tensor, array, list, or a pandas, polars or pyarrow column; floats,
            whole numbers, time stamps, dates, or durations since some moment. Not decreasing within a series; equal
            times are legal.
        lengths: (B,) number of samples of each series; what lies behind is padding and becomes 0.
        first: the interval before the first sample.
        unit: for time stamps and durations, the unit of the result: "ns", "us", "ms", "s" (if None), "min", "h" or "D".
            Numbers are already in a unit, so `unit` must be None for them.
        dtype: of the result.

    Returns:
        (T,) or (B, T) intervals, at least 0.

    Raises:
        TypeError: times that are not numbers or time stamps; half precision floats.
        ValueError: NaN, NaT or infinite times, or decreasing ones; the text names the series and the position.

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
                f"`unit` is for time stamps; the times are {rows.dtype} numbers, already in a unit. Leave it out."
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
    """Return T equidistant times between a and b: the paper's time for data whose time does not matter.

    The paper samples "t … with equidistant intervals within two hyperparameters a and b"; what it calls t is what
    a network takes as `dt`.

    Args:
        T: number of samples.
        a: the first time, at least 0.
        b: the last time, at least 0.
        dtype: of the result.

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
    if array.dtype.kind == "m":  # durations since a moment that is not told, and does not matter
        array = _from_1970(array)
    if array.dtype == np.float16:
        raise TypeError("`times` must not be float16: absolute times need float64 or whole numbers.")
    if array.dtype.kind not in "fiuM":
        raise TypeError(f"`times` must be numbers or time stamps; got {array.dtype}")
    return array


def _from_objects(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Time zone aware columns and lists of `datetime` arrive as objects; all of them are brought to UTC."""
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
            "`times` has nanoseconds beside time stamps outside 1678…2262, which nanoseconds cannot hold. Round them "
            "to microseconds."
        )
    return np.array(stamps).reshape(array.shape)


def _duration(item: Any) -> np.timedelta64:
    """Return a duration with all its digits."""
    exact = item.to_timedelta64() if hasattr(item, "to_timedelta64") else item  # pandas, which keeps nanoseconds
    return exact if isinstance(exact, np.timedelta64) else np.timedelta64(exact, "us")


def _from_1970(durations: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return durations as time stamps, counted from 1970."""
    return durations.view(durations.dtype.str.replace("m8", "M8", 1))


def _of_several_resolutions(times: Any, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the time stamps of a list as objects if the resolution that numpy chose does not hold them all."""
    rows = zip(times, array, strict=True)
    if all(np.array_equal(stamps.astype(np.asarray(item).dtype), item, equal_nan=True) for item, stamps in rows):
        return array
    objects = np.empty(array.size, dtype=object)
    objects[:] = [stamp for item in times for stamp in np.atleast_1d(np.asarray(item))]
    return objects.reshape(array.shape)


def _is_missing(item: Any) -> bool:
    """Return whether an object stands for no time: None, NaT, pandas' NA."""
    return type(item).__name__ in ("NoneType", "NaTType", "NAType") or (
        isinstance(item, np.datetime64) and bool(np.isnat(item))
    )


def as_utc(item: Any) -> np.datetime64:
    """Return a time stamp, a date, or a duration since 1970 in UTC with all its digits, in nano- or microseconds."""
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
    """Return the (B, T - 1) differences; whole numbers are subtracted as such, so that unsigned ones cannot wrap."""
    if rows.dtype.kind == "M":
        rows = rows.view(np.int64)
    if rows.dtype.kind in "iu":
        later, earlier = rows[:, 1:], rows[:, :-1]
        high, low = np.maximum(later, earlier).astype(np.uint64), np.minimum(later, earlier).astype(np.uint64)
        size = (high - low).astype(np.float64)  # modulo 2**64, where the true difference fits
        return np.asarray(np.where(later >= earlier, size, -size))
    with np.errstate(invalid="ignore"):  # padding may hold anything
        return np.diff(rows.astype(np.float64), axis=1)


def _refuse_decreasing(steps: npt.NDArray[Any], valid: npt.NDArray[np.bool_]) -> None:
    bad = (steps < 0) & valid[:, 1:]
    if bad.any():
        row, step = (int(index) for index in np.argwhere(bad)[0])
        raise ValueError(
            f"`times` must not decrease within a series; they do so {int(bad.sum())} times, first in series "
            f"{row} at position {step + 1}. Sort each series by time."
        )


def _exact(seconds: float) -> Fraction:
    """Return a length of time as the decimal number that it is written as."""
    return Fraction(repr(seconds))


def _resolution_seconds(resolution: str) -> float:
    names = {"m": 60.0, "h": 3600.0, "W": 604800.0, "ps": 1e-12, "fs": 1e-15, "as": 1e-18}
    if resolution in ("Y", "M"):
        raise TypeError("`times` in months or years have no fixed length; convert them to days or seconds first.")
    return names[resolution] if resolution in names else SECONDS[resolution]
