"""Convert columns of times to float64 in one unit without losing their differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime._checks import check_choice
from liquidtime.times import SECONDS

TIME_UNITS = tuple(SECONDS)
EXACT = 2**53
"""Above this, float64 cannot represent every whole number."""


@dataclass(frozen=True)
class Ticks:
    """Times as they were read, which can be compared and have not been rounded.

    Args:
        values: (R,) float64 numbers, or whole numbers of `factor` time units each.
        unit: the unit of `factor`; None if the caller did not give one.
        factor: length of one tick in that unit.
        kind: "number", "whole" (too large for float64 as it is) or "stamp" (nanoseconds since 1970).
    """

    values: npt.NDArray[Any]
    unit: str | None
    factor: float
    kind: str

    def rows(self, order: Any) -> Ticks:
        """Return the ticks of the given rows, in their order."""
        return Ticks(self.values[order], self.unit, self.factor, self.kind)


def check_unit(unit: str | None) -> str | None:
    """Refuse a unit that is not in the table."""
    if unit is not None:
        check_choice("time_unit", unit, TIME_UNITS)
    return unit


def conversion(old: str, new: str) -> float:
    """Return how many `new` units are in one `old` unit, such as 60 for "h" to "min"."""
    return SECONDS[old] / SECONDS[new]


def as_ticks(times: npt.NDArray[Any], unit: str | None) -> Ticks:
    """Convert an array of numbers or time stamps to ticks; `unknown` finds those that were NaN or NaT.

    Args:
        times: (R,) numbers or datetime64.
        unit: unit of numbers, or unit to which time stamps are converted ("s" if None).
    """
    check_unit(unit)
    if times.dtype.kind == "M":
        unit = unit or "s"
        return Ticks(as_nanoseconds(times).view(np.int64), unit, conversion("ns", unit), "stamp")
    if times.dtype.kind in "iu":
        if len(times) and max(abs(int(times.min())), abs(int(times.max()))) > EXACT:
            if times.dtype.kind == "u" and int(times.max()) > np.iinfo(np.int64).max:
                raise ValueError(f"`time` must fit in 64-bit whole numbers; the largest is {int(times.max())}.")
            return Ticks(times.astype(np.int64), unit, 1.0, "whole")
        return Ticks(times, unit, 1.0, "number")
    return Ticks(times.astype(np.float64, copy=False), unit, 1.0, "number")


def as_nanoseconds(times: npt.NDArray[np.datetime64]) -> npt.NDArray[np.datetime64]:
    """Return time stamps of any resolution as datetime64[ns]; refuse those that it cannot represent."""
    stamps = times.astype("datetime64[ns]")
    if not np.array_equal(stamps.astype(times.dtype), times, equal_nan=True):
        raise ValueError(
            "`time` has time stamps outside 1678…2262, which nanoseconds cannot hold. Shift them, or give the "
            "times as numbers with `time_unit`."
        )
    return stamps


def unknown(ticks: Ticks) -> npt.NDArray[np.bool_]:
    """Return (R,) True where a time is NaN, NaT or infinite."""
    if ticks.kind == "stamp":
        unknown_stamps: npt.NDArray[np.bool_] = ticks.values == np.iinfo(np.int64).min
        return unknown_stamps
    not_finite: npt.NDArray[np.bool_] = ~np.isfinite(ticks.values)
    return not_finite


def to_times(ticks: Ticks, offsets: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[Any] | None]:
    """Return (N,) float64 times and the (S,) origins of the series.

    Numbers are not changed and have no origins. Time stamps and large whole numbers are counted from the first sample
    of their series, which is subtracted in whole numbers: differences are exact to the nanosecond for 104 days.

    Args:
        ticks: time of each step, sorted within each series.
        offsets: (S + 1,) start of each series.
    """
    if ticks.kind == "number":
        return ticks.values.astype(np.float64), None
    lengths = np.diff(offsets)
    some = lengths > 0
    origins = np.zeros(len(lengths), dtype=np.int64)
    origins[some] = ticks.values[offsets[:-1][some]]
    starts = np.repeat(origins, lengths).astype(np.uint64)
    times = (ticks.values.astype(np.uint64) - starts).astype(np.float64)  # modulo 2**64, where every difference fits
    if ticks.factor != 1.0:
        times /= round(1.0 / ticks.factor)  # nanoseconds per unit: a whole number, and one exact division
    if ticks.kind == "whole":
        return times, origins
    stamps = origins.view("datetime64[ns]").copy()
    stamps[~some] = np.datetime64("NaT")
    return times, stamps
