"""Random convolutions of dense series, pooled into features: which shapes occur, how often, where and for how long.

After MiniRocket (Dempster, Schmidt and Webb 2021) and MultiRocket (Tan, Dempster, Bergmeir and Webb 2022), implemented
independently for series of unequal lengths: kernels of nine weights, six of -1 and three of 2, at dilations 1, 2, 4, ….
The features are the fraction of points whose response is above a threshold, the mean of these responses, their mean
position and the longest stretch. Thresholds are quantiles of responses in training series. Kernels are applied to the
series themselves, their first differences, their sums, and the series in their own scale. Kernels also compete
(`contests`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from liquidtime.baselines.features import contests
from liquidtime.baselines.features.contests import Contest
from liquidtime.baselines.features.resampling import RegularGrid, Resampled
from liquidtime.baselines.features.responses import TAPS, TRIPLES, VIEWS, FlatSeries, Singles, Triple
from liquidtime.data import SeriesSet
from liquidtime.data.container.drawn_series import drawn
from liquidtime.data.encoding.alignment import aligned

_BLOCK = 2**18
"""Number of samples that are processed together."""
_AT_ONCE = 2**15
"""Smallest number of responses that are pooled together."""
POOLS = ("share", "mean", "position", "stretch")
WORK = 1e9
"""Approximate limit on grid points times thresholds; each costs one or two nanoseconds per pooled feature."""
RIDGE_WORK, FEWEST = 6e9, 300
"""Approximate limit on thresholds times the squared number of series, the cost of a ridge regression on them; and the
number of thresholds that every data set may have."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """One kernel: the taps with weight 2, their distance, the channels that are summed, and the thresholds."""

    view: str
    dilation: int
    triple: Triple
    channels: tuple[int, ...]
    thresholds: Singles


class ConvolutionFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Pooled responses of random convolutions at true times: dense channels are first put onto a regular grid.

    If no channel is dense there are no features, (S, 0).

    Args:
        thresholds: largest number of kernels times thresholds; each gives four features. Large data sets use fewer, so
            that the work is limited. Contests are at most a seventh of it.
        random_state: random seed of the choice of channels and of the series from which thresholds are taken.

    Attributes:
        names_: the names of the K columns.
    """

    def __init__(self, thresholds: int = 6000, random_state: int = 0) -> None:
        self.thresholds = thresholds
        self.random_state = random_state

    def fit(self, data: SeriesSet, y: Any = None) -> ConvolutionFeatures:
        """Choose the grid, the kernels and their thresholds.

        Args:
            data: S training series.
            y: ignored.
        """
        if self.thresholds < 1:
            raise ValueError(f"`thresholds` must be at least 1; got {self.thresholds!r}")
        self.channels_, self.static_names_ = data.channels, data.static_names
        self.categories_, self.time_unit_ = dict(data.categories), data.time_unit
        sample = drawn(data)
        self.grid_ = RegularGrid.fit(sample)
        self.kernels_: list[Kernel] = []
        self.contests_: list[Contest] = []
        if self.grid_ is not None:
            series = self.grid_.resample(sample)
            self.kernels_ = self._kernels(series)
            self.contests_ = contests.drawn(
                len(series.values), _dilations(series), self._budget(series), self.random_state
            )
        self.names_ = names_of(self.kernels_, self.contests_)
        return self

    def transform(self, data: SeriesSet) -> Singles:
        """Return (S, K) the features, finite.

        Args:
            data: S series with the same channels as in training.
        """
        check_is_fitted(self, "names_")
        data = aligned(data, self.channels_, self.static_names_, self.categories_, self.time_unit_)
        table = np.zeros((len(data), len(self.names_)), dtype=np.float32)
        if self.grid_ is not None:
            for rows, part in data.blocks(_BLOCK):
                self._fill(table[rows], self.grid_.resample(part))
        return table

    def _fill(self, table: Singles, series: Resampled) -> None:
        """Write the features of some series into their rows of the table."""
        column = 0
        for flat, responses in _over_thresholds(series, self.kernels_):
            end = column + len(responses) * len(POOLS)
            table[:, column:end] = _pools(flat, responses).reshape(len(table), end - column)
            column = end
        table[:, column:] = contests.outcomes(series, self.contests_)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return (K,) the names of the columns."""
        check_is_fitted(self, "names_")
        return np.array(self.names_, dtype=object)

    def _budget(self, series: Resampled) -> int:
        """Return the largest number of thresholds that the limits on the work allow."""
        ridge = max(FEWEST, RIDGE_WORK / len(series.counts) ** 2)
        return int(min(self.thresholds, max(100.0, WORK / series.values.shape[1]), ridge))

    def _kernels(self, series: Resampled) -> list[Kernel]:
        random = np.random.default_rng(self.random_state)
        C, budget = len(series.values), self._budget(series)
        combos = [(view, dilation, triple) for view in VIEWS for dilation in _dilations(series) for triple in TRIPLES]
        each = max(1, budget // len(combos))
        if len(combos) > budget:
            combos = [combos[place] for place in sorted(random.choice(len(combos), budget, replace=False))]
        sample = _subset(series, np.sort(random.permutation(len(series.counts))[:64]))
        levels = np.mod((np.arange(len(combos) * each) + 1) * (np.sqrt(5) + 1) / 2, 1.0).reshape(-1, each)
        kernels: list[Kernel] = []
        flat: FlatSeries | None = None
        for (view, dilation, triple), shares in zip(combos, levels, strict=True):
            size = int(2 ** random.uniform(0, np.log2(min(C, TAPS) + 1)))
            channels = tuple(int(c) for c in np.sort(random.choice(C, min(size, C), replace=False)))
            if flat is None or not flat.serves(view, dilation):
                flat = FlatSeries(sample, view, dilation)
            response = flat.response(triple, channels)
            chosen = int(random.integers(len(sample.counts)))
            own = response[flat.begin[chosen] : flat.begin[chosen] + sample.counts[chosen]]
            thresholds = np.quantile(own, shares).astype(np.float32)
            kernels.append(Kernel(view, dilation, triple, channels, thresholds))
        return kernels


def names_of(kernels: Sequence[Kernel], groups: Sequence[Contest]) -> tuple[str, ...]:
    """Return the names of the columns of kernels, alone and in contests."""
    pools = (
        f"{pool} of kernel {number} above threshold {place + 1}"
        for number, kernel in enumerate(kernels)
        for place in range(len(kernel.thresholds))
        for pool in POOLS
    )
    return (*pools, *contests.names_of(groups))


def _dilations(series: Resampled) -> list[int]:
    """Return 1, 2, 4, … as long as a kernel fits into a series of median length."""
    length = float(np.median(series.counts))
    return [2**power for power in range(1 + int(np.log2(max(1.0, (length - 1) / (TAPS - 1)))))]


def _over_thresholds(series: Resampled, kernels: Sequence[Kernel]) -> Iterator[tuple[FlatSeries, Singles]]:
    """Yield (n, size) responses minus their thresholds, kernel by kernel; for short series, many kernels at once."""
    flat: FlatSeries | None = None
    rows: list[Singles] = []
    for kernel in kernels:
        if flat is None or not flat.serves(kernel.view, kernel.dilation):
            if flat is not None and rows:
                yield flat, np.stack(rows)
            flat, rows = FlatSeries(series, kernel.view, kernel.dilation), []
        response = flat.response(kernel.triple, kernel.channels)
        for threshold in kernel.thresholds:
            rows.append(response - threshold)
            if len(rows) * flat.size >= _AT_ONCE:
                yield flat, rows[0][None] if len(rows) == 1 else np.stack(rows)
                rows = []
    if flat is not None and rows:
        yield flat, np.stack(rows)


def _pools(flat: FlatSeries, responses: Singles) -> Singles:
    """Return (S, n, 4) the `POOLS` of responses (n, size) above 0."""
    above = (responses > 0) & flat.inside
    count = flat.sums(above.astype(np.float32))
    some = np.maximum(count, 1.0)
    mean = flat.sums(np.where(above, responses, np.float32(0.0))) / some
    position = np.where(count > 0, flat.sums(np.where(above, flat.position, np.float32(0.0))) / some, -1.0)
    barrier = np.maximum.accumulate(np.where(above, np.int32(-1), flat.number), axis=-1)
    stretch = flat.largest(flat.number - barrier)
    pools = np.stack([count / flat.counts, mean, position, np.log1p(stretch)], axis=-1).astype(np.float32)
    return pools.swapaxes(0, 1)


def _subset(series: Resampled, rows: npt.NDArray[np.int64]) -> Resampled:
    chosen = np.repeat(np.isin(np.arange(len(series.counts)), rows), series.counts)
    return Resampled(series.counts[rows], series.values[:, chosen])
