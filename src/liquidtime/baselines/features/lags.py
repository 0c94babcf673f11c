"""How a channel hangs together with itself at true lags, and two channels with each other."""

from __future__ import annotations

import numpy as np

from liquidtime.baselines.features.segments import Booleans, Floats, Segments
from liquidtime.baselines.features.statistics import Statistics
from liquidtime.data import SeriesSet

LAGS = 8
LEAST_SHARED = 4
"""Samples that two channels must share for a correlation."""


def lags_of(runs: Segments) -> Floats:
    """Return lags between the median interval and half the median span, each a fixed multiple of the one before.

    Args:
        runs: the observed values of the training series.
    """
    gaps = runs.intervals()
    if len(gaps) == 0:
        return np.empty(0)
    shortest = float(np.median(gaps.values))
    longest = float(np.median(runs.last_time - runs.first_time)) / 2
    return np.unique(np.geomspace(shortest, max(shortest, longest), LAGS))


def autocorrelations(runs: Segments, lags: Floats) -> Statistics:
    """Return the correlation of each value with that one lag later, which is interpolated linearly between samples.

    NaN where the series is not longer than the lag or does not vary.

    Args:
        runs: the observed values.
        lags: (L,) > 0, in the unit of the times.
    """
    z = runs.values - runs.spread(runs.mean(runs.values))
    variance = runs.mean(z * z)
    variance = np.where(variance > 0, variance, np.nan)
    times = runs.times - runs.spread(runs.first_time)
    end = runs.spread(runs.last_time - runs.first_time)
    statistics: Statistics = {}
    for number, lag in enumerate(lags.tolist()):
        inside = times + lag <= end
        later = np.zeros(len(z))
        later[inside] = _later(runs, times, z, inside, lag)
        count = runs.sum(inside)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(count > 0, runs.sum(z * later) / count, np.nan)
        statistics[f"autocorrelation at lag {number + 1}"] = mean / variance
    return statistics


def _later(runs: Segments, times: Floats, z: Floats, inside: Booleans, lag: float) -> Floats:
    """Return what z is one lag after the samples chosen, interpolated by the times of their own run alone.

    So a series has the same bits in every set. Where a moment lies is looked up on one axis of time for all runs, whose
    rounding depends on the runs before, and then put right by the times of the run itself.
    """
    length = runs.last_time - runs.first_time
    axis = times + runs.spread(np.cumsum(length + 1.0) - length)
    moment, run = times[inside] + lag, runs.runs[inside]
    first, last = runs.starts[run], runs.starts[run] + runs.counts[run] - 1
    place = np.clip(np.searchsorted(axis, axis[inside] + lag, side="right") - 1, first, last)
    while (early := (place < last) & (times[np.minimum(place + 1, last)] <= moment)).any():
        place += early
    while (late := (place > first) & (times[place] > moment)).any():
        place -= late
    after = np.minimum(place + 1, last)
    gap = np.where(after > place, times[after] - times[place], 1.0)
    values: Floats = z[place] + (z[after] - z[place]) * ((moment - times[place]) / gap)
    return values


def correlation(data: SeriesSet, first: int, second: int) -> Floats:
    """Return (S,) the correlation of two channels over the samples where both were observed; NaN where undefined.

    Args:
        data: the series.
        first: position of a channel.
        second: position of another.
    """
    both = ~np.isnan(data.values[:, first]) & ~np.isnan(data.values[:, second])
    x, y = Segments.of_rows(data, first, both), Segments.of_rows(data, second, both)
    a, b = x.values - x.spread(x.mean(x.values)), y.values - y.spread(y.mean(y.values))
    scale = np.sqrt(x.sum(a * a) * x.sum(b * b))
    with np.errstate(invalid="ignore", divide="ignore"):
        values = np.where((scale > 0) & (x.counts >= LEAST_SHARED), x.sum(a * b) / scale, np.nan)
    return x.scattered(values, len(data))
