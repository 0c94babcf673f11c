"""Running statistics of each channel up to every sample, for trees that predict at every sample."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from liquidtime.data import SeriesSet
from liquidtime.data.encoding.alignment import aligned
from liquidtime.data.encoding.history import running
from liquidtime.data.encoding.running_sum import running_sum

LAST = 5
"""Number of values of a channel that recent means and changes cover."""
NUMERIC = ("mean", "least", "largest", "deviation", "first", "count", "last", "since", "step", "recent", "change")
OF_CATEGORIES = ("count", "last", "since")
_OF_SAMPLES = ("time since the first sample", "samples", "interval", "observed channels")

Table = npt.NDArray[np.float32]


class RunningFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Features of every sample of every series, each computed only from the samples up to it; NaN where undefined.

    Every channel has its running mean, extremes, deviation, first value and count, its last value and the time since
    then, the difference of its last two values, the mean of its last five and the change over them. There are also the
    time since the first sample, the number of samples, the interval, the channels observed in this sample, and the
    static features. Nothing but the names of channels is learned.

    Attributes:
        names_: the names of the p columns.
    """

    def fit(self, data: SeriesSet, y: Any = None) -> RunningFeatures:
        """Store the channels.

        Args:
            data: the training series.
            y: ignored.
        """
        self.channels_, self.static_names_ = data.channels, data.static_names
        self.categories_, self.time_unit_ = dict(data.categories), data.time_unit
        self.take_names()
        return self

    def take_names(self) -> None:
        """Set the names of the columns from those of channels and static features."""
        each = {name: OF_CATEGORIES if name in self.categories_ else NUMERIC for name in self.channels_}
        self.names_ = (
            *_OF_SAMPLES,
            *(f"{channel}: {name}" for channel, names in each.items() for name in names),
            *self.static_names_,
        )

    def transform(self, data: SeriesSet) -> Table:
        """Return (N, p) the features of every sample.

        Args:
            data: series with the same channels as in training.
        """
        check_is_fitted(self, "names_")
        data = aligned(data, self.channels_, self.static_names_, self.categories_, self.time_unit_)
        table = np.empty((int(data.offsets[-1]), len(self.names_)), dtype=np.float32)
        for rows, part in data.blocks():
            samples = slice(data.offsets[rows.start], data.offsets[rows.stop])
            for place, column in enumerate(self._columns(part)):
                table[samples, place] = column
        return table

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return (p,) the names of the columns."""
        check_is_fitted(self, "names_")
        return np.array(self.names_, dtype=object)

    def _columns(self, data: SeriesSet) -> Iterator[npt.NDArray[Any]]:
        N = len(data.times)
        owner = np.repeat(np.arange(len(data)), data.lengths)
        first = data.offsets[:-1][owner]
        rows = np.arange(N)
        yield data.times - data.times[first] if N else data.times
        yield rows - first + 1
        yield np.where(rows > first, np.diff(data.times, prepend=data.times[:1]), np.nan)
        yield (~np.isnan(data.values)).sum(axis=1)
        for place, name in enumerate(self.channels_):
            names = OF_CATEGORIES if name in self.categories_ else NUMERIC
            yield from self._of_channel(data, place, first, names)
        for place in range(len(self.static_names_)):
            yield data.static[owner, place]

    def _of_channel(
        self, data: SeriesSet, index: int, first: npt.NDArray[np.int64], names: tuple[str, ...]
    ) -> Iterator[npt.NDArray[Any]]:
        """Yield (N,) the features of one channel."""
        observed = ~np.isnan(data.values[:, index])
        seen = np.flatnonzero(observed)
        if not len(seen):
            for name in names:
                yield np.full(len(data.times), 0.0 if name == "count" else np.nan)
            return
        z = data.values[seen, index].astype(np.float64)
        begin = np.searchsorted(seen, first[seen])
        position = np.arange(len(z))
        before, back = np.maximum(position - 1, begin), np.maximum(position - LAST + 1, begin)
        apart = z - z[begin]
        total = running_sum(apart, np.flatnonzero(begin == position))
        each = dict(zip(NUMERIC, running(z, begin).T, strict=False))
        each["count"] = position - begin + 1
        each["last"] = z
        each["step"] = np.where(position > begin, z - z[before], np.nan)
        each["recent"] = z[begin] + (total - total[back] + apart[back]) / (position - back + 1)
        each["change"] = np.where(position > begin, z - z[back], np.nan)
        newest = np.cumsum(observed) - 1  # the newest value at each sample, possibly of another series
        known = (newest >= 0) & (seen[newest] >= first)
        for name in names:
            if name == "since":
                yield np.where(known, data.times - data.times[seen[newest]], np.nan)
            else:
                yield np.where(known, each[name][newest], 0.0 if name == "count" else np.nan)
