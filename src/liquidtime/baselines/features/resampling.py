"""Dense channels on one regular grid of true times, for methods that need equal steps; lengths stay unequal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from liquidtime.baselines.features.segments import Floats, Integers, Segments
from liquidtime.data import SeriesSet

DENSE = 24
"""Typical number of values from which a channel counts as dense."""
MOST_POINTS, POINTS_PER_VALUE = 1024, 4
"""Limits on the grid points of a long series (longer than nineteen in twenty), in total and per value of its densest
channel: further points would only be interpolated."""


@dataclass(frozen=True, eq=False)
class Resampled:
    """S series on a grid, one after another: series i has counts[i] >= 1 points.

    Args:
        counts: (S,).
        values: (C, M) float32, scaled, finite; 0 (the mean) for channels that were never observed in a series.
    """

    counts: Integers
    values: npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class RegularGrid:
    """How series are resampled, as chosen from the training series.

    Args:
        step: time between grid points.
        channels: positions of the dense channels.
        most: largest number of points per series; the latest ones are kept.
        mean: (C,) number subtracted from each channel.
        scale: (C,) number by which each channel is divided.
    """

    step: float
    channels: tuple[int, ...]
    most: int
    mean: Floats
    scale: Floats

    @classmethod
    def fit(cls, data: SeriesSet) -> RegularGrid | None:
        """Choose the grid: as fine as the shortest usual interval, or coarser if that would be too many points.

        Args:
            data: training series.

        Returns:
            None if no numeric channel is dense: such series have no shape to resample.
        """
        dense, ticks, spans, counts = [], [], [], []
        for place, name in enumerate(data.channels):
            runs = Segments.of_channel(data, place)
            if name in data.categories or len(runs) < len(data) / 2 or np.median(runs.counts) < DENSE:
                continue
            dense.append(place)
            ticks.append(float(np.quantile(runs.intervals().values, 0.05)))
            counts.append(float(np.quantile(runs.counts, 0.95)))
            spans.append(float(np.quantile(runs.last_time - runs.first_time, 0.95)))
        if not dense:
            return None
        span = max(spans)
        step = max(min(ticks), span / min(MOST_POINTS, POINTS_PER_VALUE * max(counts)))
        values = data.values[:, dense].astype(np.float64)
        scale = np.nanstd(values, axis=0)
        return cls(step, tuple(dense), 2 * MOST_POINTS, np.nanmean(values, axis=0), np.where(scale > 0, scale, 1.0))

    def resample(self, data: SeriesSet) -> Resampled:
        """Return the dense channels, interpolated linearly between observed values and constant beyond them.

        Args:
            data: S series.
        """
        S = len(data)
        samples = Segments.of_samples(data)
        begin, end = (samples.scattered(times, S, 0.0) for times in (samples.first_time, samples.last_time))
        counts = np.minimum(np.floor((end - begin) / self.step + 1e-6).astype(np.int64) + 1, self.most)
        series = np.repeat(np.arange(S), counts)
        number = np.arange(len(series)) - np.repeat(np.cumsum(counts) - counts, counts)
        times = (end - (counts - 1) * self.step)[series] + number * self.step
        values = np.zeros((len(self.channels), len(times)), dtype=np.float32)
        for row, place in enumerate(self.channels):
            runs = Segments.of_channel(data, place)
            if len(runs) == 0:
                continue
            scaled = runs.with_values((runs.values - self.mean[row]) / self.scale[row])
            run_of = np.full(S, -1)
            run_of[runs.owner] = np.arange(len(runs))
            present = run_of[series] >= 0
            values[row, present] = scaled.interpolated(run_of[series][present], times[present])
        return Resampled(counts, values)
