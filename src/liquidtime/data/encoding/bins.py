"""Combine samples in bins of equal width, for series that are sampled too finely."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from liquidtime.data.container import SeriesSet


def bin_of(times: npt.NDArray[np.float64], width: float) -> npt.NDArray[np.float64]:
    """Return floor(times / width): bin k has the times from k·width up to, but not including, (k + 1)·width.

    A time that is below an edge only by rounding belongs to the bin above: 0.3 is in bin 3 of width 0.1.
    """
    return np.floor(times / width + 1e-9)


def bin_counts(data: SeriesSet, width: float) -> npt.NDArray[np.int64]:
    """Return (S,) the number of samples that `bin_series` leaves in each series."""
    counts, lengths = np.zeros(len(data), dtype=np.int64), data.lengths
    for rows, times in data.time_blocks():
        owners = _starts(lengths[rows], bin_of(times, width))[1]
        counts[rows] = np.bincount(owners, minlength=rows.stop - rows.start)
    return counts


def bin_series(data: SeriesSet, width: float) -> SeriesSet:
    """Return the set with one sample per bin; bins without samples are left out.

    The time of the sample is the start of the bin, and its values are the means of those observed in the bin, or the
    last one for a categorical channel. Intervals are therefore multiples of the width.

    Args:
        data: the series.
        width: width of a bin in the time unit of the set, over 0.
    """
    N, S = len(data.times), len(data)
    if N == 0:
        return data
    key = bin_of(data.times, width)
    starts, owners = _starts(data.lengths, key)
    ends = np.append(starts[1:], N) - 1
    values = np.empty((len(starts), len(data.channels)), dtype=np.float32)
    for position, name in enumerate(data.channels):
        column = data.values[:, position]
        values[:, position] = (
            _last_in_bin(column, starts, ends) if name in data.categories else _mean_in_bin(column, starts)
        )
    lengths = np.bincount(owners, minlength=S)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return data.replace_unchecked(offsets=offsets, times=key[starts] * width, values=values)


def _starts(
    lengths: npt.NDArray[np.int64], key: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the first sample of each bin that is not empty, and its series."""
    codes = np.repeat(np.arange(len(lengths)), lengths)
    new = np.ones(len(key), dtype=bool)
    new[1:] = (codes[1:] != codes[:-1]) | (key[1:] != key[:-1])
    starts = np.flatnonzero(new)
    return starts, codes[starts]


def _mean_in_bin(column: npt.NDArray[np.float32], starts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    observed = ~np.isnan(column)
    total = np.add.reduceat(np.where(observed, column, 0.0).astype(np.float64), starts)
    count = np.add.reduceat(observed.astype(np.int64), starts)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _last_in_bin(
    column: npt.NDArray[np.float32], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> npt.NDArray[Any]:
    last = np.maximum.accumulate(np.where(np.isnan(column), -1, np.arange(len(column))))[ends]
    return np.where(last >= starts, column[last], np.nan)
