"""Running statistics of each channel of a series so far, in the scale of the encoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from liquidtime.data.encoding.running_sum import running_sum

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

    all 0 as long as nothing has been observed. A categorical channel has only its count. Like the blocks of the
    encoder, a row depends only on samples up to itself. `at_ends` and `at_steps` take whole series, `rows` takes the
    running sums that `Moments` updates step by step; the results agree.

    Args:
        encoder: fitted encoder with the channels and their scaling.
    """

    def __init__(self, encoder: SeriesEncoder) -> None:
        self._encoder = encoder
        names: list[str] = []
        self.columns: list[slice] = []
        """For each channel, the slice of its statistics among the names: 6 of them, or only the count."""
        positions: list[int] = []
        for c, channel in enumerate(encoder.channels_):
            statistics = STATISTICS[-1:] if channel in encoder.categories_ else STATISTICS
            self.columns.append(slice(len(names), len(names) + len(statistics)))
            names += [f"{channel} {statistic}" for statistic in statistics]
            positions += [c * len(STATISTICS) + STATISTICS.index(statistic) for statistic in statistics]
        self._positions = np.array(positions, dtype=np.int64)
        self.names = tuple(names)
        """G names, such as "HR mean"."""

    def at_ends(self, steps: SeriesSet) -> npt.NDArray[np.float32]:
        """Return (S, G) the statistics of whole series.

        Args:
            steps: series that the method `steps` of the encoder returned.
        """
        return self._gather(steps, np.maximum(steps.offsets[1:] - 1, 0), steps.lengths > 0)

    def at_steps(self, steps: SeriesSet) -> npt.NDArray[np.float32]:
        """Return (N, G) the statistics after each sample; `steps` as in `at_ends`."""
        N = len(steps.times)
        return self._gather(steps, np.arange(N), np.ones(N, dtype=bool))

    def rows(self, moments: Moments) -> npt.NDArray[np.float32]:
        """Return (B, G) the statistics of B series from their running sums."""
        count, first, total, squares, least, largest = moments
        some = np.maximum(count, 1.0)
        shift = total / some
        deviation = np.sqrt(np.maximum(squares / some - shift**2, 0.0))
        each = np.stack([first + shift, least, largest, deviation, first, np.log1p(count)], axis=-1)  # (B, C, 6)
        table = np.where(count[..., None] > 0, each, 0.0).reshape(len(count), -1)
        return table[:, self._positions].astype(np.float32)

    def _gather(self, steps: SeriesSet, rows: Rows, some: npt.NDArray[np.bool_]) -> npt.NDArray[np.float32]:
        """Return the statistics after each of `rows`; 0 where `some` is False."""
        result = np.zeros((len(rows), len(self.names)), dtype=np.float32)
        if len(steps.times) == 0:
            return result
        first = np.repeat(steps.offsets[:-1], steps.lengths)
        for c, at in enumerate(self.columns):
            observed = ~np.isnan(steps.values[:, c])
            seen = np.flatnonzero(observed)
            if len(seen) == 0:
                continue
            z = self._encoder.scaling_.column(c, steps.values[seen, c]).astype(np.float64)
            begin = np.searchsorted(seen, first[seen])  # for each observed value, where its series begins
            newest = (np.cumsum(observed) - 1)[rows]  # the newest value observed at each row, perhaps of another series
            known = some & (newest >= 0) & (seen[newest] >= first[rows])
            statistics = running(z, begin)[:, at.start - at.stop :]  # of a categorical channel only the count
            result[:, at] = np.where(known[:, None], statistics[newest], 0.0)
        return result


class Moments(NamedTuple):
    """Running sums of B series over C channels that the statistics follow from; sums are of differences from `first`.

    Args:
        number: (B, C) number of observed values.
        first: (B, C) first observed value.
        total: (B, C) sum of the differences from it.
        squares: (B, C) sum of the squares of these differences.
        least: (B, C) smallest value, inf before the first.
        largest: (B, C) largest value, -inf before the first.
    """

    number: Array
    first: Array
    total: Array
    squares: Array
    least: Array
    largest: Array

    @staticmethod
    def start(B: int, C: int) -> Moments:
        """Return the sums before anything was observed."""
        nothing = np.zeros((B, C))
        return Moments(nothing, nothing, nothing, nothing, np.full((B, C), np.inf), np.full((B, C), -np.inf))

    def add(self, z: npt.NDArray[np.float32], observed: npt.NDArray[np.bool_]) -> Moments:
        """Return the sums after adding the scaled values z (B, C) where `observed` (B, C) is True."""
        first = np.where(observed & (self.number == 0), z, self.first)
        apart = np.where(observed, z - first, 0.0)
        return Moments(
            self.number + observed,
            first,
            self.total + apart,
            self.squares + apart**2,
            np.where(observed, np.minimum(self.least, z), self.least),
            np.where(observed, np.maximum(self.largest, z), self.largest),
        )


def running(z: Array, begin: Rows) -> Array:
    """Return (n, 6) the `STATISTICS` of each value together with those before it in its series.

    Sums are of differences from the first value of the series, so that the deviation of a constant series is exactly 0.

    Args:
        z: (n,) observed values, series after series.
        begin: (n,) position of the first value of the series that each value belongs to.
    """
    position = np.arange(len(z))
    n = position - begin + 1.0
    first = z[begin]
    apart = z - first
    total, squares = running_sum(np.stack([apart, apart**2]), np.flatnonzero(begin == position))
    shift = total / n
    deviation = np.sqrt(np.maximum(squares / n - shift**2, 0.0))
    least, largest = _running_extreme(z, begin, np.minimum), _running_extreme(z, begin, np.maximum)
    return np.stack([first + shift, least, largest, deviation, first, np.log1p(n)], axis=1)


def _running_extreme(z: Array, begin: Rows, choose: Callable[..., Any]) -> Array:
    """Return the extreme so far, by doubling: pass s extends the range of each value to the 2^s values before it."""
    best = z.copy()
    position = np.arange(len(z))
    longest, reach = int((position - begin).max()) + 1, 1
    while reach < longest:
        inside = np.flatnonzero(position - reach >= begin)
        best[inside] = choose(best[inside], best[inside - reach])
        reach *= 2
    return best
