"""Centred features of whole series for a read-out, without NaN, in addition to its running statistics."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from liquidtime.baselines.features import RichFeatures
from liquidtime.data import SeriesSet
from liquidtime.data.container import neighbours
from liquidtime.data.encoding.bins import bin_of

RICH = "rich"
SUMMARIES = (RICH,)
"""Features of whole series for a read-out: `RichFeatures`."""
LEAST_LENGTH = 24
"""Number of samples in half of the series from which a search tries a summary, if half of the values are observed."""
REFUSAL = (
    "this model reads features of whole series (`summary_`) and takes no single samples: predict the series so far "
    "again, or fit with summary=None."
)
_SAMPLES = 1 << 20
"""Largest number of samples of all prefixes that are processed together."""
_LARGEST = np.finfo(np.float32).max / 16
"""Differences of such numbers are still finite."""


class Summary:
    """Rich features of each series minus their training medians; 0 if undefined.

    Args:
        features: fitted.
        centre: (R,) the medians.
    """

    def __init__(self, features: RichFeatures, centre: npt.NDArray[np.float64]) -> None:
        self.features, self.centre = features, centre

    @staticmethod
    def fitted(data: SeriesSet) -> tuple[Summary, npt.NDArray[np.float32]]:
        """Return the features that S training series call for, and (S, R) theirs."""
        features = RichFeatures()
        table = features.fit_transform(data)
        known = np.isfinite(table)
        centre = np.zeros(table.shape[1])
        some = known.any(axis=0)
        centre[some] = np.nanmedian(table[:, some], axis=0)
        summary = Summary(features, centre)
        return summary, summary._centred(table)

    @property
    def size(self) -> int:
        """R."""
        return len(self.centre)

    def at_ends(self, data: SeriesSet) -> npt.NDArray[np.float32]:
        """Return (S, R) the features of whole series."""
        return self._centred(self.features.transform(data))

    def at_steps(self, data: SeriesSet, width: float | None) -> npt.NDArray[np.float32]:
        """Return (N, R) the features of each series up to each of its steps; the cost grows with their squares.

        Args:
            data: S series.
            width: of the bins that steps are; None where every sample is one.
        """
        keys = data.times if width is None else bin_of(data.times, width)
        owner = np.repeat(np.arange(len(data)), data.lengths)
        last = np.ones(len(keys), dtype=bool)  # of its step
        last[:-1] = (keys[1:] != keys[:-1]) | (owner[1:] != owner[:-1])
        counts = (np.arange(len(keys)) + 1 - data.offsets[owner])[last]
        owner = owner[last]
        table = np.empty((len(owner), self.size), dtype=np.float32)
        ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        for some in neighbours(ends, _SAMPLES):
            table[some] = self.at_ends(data[owner[some]].head(counts[some]))
        return table

    def _centred(self, table: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
        apart = np.nan_to_num(table - self.centre, nan=0.0)
        return np.clip(apart, -_LARGEST, _LARGEST).astype(np.float32)
