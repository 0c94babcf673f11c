"""The observed values of every channel without the gaps, on which statistics are measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from liquidtime.data.container import SeriesSet
from liquidtime.data.container.drawn_series import drawn_blocks
from liquidtime.data.encoding.bins import bin_series


@dataclass(frozen=True, eq=False)
class Observed:
    """The observed values of a set, or of a random sample of its series, gathered block by block.

    Args:
        columns: for each channel, its observed values.
        intervals: intervals between neighbouring steps of a series.
        least: (C,) smallest value of each channel before samples are combined in bins; NaN if there is none.
        largest: (C,) largest value in the same sense.
    """

    columns: list[npt.NDArray[np.float32]]
    intervals: npt.NDArray[np.float64]
    least: npt.NDArray[np.float32]
    largest: npt.NDArray[np.float32]

    @staticmethod
    def of(data: SeriesSet, bin_width: float | None) -> Observed:
        """Gather the values of a set.

        Args:
            data: the series.
            bin_width: width of the bins in which samples are combined first; None for no bins.
        """
        C = len(data.channels)
        columns: list[list[npt.NDArray[np.float32]]] = [[np.empty(0, dtype=np.float32)] for _ in range(C)]
        intervals = [np.empty(0)]
        least = np.full(C, np.nan, dtype=np.float32)
        largest = least.copy()
        for part in drawn_blocks(data):
            least = np.fmin(least, np.fmin.reduce(part.values, axis=0, initial=np.nan))
            largest = np.fmax(largest, np.fmax.reduce(part.values, axis=0, initial=np.nan))
            steps = bin_series(part, bin_width) if bin_width else part
            inside = np.ones(len(steps.times), dtype=bool)
            inside[steps.offsets[:-1][steps.lengths > 0]] = False
            intervals.append(np.diff(steps.times, prepend=0.0)[inside])
            seen = ~np.isnan(steps.values)
            for c, column in enumerate(columns):
                column.append(steps.values[seen[:, c], c])
        return Observed([np.concatenate(column) for column in columns], np.concatenate(intervals), least, largest)
