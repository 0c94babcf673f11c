"""Replace one thing in each series by that of another series: a channel, its presence, a feature, or the timing.

Everything else is unchanged, so that the loss of the model shows what it learned from that one thing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data import SeriesSet

Rows = npt.NDArray[np.int64]


def with_channel(data: SeriesSet, channel: int, donors: Rows) -> SeriesSet:
    """Return series with a channel of their donors: its values, and which samples have one.

    A sample takes the value of the donor's sample at the same share of its length.

    Args:
        data: S series.
        channel: position of the channel.
        donors: (S,) rows of the series to take it from.
    """
    values = data.values.copy()
    values[:, channel] = _borrowed(data, data.values[:, channel], donors)
    return data.replace_unchecked(values=values)


def with_presence(data: SeriesSet, channel: int, donors: Rows) -> SeriesSet:
    """Return series with a channel that is observed when that of their donors is, with their own values.

    A sample that needs a value but has none takes the previous one of the same series, or else the next one; a series
    without any value takes the typical one of all series.

    Args:
        data: S series.
        channel: position of the channel.
        donors: (S,) rows of the series to take it from.
    """
    present = ~np.isnan(_borrowed(data, data.values[:, channel], donors))
    values = data.values.copy()
    values[:, channel] = np.where(present, _filled(data, channel), np.nan)
    return data.replace_unchecked(values=values)


def with_static(data: SeriesSet, feature: int, donors: Rows) -> SeriesSet:
    """Return series with a static feature of their donors.

    Args:
        data: S series.
        feature: position of the feature.
        donors: (S,) rows of the series to take it from.
    """
    static = data.static.copy()
    static[:, feature] = data.static[donors, feature]
    return data.replace_unchecked(static=static)


def with_timing(data: SeriesSet, donors: Rows, *, keep_ends: bool = False) -> SeriesSet:
    """Return series with the sample times of their donors; values and their order are unchanged.

    Sample k takes the time at which the donor is at the same share of its samples. A donor with fewer than two samples
    changes nothing.

    Args:
        data: S series.
        donors: (S,) rows of the series to take it from.
        keep_ends: whether to scale the donor's times to the first and last time of the series.
    """
    times = data.times.copy()
    for series, donor in enumerate(donors.tolist()):
        own = slice(int(data.offsets[series]), int(data.offsets[series + 1]))
        path = data.times[data.offsets[donor] : data.offsets[donor + 1]]
        n = own.stop - own.start
        if n < 2 or len(path) < 2:
            continue
        moved = np.interp(np.linspace(0.0, len(path) - 1.0, n), np.arange(len(path)), path)
        first, last = data.times[own.start], data.times[own.stop - 1]
        scale = (last - first) / (moved[-1] - moved[0]) if keep_ends else 1.0
        moved = first + (moved - moved[0]) * scale
        if keep_ends:
            moved[-1] = last
        if (np.diff(moved) > 0).all():  # the smallest intervals of a donor can vanish next to large times
            times[own] = moved
    return data.replace_unchecked(times=times)


def is_always_alike(data: SeriesSet, channel: int) -> bool:
    """Return whether a channel is observed at all samples or at none, so that its presence has no information."""
    observed = ~np.isnan(data.values[:, channel])
    return bool(observed.all() or not observed.any())


def _borrowed(data: SeriesSet, column: npt.NDArray[Any], donors: Rows) -> npt.NDArray[Any]:
    """Return for every sample the value of a column at the corresponding sample of the donor."""
    lengths = data.lengths
    owner = np.repeat(np.arange(len(data)), lengths)
    place = np.arange(len(data.times)) - data.offsets[:-1][owner]
    donor = donors[owner]
    share = place / np.maximum(lengths[owner] - 1, 1)
    row = data.offsets[:-1][donor] + np.rint(share * np.maximum(lengths[donor] - 1, 0)).astype(np.int64)
    known = lengths[donor] > 0
    borrowed = np.full(len(column), np.nan, dtype=column.dtype)
    borrowed[known] = column[row[known]]
    return borrowed


def _filled(data: SeriesSet, channel: int) -> npt.NDArray[np.float32]:
    """Return a channel (N,) with a value at every sample."""
    column = data.values[:, channel]
    known = column[~np.isnan(column)]
    if len(known) == 0:
        return column
    if data.channels[channel] in data.categories:
        codes, counts = np.unique(known, return_counts=True)
        usual = codes[counts.argmax()]
    else:
        usual = np.median(known)
    filled = np.full_like(column, usual)
    for low, high in zip(data.offsets[:-1].tolist(), data.offsets[1:].tolist(), strict=True):
        seen = np.flatnonzero(~np.isnan(column[low:high]))
        if len(seen):
            before = np.searchsorted(seen, np.arange(high - low), side="right") - 1
            filled[low:high] = column[low:high][seen[before.clip(min=0)]]
    return filled
