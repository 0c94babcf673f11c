"""The service without HTTP: live series in a store, whole series, and information about both."""

from __future__ import annotations

import contextlib
import logging
import math
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from liquidtime._version import __version__
from liquidtime.serving.clock import Clock
from liquidtime.serving.forecasts import (
    ForecastRequest,
    answers,
    check_count,
    known_by,
    origin_of,
    points,
    read_question,
    without_future,
)
from liquidtime.serving.live import Outcome, sizes_of, take
from liquidtime.serving.messages import (
    ForecastAnswer,
    Health,
    LiveAnswer,
    ModelAnswer,
    NewSamples,
    Observed,
    Point,
    PredictedSeries,
    Prediction,
    PredictionRequest,
    Predictions,
    Question,
    SeriesAnswer,
    SeriesList,
    WholeSeries,
)
from liquidtime.serving.metrics import Metrics
from liquidtime.serving.model import Doubles, Floats, ServedModel
from liquidtime.serving.record import Record, Taken, numbers, read_record
from liquidtime.serving.refusal import Refused
from liquidtime.serving.settings import Settings
from liquidtime.serving.stores import Full, Store

LOG = logging.getLogger("liquidtime.serving")
_TRIES = 200
_DENSE = "the series has more samples than the model can store; export the model with a larger --memory"
_LOCKS = 256
_MOST_POINTS = 100_000
"""Largest number of points of paths in one answer."""
_JUMP = 60.0
"""Largest difference in seconds between wall clock and elapsed time before the clock is considered to have been set."""


class Service:
    """A model with the state of its live series.

    Args:
        model: the model.
        store: store for the state.
        settings: limits, and how much is stored.
        metrics: counters of events.
        now: function that returns the time in seconds since 1970.
        passed: function that returns a number of seconds that never decreases.
    """

    def __init__(
        self,
        model: ServedModel,
        store: Store,
        settings: Settings,
        metrics: Metrics,
        now: Callable[[], float] = time.time,
        passed: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model, self.store, self.settings, self.metrics = model, store, settings, metrics
        self._now, self._passed, self._sizes = now, passed, sizes_of(model)
        self._seen: tuple[float, float] | None = None  # both clocks when series were last removed
        self._patient_until = -math.inf
        self._locks = tuple(threading.Lock() for _ in range(_LOCKS))  # reduces conflicts; not required for correctness

    def take(self, id: str, request: NewSamples) -> LiveAnswer:
        """Process samples of a live series, all or none, and return its current prediction.

        Raises:
            Refused: a sample or a requested forecast is invalid, or there are too many series.

        """
        self.model.check_unit(request.time_unit)
        self._check_question(request.forecast)
        with self._locks[hash(id) % _LOCKS]:
            outcome, prediction = self._take(id, request)
        self.metrics.samples.labels("taken").inc(outcome.taken)
        self.metrics.samples.labels("repeated").inc(outcome.repeated)
        record = outcome.record
        return LiveAnswer(
            id=id,
            time=record.clock.tell(record.newest[-1].ticks),
            prediction=prediction,
            taken=outcome.taken,
            repeated=outcome.repeated,
            times=record.times,
        )

    def _take(self, id: str, request: NewSamples) -> tuple[Outcome, Prediction]:
        for attempt in range(_TRIES):
            stored = self.store.get(id)
            record = None if stored is None else self._read(stored.content)
            now = self._now()
            outcome = take(self.model, record, request.samples, request.static, self.settings.keep, now)
            (prediction,) = self._predictions([outcome.record], request.forecast)  # may refuse, so before storing
            if outcome.record is record:
                return outcome, prediction
            seen = None if stored is None else stored.version
            try:
                if self.store.put(id, outcome.record.to_bytes(), seen, now, self.settings.most_series):
                    return outcome, prediction
            except Full:
                most = self.settings.most_series
                text = (
                    f"{most:,} series are stored, which is the limit. Delete some, or start with a larger --max-series."
                )
                raise Refused(429, "too_many_series", text) from None
            self.metrics.conflicts.inc()
            time.sleep(random.uniform(0.0, 0.001 * min(attempt + 1, 20)))
        raise Refused(
            503, "contended", f"other requests changed the series {_TRIES} times meanwhile; send the request again"
        )

    def get(self, id: str, question: Question | None = None) -> SeriesAnswer:
        """Return the state of a series, with the path of its predictions, or for a forecaster its newest samples."""
        self._check_question(question)
        record = self._found(id)
        (prediction,) = self._predictions([record], question)
        return self._answer(id, record, prediction, self.settings.keep)

    def forecast(self, id: str, question: Question) -> ForecastAnswer:
        """Return forecasts for a live series."""
        self._check_question(question)
        record = self._found(id)
        (prediction,) = self._predictions([record], question)
        return ForecastAnswer(id, record.clock.tell(record.newest[-1].ticks), prediction)

    def newest(self, count: int, path: int) -> SeriesList:
        """Return up to `count` series, newest first by their samples, each with up to `path` points of its path."""
        if count * min(path, self.settings.keep) > _MOST_POINTS:
            text = f"`limit` times `path` may be at most {_MOST_POINTS:,}; request fewer of either"
            raise Refused(422, "too_many_points", text)
        ids, records = [], []
        for each in self.store.newest(count):
            with contextlib.suppress(Refused):  # a damaged series is reported when it is requested by its id
                records.append(self._read(each.content))
                ids.append(each.id)
        told = zip(ids, records, self._predictions(records, None), strict=True)
        series = [self._answer(id, record, prediction, path) for id, record, prediction in told]
        return SeriesList(series, self.store.count())

    def delete(self, id: str) -> None:
        """Remove a series."""
        if not self.store.delete(id):
            raise Refused(404, "unknown_series", "there is no series with this id")

    def evict(self) -> int:
        """Remove the series without a sample for too long, and return their number.

        Ages are computed from the clock of the machine. If the clock was set forward, all series look old; then none is
        removed until active series have had the time to get another sample.
        """
        if self.settings.oldest is None:
            return 0
        now, passed = self._now(), self._passed()
        if self._seen is not None and (now - self._seen[0]) - (passed - self._seen[1]) > _JUMP:
            LOG.warning("the clock of this machine was set forward; no series is removed for a while")
            self._patient_until = passed + self.settings.oldest
        self._seen = (now, passed)
        if passed < self._patient_until:
            return 0
        count = self.store.evict(now - self.settings.oldest)
        self.metrics.evicted.inc(count)
        return count

    def predict(self, request: PredictionRequest) -> Predictions:
        """Return a prediction for each of some whole series."""
        self.model.check_unit(request.time_unit)
        self._check_question(request.forecast)
        read, statics = [], []
        for s, series in enumerate(request.series):
            try:
                statics.append(self.model.static.row(series.static or {}, "static"))
                read.append(self._whole(series))
            except Refused as refusal:
                raise refusal.within(f"series[{s}]") from None
        clocks, rows = [clock for clock, _ in read], [row for _, row in read]
        if self.model.forecaster is not None:
            predictions = self.whole_forecasts(rows, statics, clocks, request.forecast)
        else:
            predictions = [self.model.in_words(row) for row in self.whole(rows, statics)]
        return Predictions([PredictedSeries(one.id, own) for one, own in zip(request.series, predictions, strict=True)])

    def whole_forecasts(
        self,
        series: Sequence[tuple[Doubles, Floats]],
        statics: Sequence[Floats],
        clocks: Sequence[Clock],
        question: Question | None,
    ) -> list[Prediction]:
        """Return forecasts after whole series.

        Args:
            series: times (T,) and values (T, C) of each series; samples at their ends with only known channels are the
                future of these.
            statics: (F,) static features of each series.
            clocks: clock of each series.
            question: forecasts requested for each series.

        Raises:
            Refused: the requested forecasts are invalid.

        """
        model, predictions = self.model.forecaster, dict[int, Prediction]()
        assert model is not None
        past, requests = [], []
        for s, ((times, values), clock) in enumerate(zip(series, clocks, strict=True)):
            end = without_future(times, values, model.known_places)
            try:
                own = read_question(model, question, clock, float(times[end - 1]) if end else 0.0)
            except Refused as refusal:
                raise refusal if len(series) == 1 else refusal.within(f"series[{s}]") from None
            past.append((times[:end], values[:end]))
            requests.append(known_by(times, values, own, model.known_places))
            check_count(len(series) * len(own.times))
        for rows in self.model.in_blocks([len(times) for times, _ in past]):
            origins = np.array([origin_of(clocks[row], self.model.nanoseconds) for row in rows])
            static = [statics[row] for row in rows]
            states = self.model.states_after([past[row] for row in rows], static, origins)
            made = answers(model, *states, np.stack(static), [requests[row] for row in rows])
            for place, (row, own_said) in enumerate(zip(rows, made, strict=True)):
                predictions[row] = self._as_forecast(own_said, requests[row], states[0][place])
        return [predictions[row] for row in range(len(series))]

    def whole(self, series: Sequence[tuple[Doubles, Floats]], statics: Sequence[Floats]) -> Doubles:
        """Return (S, K) the predictions for whole series."""
        try:
            return self.model.whole(series, statics)
        except Refused as refusal:
            raise refusal.within("series") from None

    def _whole(self, series: WholeSeries) -> tuple[Clock, tuple[Doubles, Floats]]:
        clock, times = Clock(), np.zeros(len(series.samples))
        rows = np.full((len(times), len(self.model.channels)), np.nan, dtype=np.float32)
        for k, sample in enumerate(series.samples):
            try:
                clock, _, times[k] = clock.read(sample.time, self.model.nanoseconds)
                rows[k] = self.model.channels.row(sample.values, "values")
                if k and times[k] < times[k - 1]:
                    text = "samples must be in order of time; this one is earlier than the previous one"
                    raise Refused(422, "out_of_order", text, "time")
            except Refused as refusal:
                raise refusal.within(f"samples[{k}]") from None
        return clock, (times, rows)

    def health(self) -> Health:
        """Return whether model and store can be used; raise the error of the store if not."""
        model, store = self.model, self.store
        return Health("ok", model.name, model.identity, store.kind, store.count(), __version__)

    def facts(self) -> ModelAnswer:
        """Return the inputs and outputs of the model."""
        model, told = self.model, self.model.description
        facts = {name: told[name] for name in ("task", "classes", "outputs", "time_unit", "channels", "static")}
        forecaster = model.forecaster
        if forecaster is not None:
            facts |= {"targets": forecaster.targets, "known_channels": forecaster.known, "horizon": forecaster.horizon}
        facts["facts"] = told.get("facts", {})
        return ModelAnswer(name=model.name, identity=model.identity, threshold=told.get("threshold"), **facts)

    def _read(self, content: bytes) -> Record:
        try:
            return read_record(content, self._sizes)
        except ValueError as error:
            raise Refused(500, "damaged_series", f"{error}; delete the series to start it again") from error

    def _found(self, id: str) -> Record:
        stored = self.store.get(id)
        if stored is None:
            raise Refused(404, "unknown_series", "there is no series with this id; send its first sample")
        return self._read(stored.content)

    def _check_question(self, question: Question | None) -> None:
        """Refuse requests for forecasts that the model cannot make for any series."""
        if question is None:
            return
        if self.model.forecaster is None:
            text = f"the model is for {self.model.description['task']}, not for forecasting; leave `forecast` out"
            raise Refused(422, "no_forecaster", text, "forecast")
        check_count(max(len(question.horizons or ()), len(question.times or ())))

    def _prediction(self, taken: Taken) -> Prediction:
        return self.model.in_words(numbers(taken.prediction, np.float64))

    def _predictions(self, records: Sequence[Record], question: Question | None) -> list[Prediction]:
        """Return the current predictions for some series."""
        model = self.model.forecaster
        if model is None or not records:
            return [self._prediction(record.newest[-1]) for record in records]
        doubles, floats, static = (
            np.stack([numbers(part, kind) for part in parts])
            for parts, kind in (
                ([record.doubles for record in records], np.float64),
                ([record.floats for record in records], np.float32),
                ([record.static for record in records], np.float32),
            )
        )
        requests = [
            read_question(model, question, record.clock, model.now(own))
            for record, own in zip(records, doubles, strict=True)
        ]
        made = answers(model, doubles, floats, static, requests)
        return [self._as_forecast(*one) for one in zip(made, requests, doubles, strict=True)]

    def _as_forecast(self, numbers: Doubles, request: ForecastRequest, doubles: Doubles) -> Prediction:
        assert self.model.forecaster is not None
        forecast = points(self.model.forecaster, numbers, request)
        if self.model.forecaster.forgot(doubles):
            return Prediction(forecast=forecast, note=_DENSE)
        return Prediction(forecast=forecast)

    def _answer(self, id: str, record: Record, prediction: Prediction, path: int) -> SeriesAnswer:
        clock, newest = record.clock, record.newest[-1]
        shown = record.newest[-path:] if path else []
        path_of: dict[str, Any] = {}
        if self.model.forecaster is None:
            path_of["path"] = [Point(clock.tell(taken.ticks), self._prediction(taken)) for taken in shown]
        else:
            path_of["samples"] = [Observed(clock.tell(taken.ticks), self._observed(taken)) for taken in shown]
        return SeriesAnswer(
            id=id,
            time=clock.tell(newest.ticks),
            prediction=prediction,
            times=record.times,
            updated=record.updated,
            **path_of,
        )

    def _observed(self, taken: Taken) -> dict[str, float | str]:
        channels = self.model.channels
        return {channels.names[at]: channels.name_of(at, number) for at, number in sorted(taken.observed().items())}
