"""Forecasts tested on series cut behind their first samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.baselines.classical import LastValue, MeanSoFar
from liquidtime.data import SeriesSet
from liquidtime.data.encoding.alignment import aligned
from liquidtime.estimators import CfCForecaster
from liquidtime.evaluation.comparison import Comparison
from liquidtime.training import bootstrap_interval

Values = npt.NDArray[np.float64]
SEEN = 0.7


@dataclass(frozen=True, eq=False)
class ForecastTest:
    """A comparison of forecasts, and the forecasts themselves.

    Args:
        comparison: of all values that could be compared, in standard deviations of their channels in `data`.
        series: S positions in the data of the series that have at least two samples and a value to compare.
        past: the S series up to the cut.
        times: for each of them (Q,) the later times.
        wanted: for each (Q, C) what was measured, NaN = nothing.
        forecasts: for each (Q, C) what the model said.
        errors: (S,) mean absolute error of each series, in standard deviations.
    """

    comparison: Comparison
    series: npt.NDArray[np.int64]
    past: SeriesSet
    times: list[Values]
    wanted: list[Values]
    forecasts: list[Values]
    errors: Values


def forecast_test(model: CfCForecaster, name: str, data: SeriesSet, seen: float = SEEN, seed: int = 0) -> ForecastTest:
    """Cut each series behind a share of its samples, forecast the rest, and compare with simple forecasts.

    Figures are means over series, so that a long series counts no more than a short one, and so are their intervals.

    Args:
        model: fitted.
        name: of the model in tables.
        data: the test part.
        seen: share of the samples that the forecast starts from, in (0, 1).
        seed: of the resamples.

    Raises:
        ValueError: no series has two samples with a value behind the cut.

    """
    encoder = model.encoder_
    data = aligned(data, encoder.channels_, encoder.static_names_, encoder.categories_, encoder.time_unit_)
    places = [data.channels.index(channel) for channel in model.channels_]
    rows = np.flatnonzero(data.lengths >= 2)
    kept = np.clip((data.lengths * seen).astype(np.int64), 1, np.maximum(data.lengths - 1, 1))
    rows = np.array(
        [row for row in rows if not np.isnan(data[int(row)].values[kept[row] :, places]).all()], dtype=np.int64
    )
    if len(rows) == 0:
        raise ValueError("`data` must have series of two samples or more to test forecasts on; the test part has none")
    kept, chosen = kept[rows], data[rows]
    past = chosen.head(kept)
    times = [one.times[size:] for one, size in zip(chosen, kept, strict=True)]
    wanted = [one.values[size:, places].astype(np.float64) for one, size in zip(chosen, kept, strict=True)]
    said = {
        name: model.predict(past, times),
        "last value": LastValue(model.encoder_, model.channels_).predict(past, times),
        "mean so far": MeanSoFar(model.encoder_, model.channels_).predict(past, times),
    }
    scale = _scale(data.values[:, places])
    known = ~np.isnan(np.concatenate(wanted))
    owner = np.repeat(np.arange(len(rows)), [len(part) for part in wanted])[:, None] + np.zeros(known.shape, dtype=int)
    truth = (np.concatenate(wanted) / scale)[known]
    predictions, figures, errors = {}, {}, np.zeros(len(rows))
    for label, forecast in said.items():
        value = (np.concatenate(forecast) / scale)[known]
        predictions[label] = value
        off = {"mae": np.abs(value - truth), "mse": (value - truth) ** 2}
        means = {metric: _means(each, owner[known], len(rows)) for metric, each in off.items()}
        figures[label] = {
            metric: bootstrap_interval("mae", np.zeros(len(rows)), each, seed=seed) for metric, each in means.items()
        }
        if label == name:
            errors = means["mae"]
    return ForecastTest(Comparison(truth, predictions, figures), rows, past, times, wanted, list(said[name]), errors)


def _scale(values: npt.NDArray[np.float32]) -> Values:
    """Return (C,) the standard deviation of each channel's observed values, 1 where there is none."""
    spread = np.ones(values.shape[1])
    for place, column in enumerate(values.T):
        seen = column[~np.isnan(column)].astype(np.float64)
        spread[place] = seen.std() if len(seen) and np.ptp(seen) > 0 else 1.0
    return spread


def _means(each: Values, owner: npt.NDArray[Any], S: int) -> Values:
    means: Values = np.bincount(owner, each, minlength=S) / np.bincount(owner, minlength=S)
    return means
