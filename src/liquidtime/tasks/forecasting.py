from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from liquidtime.data import SeriesSet
from liquidtime.data.container import absolute_times, sample_times
from liquidtime.data.encoding.future_times import last_times
from liquidtime.estimators import CfCForecaster, StackedForecaster
from liquidtime.estimators.faces.forecast_test import INTERVAL, ChannelSkill, ForecastTest, forecast_test
from liquidtime.tasks.comparison import ALONE, Comparison, figures_of
from liquidtime.tasks.prediction_table import Columns
from liquidtime.tasks.row_times import told_times
from liquidtime.tasks.series_view import SeriesView, extremes
from liquidtime.tasks.task import Part, Task

USUAL = 0.99
"""Share of usual values inside the intervals, if each sample is compared with its own forecast."""


@dataclass(frozen=True, eq=False, repr=False)
class ForecastComparison(Comparison):
    """A comparison of forecasts, and the forecasts themselves.

    `target` and `predictions` are all values that could be compared, scaled; `series` are the series before the cut.

    Args:
        test: forecasts.
        skills: errors by channel and gap, in the units of the channels.
    """

    test: ForecastTest | None = None
    skills: tuple[ChannelSkill, ...] = ()

    def plain(self) -> ForecastComparison:
        """Return the figures and predictions without the series."""
        return replace(self, series=None, test=None)

    def details(self) -> list[dict[str, Any]]:
        """Return the errors of each channel in its own unit, over all gaps and by gap, one row each."""
        rows = []
        for skill in self.skills:
            row: dict[str, Any] = {"channel": skill.channel, "from": skill.low, "to": skill.high, "values": skill.count}
            for metric, errors in (("mae", skill.mae), ("rmse", skill.rmse)):
                row |= {f"{metric}, {_label(key, self.name)}": value for key, value in errors.items()}
            rows.append(row | {"coverage": skill.coverage})
        return rows


class Forecasting(Task):
    """Channels of the series at later times."""

    name: ClassVar = "forecast"
    title: ClassVar = "Forecast"
    estimators: ClassVar = (CfCForecaster, StackedForecaster)
    stacked: ClassVar = StackedForecaster
    metrics: ClassVar = ("mse", "mae")
    has_target: ClassVar = False
    takes_auxiliary: ClassVar = False
    in_time: ClassVar = True
    unnamed_target: ClassVar = "every channel"
    unit: ClassVar = "in standard deviations"
    plots: ClassVar = ("errors_by_gap",)
    options: ClassVar = ("horizons", "intervals")

    def suggested_by(self, target: Any) -> str:  # noqa: D102
        return "there is no target" if target is None else ""

    def check_target(self, target: Any, S: int) -> None:
        """Refuse any target, because the series are their own targets."""
        if target is not None:
            raise ValueError("`target` must be left out to forecast: the series are their own targets")

    def compare(self, model: Any, name: str, train: Part | None, test: Part, seed: int = 0) -> ForecastComparison:
        """Compare forecasts with the naive ones, which need no training part.

        Figures are means over the series, and so are their confidence intervals.
        """
        found = forecast_test(model, test[0])
        names = {key: _label(key, name) for key in found.forecasts}
        own = {"mse": found.squared, "mae": found.absolute}
        errors = {metric: {names[key]: each for key, each in own[metric].items()} for metric in self.metrics}
        if len(found.covered):
            errors[f"coverage_{100 * found.level:g}"] = {name: found.covered}
        return ForecastComparison(
            target=found.scaled_truth,
            predictions={names[key]: values for key, values in found.scaled_forecasts.items()},
            figures=figures_of(errors, seed),
            series=found.past,
            coverage=found.level,
            test=found,
            skills=tuple(found.by_channel()),
            errors=errors,
            error_series=found.rows,
        )

    def predict(
        self, model: Any, data: SeriesSet, *, horizons: Any = None, intervals: float = INTERVAL, **options: Any
    ) -> Columns:
        """Return one row per series, horizon and channel, with the ends of the prediction intervals.

        Args:
            model: fitted model.
            data: series.
            horizons: (Q,) times after the last sample of each series; None for quarters of the model's horizon.
            intervals: share of values that the intervals should contain.
            **options: none.
        """
        usual = [model.horizon_ * quarter / 4 for quarter in range(1, 5)] if model.has_intervals else None
        ahead = np.array(horizons or usual or [model.encoder_.time_scale_], dtype=np.float64)
        ends, series = {}, model.encode(data)
        if model.has_intervals:
            values, low, high = model.predict(series, horizons=ahead, intervals=intervals)  # (S, Q, C)
            ends = {"low": low.reshape(-1), "high": high.reshape(-1)}
        else:
            values = model.predict(series, horizons=ahead)
        S, Q, C = values.shape
        past = series.data
        return {
            "": np.repeat(data.ids, Q * C),
            "time": told_times(past, np.repeat(absolute_times(past, last_times(past)[:, None] + ahead).reshape(-1), C)),
            "horizon": np.tile(np.repeat(ahead, C), S),
            "channel": list(model.channels_) * (S * Q),
            "prediction": values.reshape(-1),
            **ends,
        }

    def predict_each_sample(self, model: Any, data: SeriesSet, *, intervals: float = USUAL, **options: Any) -> Columns:
        """Return one row per measured value, with its forecast and how unusual it is.

        Args:
            model: fitted model.
            data: series.
            intervals: share of usual values that the intervals should contain.
            **options: none; there are no horizons, because each sample is forecast from those before it.
        """
        if options:
            raise ValueError("`horizons` are not for forecasts of each sample, which are made from the samples before")
        found = model.anomaly_scores(data, level=intervals)
        rows, channels = np.nonzero(~np.isnan(found.scores))
        owners = np.repeat(np.arange(len(found.steps)), found.steps.lengths)[rows]
        return {
            "": found.steps.ids[owners],
            "time": told_times(found.steps, sample_times(found.steps)[rows]),
            "channel": np.array(found.channels, dtype=object)[channels],
            "value": found.values[rows, channels],
            "prediction": found.forecasts[rows, channels],
            "low": found.low[rows, channels],
            "high": found.high[rows, channels],
            "outside": found.outside[rows, channels],
            "score": found.scores[rows, channels],
        }

    def tested(self, model: Any, comparison: Comparison) -> Columns:
        """Return one row per value that was forecast and measured."""
        assert isinstance(comparison, ForecastComparison)
        assert comparison.test is not None
        found = comparison.test
        data, C, rows = found.past.data, len(model.channels_), [len(times) for times in found.times]
        truth, forecast = np.concatenate(found.truth), np.concatenate(found.forecasts["model"])
        known = ~np.isnan(truth)
        owners, times = np.repeat(np.arange(len(rows)), rows), np.concatenate(found.times)
        stamps = absolute_times(data[owners], times[:, None])[:, 0] if data.origins is not None else times
        ends = {"low": found.low, "high": found.high} if found.low else {}
        return {
            "": np.repeat(data.ids[owners], C).reshape(-1, C)[known],
            "time": told_times(data, np.repeat(stamps, C).reshape(-1, C)[known]),
            "horizon": np.repeat(times - last_times(data)[owners], C).reshape(-1, C)[known],
            "channel": np.tile(np.array(model.channels_, dtype=object), (len(truth), 1))[known],
            "truth": truth[known],
            "prediction": forecast[known],
            "error": (forecast - truth)[known],
            **{name: np.concatenate(end)[known] for name, end in ends.items()},
        }

    def views(self, model: Any, comparison: Comparison) -> list[SeriesView]:
        """Return series up to their cut, with the forecast and the measurements of the channel measured most often."""
        assert isinstance(comparison, ForecastComparison)
        assert comparison.test is not None
        found = comparison.test
        errors, data = found.absolute["model"], found.past.data
        kinds, rows = extremes(errors, np.array([len(times) for times in found.times]))
        views = []
        for kind, row in zip(kinds, rows, strict=True):
            past, truth, times = data[row], found.truth[row], found.times[row]
            place = int((~np.isnan(truth)).sum(axis=0).argmax())
            channel = model.channels_[place]
            known = ~np.isnan(truth[:, place])
            lines = np.stack([found.forecasts["model"][row][known, place], truth[known, place]], axis=1)
            words = f"{channel} after the last sample seen, mean error {errors[row]:.2f} standard deviations"
            views.append(
                SeriesView(
                    kind, str(past.id), words, past.times, past.values, data.channels, times[known], lines,
                    labels=(f"forecast of {channel}", "measured"), joined=True,
                )
            )  # fmt: skip
        return views


def _label(key: str, name: str) -> str:
    """Return the title of a forecast in tables; `name` is that of the tested model."""
    return {"model": name, "networks_alone": ALONE}.get(key, key.replace("_", " "))
