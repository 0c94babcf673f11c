"""The service without HTTP: live series in a store, whole series, and what there is to know about both."""

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
    Asked,
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
_DENSE = "the series is denser than the model remembers; export it with a larger --memory"
_LOCKS = 256
_MOST_POINTS = 100_000
"""Points of paths in one answer."""
_JUMP = 60.0
"""Seconds by which the clock of the machine may differ from the time that has passed before it counts as set anew."""


class Service:
    """A model with the state of its live series.

    Args:
        model: that serves.
        store: of the state.
        settings: limits, and what is remembered.
        metrics: in which is counted what happens.
        now: the time in seconds since 1970.
        passed: seconds that only ever pass, from some beginning.
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
        self._seen: tuple[float, float] | None = None  # both clocks when series were last forgotten
        self._patient_until = -math.inf
        self._locks = tuple(threading.Lock() for _ in range(_LOCKS))  # fewer conflicts, not what makes it right

    def take(self, id: str, request: NewSamples) -> LiveAnswer:
        """Take samples of a live series, all or none, and return its prediction now.

        Raises:
            Refused: a sample or a question that does not fit, or a series too many.

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
            (prediction,) = self._predictions([outcome.record], request.forecast)  # refuses before it is stored
            if outcome.record is record:
                return outcome, prediction
            seen = None if stored is None else stored.version
            try:
                if self.store.put(id, outcome.record.to_bytes(), seen, now, self.settings.most_series):
                    return outcome, prediction
            except Full:
                most = self.settings.most_series
                text = (
                    f"{most:,} series are kept, and no more may be. Delete some, or start with a larger --max-series."
                )
                raise Refused(429, "too_many_series", text) from None
            self.metrics.conflicts.inc()
            time.sleep(random.uniform(0.0, 0.001 * min(attempt + 1, 20)))
        raise Refused(
            503, "contended", f"other requests changed the series {_TRIES} times meanwhile; send the request again"
        )

    def get(self, id: str, question: Question | None = None) -> SeriesAnswer:
        """Return where a series stands, with the path of its predictions, or of a forecaster its newest samples."""
        self._check_question(question)
        record = self._found(id)
        (prediction,) = self._predictions([record], question)
        return self._answer(id, record, prediction, self.settings.keep)

    def forecast(self, id: str, question: Question) -> ForecastAnswer:
        """Return what a forecaster says of a live series."""
        self._check_question(question)
        record = self._found(id)
        (prediction,) = self._predictions([record], question)
        return ForecastAnswer(id, record.clock.tell(record.newest[-1].ticks), prediction)

    def newest(self, count: int, path: int) -> SeriesList:
        """Return this many series, those with the newest samples first, each with this many points of its path."""
        if count * min(path, self.settings.keep) > _MOST_POINTS:
            text = f"`limit` times `path` may be {_MOST_POINTS:,}; ask for fewer series, or for fewer points of each"
            raise Refused(422, "too_many_points", text)
        ids, records = [], []
        for each in self.store.newest(count):
            with contextlib.suppress(Refused):  # one that is damaged says so when it is asked for by its id
                records.append(self._read(each.content))
                ids.append(each.id)
        told = zip(ids, records, self._predictions(records, None), strict=True)
        series = [self._answer(id, record, prediction, path) for id, record, prediction in told]
        return SeriesList(series, self.store.count())

    def delete(self, id: str) -> None:
        """Forget a series."""
        if not self.store.delete(id):
            raise Refused(404, "unknown_series", "there is no series of this id")

    def evict(self) -> int:
        """Forget the series that have had no sample for too long; return how many.

        Ages are told by the clock of the machine. Where that was set forward, all series look old: then none is
        forgotten until those that are alive have had the time for a sample.
        """
        if self.settings.oldest is None:
            return 0
        now, passed = self._now(), self._passed()
        if self._seen is not None and (now - self._seen[0]) - (passed - self._seen[1]) > _JUMP:
            LOG.warning("the clock of this machine was set forward; no series is forgotten for a while")
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
            said = self.whole_forecasts(rows, statics, clocks, request.forecast)
        else:
            said = [self.model.in_words(row) for row in self.whole(rows, statics)]
        return Predictions([PredictedSeries(one.id, own) for one, own in zip(request.series, said, strict=True)])

    def whole_forecasts(
        self,
        series: Sequence[tuple[Doubles, Floats]],
        statics: Sequence[Floats],
        clocks: Sequence[Clock],
        question: Question | None,
    ) -> list[Prediction]:
        """Return what a forecaster says after whole series.

        Args:
            series: times (T,) and values (T, C) of each; samples at their ends that hold known channels alone are
                their future.
            statics: (F,) of each.
            clocks: of each.
            question: that is asked of each.

        Raises:
            Refused: a question that does not fit.

        """
        model, said = self.model.forecaster, dict[int, Prediction]()
        assert model is not None
        past, asked = [], []
        for s, ((times, values), clock) in enumerate(zip(series, clocks, strict=True)):
            end = without_future(times, values, model.known_places)
            try:
                own = read_question(model, question, clock, float(times[end - 1]) if end else 0.0)
            except Refused as refusal:
                raise refusal if len(series) == 1 else refusal.within(f"series[{s}]") from None
            past.append((times[:end], values[:end]))
            asked.append(known_by(times, values, own, model.known_places))
            check_count(len(series) * len(own.times))
        for rows in self.model.in_blocks([len(times) for times, _ in past]):
            origins = np.array([origin_of(clocks[row], self.model.nanoseconds) for row in rows])
            static = [statics[row] for row in rows]
            states = self.model.states_after([past[row] for row in rows], static, origins)
            made = answers(model, *states, np.stack(static), [asked[row] for row in rows])
            for place, (row, own_said) in enumerate(zip(rows, made, strict=True)):
                said[row] = self._as_forecast(own_said, asked[row], states[0][place])
        return [said[row] for row in range(len(series))]

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
                    text = "samples must be in order of time; this one is before the one before it"
                    raise Refused(422, "out_of_order", text, "time")
            except Refused as refusal:
                raise refusal.within(f"samples[{k}]") from None
        return clock, (times, rows)

    def health(self) -> Health:
        """Return whether model and store can be used; raise what the store says if not."""
        model, store = self.model, self.store
        return Health("ok", model.name, model.identity, store.kind, store.count(), __version__)

    def facts(self) -> ModelAnswer:
        """Return what the model takes and says."""
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
            raise Refused(404, "unknown_series", "there is no series of this id; it starts with its first sample")
        return self._read(stored.content)

    def _check_question(self, question: Question | None) -> None:
        """Refuse a question that the model cannot answer, whatever the series."""
        if question is None:
            return
        if self.model.forecaster is None:
            text = f"the model is for {self.model.description['task']}, not for forecasts; leave `forecast` out"
            raise Refused(422, "no_forecaster", text, "forecast")
        check_count(max(len(question.horizons or ()), len(question.times or ())))

    def _prediction(self, taken: Taken) -> Prediction:
        return self.model.in_words(numbers(taken.prediction, np.float64))

    def _predictions(self, records: Sequence[Record], question: Question | None) -> list[Prediction]:
        """Return the predictions now of some series."""
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
        asked = [
            read_question(model, question, record.clock, model.now(own))
            for record, own in zip(records, doubles, strict=True)
        ]
        made = answers(model, doubles, floats, static, asked)
        return [self._as_forecast(*one) for one in zip(made, asked, doubles, strict=True)]

    def _as_forecast(self, said: Doubles, asked: Asked, doubles: Doubles) -> Prediction:
        assert self.model.forecaster is not None
        told = points(self.model.forecaster, said, asked)
        if self.model.forecaster.forgot(doubles):
            return Prediction(forecast=told, note=_DENSE)
        return Prediction(forecast=told)

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
