"""The beginnings of series, as sets of their own: what features over time are computed from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from liquidtime.data import SeriesSet
from liquidtime.estimators.faces.base import Evolution

_SAMPLES = 1 << 20
"""Samples of all beginnings that are looked at together."""


def prefixes(
    data: SeriesSet, evolution: Evolution, points: int | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], list[SeriesSet]]:
    """Return the steps at which predictions are given, and the series up to each.

    Args:
        data: S series.
        evolution: of the networks, whose steps and times these are.
        points: steps per series at most, evenly spread; None for all.

    Returns:
        (P,) rows of the evolution, (S + 1,) the offsets of each series among them, and sets that together have P
        series: the samples up to each of the rows.
    """
    rows = [np.empty(0, dtype=np.int64)]
    for begin, end in zip(evolution.offsets[:-1], evolution.offsets[1:], strict=True):
        count = int(end - begin)
        if points is None or count <= points:
            rows.append(np.arange(begin, end))
        else:
            rows.append(begin + np.unique(np.linspace(count / points - 1, count - 1, points).round().astype(np.int64)))
    offsets = np.cumsum([0, *(len(own) for own in rows[1:])])
    chosen = np.concatenate(rows).astype(np.int64)
    owner = np.repeat(np.arange(len(data)), np.diff(offsets))
    counts = np.empty(len(chosen), dtype=np.int64)
    for series in range(len(data)):
        own = slice(offsets[series], offsets[series + 1])
        times = data.times[data.offsets[series] : data.offsets[series + 1]]
        counts[own] = np.searchsorted(times, evolution.times[chosen[own]], side="right")
    return chosen, offsets.astype(np.int64), list(_heads(data, owner, counts))


def _heads(data: SeriesSet, owner: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> Iterator[SeriesSet]:
    """Yield the first samples of series, a bounded number at once."""
    begin = 0
    while begin < len(owner):
        lengths = np.cumsum(data.lengths[owner[begin:]])
        size = max(1, int(np.searchsorted(lengths, _SAMPLES)))
        some = slice(begin, begin + size)
        yield data[owner[some]].head(counts[some])
        begin += size
