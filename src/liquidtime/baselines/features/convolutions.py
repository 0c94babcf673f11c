"""Random convolutions of dense series, pooled into features: what shapes occur, how often, where and how long.

After MiniRocket (Dempster, Schmidt and Webb 2021) and MultiRocket (Tan, Dempster, Bergmeir and Webb 2022), written
anew for series of unequal lengths: kernels of nine weights, six of -1 and three of 2, at dilations 1, 2, 4, …; of the
response above a threshold the share, the mean, the mean position and the longest stretch are features. Thresholds are
quantiles of responses in training series. The series themselves and their first differences are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from liquidtime.baselines.features.resampling import RegularGrid, Resampled
from liquidtime.data import SeriesSet
from liquidtime.data.encoding.alignment import aligned
from liquidtime.data.encoding.running_sum import running_sum

Singles = npt.NDArray[np.float32]
TAPS, HALF = 9, 4
TRIPLES = tuple(combinations(range(TAPS), 3))
VIEWS = ("values", "differences", "sums", "own scale")
POOLS = ("share", "mean", "position", "stretch")
WORK = 1e9
"""Grid points times thresholds for which features are computed, about: one or two nanoseconds each and pool."""
RIDGE_WORK, FEWEST = 6e9, 300
"""Thresholds times the square of the number of series, about: what a ridge regression on them costs; and the number
of thresholds that any data set may have."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """One kernel: which taps weigh 2, how far apart they are, which channels are summed, and its thresholds."""

    view: str
    dilation: int
    triple: tuple[int, int, int]
    channels: tuple[int, ...]
    thresholds: Singles


class ConvolutionFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Pooled responses of random convolutions, at true times: dense channels are put onto a regular grid first.

    Where no channel is dense there is no feature, (S, 0).

    Args:
        thresholds: number of kernels times their thresholds, at most; each has four features. Large data sets take
            fewer, so that the work has a bound.
        random_state: seed of the channels and of the series that thresholds come from.

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
            y: not read.
        """
        if self.thresholds < 1:
            raise ValueError(f"`thresholds` must be at least 1; got {self.thresholds!r}")
        self.channels_, self.static_names_ = data.channels, data.static_names
        self.categories_, self.time_unit_ = dict(data.categories), data.time_unit
        self.grid_ = RegularGrid.fit(data)
        self.kernels_: list[Kernel] = [] if self.grid_ is None else self._kernels(self.grid_.resample(data))
        self.names_ = names_of(self.kernels_)
        return self

    def transform(self, data: SeriesSet) -> Singles:
        """Return (S, K) the features, finite.

        Args:
            data: S series with the channels of training.
        """
        check_is_fitted(self, "names_")
        data = aligned(data, self.channels_, self.static_names_, self.categories_, self.time_unit_)
        table = np.zeros((len(data), len(self.names_)), dtype=np.float32)
        if self.grid_ is None or len(data) == 0:
            return table
        column = 0
        series = self.grid_.resample(data)
        flat: _Flat | None = None
        for kernel in self.kernels_:
            if flat is None or not flat.serves(kernel):
                flat = _Flat(series, kernel.view, kernel.dilation)
            response = flat.response(kernel)
            for threshold in kernel.thresholds:
                table[:, column : column + len(POOLS)] = flat.pools(response - threshold)
                column += len(POOLS)
        return table

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return (K,) the names of the columns."""
        check_is_fitted(self, "names_")
        return np.array(self.names_, dtype=object)

    def _kernels(self, series: Resampled) -> list[Kernel]:
        random = np.random.default_rng(self.random_state)
        C, points = series.values.shape
        length = float(np.median(series.counts))
        dilations = [2**power for power in range(1 + int(np.log2(max(1.0, (length - 1) / (TAPS - 1)))))]
        ridge = max(FEWEST, RIDGE_WORK / len(series.counts) ** 2)
        budget = int(min(self.thresholds, max(100.0, WORK / points), ridge))
        combos = [(view, dilation, triple) for view in VIEWS for dilation in dilations for triple in TRIPLES]
        each = max(1, budget // len(combos))
        if len(combos) > budget:
            combos = [combos[place] for place in sorted(random.choice(len(combos), budget, replace=False))]
        sample = _subset(series, np.sort(random.permutation(len(series.counts))[:64]))
        levels = np.mod((np.arange(len(combos) * each) + 1) * (np.sqrt(5) + 1) / 2, 1.0).reshape(-1, each)
        kernels, flat = [], None
        for (view, dilation, triple), shares in zip(combos, levels, strict=True):
            size = int(2 ** random.uniform(0, np.log2(min(C, TAPS) + 1)))
            channels = tuple(int(c) for c in np.sort(random.choice(C, min(size, C), replace=False)))
            kernel = Kernel(view, dilation, triple, channels, np.empty(0, dtype=np.float32))
            if flat is None or not flat.serves(kernel):
                flat = _Flat(sample, view, dilation)
            response = flat.response(kernel)
            chosen = int(random.integers(len(sample.counts)))
            own = response[flat.begin[chosen] : flat.begin[chosen] + sample.counts[chosen]]
            thresholds = np.quantile(own, shares).astype(np.float32)
            kernels.append(Kernel(view, dilation, triple, channels, thresholds))
        return kernels


def names_of(kernels: Sequence[Kernel]) -> tuple[str, ...]:
    """Return the names of the columns that kernels make."""
    return tuple(
        f"{pool} of kernel {number} above threshold {place + 1}"
        for number, kernel in enumerate(kernels)
        for place in range(len(kernel.thresholds))
        for pool in POOLS
    )


class _Flat:
    """All series in one array with zeros between them, so wide that no kernel reaches from one to the next."""

    def __init__(self, series: Resampled, view: str, dilation: int) -> None:
        self.view, self.dilation, self.counts = view, dilation, series.counts
        pad = HALF * dilation
        self.begin = np.cumsum(series.counts + pad) - series.counts - pad  # within the array without its outer pads
        self.size = int(series.counts.sum() + pad * (len(series.counts) - 1))
        values = _viewed(series, view)
        place = np.arange(values.shape[1]) + np.repeat(
            self.begin - (np.cumsum(series.counts) - series.counts), series.counts
        )
        buffer = np.zeros((values.shape[0], self.size + 2 * pad), dtype=np.float32)
        buffer[:, place + pad] = values
        self.taps = [buffer[:, k * dilation : k * dilation + self.size] for k in range(TAPS)]
        self.total = np.add.reduce(self.taps)
        self.cuts = np.stack([self.begin, self.begin + series.counts], axis=1).ravel()
        if self.cuts[-1] >= self.size:
            self.cuts = self.cuts[:-1]
        inside = np.zeros(self.size, dtype=np.bool_)
        inside[place] = True
        self.inside = inside
        self.position = np.zeros(self.size, dtype=np.float32)
        self.position[place] = np.concatenate([np.arange(n, dtype=np.float32) / max(n - 1, 1) for n in series.counts])
        self.number = np.arange(self.size, dtype=np.int32)

    def serves(self, kernel: Kernel) -> bool:
        return self.view == kernel.view and self.dilation == kernel.dilation

    def response(self, kernel: Kernel) -> Singles:
        """Return (size,) the sums of the taps: -1 each, 2 for those of the kernel."""
        first, second, third = kernel.triple
        response: Singles | None = None
        for c in kernel.channels:
            part = self.taps[first][c] + self.taps[second][c]
            part += self.taps[third][c]
            part *= np.float32(3.0)
            part -= self.total[c]
            response = part if response is None else response + part
        assert response is not None
        return response

    def pools(self, response: Singles) -> Singles:
        """Return (S, 4) the `POOLS` of a response (size,) above 0."""
        above = (response > 0) & self.inside
        count = self._sum(above.astype(np.float32))
        some = np.maximum(count, 1.0)
        mean = self._sum(np.where(above, response, np.float32(0.0))) / some
        position = np.where(count > 0, self._sum(np.where(above, self.position, np.float32(0.0))) / some, -1.0)
        barrier = np.maximum.accumulate(np.where(above, np.int32(-1), self.number))
        stretch = np.maximum.reduceat(self.number - barrier, self.cuts)[::2]
        return np.stack([count / self.counts, mean, position, np.log1p(stretch)], axis=1).astype(np.float32)

    def _sum(self, values: Singles) -> Singles:
        sums: Singles = np.add.reduceat(values, self.cuts)[::2]
        return sums


def _viewed(series: Resampled, view: str) -> Singles:
    """Return (C, M) the series as values, as differences, as sums so far, or each scaled by itself."""
    values, first = series.values, np.cumsum(series.counts) - series.counts
    if view == "values":
        return values
    if view == "differences":
        steps: Singles = np.diff(values, axis=1, prepend=values[:, :1])
        steps[:, first] = 0.0
        return steps
    if view == "sums":
        singles: Singles = running_sum(values, first).astype(np.float32)
        return singles
    count = series.counts.astype(np.float32)
    mean = np.add.reduceat(values, first, axis=1) / count
    centred = values - np.repeat(mean, series.counts, axis=1)
    scale = np.sqrt(np.add.reduceat(centred**2, first, axis=1) / count)
    units = np.repeat(np.where(scale > 1e-6, scale, 1.0), series.counts, axis=1)
    scaled: Singles = (centred / units).astype(np.float32)
    return scaled


def _subset(series: Resampled, rows: npt.NDArray[np.int64]) -> Resampled:
    chosen = np.repeat(np.isin(np.arange(len(series.counts)), rows), series.counts)
    return Resampled(series.counts[rows], series.values[:, chosen])
