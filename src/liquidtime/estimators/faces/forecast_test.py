"""The test of forecasts: series are cut, the rest is forecast, and errors are computed per series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from liquidtime.baselines.classical import LastValue, MeanSoFar, SeasonalNaive, StraightLine
from liquidtime.data import SeriesSet
from liquidtime.data.encoding.future_times import last_times
from liquidtime.estimators.faces.encoded_series import EncodedSeries

if TYPE_CHECKING:
    from liquidtime.estimators.faces.forecasts import Forecasts

Values = npt.NDArray[np.float64]
SHARE = 0.75
"""Share of the samples of each series before the cut."""
NAIVE = {"last_value": LastValue, "straight_line": StraightLine, "mean_so_far": MeanSoFar}
"""Naive forecasts to compare with, and the seasonal naive forecast if the series show a period."""
INTERVAL = 0.9
"""Share of values that tested prediction intervals should contain."""
_BUCKETS = 4


@dataclass(frozen=True)
class Skill:
    """Errors of forecasts in standard deviations of the channels, as means over the series.

    Args:
        mse: mean squared error.
        mae: mean absolute error.
        count: number of compared values.
    """

    mse: float
    mae: float
    count: int


@dataclass(frozen=True)
class ChannelSkill:
    """Errors of forecasts of one channel for a range of gaps, in the unit of the channel.

    `to_dict` returns all attributes, ready for JSON.

    Args:
        channel: name of the channel.
        low: lower end of the gaps, exclusive except in the first range, in the set's time unit.
        high: upper end of the gaps, inclusive.
        count: number of compared values.
        mae: mean absolute error by model.
        rmse: root of the mean squared error by model.
        coverage: share of the values in the prediction intervals; None for a model without intervals.
    """

    channel: str
    low: float
    high: float
    count: int
    mae: Mapping[str, float]
    rmse: Mapping[str, float]
    coverage: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes by name."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class ForecastTest:
    """Forecasts of S series after their cuts, and their errors.

    `absolute` and `squared` are errors in standard deviations of each channel in training, so that channels can be
    added up; `by_channel` has them in the channels' own units.

    Args:
        rows: (S,) positions in the data of the series that have at least two samples and a value to compare.
        past: the S series up to the cut, as the networks read them.
        times: (Q,) later times, per series.
        truth: (Q, C) measured values, NaN if there are none, per series.
        forecasts: by model, (Q, C) forecasts per series; the tested model is "model".
        scaled_truth: (V,) all values that could be compared, scaled.
        scaled_forecasts: by model, (V,) their forecasts, scaled.
        absolute: by model, (S,) mean absolute error of each series.
        squared: by model, (S,) mean squared error of each series.
        channels: names of the C channels.
        low: (Q, C) lower ends of prediction intervals, per series; empty for a model without intervals.
        high: (Q, C) upper ends.
        level: share of values that the intervals should contain.
        covered: (S,) share of each series' values inside the intervals; empty for a model without intervals.
    """

    rows: npt.NDArray[np.int64]
    past: EncodedSeries
    times: list[Values]
    truth: list[Values]
    forecasts: Mapping[str, list[Values]]
    scaled_truth: Values
    scaled_forecasts: Mapping[str, Values]
    absolute: Mapping[str, Values]
    squared: Mapping[str, Values]
    channels: tuple[str, ...]
    low: list[Values]
    high: list[Values]
    level: float
    covered: Values

    def by_channel(self) -> list[ChannelSkill]:
        """Return the errors of each channel in its own unit: over all gaps, then by gap, in quarters of the values."""
        truth = np.concatenate(self.truth)
        ends = last_times(self.past.data)
        gaps = np.concatenate([times - end for times, end in zip(self.times, ends, strict=True)])
        off = {name: np.concatenate(forecast) - truth for name, forecast in self.forecasts.items()}
        held = None
        if self.low:
            held = (np.concatenate(self.low) <= truth) & (truth <= np.concatenate(self.high))
        known = ~np.isnan(truth)
        edges = np.unique(np.quantile(gaps[known.any(axis=1)], np.linspace(0.0, 1.0, _BUCKETS + 1)))
        spans = [(0.0, float(edges[-1]))]
        if len(edges) > 2:
            spans += list(zip([0.0, *edges[1:-1].tolist()], edges[1:].tolist(), strict=True))
        skills = []
        for c, channel in enumerate(self.channels):
            for low, high in spans:
                rows = known[:, c] & (gaps <= high) & ((gaps > low) | (low == 0.0))
                if not rows.any():
                    continue
                skills.append(
                    ChannelSkill(
                        channel,
                        low,
                        high,
                        int(rows.sum()),
                        {name: float(np.abs(each[rows, c]).mean()) for name, each in off.items()},
                        {name: float(np.sqrt((each[rows, c] ** 2).mean())) for name, each in off.items()},
                        None if held is None else float(held[rows, c].mean()),
                    )
                )
        return skills

    def skills(self) -> dict[str, Skill]:
        """Return the mean errors of each model."""
        return {
            name: Skill(float(self.squared[name].mean()), float(self.absolute[name].mean()), len(self.scaled_truth))
            for name in self.forecasts
        }


def forecast_test(model: Forecasts, data: SeriesSet, share: float = SHARE, level: float = INTERVAL) -> ForecastTest:
    """Cut each series after a share of its samples, forecast the rest, and compare with the `NAIVE` forecasts.

    Of a model with a given horizon, only values within the horizon are forecast, unless no series has one. Errors are
    averaged within each series first, so that long and short series have the same weight.

    Args:
        model: fitted model.
        data: series.
        share: share of the samples before the cut, in (0, 1).
        level: share of values that prediction intervals should contain.

    Raises:
        ValueError: the share is not in (0, 1), or no series has two samples with a value after the cut.

    """
    if not 0.0 < share < 1.0:
        raise ValueError(f"`share` must be between 0 and 1; got {share!r}")
    encoder = model.encoder_
    data = encoder.aligned(data)  # without faults: they can neither be forecast nor be forecast from
    places = [data.channels.index(channel) for channel in model.channels_]
    cuts = np.clip((data.lengths * share).astype(np.int64), 1, np.maximum(data.lengths - 1, 1))
    rows = np.array(
        [
            row
            for row in np.flatnonzero(data.lengths >= 2)
            if not np.isnan(data[int(row)].values[cuts[row] :, places]).all()
        ],
        dtype=np.int64,
    )
    counts = _within(model, data, rows, cuts[rows], places)
    rows, counts = rows[counts > 0], counts[counts > 0]
    if len(rows) == 0:
        raise ValueError(
            "`data` must have series of at least two samples with a value after the cut to test forecasts on; it has "
            "none: there is nothing to forecast"
        )
    cuts, chosen = cuts[rows], data[rows]
    past = chosen.head(cuts)
    asked = [slice(cut, cut + count) for cut, count in zip(cuts.tolist(), counts.tolist(), strict=True)]
    times = [one.times[some] for one, some in zip(chosen, asked, strict=True)]
    truth = [one.values[some, places].astype(np.float64) for one, some in zip(chosen, asked, strict=True)]
    encoded = model.encode(_with_known(chosen, cuts, model.known or ()))
    low, high = [], []
    if model.has_intervals:
        value, low, high = model.predict(encoded, times, intervals=level)
    else:
        value = model.predict(encoded, times)
    forecasts = {"model": value}
    if model.stacked:
        forecasts["networks_alone"] = model.networks_alone(encoded, times)
    for name, naive in NAIVE.items():
        forecasts[name] = naive(encoder, model.channels_).predict(past, times)
    if model.period_ is not None:
        seasonal = SeasonalNaive(encoder, model.channels_, model.period_)
        forecasts["seasonal_naive"] = seasonal.predict(past, times)

    measured = np.concatenate(truth)
    known = ~np.isnan(measured)
    owner = np.repeat(np.arange(len(rows)), list(map(len, truth)))[:, None].repeat(len(places), axis=1)[known]

    def scaled(values: Values) -> Values:
        return model._standardised(values)[known]

    scaled_truth = scaled(measured)
    scaled_forecasts = {name: scaled(np.concatenate(forecast)) for name, forecast in forecasts.items()}
    inside = (np.concatenate(low) <= measured) & (measured <= np.concatenate(high)) if low else np.zeros_like(known)
    off = {name: forecast - scaled_truth for name, forecast in scaled_forecasts.items()}
    return ForecastTest(
        rows=rows,
        past=encoded,
        times=times,
        truth=truth,
        forecasts=forecasts,
        scaled_truth=scaled_truth,
        scaled_forecasts=scaled_forecasts,
        absolute={name: _means(np.abs(each), owner, len(rows)) for name, each in off.items()},
        squared={name: _means(each**2, owner, len(rows)) for name, each in off.items()},
        channels=model.channels_,
        low=low,
        high=high,
        level=level,
        covered=_means(inside[known].astype(np.float64), owner, len(rows)) if low else np.zeros(0),
    )


def _within(
    model: Forecasts, data: SeriesSet, rows: npt.NDArray[np.int64], cuts: npt.NDArray[np.int64], places: list[int]
) -> npt.NDArray[np.int64]:
    """Return how many samples after its cut each series is asked for: 0 for those without a value among them."""
    whole: npt.NDArray[np.int64] = data.lengths[rows] - cuts
    if getattr(model, "horizon", None) is None:
        return whole
    counts = np.zeros(len(rows), dtype=np.int64)
    for place, (row, cut) in enumerate(zip(rows.tolist(), cuts.tolist(), strict=True)):
        one = data[row]
        latest = one.times[cut - 1] + model.horizon_ * (1 + 1e-9)
        count = int(np.searchsorted(one.times[cut:], latest, side="right"))
        if not np.isnan(one.values[cut : cut + count, places]).all():
            counts[place] = count
    return counts if counts.any() else whole


def _with_known(data: SeriesSet, cuts: npt.NDArray[np.int64], known: Sequence[str]) -> SeriesSet:
    """Return series up to their cuts, with only the known channels of what follows."""
    if not known:
        return data.head(cuts)
    position = np.arange(len(data.times)) - np.repeat(data.offsets[:-1], data.lengths)
    hidden = np.ix_(
        position >= np.repeat(cuts, data.lengths), np.array([name not in set(known) for name in data.channels])
    )
    values = data.values.copy()
    values[hidden] = np.nan
    return data.replace_unchecked(values=values)


def _means(each: Values, owner: npt.NDArray[Any], S: int) -> Values:
    means: Values = np.bincount(owner, each, minlength=S) / np.bincount(owner, minlength=S)
    return means
