"""Compute dates and times of day from their parts, in whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import polars

Integers = npt.NDArray[np.int64]
MONTHS = {
    name: place + 1
    for place, name in enumerate(("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"))
}
_DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_FIRST_DAY, _LAST_DAY = np.datetime64("1677-09-22"), np.datetime64("2262-04-10")
"""The whole days that nanoseconds hold."""
_PIVOT = 69
"""Two-digit years from this number on belong to the 1900s, as `%y` is commonly read."""


def full_year(year: Integers) -> Integers:
    """Return years, with those of two digits converted to 1969…2068."""
    return np.where(year < 100, np.where(year >= _PIVOT, 1900 + year, 2000 + year), year)


def valid_dates(year: Integers, month: Integers, day: Integers) -> npt.NDArray[np.bool_]:
    """Return where such a day exists."""
    inside = (month >= 1) & (month <= 12) & (day >= 1)
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    days = _DAYS[np.clip(month, 1, 12) - 1] + ((month == 2) & leap)
    return np.asarray(inside & (day <= days) & (year >= 1))


@dataclass(frozen=True, eq=False)
class Clock:
    """Times of day of some rows.

    Args:
        nanoseconds: (R,) nanoseconds since midnight.
        offset: (R,) minutes that the time zone is ahead of UTC; 0 without a time zone.
        zoned: (R,) whether there is a time zone.
        valid: (R,) whether such a time of day exists.
        has_time: whether any row has a time of day.
        has_seconds: whether any row has seconds.
        fine: whether fractions need nanoseconds.
        halves: whether the 12-hour clock with AM and PM is used.
    """

    nanoseconds: Integers
    offset: Integers
    zoned: npt.NDArray[np.bool_]
    valid: npt.NDArray[np.bool_]
    has_time: bool
    has_seconds: bool
    fine: bool
    halves: bool

    @property
    def has_zone(self) -> bool:
        """Whether any row has a time zone."""
        return bool(self.zoned.any())

    @staticmethod
    def of(fields: polars.DataFrame) -> Clock:
        """Return the times of day from the parts `h`, `min`, `s`, `f`, `half` and `zone` of texts."""
        hour, minute, second = (_whole(fields[name]) for name in ("h", "min", "s"))
        fraction = fields["f"].fill_null("0").str.pad_end(9, "0")
        half = fields["half"].str.slice(0, 1).str.to_lowercase()
        has_half = half.is_not_null().to_numpy()
        valid = (minute < 60) & (second < 60) & np.where(has_half, (hour >= 1) & (hour <= 12), hour < 24)
        hour = np.where(has_half, hour % 12 + 12 * (half == "p").fill_null(False).to_numpy(), hour)
        zone = fields["zone"].str.to_uppercase()
        sign = np.where(zone.str.starts_with("-").fill_null(False).to_numpy(), -1, 1)
        digits = zone.str.replace_all(r"[^\d]", "")
        offset = sign * (60 * _whole(digits.str.slice(0, 2)) + _whole(digits.str.slice(2, 2)))
        valid &= np.abs(offset) < 24 * 60
        return Clock(
            nanoseconds=((hour * 60 + minute) * 60 + second) * 10**9 + _whole(fraction),
            offset=offset,
            zoned=zone.is_not_null().to_numpy(),
            valid=valid,
            has_time=fields["h"].null_count() < len(fields),
            has_seconds=fields["s"].null_count() < len(fields),
            fine=bool((fields["f"].str.len_chars() > 6).any()),
            halves=bool(has_half.any()),
        )


def _whole(column: polars.Series) -> Integers:
    import polars

    numbers: Integers = column.cast(polars.Int64, strict=False).fill_null(0).to_numpy()
    return numbers


def stamps_of(
    date: tuple[Integers, Integers, Integers, Any], clock: Clock, known: npt.NDArray[np.bool_]
) -> npt.NDArray[Any]:
    """Return (R,) datetime64 in UTC, in microseconds, or in nanoseconds if fractions need them; NaT where unknown.

    Args:
        date: year, month and day of each row; a valid date where `known`.
        clock: times of day.
        known: (R,) whether there is a time.
    """
    year, month, day, _ = date
    months = (np.where(known, year, 1970) - 1970) * 12 + np.where(known, month, 1) - 1
    days = months.astype("datetime64[M]").astype("datetime64[D]") + (np.where(known, day, 1) - 1)
    unit, divisor = ("ns", 1) if clock.fine else ("us", 1000)
    since_midnight = (clock.nanoseconds - clock.offset * 60 * 10**9) // divisor
    stamps: npt.NDArray[Any] = days.astype(f"datetime64[{unit}]") + since_midnight.astype(f"timedelta64[{unit}]")
    stamps[~known] = np.datetime64("NaT")
    if clock.fine and ((days < _FIRST_DAY) | (days > _LAST_DAY))[known].any():
        raise ValueError(
            "`time` has nanoseconds beside dates outside 1678…2262, which nanoseconds cannot hold. Round them to "
            "microseconds, or give the times as numbers with `time_unit`."
        )
    return stamps
