"""Prefixes of series as sets, from which features over time are computed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from liquidtime.data import SeriesSet
from liquidtime.data.encoding.bins import bin_of

_SAMPLES = 1 << 20
"""Largest number of samples of all prefixes that are processed together."""


class Prefixes(NamedTuple):
    """The samples of series up to some of their steps.

    Args:
        rows: (P,) the steps, among all of a set.
        offsets: (S + 1,) of each series among them.
        owner: (P,) the series of each.
        counts: (P,) its samples up to there.
    """

    rows: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]
    owner: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]

    def of(self, data: SeriesSet) -> Iterator[SeriesSet]:
        """Yield the first samples of series as sets that together have P, a bounded number of samples at once."""
        begin = 0
        while begin < len(self.owner):
            lengths = np.cumsum(data.lengths[self.owner[begin:]])
            size = max(1, int(np.searchsorted(lengths, _SAMPLES)))
            some = slice(begin, begin + size)
            yield data[self.owner[some]].head(self.counts[some])
            begin += size


def prefixes(
    data: SeriesSet, times: npt.NDArray[np.float64], offsets: npt.NDArray[np.int64], points: int | None
) -> Prefixes:
    """Return the steps that have a prediction, and the prefixes of the series up to them.

    Args:
        data: S series.
        times: (N,) of all their steps, each the time of its last sample.
        offsets: (S + 1,) of each series among them.
        points: largest number of steps per series, evenly spread, including the last; None for all.
    """
    rows = [np.empty(0, dtype=np.int64)]
    for begin, end in pairwise(offsets.tolist()):
        count = end - begin
        if points is None or count <= points:
            rows.append(np.arange(begin, end))
        else:
            rows.append(begin + np.unique(np.linspace(count / points - 1, count - 1, points).round().astype(np.int64)))
    ends = np.cumsum([0, *(len(own) for own in rows[1:])]).astype(np.int64)
    chosen = np.concatenate(rows).astype(np.int64)
    owner = np.repeat(np.arange(len(data)), np.diff(ends))
    counts = np.empty(len(chosen), dtype=np.int64)
    for series in range(len(data)):
        own = slice(ends[series], ends[series + 1])
        taken = data.times[data.offsets[series] : data.offsets[series + 1]]
        counts[own] = np.searchsorted(taken, times[chosen[own]], side="right")
    return Prefixes(chosen, ends, owner, counts)


def last_samples(data: SeriesSet, width: float | None) -> npt.NDArray[np.int64]:
    """Return (N,) the position of the last sample in each step.

    Args:
        data: series.
        width: width of the bins that are steps; None if every sample is a step.
    """
    if width is None:
        return np.arange(len(data.times))
    keys, owners = bin_of(data.times, width), np.repeat(np.arange(len(data)), data.lengths)
    last = np.ones(len(keys), dtype=bool)
    last[:-1] = (keys[1:] != keys[:-1]) | (owners[1:] != owners[:-1])
    return np.flatnonzero(last)
