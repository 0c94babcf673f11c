"""Anomaly scores: how far samples lie from their forecasts from the samples before them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from liquidtime.data import SeriesSet
from liquidtime.data.encoding.observations import Observations

if TYPE_CHECKING:
    from liquidtime.estimators.faces.forecasts import Forecasts

Values = npt.NDArray[np.float64]
_STEPS = 1 << 16
"""Number of steps of whole series that are forecast at once."""


@dataclass(frozen=True, eq=False)
class AnomalyScores:
    """Each step of series with its forecast; NaN if a channel was not measured, or never before.

        score = |value - forecast| / expected error at this gap, level and disagreement of the parts

    Args:
        steps: S series; their samples, or their bins for a model of bins.
        channels: names of the C channels that are forecast.
        values: (N, C) measured values.
        forecasts: (N, C) their forecasts from the samples before.
        low: (N, C) lower ends of the intervals that contain usual values.
        high: (N, C) upper ends of these intervals.
        scores: (N, C) at least 0; 1 is an error of expected size.
        level: share of usual values that the intervals contain.
    """

    steps: SeriesSet
    channels: tuple[str, ...]
    values: Values
    forecasts: Values
    low: Values
    high: Values
    scores: Values
    level: float

    @property
    def outside(self) -> npt.NDArray[np.bool_]:
        """(N, C) whether a value lies outside its interval."""
        return (self.values < self.low) | (self.values > self.high)

    @property
    def per_sample(self) -> Values:
        """(N,) the largest score among the channels of each step, NaN if there is none."""
        some = ~np.isnan(self.scores).all(axis=1)
        largest = np.full(len(self.scores), np.nan)
        largest[some] = np.nanmax(self.scores[some], axis=1)
        return largest


def anomaly_scores(model: Forecasts, data: SeriesSet, level: float) -> AnomalyScores:
    """Return the scores of all steps of series; arguments as `Forecasts.anomaly_scores` takes them.

    Raises:
        ValueError: a model of an earlier version, which has no intervals.

    """
    if not model.has_intervals:
        raise ValueError("the model was saved by an earlier version, which did not store expected errors; fit it again")
    encoder = model.encoder_
    data = encoder.as_measured(data)
    steps = encoder.binned(data)  # faults are read as not observed, and are anomalies
    places = [encoder.channels_.index(channel) for channel in model.channels_]
    N, C = len(steps.times), len(places)
    values = steps.values[:, places].astype(np.float64)
    forecasts, low, high, scores = (np.full((N, C), np.nan) for _ in range(4))
    begin = 0
    while begin < len(data):
        room = np.searchsorted(steps.offsets, steps.offsets[begin] + _STEPS, side="right") - 1
        end = min(max(int(room), begin + 1), len(data))
        rows = slice(int(steps.offsets[begin]), int(steps.offsets[end]))
        later = np.flatnonzero(np.isin(np.arange(rows.start, rows.stop), steps.offsets[begin:end], invert=True))
        if len(later):
            part = steps[np.arange(begin, end)]
            series = np.searchsorted(part.offsets, later, side="right") - 1
            answers = model._answers_after(data[np.arange(begin, end)], series, later - 1, part.times[later])
            answer, sizes = answers.mixture(level), answers.sizes()[:, 0]
            known = Observations.of(part, places).up_to(series, later - 1).known
            at = later + rows.start
            for column, found in ((forecasts, answer.value), (low, answer.low), (high, answer.high)):
                column[at] = np.where(known & ~np.isnan(values[at]), found[:, 0], np.nan)
            scores[at] = np.abs(values[at] - forecasts[at]) / sizes
        begin = end
    return AnomalyScores(steps, model.channels_, values, forecasts, low, high, scores, level)
