"""Forecasts without a network: the last value, the straight line, the mean so far, the value one period ago."""

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
"""How many median intervals the older of the two values of a straight line lies back at least."""


class NaiveForecast:
    """A forecast from what was observed of a channel alone; channels not yet observed get the training mean.

    Args:
        encoder: gives the unit, the bins and the training means.
        channels: what is forecast.
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
        """Return (S, Q, C) forecasts at times (S, Q), of series whose last step was at `now` (S,)."""
        raise NotImplementedError


class LastValue(NaiveForecast):
    """Forecast the last value of each channel."""

    def _at(self, past: Past, now: Values, times: Values) -> Values:
        return np.repeat(past.last[:, None], times.shape[1], axis=1)


class StraightLine(NaiveForecast):
    """Forecast the straight line through the last value and one at least half a median interval before."""

    def _at(self, past: Past, now: Values, times: Values) -> Values:
        return past.line(times, LINE * self.encoder.time_scale_)


class MeanSoFar(NaiveForecast):
    """Forecast the mean of each channel so far."""

    def _at(self, past: Past, now: Values, times: Values) -> Values:
        return np.repeat(past.mean[:, None], times.shape[1], axis=1)


class SeasonalNaive(NaiveForecast):
    """Forecast the value one period ago, or as many as it takes to have been seen; the last value before that.

    Args:
        encoder: as in `NaiveForecast`.
        channels: likewise.
        period: in the set's time unit, over 0.
    """

    def __init__(self, encoder: SeriesEncoder, channels: Sequence[str], period: float) -> None:
        super().__init__(encoder, channels)
        self.period = period

    def _at(self, past: Past, now: Values, times: Values) -> Values:
        before = past.seasonal(now, times, self.period)
        return np.where(np.isnan(before), past.last[:, None], before)
