"""Forecasts without a network: the last value, and the mean so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from liquidtime.baselines.classical.summary import SUMMARY, summary_features
from liquidtime.data import SeriesEncoder, SeriesSet
from liquidtime.data.encoding.future_times import gaps_to, split_rows


class _Constant:
    """A forecast that is the same for all later times; channels not yet observed get the training mean."""

    def __init__(self, encoder: SeriesEncoder, channels: Sequence[str]) -> None:
        self.encoder, self.channels = encoder, tuple(channels)

    def predict(self, X: SeriesSet, times: Any = None, *, horizons: Any = None) -> Any:
        """Return (S, Q, C) forecasts; arguments as `CfCForecaster.predict`."""
        gaps, sizes = gaps_to(X, self.encoder, times, horizons)
        summary = summary_features(X)[:, : 7 * len(X.channels)].reshape(len(X), len(X.channels), 7)
        columns = [X.channels.index(name) for name in self.channels]
        values = summary[:, columns, SUMMARY.index(self.statistic)]
        scaling = self.encoder.scaling_
        for k, name in enumerate(self.channels):
            mean = scaling.invert(self.encoder.channels_.index(name), np.zeros(1))[0]
            values[np.isnan(values[:, k]), k] = mean
        return split_rows(np.repeat(values[:, None, :], gaps.shape[1], axis=1), sizes)

    statistic: str


class LastValue(_Constant):
    """Forecast the last value of each channel."""

    statistic = "last"


class MeanSoFar(_Constant):
    """Forecast the mean of each channel so far."""

    statistic = "mean"
