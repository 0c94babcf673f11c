"""The service without HTTP: live series in a store, whole series, and what there is to know about both."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from liquidtime._version import __version__
from liquidtime.serving.clock import Clock
from liquidtime.serving.live import Outcome, take
from liquidtime.serving.messages import (
    Health,
    LiveAnswer,
    ModelAnswer,
    NewSamples,
    Point,
    PredictedSeries,
    Prediction,
    PredictionRequest,
    Predictions,
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

_TRIES = 200
_LOCKS = 256


class Service:
    """A model with the state of its live series.

    Args:
        model: that serves.
        store: of the state.
        settings: limits, and what is remembered.
        metrics: in which is counted what happens.
        now: the time in seconds since 1970.
    """

    def __init__(
        self,
        model: ServedModel,
        store: Store,
        settings: Settings,
        metrics: Metrics,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.model, self.store, self.settings, self.metrics, self._now = model, store, settings, metrics, now
        self._locks = tuple(threading.Lock() for _ in range(_LOCKS))  # fewer conflicts, not what makes it right

    def take(self, id: str, request: NewSamples) -> LiveAnswer:
        """Take samples of a live series, all or none, and return its prediction now.

        Raises:
            Refused: a sample that does not fit, or a series too many.

        """
        self.model.check_unit(request.time_unit)
        with self._locks[hash(id) % _LOCKS]:
            outcome = self._take(id, request)
        self.metrics.samples.labels("taken").inc(outcome.taken)
        self.metrics.samples.labels("repeated").inc(outcome.repeated)
        record = outcome.record
        return LiveAnswer(
            id=id,
            time=record.clock.tell(record.newest[-1].ticks),
            prediction=self._prediction(record.newest[-1]),
            taken=outcome.taken,
            repeated=outcome.repeated,
            times=record.times,
        )

    def _take(self, id: str, request: NewSamples) -> Outcome:
        for attempt in range(_TRIES):
            stored = self.store.get(id)
            record = None if stored is None else self._read(stored.content)
            now = self._now()
            outcome = take(self.model, record, request.samples, request.static, self.settings.keep, now)
            if outcome.record is record:
                return outcome
            seen = None if stored is None else stored.version
            try:
                if self.store.put(id, outcome.record.to_bytes(), seen, now, self.settings.most_series):
                    return outcome
            except Full:
                most = self.settings.most_series
                text = (
                    f"{most:,} series are kept, and no more may be. Delete some, or start with a larger --max-series."
                )
                raise Refused(429, "too_many_series", text) from None
            self.metrics.conflicts.inc()
            time.sleep(random.uniform(0.0, 0.001 * min(attempt + 1, 20)))
        raise Refused(503, "contended", f"the series was changed by others {_TRIES} times meanwhile; send it again")

    def get(self, id: str) -> SeriesAnswer:
        """Return where a series stands, with the path of its predictions."""
        stored = self.store.get(id)
        if stored is None:
            raise Refused(404, "unknown_series", "there is no series of this id; it starts with its first sample")
        return self._answer(id, self._read(stored.content), self.settings.keep)

    def newest(self, count: int, path: int) -> SeriesList:
        """Return this many series, those with the newest samples first, each with this many points of its path."""
        listed = self.store.newest(count)
        series = [self._answer(each.id, self._read(each.content), path) for each in listed]
        return SeriesList(series, self.store.count())

    def delete(self, id: str) -> None:
        """Forget a series."""
        if not self.store.delete(id):
            raise Refused(404, "unknown_series", "there is no series of this id")

    def evict(self) -> int:
        """Forget the series that have had no sample for too long; return how many."""
        if self.settings.oldest is None:
            return 0
        count = self.store.evict(self._now() - self.settings.oldest)
        self.metrics.evicted.inc(count)
        return count

    def predict(self, request: PredictionRequest) -> Predictions:
        """Return a prediction for each of some whole series."""
        self.model.check_unit(request.time_unit)
        read, statics = [], []
        for s, series in enumerate(request.series):
            try:
                statics.append(self.model.static.row(series.static or {}, "static"))
                read.append(self._whole(series))
            except Refused as refusal:
                raise refusal.within(f"series[{s}]") from None
        made = [
            PredictedSeries(series.id, self.model.in_words(row))
            for series, row in zip(request.series, self.whole(read, statics), strict=True)
        ]
        return Predictions(made)

    def whole(self, series: Sequence[tuple[Doubles, Floats]], statics: Sequence[Floats]) -> Doubles:
        """Return (S, K) the predictions for whole series."""
        try:
            return self.model.whole(series, statics)
        except Refused as refusal:
            raise refusal.within("series") from None

    def _whole(self, series: WholeSeries) -> tuple[Doubles, Floats]:
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
        return times, rows

    def health(self) -> Health:
        """Return whether model and store can be used; raise what the store says if not."""
        model, store = self.model, self.store
        return Health("ok", model.name, model.identity, store.kind, store.count(), __version__)

    def facts(self) -> ModelAnswer:
        """Return what the model takes and says."""
        model, told = self.model, self.model.description
        facts = {name: told[name] for name in ("task", "classes", "outputs", "time_unit", "channels", "static")}
        return ModelAnswer(name=model.name, identity=model.identity, threshold=told.get("threshold"), **facts)

    def _read(self, content: bytes) -> Record:
        doubles, floats = self.model.start
        return read_record(content, len(doubles), len(floats))

    def _prediction(self, taken: Taken) -> Prediction:
        return self.model.in_words(numbers(taken.prediction, np.float64))

    def _answer(self, id: str, record: Record, path: int) -> SeriesAnswer:
        clock, newest = record.clock, record.newest[-1]
        shown = record.newest[-path:] if path else []
        return SeriesAnswer(
            id=id,
            time=clock.tell(newest.ticks),
            prediction=self._prediction(newest),
            times=record.times,
            updated=record.updated,
            path=[Point(clock.tell(taken.ticks), self._prediction(taken)) for taken in shown],
        )
