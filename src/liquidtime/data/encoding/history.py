"""What a series has shown of each channel so far: running statistics, in the encoder's scale."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from liquidtime.data.container import SeriesSet
    from liquidtime.data.encoding.encoder import SeriesEncoder

Array: TypeAlias = npt.NDArray[np.float64]
Rows: TypeAlias = npt.NDArray[np.int64]

STATISTICS = ("mean", "least", "largest", "deviation", "first", "count")


class History:
    """The running statistics of every channel after each sample of a series.

    For channel c after sample k, over the scaled values z_jc observed at samples j <= k:

        mean, least, largest, deviation (with n, not n - 1), first,   and count = log(1 + n)

    all 0 while nothing was observed. A categorical channel has its count alone. Like the encoder's blocks, a row
    depends on samples up to its own alone, and `stream` gives the same numbers one sample at a time.

    Args:
        encoder: fitted; gives the channels and their scaling.
    """

    def __init__(self, encoder: SeriesEncoder) -> None:
        self._encoder = encoder
        names: list[str] = []
        self.columns: list[slice] = []
        """For each channel where its statistics stand among the names; one slice of 6, or of the count alone."""
        for channel in encoder.channels_:
            kept = ("count",) if channel in encoder.categories_ else STATISTICS
            self.columns.append(slice(len(names), len(names) + len(kept)))
            names += [f"{channel} {statistic}" for statistic in kept]
        self.names = tuple(names)
        """G names, e.g. "HR mean"."""

    def at_ends(self, steps: SeriesSet) -> npt.NDArray[np.float32]:
        """Return (S, G) the statistics of whole series.

        Args:
            steps: what the encoder's `steps` returned.
        """
        return self._gather(steps, np.maximum(steps.offsets[1:] - 1, 0), steps.lengths > 0)

    def at_steps(self, steps: SeriesSet) -> npt.NDArray[np.float32]:
        """Return (N, G) the statistics after each sample; `steps` as in `at_ends`."""
        N = len(steps.times)
        return self._gather(steps, np.arange(N), np.ones(N, dtype=bool))

    def stream(self) -> HistoryStream:
        """Return the statistics of one series whose samples arrive one at a time."""
        return HistoryStream(self)

    def _gather(self, steps: SeriesSet, rows: Rows, some: npt.NDArray[np.bool_]) -> npt.NDArray[np.float32]:
        """Return the statistics after each of `rows`, 0 where `some` is False."""
        result = np.zeros((len(rows), len(self.names)), dtype=np.float32)
        if len(steps.times) == 0:
            return result
        first = np.repeat(steps.offsets[:-1], steps.lengths)
        for place, at in enumerate(self.columns):
            observed = ~np.isnan(steps.values[:, place])
            seen = np.flatnonzero(observed)
            if len(seen) == 0:
                continue
            z = self._encoder.scaling_.column(place, steps.values[seen, place]).astype(np.float64)
            begin = np.searchsorted(seen, first[seen])  # where, among those seen, each one's series begins
            newest = (np.cumsum(observed) - 1)[rows]  # the newest one seen at each row, perhaps of another series
            known = some & (newest >= 0) & (seen[newest] >= first[rows])
            found = running(z, begin)[:, STATISTICS.index("count") :] if at.stop - at.start == 1 else running(z, begin)
            result[:, at] = np.where(known[:, None], found[newest], 0.0)
        return result


class HistoryStream:
    """The running statistics of one series, sample by sample.

    Args:
        history: whose numbers these are.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        C = len(history.columns)
        self._closed = np.zeros((6, C))  # count, first, sum and sum of squares of z - first, least, largest
        self._closed[4], self._closed[5] = np.inf, -np.inf
        self._open = self._closed.copy()

    def update(self, values: npt.NDArray[np.float32], revises: bool) -> npt.NDArray[np.float32]:
        """Take the values (C,) of a step, NaN = not observed; with `revises` in place of the step before.

        Returns:
            (G,) the statistics.

        """
        if not revises:
            self._closed = self._open
        self._open = self._closed.copy()
        scaling = self._history._encoder.scaling_
        count, start, total, squares, least, largest = self._open
        for place in np.flatnonzero(~np.isnan(values)).tolist():
            z = float(scaling.column(place, values[place : place + 1])[0])
            start[place] = z if count[place] == 0 else start[place]
            count[place] += 1
            total[place] += z - start[place]
            squares[place] += (z - start[place]) ** 2
            least[place], largest[place] = min(least[place], z), max(largest[place], z)
        some = np.maximum(count, 1)
        shift = total / some
        deviation = np.sqrt(np.maximum(squares / some - shift**2, 0.0))
        rows = np.stack([start + shift, least, largest, deviation, start, np.log1p(count)])
        rows = np.where(count > 0, rows, 0.0)
        result = np.zeros(len(self._history.names), dtype=np.float32)
        for place, at in enumerate(self._history.columns):
            result[at] = rows[-(at.stop - at.start) :, place]
        return result


def running(z: Array, begin: Rows) -> Array:
    """Return (n, 6) the `STATISTICS` of each value and those before it in its series.

    Sums are of differences from the first value of the series, so that a constant one has no deviation at all.

    Args:
        z: (n,) observed values, series after series.
        begin: (n,) the position of the first value of each one's series.
    """
    n = np.arange(len(z)) - begin + 1.0
    first = z[begin]
    shift = _running_sum(z - first, begin) / n
    deviation = np.sqrt(np.maximum(_running_sum((z - first) ** 2, begin) / n - shift**2, 0.0))
    least, largest = _running_extreme(z, begin, np.minimum), _running_extreme(z, begin, np.maximum)
    return np.stack([first + shift, least, largest, deviation, first, np.log1p(n)], axis=1)


def _running_sum(z: Array, begin: Rows) -> Array:
    total = np.concatenate([[0.0], np.cumsum(z)])
    difference: Array = total[1:] - total[begin]
    return difference


def _running_extreme(z: Array, begin: Rows, choose: Callable[..., Any]) -> Array:
    """Return the extreme so far, by doubling: after pass s each value has seen the 2^s before it."""
    best = z.copy()
    place = np.arange(len(z))
    longest, reach = int((place - begin).max()) + 1, 1
    while reach < longest:
        inside = np.flatnonzero(place - reach >= begin)
        best[inside] = choose(best[inside], best[inside - reach])
        reach *= 2
    return best
