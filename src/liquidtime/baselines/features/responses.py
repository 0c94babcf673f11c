"""Responses of dilated kernels to all series at once, in several views of the series."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from liquidtime.baselines.features.resampling import Resampled
from liquidtime.data.encoding.running_sum import running_sum

Singles = npt.NDArray[np.float32]
Triple = tuple[int, int, int]
TAPS, HALF = 9, 4
TRIPLES: tuple[Triple, ...] = tuple(combinations(range(TAPS), 3))
"""The taps with weight 2; the other six have weight -1."""
VIEWS = ("values", "differences", "sums", "own scale")


class FlatSeries:
    """All series in one array, separated by enough zeros that no kernel reaches from one series to the next.

    Args:
        series: S series on a regular grid.
        view: one of `VIEWS`.
        dilation: dilation of the kernels.

    Attributes:
        size: size of the array.
        inside: (size,) True for points that belong to a series.
        position: (size,) relative position of each point in its series, 0…1.
        begin: (S,) position of the first point of each series.
    """

    def __init__(self, series: Resampled, view: str, dilation: int) -> None:
        self.view, self.dilation, self.counts = view, dilation, series.counts
        pad = HALF * dilation
        self.begin = np.cumsum(series.counts + pad) - series.counts - pad  # within the array without its outer pads
        self.size = int(series.counts.sum() + pad * (len(series.counts) - 1))
        values = viewed(series, view)
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

    def serves(self, view: str, dilation: int) -> bool:
        """Return whether responses to kernels of this view and dilation can be computed here."""
        return self.view == view and self.dilation == dilation

    def response(self, triple: Triple, channels: tuple[int, ...]) -> Singles:
        """Return (size,) sums of taps over some channels, with weight 2 for taps of the triple and -1 for others."""
        first, second, third = triple
        response: Singles | None = None
        for c in channels:
            part = self.taps[first][c] + self.taps[second][c]
            part += self.taps[third][c]
            part *= np.float32(3.0)
            part -= self.total[c]
            response = part if response is None else response + part
        assert response is not None
        return response

    def sums(self, values: Singles) -> Singles:
        """Return (..., S) the sums of (..., size) numbers over each series."""
        sums: Singles = np.add.reduceat(values, self.cuts, axis=-1)[..., ::2]
        return sums

    def largest(self, values: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Return (..., S) the largest of (..., size) numbers in each series."""
        return np.maximum.reduceat(values, self.cuts, axis=-1)[..., ::2]


def viewed(series: Resampled, view: str) -> Singles:
    """Return (C, M) the series as values, as differences, as running sums, or each in its own scale."""
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
