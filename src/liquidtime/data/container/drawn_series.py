"""A random sample of series for statistics, for sets that are too large to use all of their series."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from liquidtime.data.container.series_set import SeriesSet

MOST_SERIES = 20_000
MOST_VALUES = 2**27
"""Largest number of values to use, observed or not: half a gigabyte."""
_SEED = 20_000


def drawn_rows(data: SeriesSet, most_values: int | None = None) -> npt.NDArray[np.int64]:
    """Return the sorted positions of the series to measure: all, or a random sample of them.

    The sample has at most 20,000 series with at most 2²⁷ values together, but at least one series. The same set always
    gives the same positions.

    Args:
        data: S series.
        most_values: largest number of values; None for 2²⁷.
    """
    S, C, most = len(data), max(1, len(data.channels)), most_values or MOST_VALUES
    if S <= MOST_SERIES and int(data.offsets[-1]) * C <= most:
        return np.arange(S)
    rows = np.random.default_rng(_SEED).permutation(S)[:MOST_SERIES]
    count = int(np.searchsorted(np.cumsum(data.lengths[rows]) * C, most, side="right"))
    return np.sort(rows[: max(1, count)])


def drawn(data: SeriesSet) -> SeriesSet:
    """Return the set in memory, or, if it is large, the series of `drawn_rows`."""
    rows = drawn_rows(data)
    return (data if len(rows) == len(data) else data[rows]).load()


def drawn_blocks(data: SeriesSet) -> Iterator[SeriesSet]:
    """Yield the series of `drawn` in blocks."""
    rows = drawn_rows(data)
    return (part for _, part in (data if len(rows) == len(data) else data[rows]).blocks())
