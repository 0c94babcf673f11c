"""Series of which one thing comes from another series: a channel, when it was observed, a feature, or the timing.

Everything else stays as it is, so that what the model loses is what that one thing told it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data import SeriesSet

Rows = npt.NDArray[np.int64]


def with_channel(data: SeriesSet, channel: int, donors: Rows) -> SeriesSet:
    """Return series whose channel is that of their donors: its values, and which samples have one.

    A sample takes what the donor's sample at the same share of its length has.

    Args:
        data: S series.
        channel: position of the channel.
        donors: (S,) the series that each takes it from.
    """
    values = data.values.copy()
    values[:, channel] = _borrowed(data, data.values[:, channel], donors)
    return data.replace_unchecked(values=values)


def with_presence(data: SeriesSet, channel: int, donors: Rows) -> SeriesSet:
    """Return series whose channel is observed when that of their donors is; its values stay their own.

    Where a value is needed at a sample that had none, it is the one before it in the same series, or else the one after
    it; a series that has none takes the usual one of all series.

    Args:
        data: S series.
        channel: position of the channel.
        donors: (S,) the series that each takes it from.
    """
    present = ~np.isnan(_borrowed(data, data.values[:, channel], donors))
    values = data.values.copy()
    values[:, channel] = np.where(present, _filled(data, channel), np.nan)
    return data.replace_unchecked(values=values)


def with_static(data: SeriesSet, feature: int, donors: Rows) -> SeriesSet:
    """Return series whose static feature is that of their donors.

    Args:
        data: S series.
        feature: position of the feature.
        donors: (S,) the series that each takes it from.
    """
    static = data.static.copy()
    static[:, feature] = data.static[donors, feature]
    return data.replace_unchecked(static=static)


def with_timing(data: SeriesSet, donors: Rows, *, keep_ends: bool = False) -> SeriesSet:
    """Return series whose samples come when those of their donors do; values and their order stay.

    Sample k comes where the donor is at the same share of its samples. A donor of fewer than two samples changes
    nothing.

    Args:
        data: S series.
        donors: (S,) the series that each takes it from.
        keep_ends: stretch the donor's times to the series' own first and last one.
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
        if (np.diff(moved) > 0).all():  # a donor's finest intervals can vanish beside large times
            times[own] = moved
    return data.replace_unchecked(times=times)


def is_always_alike(data: SeriesSet, channel: int) -> bool:
    """Return whether a channel is observed at all samples or at none, so that its presence tells nothing."""
    observed = ~np.isnan(data.values[:, channel])
    return bool(observed.all() or not observed.any())


def _borrowed(data: SeriesSet, column: npt.NDArray[Any], donors: Rows) -> npt.NDArray[Any]:
    """Return for every sample what a column has at the sample of the donor that corresponds to it."""
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
