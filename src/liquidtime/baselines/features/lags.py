"""Correlation of a channel with itself at true lags, and of two channels with each other."""

from __future__ import annotations

import numpy as np

from liquidtime.baselines.features.segments import Floats, Segments
from liquidtime.baselines.features.statistics import Statistics
from liquidtime.data import SeriesSet

LAGS = 8
LEAST_SHARED = 4
"""Smallest number of common samples of two channels for a correlation."""


def lags_of(runs: Segments) -> Floats:
    """Return lags between the median interval and half the median span, in a geometric sequence.

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
    """Return the correlation of each value with the value one lag later, interpolated linearly between samples.

    NaN if the series is not longer than the lag or does not vary.

    Args:
        runs: the observed values.
        lags: (L,) > 0, in the unit of the times.
    """
    z = runs.values - runs.spread(runs.mean(runs.values))
    variance = runs.mean(z * z)
    variance = np.where(variance > 0, variance, np.nan)
    centred, end = runs.with_values(z), runs.spread(runs.last_time)
    statistics: Statistics = {}
    for number, lag in enumerate(lags.tolist()):
        inside = runs.times + lag <= end
        later = np.zeros(len(z))
        later[inside] = centred.interpolated(runs.runs[inside], runs.times[inside] + lag)
        count = runs.sum(inside)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(count > 0, runs.sum(z * later) / count, np.nan)
        statistics[f"autocorrelation at lag {number + 1}"] = mean / variance
    return statistics


def correlation(data: SeriesSet, first: int, second: int) -> Floats:
    """Return (S,) the correlation of two channels over the samples with both observed; NaN if undefined.

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
