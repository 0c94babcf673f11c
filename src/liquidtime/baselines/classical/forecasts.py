"""Forecasts without a network: the last value, a straight line, the mean so far, the value one period ago."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data import SeriesEncoder, SeriesSet
from liquidtime.data.encoding.future_times import gaps_to, last_times, split_rows
from liquidtime.data.encoding.observations import Observations, Past

Values = npt.NDArray[np.float64]
LINE = 0.5
"""Smallest distance of the two values of a straight line, in median intervals."""


class NaiveForecast:
    """A forecast of each channel from its own observations; channels not yet observed get the training mean.

    Args:
        encoder: encoder with the unit, the bins and the training means.
        channels: channels to forecast.
    """

    def __init__(self, encoder: SeriesEncoder, channels: Sequence[str]) -> None:
        self.encoder, self.channels = encoder, tuple(channels)

    def predict(self, X: SeriesSet, times: Any = None, *, horizons: Any = None) -> Any:
        """Return (S, Q, C) forecasts; arguments as `CfCForecaster.predict`."""
        gaps, sizes = gaps_to(X, self.encoder, times, horizons)
        steps = self.encoder.steps(X)
        places = [self.encoder.channels_.index(name) for name in self.channels]
        now = last_times(steps)
        past = Observations.of(steps, places).at_ends(steps)
        values = self._at(past, now, now[:, None] + gaps * self.encoder.time_scale_)
        means = np.array([self.encoder.scaling_.invert(place, np.zeros(1))[0] for place in places])
        return split_rows(np.where(past.known[:, None], values, means), sizes)

    def _at(self, past: Past, now: Values, times: Values) -> Values:
        """Return (S, Q, C) forecasts at times (S, Q) of series whose last step was at `now` (S,)."""
        raise NotImplementedError


class LastValue(NaiveForecast):
    """Forecast the last value of each channel."""

    def _at(self, past: Past, now: Values, times: Values) -> Values:
        return np.repeat(past.last[:, None], times.shape[1], axis=1)


class StraightLine(NaiveForecast):
    """Forecast the straight line through the last value and one that is at least half a median interval older."""

    def _at(self, past: Past, now: Values, times: Values) -> Values:
        return past.line(times, LINE * self.encoder.time_scale_)


class MeanSoFar(NaiveForecast):
    """Forecast the mean of each channel so far."""

    def _at(self, past: Past, now: Values, times: Values) -> Values:
        return np.repeat(past.mean[:, None], times.shape[1], axis=1)


class SeasonalNaive(NaiveForecast):
    """Forecast the value one period ago, or several periods if needed; the last value if that was not observed either.

    Args:
        encoder: see `NaiveForecast`.
        channels: see `NaiveForecast`.
        period: the period in the time unit of the set, greater than 0.
    """

    def __init__(self, encoder: SeriesEncoder, channels: Sequence[str], period: float) -> None:
        super().__init__(encoder, channels)
        self.period = period

    def _at(self, past: Past, now: Values, times: Values) -> Values:
        before = past.seasonal(now, times, self.period)
        return np.where(np.isnan(before), past.last[:, None], before)
