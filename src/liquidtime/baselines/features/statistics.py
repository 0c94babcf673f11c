"""Statistics of one channel at true times: levels, trends and shapes, for all series at once.

Each function takes the observed values of the channel and returns its statistics by name, one number per run. The more
values a channel typically has, the more of these functions are worth calling; `RichFeatures` decides.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from liquidtime.baselines.features.segments import Floats, Segments

Statistics = dict[str, Floats]
QUANTILES = (0.05, 0.1, 0.25, 0.75, 0.9, 0.95)
PROFILE = 8
"""Number of parts of a dense series whose means are features."""


def levels(runs: Segments, end: Floats, span: float) -> Statistics:
    """Return statistics for which a few values are enough: how many, how large, the first and the last ones, and when.

    Args:
        runs: the observed values.
        end: (R,) time of the last sample of each series, whatever was observed in it.
        span: typical time between the first and the last sample, > 0.
    """
    z, first = runs.values, runs.starts
    last = first + runs.counts - 1
    mean = runs.mean(z)
    low, high = runs.least(z), runs.largest(z)
    deviation = np.sqrt(runs.mean((z - runs.spread(mean)) ** 2))
    before = np.where(runs.counts > 1, z[np.maximum(last - 1, 0)], np.nan)
    return {
        "count": runs.counts.astype(np.float64),
        "mean": mean,
        "deviation": deviation,
        "minimum": low,
        "maximum": high,
        "range": high - low,
        "median": runs.median,
        "first": z[first],
        "last": z[last],
        "previous": before,
        "last minus previous": z[last] - before,
        "last minus first": z[last] - z[first],
        "last minus mean": z[last] - mean,
        "time since last": end - runs.last_time,
        "time of first": runs.first_time,
        "time since maximum": end - runs.times[_position(runs, high)],
        "time since minimum": end - runs.times[_position(runs, low)],
        "slope": runs.slope(),
        "recent mean": _recent(runs, span / 16),
        "mean of last quarter": _part(runs, runs.spread(end) - runs.times <= span / 4),
    }


def trends(runs: Segments, begin: Floats, end: Floats, span: float) -> Statistics:
    """Return statistics that need several values: quantiles, slopes near the end, roughness, crossings and intervals.

    Args:
        runs: the observed values.
        begin: (R,) time of the first sample of each series.
        end: (R,) time of the last sample of each series.
        span: typical time between the first and the last sample, > 0.
    """
    z, age = runs.values, runs.spread(end) - runs.times
    centre = runs.spread(runs.median)
    statistics: Statistics = {f"quantile {share:g}": runs.quantile(share) for share in QUANTILES}
    statistics["median absolute deviation"] = runs.with_values(np.abs(z - centre)).median
    for name, share in (("last eighth", 8), ("last quarter", 4), ("last half", 2)):
        late = age <= span / share
        statistics[f"slope of {name}"] = _slope_of(runs, late)
        statistics[f"deviation of {name}"] = _deviation_of(runs, late)
    statistics["mean of last eighth"] = _part(runs, age <= span / 8)
    statistics["mean of last half"] = _part(runs, age <= span / 2)
    early = runs.times - runs.spread(begin) <= span / 4
    statistics["mean of first quarter"] = _part(runs, early)
    statistics["slope of recent"] = runs.slope(np.exp(-np.minimum(age / (span / 8), 50.0)))
    statistics |= {f"last but {k}": _last_but(runs, k) for k in (2, 3)}
    return statistics | _steps(runs, runs.mean(z))


def shapes(runs: Segments) -> Statistics:
    """Return statistics of a dense series: moments, peaks, runs above the median, and means of several parts.

    Args:
        runs: the observed values.
    """
    z = runs.values
    mean = runs.mean(z)
    deviation = np.sqrt(runs.mean((z - runs.spread(mean)) ** 2))
    unit = np.where(deviation > 0, deviation, np.nan)
    scaled = (z - runs.spread(mean)) / runs.spread(unit)
    length = np.maximum(runs.last_time - runs.first_time, np.finfo(float).tiny)
    place = (runs.times - runs.spread(runs.first_time)) / runs.spread(length)
    statistics: Statistics = {
        "skewness": runs.mean(scaled**3),
        "kurtosis": runs.mean(scaled**4),
        "root mean square": np.sqrt(runs.mean(z * z)),
        "share above mean": runs.mean(scaled > 0),
        "share beyond one deviation": runs.mean(np.abs(scaled) > 1),
        "share beyond two deviations": runs.mean(np.abs(scaled) > 2),
        "time of maximum": place[_position(runs, runs.largest(z))],
        "time of minimum": place[_position(runs, runs.least(z))],
        "mean time of mass": runs.sum(np.abs(z) * place) / np.maximum(runs.sum(np.abs(z)), np.finfo(float).tiny),
        "peaks": _peaks(runs) / runs.counts,
        "longest strike above median": _longest_strike(runs, z > runs.spread(runs.median)) / runs.counts,
        "longest strike below median": _longest_strike(runs, z < runs.spread(runs.median)) / runs.counts,
    }
    parts = np.minimum((place * PROFILE).astype(np.int64), PROFILE - 1)
    for part in range(PROFILE):
        statistics[f"mean of part {part + 1}"] = _part(runs, parts == part)
        statistics[f"slope of part {part + 1}"] = _slope_of(runs, parts == part)
    return statistics


def categories(runs: Segments, labels: tuple[str, ...], end: Floats) -> Statistics:
    """Return statistics of a categorical channel: first and last category, fraction of each, and changes.

    Args:
        runs: positions in `labels`.
        labels: the categories; with more than twelve, there are only the first and the last.
        end: (R,) time of the last sample of each series.
    """
    z, last = runs.values, runs.starts + runs.counts - 1
    statistics: Statistics = {
        "count": runs.counts.astype(np.float64),
        "first": z[runs.starts],
        "last": z[last],
        "time since last": end - runs.last_time,
    }
    steps = runs.differences()
    changes = np.zeros(len(runs))
    changes[np.searchsorted(runs.owner, steps.owner)] = steps.sum(steps.values != 0)
    statistics["changes"] = changes
    if len(labels) <= 12:
        statistics |= {f"share of {label}": runs.mean(z == code) for code, label in enumerate(labels)}
    return statistics


def intervals(runs: Segments) -> Statistics:
    """Return count, first and last time, span, and the mean, deviation, maximum and minimum of the intervals.

    Args:
        runs: all samples, or those of one channel.
    """
    gaps = runs.intervals()
    mean = gaps.mean(gaps.values)
    return {
        "mean interval": _onto(runs, gaps, mean),
        "deviation of intervals": _onto(
            runs, gaps, np.sqrt(gaps.mean((gaps.values - gaps.spread(mean)) ** 2)) if len(gaps) else mean
        ),
        "longest interval": _onto(runs, gaps, gaps.largest(gaps.values)),
        "shortest interval": _onto(runs, gaps, gaps.least(gaps.values)),
    }


def _steps(runs: Segments, mean: Floats) -> Statistics:
    """Return statistics of neighbouring values: differences, also per time, and how often the mean is crossed."""
    steps, gaps = runs.differences(), runs.intervals()
    size = np.abs(steps.values)
    rate = steps.with_values(size / np.where(gaps.values > 0, gaps.values, np.nan))
    above = runs.values > runs.spread(mean)
    crossings = runs.with_values(above.astype(np.float64)).differences()
    lagged = runs.values - runs.spread(mean)
    inner = np.ones(len(lagged), dtype=np.bool_)
    inner[runs.starts] = False
    products = steps.with_values((lagged * np.roll(lagged, 1))[inner])
    variance = runs.mean(lagged**2)
    variance = np.where(variance > 0, variance, np.nan)
    return {
        "mean absolute difference": _onto(runs, steps, steps.mean(size)),
        "largest rise": _onto(runs, steps, steps.largest(steps.values)),
        "largest fall": _onto(runs, steps, steps.least(steps.values)),
        "mean absolute rate": _onto(runs, rate, rate.mean(rate.values)),
        "median absolute difference": _onto(runs, steps, steps.with_values(size).median),
        "share rising": _onto(runs, steps, steps.mean(steps.values > 0)),
        "crossings of mean": _onto(runs, crossings, crossings.mean(np.abs(crossings.values))),
        "correlation with previous": _onto(runs, products, products.mean(products.values)) / variance,
        **intervals(runs),
    }


def _onto(runs: Segments, part: Segments, per_run: Floats) -> Floats:
    """Return (R,) numbers of all runs from those of the runs that are in `part`; NaN elsewhere."""
    column = np.full(len(runs), np.nan)
    column[np.searchsorted(runs.owner, part.owner)] = per_run
    return column


def _part(runs: Segments, chosen: npt.NDArray[np.bool_]) -> Floats:
    """Return (R,) means of the chosen values."""
    total = runs.sum(chosen)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, runs.sum(np.where(chosen, runs.values, 0.0)) / total, np.nan)


def _slope_of(runs: Segments, chosen: npt.NDArray[np.bool_]) -> Floats:
    part = runs.where(chosen)
    return _onto(runs, part, part.slope())


def _deviation_of(runs: Segments, chosen: npt.NDArray[np.bool_]) -> Floats:
    part = runs.where(chosen)
    return _onto(runs, part, np.sqrt(part.mean((part.values - part.spread(part.mean(part.values))) ** 2)))


def _recent(runs: Segments, scale: float) -> Floats:
    """Return (R,) means weighted by exp(-age / scale), with ages counted from the last value of the channel."""
    weights = np.exp(-(runs.spread(runs.last_time) - runs.times) / scale)
    return runs.sum(weights * runs.values) / runs.sum(weights)


def _last_but(runs: Segments, k: int) -> Floats:
    place = runs.starts + runs.counts - 1 - k
    return np.where(runs.counts > k, runs.values[np.maximum(place, 0)], np.nan)


def _position(runs: Segments, extreme: Floats) -> npt.NDArray[np.int64]:
    """Return (R,) the position at which each run first has its extreme value."""
    places = np.flatnonzero(runs.values == runs.spread(extreme))
    _, first = np.unique(runs.runs[places], return_index=True)
    return places[first]


def _peaks(runs: Segments) -> Floats:
    """Return (R,) the number of values above both neighbours."""
    z = runs.values
    inner = np.ones(len(z), dtype=np.bool_)
    inner[runs.starts] = False
    inner[runs.starts + runs.counts - 1] = False
    return runs.sum(inner & (z > np.roll(z, 1)) & (z > np.roll(z, -1)))


def _longest_strike(runs: Segments, inside: npt.NDArray[np.bool_]) -> Floats:
    """Return (R,) the longest unbroken stretch of True."""
    places = np.arange(len(inside))
    barrier = ~inside
    barrier_place = np.where(barrier, places, -1)
    barrier_place[runs.starts] = np.where(barrier[runs.starts], runs.starts, runs.starts - 1)
    return runs.largest((places - np.maximum.accumulate(barrier_place)).astype(np.float64))
