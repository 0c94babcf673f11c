"""Reductions over ragged runs: the values of one channel in every series, without a loop over the series."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from liquidtime.data import SeriesSet

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Segments:
    """Values of R runs, one after another; every run has at least one value.

    Args:
        owner: (R,) the series that each run belongs to, increasing.
        counts: (R,) number of values in each run.
        times: (n,) their times, increasing within a run.
        values: (n,) finite.
    """

    owner: Integers
    counts: Integers
    times: Floats
    values: Floats

    @classmethod
    def of_channel(cls, data: SeriesSet, channel: int) -> Segments:
        """Return the observed values of one channel; a series without any has no run.

        Args:
            data: the series.
            channel: position of the channel.
        """
        return cls.of_rows(data, channel, ~np.isnan(data.values[:, channel]))

    @classmethod
    def of_rows(cls, data: SeriesSet, channel: int, chosen: Booleans) -> Segments:
        """Return the values of one channel in some of the samples.

        Args:
            data: the series.
            channel: position of the channel.
            chosen: (N,) the samples; the channel is observed in all of them.
        """
        rows = np.flatnonzero(chosen)
        series = np.repeat(np.arange(len(data)), data.lengths)[rows]
        values = data.values[rows, channel].astype(np.float64)
        return _grouped(series, np.arange(len(data)), data.times[rows], values)

    @classmethod
    def of_samples(cls, data: SeriesSet) -> Segments:
        """Return the times of all samples, whatever was observed; the values are the times as well."""
        series = np.repeat(np.arange(len(data)), data.lengths)
        return _grouped(series, np.arange(len(data)), data.times, data.times)

    def __len__(self) -> int:
        return len(self.owner)

    @cached_property
    def starts(self) -> Integers:
        """(R,) position of the first value of each run."""
        return np.cumsum(self.counts) - self.counts

    @cached_property
    def runs(self) -> Integers:
        """(n,) the run of each value."""
        return np.repeat(np.arange(len(self.owner)), self.counts)

    @cached_property
    def first_time(self) -> Floats:
        """(R,)."""
        return self.times[self.starts]

    @cached_property
    def last_time(self) -> Floats:
        """(R,)."""
        times: Floats = self.times[self.starts + self.counts - 1]
        return times

    @cached_property
    def sorted_values(self) -> Floats:
        """(n,) the values of each run in ascending order."""
        ordered: Floats = self.values[np.lexsort((self.values, self.runs))]
        return ordered

    @cached_property
    def median(self) -> Floats:
        """(R,)."""
        return self.quantile(0.5)

    def sum(self, values: npt.NDArray[np.generic]) -> Floats:
        """Return (R,) the sums of (n,) numbers over each run."""
        if len(self) == 0:
            return np.empty(0)
        return np.add.reduceat(np.asarray(values, dtype=np.float64), self.starts)

    def mean(self, values: npt.NDArray[np.generic]) -> Floats:
        """Return (R,) the means of (n,) numbers over each run."""
        return self.sum(values) / self.counts

    def least(self, values: Floats) -> Floats:
        """Return (R,) the minima of (n,) numbers over each run."""
        return np.minimum.reduceat(values, self.starts) if len(self) else np.empty(0)

    def largest(self, values: Floats) -> Floats:
        """Return (R,) the maxima of (n,) numbers over each run."""
        return np.maximum.reduceat(values, self.starts) if len(self) else np.empty(0)

    def spread(self, per_run: Floats) -> Floats:
        """Return (n,) a number per run, repeated for each of its values."""
        return np.repeat(per_run, self.counts)

    def quantile(self, share: float) -> Floats:
        """Return (R,) a quantile of each run by linear interpolation, as `numpy.quantile`.

        Args:
            share: the quantile, in [0, 1].
        """
        place = share * (self.counts - 1)
        low = np.floor(place).astype(np.int64)
        high = np.minimum(low + 1, self.counts - 1)
        left = self.sorted_values[self.starts + low]
        quantile: Floats = left + (place - low) * (self.sorted_values[self.starts + high] - left)
        return quantile

    def slope(self, weights: Floats | None = None) -> Floats:
        """Return (R,) the slope of the least-squares line; NaN with fewer than two distinct times.

        Args:
            weights: (n,) weight of each value, >= 0; None for equal weights.
        """
        w = np.ones(len(self.values)) if weights is None else weights
        total = self.sum(w)
        with np.errstate(invalid="ignore", divide="ignore"):
            t = self.times - self.spread(self.sum(w * self.times) / total)
            z = self.values - self.spread(self.sum(w * self.values) / total)
            moment = self.sum(w * t * t)
            slope: Floats = np.where(moment > 0, self.sum(w * t * z) / moment, np.nan)
        return slope

    def interpolated(self, runs: Integers, times: Floats) -> Floats:
        """Return (q,) the values of some runs at other times, linear between neighbours and constant beyond the ends.

        Args:
            runs: (q,) positions of the runs.
            times: (q,) times.
        """
        first = self.starts[runs]
        last = first + self.counts[runs] - 1
        low, after = first.copy(), last + 1
        while (going := low < after).any():  # binary search for the first later value
            middle = np.minimum((low + after) // 2, last)
            early = self.times[middle] <= times
            low, after = np.where(going & early, middle + 1, low), np.where(going & ~early, middle, after)
        left, right = np.clip(low - 1, first, last), np.clip(low, first, last)
        apart = self.times[right] - self.times[left]
        slope = (self.values[right] - self.values[left]) / np.where(apart > 0, apart, 1.0)
        values: Floats = slope * np.where(left < right, times - self.times[left], 0.0) + self.values[left]
        return values

    def where(self, chosen: Booleans) -> Segments:
        """Return runs of the chosen values only; runs without any are left out.

        Args:
            chosen: (n,) True for the chosen values.
        """
        return _grouped(self.runs[chosen], self.owner, self.times[chosen], self.values[chosen])

    def with_values(self, values: Floats) -> Segments:
        """Return the same runs with other values (n,)."""
        return Segments(self.owner, self.counts, self.times, values)

    def differences(self) -> Segments:
        """Return differences of neighbouring values, at the time of the later one; runs of one value are left out."""
        inner = np.ones(len(self.values), dtype=np.bool_)
        inner[self.starts] = False
        steps = np.diff(self.values, prepend=self.values[:1])
        return _grouped(self.runs[inner], self.owner, self.times[inner], steps[inner])

    def intervals(self) -> Segments:
        """Return intervals between neighbouring times; see `differences`."""
        return self.with_values(self.times).differences()

    def scattered(self, per_run: npt.NDArray[np.generic], S: int, missing: float = np.nan) -> Floats:
        """Return (S,) a number per series from (R,) a number per run.

        Args:
            per_run: one number per run.
            S: number of series.
            missing: value for series without a run.
        """
        column = np.full(S, missing)
        column[self.owner] = per_run
        return column


def _grouped(codes: Integers, owners: Integers, times: Floats, values: Floats) -> Segments:
    """Return runs of equal `codes` (n,), which do not decrease; run c belongs to series owners[c]."""
    counts = np.bincount(codes, minlength=len(owners)).astype(np.int64)
    present = counts > 0
    return Segments(owners[present], counts[present], times, values)
