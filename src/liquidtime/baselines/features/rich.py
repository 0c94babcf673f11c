"""Many plain features of whole series, for trees: levels, trends, shapes, intervals, lags and periods."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from liquidtime.baselines.features import statistics
from liquidtime.baselines.features.lags import autocorrelations, correlation, lags_of
from liquidtime.baselines.features.periods import FrequencyGrid, frequency_grid, periods
from liquidtime.baselines.features.segments import Floats, Segments
from liquidtime.data import SeriesSet
from liquidtime.data.container.drawn_series import drawn
from liquidtime.data.encoding.alignment import aligned

SEVERAL, DENSE, LONG = 4, 24, 64
"""Typical numbers of values from which a channel gets trends, shapes and autocorrelations, and periods."""
MOST_SEVERAL, MOST_DENSE, MOST_LONG, MOST_PAIRED = 64, 32, 8, 6
"""Largest numbers of channels for trends, shapes and autocorrelations, periods, and correlations of pairs."""

Named = Iterator[tuple[str, Floats]]


@dataclass(frozen=True, eq=False)
class Plan:
    """The features of one channel: chosen from the training series and the same for all later series."""

    trends: bool
    shapes: bool
    lags: Floats
    grid: FrequencyGrid | None


class RichFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Features of each series as a table, NaN where undefined; which features depends on the training series.

    Every channel has counts, levels, first and last values and their times. Channels with several values per series
    also have quantiles, slopes, differences and intervals; dense ones also shapes, a profile over time and
    autocorrelations at true lags; long ones also their strongest periods. If there are few channels, they are compared
    in pairs. The more channels there are, the fewer features each has, so that the work is limited. Columns that are
    constant in training are left out. There is no randomness.

    Attributes:
        names_: the names of the K columns, "channel: statistic".
    """

    def fit(self, data: SeriesSet, y: Any = None) -> RichFeatures:
        """Choose the features.

        Args:
            data: S training series.
            y: ignored.
        """
        self.fit_transform(data)
        return self

    def fit_transform(self, data: SeriesSet, y: Any = None, **_: Any) -> Floats:
        """Choose the features and return (S, K) those of the training series.

        Args:
            data: S training series.
            y: ignored.
        """
        if len(data) == 0:
            raise ValueError("`data` must have at least one series; got none")
        self.channels_, self.static_names_ = data.channels, data.static_names
        self.categories_, self.time_unit_ = dict(data.categories), data.time_unit
        sample = drawn(data)
        samples = Segments.of_samples(sample)
        spans = samples.last_time - samples.first_time
        self.span_ = float(np.median(spans[spans > 0])) if (spans > 0).any() else 1.0
        self.plans_ = self._plans(sample)
        names = [name for name, _ in self._columns(data[:1])]
        table = self._table(data, names)
        known = np.isfinite(table)
        low = np.where(known, table, np.inf).min(axis=0, initial=np.inf)
        high = np.where(known, table, -np.inf).max(axis=0, initial=-np.inf)
        useful = (low < high) | (known.any(axis=0) & ~known.all(axis=0))
        self.names_ = tuple(name for name, use in zip(names, useful, strict=True) if use)
        return _finite(table[:, useful])

    def transform(self, data: SeriesSet) -> Floats:
        """Return (S, K) the features.

        Args:
            data: S series with the same channels as in training.
        """
        check_is_fitted(self, "names_")
        data = aligned(data, self.channels_, self.static_names_, self.categories_, self.time_unit_)
        return _finite(self._table(data, self.names_))

    def _table(self, data: SeriesSet, names: Collection[str]) -> Floats:
        """Return (S, K) the features with these names, which are in the order of `_columns`, block by block."""
        wanted, table = set(names), np.empty((len(data), len(names)))
        for rows, part in data.blocks():
            own = (column for name, column in self._columns(part) if name in wanted)
            for place, column in enumerate(own):
                table[rows, place] = column
        return table

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return (K,) the names of the columns."""
        check_is_fitted(self, "names_")
        return np.array(self.names_, dtype=object)

    def _plans(self, data: SeriesSet) -> list[Plan]:
        runs = [Segments.of_channel(data, place) for place in range(len(data.channels))]
        numeric = [name not in data.categories for name in data.channels]
        typical = [
            float(np.median(run.counts)) if number and len(run) else 0.0
            for run, number in zip(runs, numeric, strict=True)
        ]
        several, dense, long = (sum(count >= least for count in typical) for least in (SEVERAL, DENSE, LONG))
        plans = []
        for run, count in zip(runs, typical, strict=True):
            shaped = count >= DENSE and dense <= MOST_DENSE
            periodic = count >= LONG and long <= MOST_LONG
            plans.append(
                Plan(
                    count >= SEVERAL and several <= MOST_SEVERAL,
                    shaped,
                    lags_of(run) if shaped else np.empty(0),
                    frequency_grid(run, long) if periodic else None,
                )
            )
        return plans

    def _columns(self, data: SeriesSet) -> Named:
        """Yield every feature by name, (S,) each, including those that are constant."""
        S = len(data)
        samples = Segments.of_samples(data)
        begin, end = (samples.scattered(times, S) for times in (samples.first_time, samples.last_time))
        yield "number of samples", data.lengths.astype(np.float64)
        yield "time of first sample", begin
        yield "time of last sample", end
        yield "span", end - begin
        for name, values in statistics.intervals(samples).items():
            yield name, samples.scattered(values, S)
        observed = np.zeros(S)
        for place, channel in enumerate(data.channels):
            runs = Segments.of_channel(data, place)
            observed[runs.owner] += 1
            for name, values in self._channel(data, place, runs, begin[runs.owner], end[runs.owner]).items():
                yield f"{channel}: {name}", runs.scattered(values, S, 0.0 if name == "count" else np.nan)
            share = runs.scattered(runs.counts, S, 0.0) / np.maximum(data.lengths, 1)
            yield f"{channel}: share of samples", share
        yield "number of channels observed", observed
        numbers = [place for place, name in enumerate(data.channels) if name not in data.categories]
        if len(numbers) <= MOST_PAIRED:
            for first, second in combinations(numbers, 2):
                name = f"correlation of {data.channels[first]} and {data.channels[second]}"
                yield name, correlation(data, first, second)
        for place, name in enumerate(data.static_names):
            yield name, data.static[:, place].astype(np.float64)

    def _channel(
        self, data: SeriesSet, index: int, runs: Segments, begin: Floats, end: Floats
    ) -> statistics.Statistics:
        channel, plan = data.channels[index], self.plans_[index]
        if channel in data.categories:
            return statistics.categories(runs, data.categories[channel], end)
        numbers = statistics.levels(runs, end, self.span_)
        if plan.trends:
            numbers |= statistics.trends(runs, begin, end, self.span_)
        if plan.shapes:
            numbers |= statistics.shapes(runs) | autocorrelations(runs, plan.lags)
        if plan.grid is not None:
            numbers |= periods(runs, plan.grid)
        return numbers


def _finite(table: Floats) -> Floats:
    """Return the table with NaN for infinite numbers and those beyond 32 bits, which the trees do not accept."""
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(table) < np.finfo(np.float32).max, table, np.nan)
