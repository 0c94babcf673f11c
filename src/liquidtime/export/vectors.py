"""Test vectors: series with the library's predictions after each of their samples, for comparison with an export."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from liquidtime.data import SeriesEncoder, SeriesSet
from liquidtime.data.encoding.alignment import aligned
from liquidtime.estimators.forecast import Recent
from liquidtime.estimators.live import LiveSeries, ScaleStep
from liquidtime.export.forecast_step import ForecastStep
from liquidtime.export.step import Step
from liquidtime.times import SECONDS

COUNT, LONGEST = 20, 60
_NO_CATEGORY = "\x00 no category"
BOUND = 5e-6
"""Largest difference allowed for an export, in probabilities or in standard deviations of a regression target."""


class CheckFailed(RuntimeError):
    """An exported model does not reproduce the library; nothing was written."""


@dataclass(frozen=True)
class Questions:
    """The forecasts requested after each of T samples of a series.

    Args:
        asked: (T,) requested times, on the clock of the series.
        future: (T, K) values of the known channels at those times, NaN for unchanged.
        coverage: (T,) coverage of the intervals.
        origin: zero of the clock of the series in time units since 1970; None if its times have no date.
    """

    asked: npt.NDArray[np.float64]
    future: npt.NDArray[np.float32]
    coverage: npt.NDArray[np.float64]
    origin: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, with None for NaN."""
        return {
            "asked": self.asked.tolist(),
            "future": [_plain(row) for row in self.future],
            "coverage": self.coverage.tolist(),
            "origin": self.origin,
        }


@dataclass(frozen=True)
class Vector:
    """One series.

    Args:
        id: id of the series.
        static: (F,) float32 raw static features, NaN if unknown.
        times: (T,) float64.
        values: (T, C) float32, NaN if not observed.
        predictions: (T, K) predictions after each sample.
        questions: the forecasts requested from a forecaster after each sample; None for other models.
    """

    id: str
    static: npt.NDArray[np.float32]
    times: npt.NDArray[np.float64]
    values: npt.NDArray[np.float32]
    predictions: npt.NDArray[np.float64]
    questions: Questions | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, with None for NaN."""
        plain = {
            "id": self.id,
            "static": _plain(self.static),
            "times": self.times.tolist(),
            "values": [_plain(row) for row in self.values],
            "predictions": self.predictions.tolist(),
        }
        return plain if self.questions is None else plain | self.questions.to_dict()


def vectors_of(step: Step, data: SeriesSet | None) -> list[Vector]:
    """Return 20 series of a set, evenly spread over it, or made-up series in the ranges of training without a set.

    Args:
        step: step of the model.
        data: real series, or None.

    Raises:
        ValueError: the set has no series with a sample.

    """
    encoder = step.encoder
    if data is None:
        rng = np.random.default_rng(0)
        return [_answered(step, f"made up {k}", *_made_up(encoder, rng)) for k in range(COUNT)]
    data = aligned(data, encoder.channels_, encoder.static_names_, encoder.categories_, encoder.time_unit_)
    rows = np.flatnonzero(data.lengths > 0)
    if len(rows) == 0:
        raise ValueError("the data must hold at least one series with a sample; got none")
    chosen = rows[np.linspace(0, len(rows) - 1, min(COUNT, len(rows))).astype(int)]
    made = []
    for row in chosen:
        part = slice(data.offsets[row], min(data.offsets[row + 1], data.offsets[row] + LONGEST))
        made.append(_answered(step, str(data.ids[row]), data.static[row], data.times[part], data.values[part]))
    return made


def differences(step: Step, expected: npt.NDArray[Any], actual: npt.NDArray[Any]) -> float:
    """Return the largest difference of predictions (..., K), in the unit of `BOUND`; NaN counts as infinite."""
    apart = np.abs(np.asarray(expected, dtype=np.float64) - actual) / step.spread
    return float(np.nan_to_num(apart, nan=np.inf).max(initial=0.0))


def check(difference: float, what: str) -> None:
    """Refuse an export that differs from the library by more than `BOUND`."""
    if difference > BOUND:
        raise CheckFailed(f"{what} differs from the model by {difference:.2g}, above {BOUND:g}; nothing was written")


def _answered(
    step: Step,
    id: str,
    static: npt.NDArray[np.float32],
    times: npt.NDArray[np.float64],
    values: npt.NDArray[np.float32],
) -> Vector:
    if isinstance(step, ForecastStep):
        return _forecast(step, id, static, times, values)
    encoder = step.encoder
    live = LiveSeries(ScaleStep.of(step.encoders, step.networks), _by_name(encoder, static))
    predictions = [
        step.finished(live.update(float(t), row)).mean(dim=0).double().numpy()
        for t, row in zip(times, values, strict=True)
    ]
    return Vector(id, static.astype(np.float32), times.astype(np.float64), values, np.stack(predictions))


def _forecast(
    step: ForecastStep,
    id: str,
    static: npt.NDArray[np.float32],
    times: npt.NDArray[np.float64],
    values: npt.NDArray[np.float32],
) -> Vector:
    """Return a series with forecasts after each sample, at near and far times, with dates if these matter."""
    model, encoder = copy.copy(step._model), step.encoder
    model.__dict__.pop("_streams", None)  # its live series remain unchanged
    rng, T, K = np.random.default_rng(len(times)), len(times), len(step.known_channels)
    origin, stamps = None, times
    if step.calendar:
        assert encoder.time_unit_ is not None
        unit = round(SECONDS[encoder.time_unit_] * 1e9)
        first = np.datetime64("2024-01-01", "ns") + np.timedelta64(int(rng.integers(2 * 365 * 86400)), "s")
        ticks = np.rint((times - times[0]) * unit).astype(np.int64)
        times, stamps = ticks / unit, first + ticks.astype("timedelta64[ns]")
        origin = float(first.astype(np.int64)) / unit
    asked = times + step.horizon * rng.choice([0.0, 0.05, 0.3, 1.0, 1.5], T)
    future = np.where(rng.random((T, K)) < 0.5, np.nan, rng.normal(size=(T, K))).astype(np.float32)
    coverage = rng.choice([0.5, 0.9, 0.99], T)
    rows = []
    for k in range(T):
        model.update(0, stamps[k], values[k], static=_by_name(encoder, static) if k == 0 and len(static) else None)
        memory = model._live[0].state.memory
        assert isinstance(memory, Recent)
        ahead = max(asked[k] - memory.step, 0.0)  # a bin may begin a rounding error after its first sample
        known = {
            name: float(value)
            for name, value in zip(step.known_channels, future[k], strict=True)
            if not np.isnan(value)
        }
        said = model.forecast(0, [ahead], intervals=float(coverage[k]), known=known)
        rows.append(np.concatenate([part[0] for part in said]))
    questions = Questions(asked, future, coverage, origin)
    return Vector(id, static.astype(np.float32), times.astype(np.float64), values, np.stack(rows), questions)


def _by_name(encoder: SeriesEncoder, static: npt.NDArray[np.float32]) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for name, value in zip(encoder.static_names_, static.tolist(), strict=True):
        labels: Sequence[str] | None = encoder.categories_.get(name)
        if labels is not None and value == value:
            value = labels[int(value)] if value >= 0 else _NO_CATEGORY
        named[name] = value
    return named


def _made_up(
    encoder: SeriesEncoder, rng: np.random.Generator
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float64], npt.NDArray[np.float32]]:
    """Return static features, times and values of a series, with repeated times, gaps and missing values."""
    T = int(rng.integers(5, LONGEST // 2))
    gaps = encoder.time_scale_ * rng.choice([0.0, 0.3, 1.0, 1.0, 2.5, 30.0], T)

    def drawn(names: Sequence[str], scaling: Any, n: int) -> npt.NDArray[np.float32]:
        columns = []
        for c, name in enumerate(names):
            labels = encoder.categories_.get(name)
            made = scaling.invert(c, rng.normal(size=n)) if labels is None else rng.integers(-1, len(labels), n)
            columns.append(np.where(rng.random(n) < 0.3, np.nan, made))
        return np.array(columns, dtype=np.float32).T.reshape(n, len(names))

    values = drawn(encoder.channels_, encoder.scaling_, T)
    static = drawn(encoder.static_names_, encoder.static_scaling_, 1)[0]
    return static, np.cumsum(gaps), values


def _plain(row: npt.NDArray[np.float32]) -> list[float | None]:
    return [None if value != value else value for value in row.tolist()]


def as_tensors(row: npt.NDArray[np.float32]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return values (..., n) with 0 for missing ones, and whether each value is present."""
    values = torch.from_numpy(row)
    return torch.nan_to_num(values), ~values.isnan()
