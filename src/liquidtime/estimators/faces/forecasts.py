"""The methods of every forecaster: forecasts, intervals, parts, live series, and a test against naive forecasts."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from liquidtime.data import SeriesEncoder, SeriesSet
from liquidtime.data.encoding.future_times import gaps_to
from liquidtime.estimators.faces.forecast_series import ForecastSeries
from liquidtime.estimators.faces.forecast_test import SHARE, Skill, forecast_test
from liquidtime.estimators.forecast.answers import Answers, AnswersInBlocks, Forecast, check_level
from liquidtime.estimators.forecast.carried import CarriedAnswers
from liquidtime.estimators.forecast.network import PARTS
from liquidtime.estimators.network.inputs import as_series

if TYPE_CHECKING:
    from liquidtime.estimators.faces.anomalies import AnomalyScores

Values = npt.NDArray[np.float64]
_CELLS = 1 << 20
"""Values that are forecast at once: those of more series are forecast some series at a time."""


class Forecasts:
    """Methods that all forecasters share; each forecaster implements the computations."""

    encoder_: SeriesEncoder
    channels_: tuple[str, ...]
    horizon_: float
    period_: float | None
    known: Sequence[str] | None
    stacked: ClassVar[bool] = False
    """Whether there are other models beside the networks, which then stand beside them in a test."""

    @property
    def has_intervals(self) -> bool:
        """Whether there are prediction intervals; a folder of an earlier version has none."""
        return True

    @abstractmethod
    def encode(self, X: Any) -> ForecastSeries:
        """Return series as the networks read them, to be passed to several methods in place of X and encoded once."""

    @abstractmethod
    def _answers(self, series: ForecastSeries, gaps: Values, sizes: list[int] | None) -> Answers | CarriedAnswers:
        """Return what is said of scaled gaps (S, Q) after the ends of series."""

    @abstractmethod
    def _answers_after(
        self, data: SeriesSet, series: npt.NDArray[np.int64], steps: npt.NDArray[np.int64], times: Values
    ) -> Answers:
        """Return what is said of one later time after each of some steps, from what was seen up to them.

        Args:
            data: series with the channels of training.
            series: (R,) positions of series, in rising order.
            steps: (R,) positions among all their steps.
            times: (R,) on their clocks.
        """

    @abstractmethod
    def _live_answers(self, id: Any, gaps: Values, known: Mapping[str, Any] | None) -> Answers | CarriedAnswers:
        """Return what is said of scaled gaps (1, Q) after the newest sample of a live series."""

    @abstractmethod
    def _standardised(self, values: npt.NDArray[Any]) -> Values:
        """Return values (N, C) of the targets in standard deviations, as errors are measured."""

    def predict(self, X: Any, times: Any = None, *, horizons: Any = None, intervals: float | None = None) -> Any:
        """Return forecasts of the targets.

        Args:
            X: the series up to now. Samples at their ends with values only in `known` channels are their known future.
            times: (Q,) for all series, (S, Q), or a list of S arrays (Q_i,): numbers on the clock of each series, or
                time stamps if the series have time stamps. None may be earlier than the last sample of the series.
            horizons: instead of `times`, (Q,) times after the last sample of each series. Without both, one median
                interval.
            intervals: share of the values that prediction intervals should contain, in (0, 1), such as 0.9.

        Returns:
            (S, Q, C), or a list of (Q_i, C) for a list; with `intervals`, a `Forecast` of three such arrays.

        """
        check_level(intervals)
        return self._asked(X, times, horizons).mixture(intervals)

    def parts(self, X: Any, times: Any = None, *, horizons: Any = None) -> dict[str, tuple[Any, Any]]:
        """Return the forecast of each part of the mixture, and its weight.

        Args:
            X: see `predict`.
            times: see `predict`.
            horizons: see `predict`.

        Returns:
            for each part the forecasts and their weights, shaped like the forecasts of `predict`, which are the sum of
            forecasts times weights, except for a bound at 0 for channels that are never negative.

        """
        return self._asked(X, times, horizons).parts()

    def networks_alone(self, X: Any, times: Any = None, *, horizons: Any = None) -> Any:
        """Return what the networks alone forecast; arguments as in `predict`."""
        return self._asked(X, times, horizons).part(PARTS[0])

    def _asked(self, X: Any, times: Any, horizons: Any) -> Answers | CarriedAnswers | AnswersInBlocks:
        series = self.encode(X)
        gaps, sizes = gaps_to(series.data, self.encoder_, times, horizons)
        S, Q = gaps.shape
        rows = max(1, _CELLS // max(Q * len(self.channels_), 1))
        if rows >= S:
            return self._answers(series, gaps, sizes)

        def block(some: npt.NDArray[np.int64]) -> Answers | CarriedAnswers:
            own = None if sizes is None else [sizes[row] for row in some.tolist()]
            return self._answers(series[some], gaps[some, : None if own is None else max(own)], own)

        return AnswersInBlocks(
            [functools.partial(block, np.arange(begin, min(begin + rows, S))) for begin in range(0, S, rows)]
        )

    def forecast(
        self,
        id: Any,
        horizons: Sequence[float],
        *,
        intervals: float | None = None,
        known: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return forecasts of the live series `id`.

        Args:
            id: id of the series.
            horizons: (Q,) times after its newest sample, or after its newest bin.
            intervals: see `predict`.
            known: the future of `known` channels by name, each a number or (Q,); channels left out keep their last
                value.

        Returns:
            (Q, C); with `intervals`, a `Forecast` of three such arrays.

        """
        check_level(intervals)
        ahead = np.atleast_1d(np.asarray(horizons, dtype=np.float64))
        if ahead.ndim != 1 or not (np.isfinite(ahead) & (ahead >= 0)).all():
            raise ValueError(f"`horizons` must be (Q,) finite times of at least 0; got {horizons!r}")
        answer = self._live_answers(id, ahead[None] / self.encoder_.time_scale_, known).mixture(intervals)
        return answer[0] if intervals is None else Forecast(*(each[0] for each in answer))

    def anomaly_scores(self, X: Any, *, level: float = 0.99) -> AnomalyScores:
        """Score how far each sample lies from its forecast from the samples before it.

        Args:
            X: the series.
            level: share of usual values between the bounds, in (0, 1).

        Returns:
            scores by sample and channel, with forecasts and bounds. A score is the ratio of the error to the expected
            error.

        """
        from liquidtime.estimators.faces.anomalies import anomaly_scores

        check_level(level)
        return anomaly_scores(self, as_series(self, X, reset=False), level)

    def compare(self, X: Any, share: float = SHARE) -> dict[str, Skill]:
        """Cut each series after a share of its samples, forecast the rest, and compare with naive forecasts.

        A report shows the same figures; see `liquidtime.estimators.faces.forecast_test`.

        Args:
            X: the complete series.
            share: share of the samples before the cut, in (0, 1).

        Returns:
            errors under "model", "last_value", "straight_line", "mean_so_far", for series with a period also
            "seasonal_naive", and for a stacked model also "networks_alone": means over the series, in standard
            deviations of each channel.

        """
        return forecast_test(self, as_series(self, X, reset=False), share).skills()

    def score(self, X: Any, y: Any = None) -> float:
        """Return 1 - (mean squared error / that of the last value) on the last quarter of each series' samples."""
        skills = self.compare(X)
        return 1.0 - skills["model"].mse / skills["last_value"].mse if skills["last_value"].mse > 0 else 0.0
