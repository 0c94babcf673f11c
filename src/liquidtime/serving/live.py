"""Samples of a live series: new ones are processed, repeated ones ignored, and invalid ones refuse the request.

A value is identified by its series, time and channel. The newest samples of a series are stored, so that a request that
is sent again because its answer was lost is recognised.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from liquidtime.serving.clock import Clock
from liquidtime.serving.forecasts import origin_of
from liquidtime.serving.messages import Sample, Value
from liquidtime.serving.model import Doubles, Floats, ServedModel
from liquidtime.serving.record import FORMAT, Record, Sizes, Taken, numbers
from liquidtime.serving.refusal import Refused


@dataclass(frozen=True)
class Outcome:
    """The effect of the samples of a request.

    Args:
        record: record of the series, which is the previous one if nothing was new.
        taken: number of samples with something new.
        repeated: number of samples that were known already.
    """

    record: Record
    taken: int
    repeated: int


def sizes_of(model: ServedModel) -> Sizes:
    """Return the sizes of the records of a model's series."""
    doubles, floats = map(len, model.start)
    outputs = model.outputs if model.forecaster is None else 0
    return Sizes(doubles, floats, len(model.static), len(model.channels), outputs)


def take(
    model: ServedModel,
    record: Record | None,
    samples: Sequence[Sample],
    static: Mapping[str, Value] | None,
    keep: int,
    now: float,
) -> Outcome:
    """Process samples of one series, all of them or none.

    Args:
        model: the model.
        record: record of the series so far; None if it is new.
        samples: at least one, in order of time.
        static: static features by name, only with the first samples.
        keep: number of samples to store; those of the request are always stored.
        now: time in seconds since 1970.

    Raises:
        Refused: a sample is invalid; the text says which and why.

    """
    series = _Series(model, record, static)
    for k, sample in enumerate(samples):
        try:
            series.add(sample)
        except Refused as refusal:
            raise refusal.within(f"samples[{k}]") from None
    if not series.taken and record is not None:
        return Outcome(record, 0, series.repeated)
    return Outcome(series.record(max(keep, len(samples)), now), series.taken, series.repeated)


class _Series:
    """A series while the samples of a request are added, invisible to others until all samples are valid."""

    def __init__(self, model: ServedModel, record: Record | None, static: Mapping[str, Value] | None) -> None:
        self._model = model
        self.taken = self.repeated = 0
        self._clock, self._newest, self._times = Clock(), list[Taken](), 0
        self._doubles, self._floats = model.start
        self._static = model.static.row(static or {}, "static")
        if record is not None:
            stored = numbers(record.static, np.float32)
            if static is not None and not np.array_equal(self._static, stored, equal_nan=True):
                text = "the static features of the series were set by its first samples; delete it to start again"
                raise Refused(409, "other_static", text, "static")
            self._clock, self._newest, self._times = record.clock, list(record.newest), record.times
            self._doubles, self._floats = numbers(record.doubles, np.float64), numbers(record.floats, np.float32)
            self._static = stored

    def add(self, sample: Sample) -> None:
        """Process a sample, or recognise it as known."""
        clock, ticks, time = self._clock.read(sample.time, self._model.nanoseconds)
        row = self._model.channels.row(sample.values, "values")
        open_step = False
        if self._newest and time <= self._newest[-1].time:
            open_step = time == self._newest[-1].time
            row = self._new_part(row, self._known(time), open_step, sample)
            if np.isnan(row).all():
                self.repeated += 1
                return
        doubles = self._doubles
        if not self._newest and self._model.forecaster is not None:
            doubles = self._model.forecaster.dated(doubles, origin_of(clock, self._model.nanoseconds))
        self._doubles, self._floats, prediction = self._model.step(doubles, self._floats, time, row, self._static)
        self._clock = clock
        self._remember(ticks, time, row, prediction, open_step)
        self.taken += 1

    def _known(self, time: float) -> dict[int, float]:
        """Return the values observed at a time that is not after the newest one."""
        at = bisect_left(self._newest, time, key=lambda taken: taken.time)
        if self._newest[at].time != time:
            raise self._late("has no sample at that time")
        return self._newest[at].observed()

    def _new_part(self, row: Floats, known: dict[int, float], open_step: bool, sample: Sample) -> Floats:
        """Return the values in a row that are not known yet, NaN for the others."""
        row = row.copy()
        observed = np.flatnonzero(~np.isnan(row))
        for channel in observed.tolist():
            if channel not in known:
                if not open_step:
                    raise self._late(f"has no {self._model.channels.names[channel]!r} at that time")
            elif known[channel] == float(row[channel]):
                row[channel] = np.nan
            else:
                name = self._model.channels.names[channel]
                raise Refused(
                    409,
                    "other_value",
                    f"{name!r} already has the value {known[channel]:g} at this time; got {sample.values[name]!r}. "
                    "Stored values are not changed; delete the series to start it again.",
                    f"values.{name}",
                )
        return row

    def _late(self, why: str) -> Refused:
        newest = self._clock.tell(self._newest[-1].ticks)
        text = f"the sample is late: the newest one of the series is at {newest!r}, and its stored part {why}"
        return Refused(409, "late_sample", f"{text}. Send samples in order of time.", "time")

    def _remember(self, ticks: int | float, time: float, row: Floats, prediction: Doubles, open_step: bool) -> None:
        new = np.flatnonzero(~np.isnan(row))
        channels, values = new.astype(np.uint16).tobytes(), row[new].tobytes()
        if open_step:
            newest = self._newest.pop()
            channels, values = newest.channels + channels, newest.values + values
        else:
            self._times += 1
        self._newest.append(Taken(ticks, time, channels, values, prediction.tobytes()))

    def record(self, keep: int, now: float) -> Record:
        """Return the record to store, with the newest `keep` samples."""
        assert self._clock.kind is not None
        return Record(
            FORMAT,
            self._clock.kind,
            self._clock.origin,
            self._static.tobytes(),
            self._doubles.tobytes(),
            self._floats.tobytes(),
            self._times,
            now,
            self._newest[-max(1, keep) :],
        )
