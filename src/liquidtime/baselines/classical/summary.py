"""Features of a series that do not depend on the order in time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from liquidtime.data import SeriesSet

Values = npt.NDArray[np.float64]
SUMMARY = ("mean", "least", "largest", "first", "last", "count", "deviation")


def summary_features(data: SeriesSet) -> Values:
    """Return (S, 7·C + F): for each channel the `SUMMARY` of its observed values, followed by the static features.

    Features without an observation are NaN. For a categorical channel they are computed from the numbers of its
    categories.

    Args:
        data: S series of C channels.
    """
    blocks = [_of_block(part) for _, part in data.blocks()]
    return np.concatenate(blocks) if blocks else _of_block(data)


def _of_block(data: SeriesSet) -> Values:
    S, C = len(data), len(data.channels)
    features = np.full((S, C, len(SUMMARY)), np.nan)
    codes = np.repeat(np.arange(S), data.lengths)
    for channel in range(C):
        column = data.values[:, channel].astype(np.float64)
        seen = np.flatnonzero(~np.isnan(column))
        z, owner = column[seen], codes[seen]
        count = np.bincount(owner, minlength=S)
        features[:, channel, 5] = count
        if len(seen) == 0:
            continue
        starts = np.flatnonzero(np.diff(owner, prepend=-1))
        some = owner[starts]
        n = count[some]
        mean = np.add.reduceat(z, starts) / n
        spread = np.sqrt(np.add.reduceat((z - np.repeat(mean, n)) ** 2, starts) / n)
        least, largest = np.minimum.reduceat(z, starts), np.maximum.reduceat(z, starts)
        features[some, channel, :5] = np.stack([mean, least, largest, z[starts], z[starts + n - 1]], axis=1)
        features[some, channel, 6] = spread
    return np.concatenate([features.reshape(S, -1), data.static.astype(np.float64)], axis=1)
