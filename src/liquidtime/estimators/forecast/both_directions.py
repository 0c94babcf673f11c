"""Series in both directions of time, their hidden values, and the combination of both sides of a gap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from liquidtime.data import SeriesSet
from liquidtime.data.encoding.future_times import last_times
from liquidtime.estimators.forecast.network import LAST, LINE, MEAN, SEASONAL

Values = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
REVERSED = "time reversed"
"""Name of the static feature for the direction of time."""
BOTH, NEAREST, BETWEEN, WHOLE = "both directions", "nearest value", "linear interpolation", "mean of the series"
NAMES = (BOTH, LAST, LINE, MEAN, SEASONAL)
"""Parts that fill gaps, in the order of the parts of a forecast: the nearest value for the last value, and so on."""
_HIDDEN = 0.1
"""Shares of the samples of each series that are hidden as one run, and of its values that are hidden one by one."""
_FEWEST, _SHORTEST = 10, 16
"""Smallest number of series to draw a fold from, and number of samples of the pieces that fewer ones are cut into."""


def both_directions(data: SeriesSet) -> SeriesSet:
    """Return 2 S series: those of the set, then each with its samples in reverse order on a clock that runs backwards.

    Args:
        data: S series; time stamps are left out, since no calendar runs backwards.

    Raises:
        ValueError: a static feature that has the name of the added one.

    """
    if REVERSED in data.static_names:
        raise ValueError(f"static features must have other names than {REVERSED!r}, which is used here")
    S, N = len(data), len(data.times)
    owner = np.repeat(np.arange(S), data.lengths)
    back = data.offsets[:-1][owner] + data.offsets[1:][owner] - 1 - np.arange(N)
    way = np.repeat([0.0, 1.0], S)[:, None].astype(data.static.dtype)
    return data.replace_unchecked(
        offsets=np.concatenate([data.offsets, N + data.offsets[1:]]),
        times=np.concatenate([data.times, last_times(data)[owner] - data.times[back]]),
        values=np.concatenate([data.values, data.values[back]]),
        ids=np.arange(2 * S),
        static=np.concatenate([np.concatenate([data.static, data.static]), way], axis=1),
        static_names=(*data.static_names, REVERSED),
        origins=None,
    )


def pieces_of(data: SeriesSet) -> tuple[SeriesSet, Rows]:
    """Return series to draw a fold from, and the owner of each; fewer than ten are cut into successive pieces."""
    some = int((data.lengths >= 2).sum())
    if some >= _FEWEST or some == 0:
        return data, np.arange(len(data))
    each = -(-_FEWEST // some)
    edges, owners = [0], []
    for series, (begin, end) in enumerate(zip(data.offsets[:-1].tolist(), data.offsets[1:].tolist(), strict=True)):
        count = max(1, min(each, (end - begin) // _SHORTEST))
        edges += np.linspace(begin, end, count + 1).astype(np.int64)[1:].tolist()
        owners += [series] * count
    owner = np.array(owners)
    origins = None if data.origins is None else data.origins[owner]
    cut = data.replace_unchecked(
        offsets=np.array(edges), ids=np.arange(len(owners)), static=data.static[owner], origins=origins
    )
    return cut, owner


def hidden(data: SeriesSet, places: list[int], seed: int) -> npt.NDArray[np.bool_]:
    """Return (N, C) the values to hide: a run of samples of each series, and others one by one.

    Args:
        data: the series.
        places: positions of the C channels.
        seed: of the draw.
    """
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(len(data)), data.lengths)
    position = np.arange(len(data.times)) - data.offsets[:-1][owner]
    long = np.maximum((_HIDDEN * data.lengths).astype(np.int64), 1) * (data.lengths >= 4)
    start = (1 + rng.random(len(data)) * np.maximum(data.lengths - long - 1, 0)).astype(np.int64)
    run = (position >= start[owner]) & (position < (start + long)[owner])
    alone = (rng.random((len(data.times), len(places))) < _HIDDEN) & (data.lengths >= 4)[owner][:, None]
    gone: npt.NDArray[np.bool_] = ~np.isnan(data.values[:, places]) & (run[:, None] | alone)
    return gone


@dataclass(frozen=True, eq=False)
class Side:
    """Forecasts for R times from one side, for C channels, in standard deviations.

    Args:
        said: (R, C) forecasts.
        size: (R, C) how large their errors are expected to be.
        last: (R, C) the values seen last on this side.
        since: (R, C) scaled times from there.
        known: (R, C) whether there is one.
    """

    said: Values
    size: Values
    last: Values
    since: Values
    known: npt.NDArray[np.bool_]


def filled(before: Side, after: Side, means: Values) -> tuple[Values, Values]:
    """Return (R, C, J) the predictions of the `NAMES`, and (R, C) the distance to the nearest value.

    Args:
        before: forecasts from the samples before the times.
        after: forecasts from the samples after them.
        means: (R, C) means of the series, NaN where there is no value.
    """
    one, two = before.known, after.known
    variance = before.size**2 + after.size**2
    trust = np.where(one == two, np.where(variance > 0, after.size**2 / np.maximum(variance, 1e-30), 0.5), one)
    both = trust * before.said + (1.0 - trust) * after.said
    ago, ahead = np.where(one, before.since, np.inf), np.where(two, after.since, np.inf)
    nearest = np.where(ago <= ahead, before.last, after.last)
    nearest = np.where(one | two, nearest, both)
    apart = np.where(one & two, before.since + after.since, 1.0)
    share = np.where(one & two & (apart > 0), before.since / np.maximum(apart, 1e-12), 0.0)
    between = np.where(one & two, before.last + share * (after.last - before.last), nearest)
    near = np.minimum(ago, ahead)
    near = np.where(np.isfinite(near), near, np.maximum(before.since, after.since))
    mean = np.where(np.isnan(means), nearest, means)
    return np.stack([both, nearest, between, mean, nearest], axis=-1), near
