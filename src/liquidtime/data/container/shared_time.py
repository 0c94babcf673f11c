"""Detect whether series share their time: by a common clock, or by values that move together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from liquidtime.data.container.drawn_series import MOST_VALUES
from liquidtime.times import SECONDS

if TYPE_CHECKING:
    from liquidtime.data.container.series_set import SeriesSet

Values = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]
_BINS, _WIDTH, _LEAST_BINS = 48, 512, 4
"""Largest number of time bins, of numbers that describe a series, and smallest number of bins of a comparison."""
_LEVELS = np.arange(0.3, 0.96, 0.05)
"""Correlations from which series may count as moving together."""
_FALSE = 0.005
"""Largest share of pairs that may be due to chance."""
_PROBE, _MOST, _BLOCK = 2_000, 20_000, 1_000
"""Series that show whether there are such pairs, largest number of series that are all compared, rows of a block."""
_FEWEST_GROUPS, _LARGEST, _IN_GROUPS = 10, 0.2, 0.5
"""Smallest number of groups, largest share of series in one group, smallest share of series in groups of several."""


def common_clock(data: SeriesSet) -> tuple[Values, Values] | None:
    """Return (S,) start and end of the series on a common clock, in seconds or the unit of the set; None without one.

    Time stamps are a common clock. So are numbers if the series start at times that are further apart than the series
    are long, for example hours since one day, not since the start of each series.

    Args:
        data: S series; a series without samples starts and ends at time 0.
    """
    some = data.lengths > 0
    if not some.any():
        return None
    first, last = data.ends()
    if data.origins is not None and data.origins.dtype.kind == "M" and data.time_unit is not None:
        begin = data.origins.astype("datetime64[ns]").view(np.int64) * 1e-9
        second = SECONDS[data.time_unit]
        return begin + first * second, begin + last * second
    if data.origins is not None:
        begin = data.origins.astype(np.float64)
        first, last = first + begin, last + begin
    early, late = np.quantile(first[some], [0.1, 0.9]).tolist()
    return (first, last) if late - early > np.median((last - first)[some]) > 0 else None


def moving_together(data: SeriesSet) -> Rows | None:
    """Return (S,) the group of each series, if groups of series move together at equal times; None if none do.

    Stations in the same weather, and several parts of the record of one machine, rise and fall at the same times.
    Series are compared by the means of their channels in time bins, after subtracting the mean of all series in each
    bin and the level and trend of each series. Pairs count as moving together from a correlation that is rarely reached
    by chance, which is measured between series and others reversed in time: these have the same autocorrelation and
    spread, but nothing in common. Groups are chains of such pairs. If few series have a partner, or many are in one
    group, as with shapes that recur, they say nothing about shared time, and the result is None.

    Args:
        data: S series; more than 20,000 series or 2²⁷ values are not compared.
    """
    S = len(data)
    if S < _FEWEST_GROUPS or S > _MOST or not 0 < int(data.offsets[-1]) * len(data.channels) <= MOST_VALUES:
        return None
    data = data.load()
    moves, seen = _moves(data)
    if moves.shape[2] < _LEAST_BINS:
        return None
    probe = np.arange(S) if S <= _PROBE else np.sort(np.random.default_rng(0).choice(S, _PROBE, replace=False))
    level, least = _level(moves[probe], seen[probe])
    if level is None:
        return None
    pairs = []
    for begin in range(0, S, _BLOCK):
        block = slice(begin, begin + _BLOCK)
        alike, count = _correlations(moves[block], seen[block], moves, seen)
        rows, others = np.nonzero((alike > level) & (count >= least))
        pairs.append(np.stack([rows + begin, others]))
    codes = _chains(S, *np.concatenate(pairs, axis=1))
    sizes = np.bincount(codes)
    in_groups = sizes[sizes > 1].sum() / S
    if len(sizes) < _FEWEST_GROUPS or sizes.max() > _LARGEST * S or in_groups < _IN_GROUPS:
        return None
    return codes


def _moves(data: SeriesSet) -> tuple[Numbers, Numbers]:
    """Return (S, K, B) the movements in B bins of the K channels observed most often, and 1 where they are known."""
    S, some = len(data), data.lengths > 0
    ends = data.times[data.offsets[1:][some] - 1]
    begin = float(data.times[data.offsets[:-1][some]].min())
    end = float(np.quantile(ends, 0.9))
    B = int(min(_BINS, np.median(data.lengths[some]) / 2))
    counts = (~np.isnan(data.values)).sum(axis=0)
    channels = np.argsort(-counts, kind="stable")[: max(1, _WIDTH // max(B, 1))]
    if B < _LEAST_BINS or not end > begin:
        return np.zeros((S, 1, 0), dtype=np.float32), np.zeros((S, 1, 0), dtype=np.float32)
    owner = np.repeat(np.arange(S), data.lengths)
    place = np.floor((data.times - begin) / (end - begin) * B)
    within, cell = place < B, (owner * B + np.minimum(place, B - 1)).astype(np.int64)
    moves, seen = np.zeros((S, len(channels), B)), np.zeros((S, len(channels), B))
    clock = np.linspace(-1.0, 1.0, B)
    for k, channel in enumerate(channels):
        values = data.values[:, channel].astype(np.float64)
        rows = within & ~np.isnan(values)
        if not rows.any():
            continue
        low, high = np.quantile(values[rows], [0.01, 0.99])
        count = np.bincount(cell[rows], minlength=S * B).reshape(S, B)
        total = np.bincount(cell[rows], weights=np.clip(values[rows], low, high), minlength=S * B).reshape(S, B)
        known = count > 0
        means = total / np.maximum(count, 1)
        means = np.where(known, means - (means * known).sum(axis=0) / np.maximum(known.sum(axis=0), 1), 0.0)
        number = np.maximum(known.sum(axis=1, keepdims=True), 1)
        means = np.where(known, means - means.sum(axis=1, keepdims=True) / number, 0.0)
        centred = np.where(known, clock - (clock * known).sum(axis=1, keepdims=True) / number, 0.0)
        trend = (means * centred).sum(axis=1, keepdims=True) / np.maximum((centred**2).sum(axis=1, keepdims=True), 1e-9)
        means -= trend * centred
        spread = np.sqrt((means**2).sum() / max(known.sum(), 1))
        moves[:, k], seen[:, k] = means / max(float(spread), 1e-12), known
    return moves.astype(np.float32), seen.astype(np.float32)


def _level(moves: Numbers, seen: Numbers) -> tuple[float | None, float]:
    """Return the correlation from which pairs count, or None, and the number of bins in which both must be known."""
    pairs = np.triu_indices(len(moves), 1)
    alike, count = (part[pairs] for part in _correlations(moves, seen, moves, seen))
    chance, number = (part[pairs] for part in _correlations(moves, seen, moves[:, :, ::-1], seen[:, :, ::-1]))
    least = max(8.0, 0.25 * float(np.median(count)))
    alike, chance = np.sort(alike[count >= least]), np.sort(chance[number >= least])
    above, by_chance = (len(part) - np.searchsorted(part, _LEVELS, side="right") for part in (alike, chance))
    clear = np.flatnonzero((above > 0) & (by_chance <= _FALSE * above))
    return (float(_LEVELS[clear[0]]) if len(clear) else None), least


def _correlations(a: Numbers, seen_a: Numbers, b: Numbers, seen_b: Numbers) -> tuple[Numbers, Numbers]:
    """Return (m, n) the correlations of series over the bins in which both are known, and the number of these bins."""
    a, seen_a, b, seen_b = (part.reshape(len(part), -1) for part in (a, seen_a, b, seen_b))
    sizes = (a**2 @ seen_b.T) * (seen_a @ (b**2).T)
    alike: Numbers = (a @ b.T / np.sqrt(np.maximum(sizes, 1e-9))).astype(np.float32)
    return alike, seen_a @ seen_b.T


def _chains(S: int, one: Rows, other: Rows) -> Rows:
    """Return (S,) the numbers of the groups that pairs of series form."""
    codes = np.arange(S)
    while True:
        before = codes.copy()
        np.minimum.at(codes, one, codes[other])
        np.minimum.at(codes, other, codes[one])
        codes = codes[codes]
        if (codes == before).all():
            return np.unique(codes, return_inverse=True)[1].astype(np.int64)
