"""Observed values of each channel up to a cut: the last value, its slope, the mean, and the value at any time."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data.container import SeriesSet
from liquidtime.data.encoding.running_sum import running_sum

Values = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Observations:
    """The O observed values of C channels of S series, channel after channel, in the channels' own units.

    Args:
        times: (O,) times of the values.
        values: (O,) observed values.
        begin: (S, C) position of the first value of each series.
        end: (N, C) position after the newest value at each of the N steps.
        earlier_total: (S, C) sum of earlier values of a live series that are no longer stored.
        earlier_count: (S, C) number of such values.
    """

    times: Values
    values: Values
    begin: Rows
    end: Rows
    earlier_total: Values
    earlier_count: Values

    @staticmethod
    def of(steps: SeriesSet, places: Sequence[int]) -> Observations:
        """Return the observed values of a set.

        Args:
            steps: the series; the steps of the `SeriesEncoder`, if there is one.
            places: positions of the C channels in the set.
        """
        observed = ~np.isnan(steps.values[:, list(places)])  # (N, C)
        counts = np.concatenate([np.zeros((1, len(places)), dtype=np.int64), observed.cumsum(axis=0)])  # (N + 1, C)
        shift = np.concatenate([[0], np.cumsum(counts[-1])[:-1]]).astype(np.int64)
        rows = [np.flatnonzero(observed[:, k]) for k in range(len(places))]
        nothing = np.zeros((len(steps), len(places)))
        return Observations(
            times=np.concatenate([steps.times[row] for row in rows]) if rows else np.zeros(0),
            values=np.concatenate([steps.values[row, place] for row, place in zip(rows, places, strict=True)])
            .astype(np.float64) if rows else np.zeros(0),
            begin=counts[steps.offsets[:-1]] + shift,
            end=counts[1:] + shift,
            earlier_total=nothing,
            earlier_count=nothing,
        )  # fmt: skip

    def up_to(self, series: Rows, steps: Rows) -> Past:
        """Return what was observed up to the given steps.

        Args:
            series: (R,) positions of the series.
            steps: (R,) positions of their steps among all N; before the start of the series for one without steps.
        """
        begin = self.begin[series]
        some = (steps >= 0)[:, None]
        end = np.where(some, self.end[np.maximum(steps, 0)], begin) if len(self.end) else begin
        return Past(self, begin, np.maximum(end, begin), self.earlier_total[series], self.earlier_count[series])

    def scaled(self, centre: Values, scale: Values) -> Observations:
        """Return the values as (value - centre) / scale, with (C,) numbers of the channels."""
        channel = np.searchsorted(self.begin[0], np.arange(len(self.values)), side="right") - 1
        return replace(
            self,
            values=(self.values - centre[channel]) / scale[channel],
            earlier_total=(self.earlier_total - centre * self.earlier_count) / scale,
        )

    @functools.cached_property
    def _sums(self) -> tuple[Values, Values]:
        """(2, O + 1) sums of the values, and of their squares, before each position within its series."""
        starts = np.unique(self.begin)
        starts = starts[starts < len(self.values)]
        until = running_sum(np.stack([self.values, self.values**2]), starts)
        before = np.concatenate([np.zeros((2, 1)), until], axis=1)
        before[:, starts] = 0.0
        return np.concatenate([until, np.zeros((2, 1))], axis=1), before

    def between(self, low: Rows, high: Rows, squares: bool = False) -> Values:
        """Return the sums of the values, or of their squares, from position `low` up to, not including, `high`."""
        until, before = (sums[int(squares)] for sums in self._sums)
        return np.where(high > low, until[high - 1] - before[low], 0.0)

    def at_ends(self, steps: SeriesSet) -> Past:
        """Return what was observed of whole series; `steps` as in `of`."""
        last = np.where(steps.lengths > 0, steps.offsets[1:] - 1, -1)
        return self.up_to(np.arange(len(steps)), last)


@dataclass(frozen=True, eq=False)
class Past:
    """What was observed of C channels up to R cuts.

    Args:
        observations: all observed values.
        low: (R, C) position of the first value.
        high: (R, C) position after the newest value.
        earlier_total: (R, C) as in `Observations`.
        earlier_count: (R, C) as in `Observations`.
    """

    observations: Observations
    low: Rows
    high: Rows
    earlier_total: Values
    earlier_count: Values

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """(R, C) whether there is a value."""
        return self.high > self.low

    @property
    def last(self) -> Values:
        """(R, C) the newest value; NaN if there is none."""
        return self._take(self.observations.values, self.high - 1)

    @property
    def last_time(self) -> Values:
        """(R, C) the time of the newest value."""
        return self._take(self.observations.times, self.high - 1)

    @property
    def mean(self) -> Values:
        """(R, C) the mean of all values; NaN if there is none."""
        count = self.high - self.low + self.earlier_count
        sums = self.observations.between(self.low, self.high) + self.earlier_total
        return np.where(count > 0, sums / np.maximum(count, 1.0), np.nan)

    def slope(self, width: float) -> Values:
        """Return (R, C) the slope from an older value to the newest one; 0 if there is only one value.

        Args:
            width: smallest distance in time to the older value; if no value is that old, the oldest is used.
        """
        older = np.maximum(self.newest(self.last_time - width, self.high - 1), self.low)
        apart = self.last_time - self._take(self.observations.times, older)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            slope = (self.last - self._take(self.observations.values, older)) / apart
        return np.where(self.known & (older < self.high - 1) & np.isfinite(slope), slope, 0.0)

    def line(self, times: Values, width: float) -> Values:
        """Return (R, Q, C) the straight line through two values, at times (R, Q); `width` as in `slope`."""
        ahead = times[:, :, None] - self.last_time[:, None]
        return self.last[:, None] + self.slope(width)[:, None] * ahead

    def seasonal(self, now: Values, times: Values, period: float) -> Values:
        """Return (R, Q, C) the newest value one period before, or as many periods as are needed; NaN if there is none.

        Args:
            now: (R,) the times of the cuts.
            times: (R, Q) later times.
            period: length of a period, over 0.
        """
        turns = np.maximum(np.ceil((times - now[:, None]) / period), 1.0)
        back = np.minimum(times - turns * period, now[:, None])
        return self.at(back)

    def window(self, now: Values, span: float) -> tuple[Values, Values, Values]:
        """Return (R, C) mean, deviation and number of values in the last `span` before `now` (R,); NaN without values.

        Deviations of values that are far from 0 lose digits; see `Observations.scaled`.
        """
        after = np.broadcast_to((now - span)[:, None], self.high.shape)
        low = np.maximum(self.newest(after, self.high) + 1, self.low)
        count = (self.high - low).astype(np.float64)
        total, squares = (self.observations.between(low, self.high, squares) for squares in (False, True))
        mean = _ratio(total, count)
        return mean, np.sqrt(np.maximum(_ratio(squares, count) - mean**2, 0.0)), count

    def typical(self, now: Values, times: Values, period: float, turns: int, width: float) -> Values:
        """Return (R, Q, C) the mean of the values near times (R, Q) in several earlier periods; NaN if there are none.

        Args:
            now: (R,) the times of the cuts.
            times: (R, Q) later times.
            period: length of a period, over 0.
            turns: number of periods to look back, from the newest that was observed.
            width: distance in time, before or after, that counts as near.
        """
        first = np.maximum(np.ceil((times - now[:, None]) / period), 1.0)
        low, high = self.low[:, None], self.high[:, None]
        total = np.zeros((*times.shape, self.low.shape[1]))
        count = np.zeros_like(total)
        for turn in range(turns):
            middle = (times - (first + turn) * period)[:, :, None]
            begin = np.maximum(self.newest(middle - width, high, low) + 1, low)
            end = np.maximum(self.newest(np.minimum(middle + width, now[:, None, None]), high, low) + 1, begin)
            total += self.observations.between(begin, end)
            count += end - begin
        return _ratio(total, count)

    def select(self, rows: Rows | None = None, channels: Sequence[int] | None = None) -> Past:
        """Return what was observed up to the given cuts, of the given channels; None for all."""
        parts = (self.low, self.high, self.earlier_total, self.earlier_count)
        if rows is not None:
            parts = tuple(part[rows] for part in parts)  # type: ignore[assignment]
        if channels is not None:
            parts = tuple(part[:, list(channels)] for part in parts)  # type: ignore[assignment]
        return Past(self.observations, *parts)

    def scaled(self, centre: Values, scale: Values) -> Past:
        """Return the same with values (value - centre) / scale, with (C,) numbers for all channels."""
        observations = self.observations.scaled(centre, scale)
        total = (self.earlier_total - centre * self.earlier_count) / scale
        return Past(observations, self.low, self.high, total, self.earlier_count)

    def at(self, times: Values) -> Values:
        """Return (R, Q, C) the newest values at or before times (R, Q); NaN if there are none."""
        low, high = self.low[:, None], self.high[:, None]
        place = self.newest(times[:, :, None], high, low)
        return np.where(place >= low, self._take(self.observations.values, place), np.nan)

    def newest(self, times: Values, high: Rows, low: Rows | None = None) -> Rows:
        """Return the positions of the newest values at or before `times`; one before the first if there is none.

        Args:
            times: times, of any shape that broadcasts with the others.
            high: positions after the last value to use.
            low: positions of the first value to use; that of the series if None.
        """
        first, after = np.broadcast_arrays(self.low if low is None else low, high, times)[:2]
        first, after = first.copy(), after.copy()
        stored = self.observations.times
        while True:
            going = first < after
            if not going.any():
                return first - 1
            middle = (first + after) // 2
            early = stored[np.minimum(middle, len(stored) - 1)] <= times
            first = np.where(going & early, middle + 1, first)
            after = np.where(going & ~early, middle, after)

    def _take(self, array: Values, place: Rows) -> Values:
        if len(array) == 0:
            return np.full(place.shape, np.nan)
        taken: Any = array[np.clip(place, 0, len(array) - 1)]
        known = self.known if place.ndim == 2 else self.known[:, None]
        return np.where(known, taken, np.nan)


def _ratio(total: Values, count: Values) -> Values:
    return np.where(count > 0, total / np.maximum(count, 1.0), np.nan)
