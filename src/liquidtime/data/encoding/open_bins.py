"""Every sample of a set as the newest step of its series so far, while its bin is still open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from liquidtime.data.container import SeriesSet
from liquidtime.data.encoding.bins import bin_of
from liquidtime.data.encoding.history import STATISTICS, History, running

if TYPE_CHECKING:
    from liquidtime.data.encoding.encoder import SeriesEncoder

Rows: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class _Steps(SeriesSet):
    """Samples at the times of their bins, so that several of a series have one time."""

    def __post_init__(self) -> None:
        """Check nothing: the set that these were made of was checked."""


@dataclass(frozen=True)
class OpenSteps:
    """The newest step after each of N samples: its bin holds the samples up to it, the bins before it are whole.

    Args:
        x: (N, D) inputs.
        dt: (N,) scaled time since the bin before.
        history: (N, G) running statistics.
        static: (S, F) static features.
        place: (N,) the number of the sample's bin in its series, from 0.
        last: (N,) whether the sample is the last of its bin.
    """

    x: npt.NDArray[np.float32]
    dt: npt.NDArray[np.float32]
    history: npt.NDArray[np.float32]
    static: npt.NDArray[np.float32]
    place: Rows
    last: npt.NDArray[np.bool_]


def open_steps(encoder: SeriesEncoder, data: SeriesSet) -> OpenSteps:
    """Return what `SeriesEncoder.transform` and `History` give for the last step of every prefix of every series.

    The work grows with the number of samples, not with its square.

    Args:
        encoder: fitted, with bins.
        data: samples as they are, with the encoder's channels.
    """
    width = encoder.bin_width
    assert width is not None
    N = len(data.times)
    key = bin_of(data.times, width)
    new = np.ones(N, dtype=bool)
    new[1:] = key[1:] != key[:-1]
    first = np.repeat(data.offsets[:-1], data.lengths)
    new[first] = True
    bins = np.cumsum(new) - 1  # (N,) which bin of all
    starts = np.flatnonzero(new)
    last = np.append(new[1:], True) if N else new
    values = _so_far(data, np.arange(N) - starts[bins])
    times = key * width
    encoded = encoder.encode(_Steps(**{**vars(data), "times": times, "values": values}))
    gap = np.diff(times[starts], prepend=0.0)
    gap[bins[first]] = 0.0
    dt = (gap / encoder.time_scale_).astype(np.float32)[bins]
    history = _history(encoder, values, bins, bins[first], np.flatnonzero(last))
    return OpenSteps(encoded.x, dt, history, encoded.static, bins - bins[first], last)


def _so_far(data: SeriesSet, position: Rows) -> npt.NDArray[np.float32]:
    """Return (N, C) the mean of what was observed in each sample's bin up to it; of a categorical channel the last.

    Args:
        data: the samples.
        position: (N,) of each in its bin.
    """
    observed = ~np.isnan(data.values)
    total, count = np.where(observed, data.values, 0.0).astype(np.float64), observed.astype(np.int64)
    newest = np.array(data.values)
    order = np.argsort(position, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(position))[:-1])[1:] if len(order) else []:
        total[rows] += total[rows - 1]
        count[rows] += count[rows - 1]
        newest[rows] = np.where(observed[rows], newest[rows], newest[rows - 1])
    values = np.where(count > 0, total / np.maximum(count, 1), np.nan).astype(np.float32)
    for place, name in enumerate(data.channels):
        if name in data.categories:
            values[:, place] = newest[:, place]
    return values


def _history(encoder: SeriesEncoder, values: npt.NDArray[np.float32], bins: Rows, first: Rows, ends: Rows) -> Any:
    """Return (N, G) the statistics of the whole bins before each sample's, and of its own as it stands.

    Args:
        encoder: whose scaling they are in.
        values: (N, C) of the open bins.
        bins: (N,) which bin each sample is in.
        first: (N,) the first bin of its series.
        ends: the last sample of every bin.
    """
    history = History(encoder)
    result = np.zeros((len(values), len(history.names)), dtype=np.float32)
    for place, at in enumerate(history.columns):
        column = values[:, place]
        observed = ~np.isnan(column)
        if not observed.any():
            continue
        z = np.zeros(len(column))
        z[observed] = encoder.scaling_.column(place, column[observed])
        seen = np.flatnonzero(observed[ends])
        closed = running(z[ends[seen]], np.searchsorted(seen, first[ends][seen]))
        newest = np.cumsum(observed[ends])[bins] - observed[ends][bins] - 1  # of the bins before the own
        known = (newest >= 0) & (seen[newest] >= first)
        before = np.where(known[:, None], closed[newest], 0.0)
        after = np.where(observed[:, None], _with_one_more(before, z), before)
        result[:, at] = after[:, -(at.stop - at.start) :]
    return result


def _with_one_more(before: npt.NDArray[np.float64], z: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return (n, 6) `STATISTICS` with one value more each, from those before, all 0 where there was none."""
    mean, least, largest, deviation, start, count = (before[:, place] for place in range(len(STATISTICS)))
    n = np.rint(np.expm1(count))
    some = n > 0
    apart = z - mean
    squares = (n * deviation**2 + apart**2 * n / (n + 1)) / (n + 1)
    return np.stack(
        [
            mean + apart / (n + 1),
            np.where(some, np.minimum(least, z), z),
            np.where(some, np.maximum(largest, z), z),
            np.sqrt(squares),
            np.where(some, start, z),
            np.log1p(n + 1),
        ],
        axis=1,
    )
