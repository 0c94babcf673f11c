"""Cycles in time: the calendar of time stamps, or a period found in the series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data import SeriesSet
from liquidtime.data.encoding.observations import Observations
from liquidtime.data.reading import ZONE
from liquidtime.estimators.forecast.local_clock import LocalClock
from liquidtime.times import SECONDS

Values = npt.NDArray[np.float64]
_DAY, _WEEK, _YEAR = 86400.0, 7 * 86400.0, 365.2425 * 86400.0
HARMONICS = 2
"""Sines and cosines of each cycle: of the phase, and of twice the phase."""
_LAGS, _ROWS, _FEWEST = 400, 2000, 100
_DIP = 0.8
"""A period shows where values one period apart differ by less than this share of what half a period makes, and by less
still where there are few to judge by."""


@dataclass(frozen=True)
class Seasons:
    """The cycles that forecasts use, in the set's time unit.

    Args:
        period: of the seasonal naive forecast; None if the series show none.
        cycles: lengths of the cycles whose phase the network sees: hour of the day, day of the week, day of the year
            for time stamps, else the period on the series' own clock.
        calendar: whether the phases are of the calendar; a series without a time stamp then has none.
        clock: of the time zone whose calendar it is; None for the calendar of the time stamps as they are read.
        second: length of a second in the set's time unit.
    """

    period: float | None
    cycles: tuple[float, ...]
    calendar: bool
    clock: LocalClock | None = None
    second: float = 1.0

    @property
    def size(self) -> int:
        """Number of values of `phases` per time."""
        return 2 * HARMONICS * len(self.cycles)

    def phases(self, times: Values, starts: Values) -> npt.NDArray[np.float32]:
        """Return (R, ..., size) sine and cosine of the phases of times.

        Args:
            times: (R, ...) on the series' clocks.
            starts: what `starts` returns; NaN = not known.
        """
        parts = []
        if self.clock is not None:
            since = starts[:, -1].reshape(-1, *[1] * (times.ndim - 1))
            times = times + self.clock.ahead((times + since) / self.second) * self.second
        for place, cycle in enumerate(self.cycles):
            start = starts[:, place].reshape(-1, *[1] * (times.ndim - 1))
            angle = 2 * np.pi * (((times % cycle) + start) / cycle)
            parts += [wave(k * angle) for k in range(1, HARMONICS + 1) for wave in (np.sin, np.cos)]
        stacked = np.stack(parts, axis=-1) if parts else np.zeros((*times.shape, 0))
        return np.nan_to_num(stacked).astype(np.float32)

    def starts(self, origins: npt.NDArray[Any] | None, S: int, unit: str | None) -> Values:
        """Return (S, cycles) the phase of each cycle at time 0 of each series; NaN if it is not known.

        With the clock of a zone, there is one more column: the time 0 itself, since 1970 UTC.

        Args:
            origins: of a set, or None.
            S: series.
            unit: of the set's times.
        """
        width = len(self.cycles) + (self.clock is not None)
        if not self.calendar:
            return np.zeros((S, width))
        if origins is None or origins.dtype.kind != "M" or unit is None:
            return np.full((S, width), np.nan)
        stamps = origins.astype("datetime64[ns]")
        since = stamps.view(np.int64)
        starts = np.empty((S, width))
        for place, cycle in enumerate(self.cycles):
            nanoseconds = round(cycle * SECONDS[unit] * 1e9)
            starts[:, place] = (since % nanoseconds) / (SECONDS[unit] * 1e9)
        if self.clock is not None:
            starts[:, -1] = since * 1e-9 * self.second
        starts[np.isnat(stamps)] = np.nan
        return starts


def find_seasons(steps: SeriesSet, places: Sequence[int], time_scale: float) -> Seasons:
    """Return the cycles of training series.

    Args:
        steps: the series.
        places: positions of the channels that are forecast.
        time_scale: the median interval.
    """
    stamped = steps.origins is not None and steps.origins.dtype.kind == "M" and steps.time_unit is not None
    period = _find_period(steps, places, time_scale)
    if not stamped:
        return Seasons(period, () if period is None else (period,), calendar=False)
    assert steps.origins is not None
    assert steps.time_unit is not None
    second = 1.0 / SECONDS[steps.time_unit]
    some = steps.lengths > 0
    clock = LocalClock.of(steps.reading.get(ZONE, ""))
    starts = steps.origins[some].astype("datetime64[ns]").view(np.int64) * 1e-9 * second
    first, last = starts.min(), (starts + steps.times[steps.offsets[1:][some] - 1]).max()
    cycles = [
        cycle * second
        for cycle, turns in ((_DAY, 2.0), (_WEEK, 2.0), (_YEAR, 1.0))
        if cycle * second >= 2 * time_scale and last - first >= turns * cycle * second
    ]
    return Seasons(period, tuple(cycles), True, clock if cycles else None, second)


def _find_period(steps: SeriesSet, places: Sequence[int], time_scale: float) -> float | None:
    """Return the lag at which the values of a channel are most similar again; None if there is no clear one."""
    spans = [steps.times[end - 1] - steps.times[begin] for begin, end in _runs(steps)]
    if not spans or not time_scale > 0:
        return None
    longest = float(np.quantile(spans, 0.75)) / 2
    lags = time_scale * np.arange(1, min(_LAGS, int(longest / time_scale)) + 1)
    if steps.time_unit is not None:
        known = np.array([_DAY, _WEEK, _DAY / 2, _WEEK / 2]) / SECONDS[steps.time_unit]
        lags = np.union1d(lags, known[(known <= longest) & (known >= 2 * time_scale)])
    if len(lags) < 4:
        return None
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice(len(steps.times), min(_ROWS, len(steps.times)), replace=False))
    series = np.searchsorted(steps.offsets, rows, side="right") - 1
    past = Observations.of(steps, places).up_to(series, rows)
    now = steps.values[rows][:, list(places)].astype(np.float64)
    times = steps.times[rows][:, None]
    fresh = past.at(times - lags - time_scale)  # what had been seen by then already is stale
    back = past.at(times - lags + time_scale / 2)
    back[(back == fresh) & (fresh == fresh)] = np.nan
    bounds = [_middle(steps.values[:, place]) for place in places]  # rare events show no period
    low, high = (np.array([bound[end] for bound in bounds]) for end in (0, 1))
    off = (np.clip(now[:, None], low, high) - np.clip(back, low, high)) ** 2  # (R, L, C)
    best: tuple[float, float] | None = None
    for c in range(len(places)):
        count = np.isfinite(off[:, :, c]).sum(axis=0)
        apart = np.where(count >= _FEWEST, np.nansum(off[:, :, c], axis=0) / np.maximum(count, 1), np.inf)
        half = np.interp(lags / 2, lags, apart)
        wide = np.pad(apart, 2, constant_values=np.inf)
        lowest = apart <= np.lib.stride_tricks.sliding_window_view(wide, 5).min(axis=1)
        clear = apart < (_DIP - 4.0 / np.sqrt(np.maximum(count, 1))) * np.where(np.isfinite(half), half, 0.0)
        dips = np.flatnonzero(lowest & clear & (lags >= 3 * time_scale) & np.isfinite(half))
        if len(dips) == 0:
            continue
        near = dips[apart[dips] <= 1.1 * apart[dips].min() + 0.01 * apart[np.isfinite(apart)].max()]
        ratio = float(apart[near[0]] / half[near[0]])
        if best is None or ratio < best[0]:
            best = ratio, float(lags[near[0]])
    return None if best is None else best[1]


def _middle(column: npt.NDArray[np.float32]) -> tuple[float, float]:
    """Return the bounds between which most observed values of a channel lie."""
    known = column[~np.isnan(column)]
    low, high = np.quantile(known, [0.05, 0.95]).tolist() if len(known) else (0.0, 0.0)
    return low, high


def _runs(steps: SeriesSet) -> list[tuple[int, int]]:
    return [(b, e) for b, e in zip(steps.offsets[:-1].tolist(), steps.offsets[1:].tolist(), strict=True) if e - b > 1]
