"""Conversion of requested forecasts to the form of the model, and of its forecasts to answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from liquidtime.errors import nearest
from liquidtime.serving.clock import AWARE, NAIVE, Clock
from liquidtime.serving.messages import ForecastPoint, Question, Value
from liquidtime.serving.model import LARGEST_VALUE, Doubles, Floats, Forecaster
from liquidtime.serving.refusal import Refused

PARTS_OF_HORIZON = 4
"""Number of equal parts of the model's horizon that are forecast if a request names no times."""
MOST_ANSWERS = 100_000
"""Largest number of forecasts in one request, over all its series and times."""


class ForecastRequest(NamedTuple):
    """The forecasts requested for one series.

    Args:
        times: (Q,) times as the model reads them.
        coverage: fraction of values that intervals should contain.
        future: (Q, K) the known channels at those times, NaN if unchanged.
        clock: clock of the series, for times in the answer.
    """

    times: Doubles
    coverage: float
    future: Floats
    clock: Clock


def read_question(model: Forecaster, question: Question | None, clock: Clock, now: float) -> ForecastRequest:
    """Return a request about one series in the form of the model.

    Args:
        model: the model.
        question: the request; None for the model's horizon in equal parts.
        clock: clock of the series.
        now: the time from which horizons count; earlier times are refused.

    Raises:
        Refused: times are before `now` or of another type than those of the series, or a channel has no known future.

    """
    question = question or Question()
    if question.times is not None:
        if question.horizons is not None:
            raise Refused(422, "bad_question", "pass `horizons` or `times`, not both", "forecast")
        times = np.zeros(len(question.times))
        for k, told in enumerate(question.times):
            try:
                _, _, times[k] = clock.read(told, model.nanoseconds)
            except Refused as refusal:
                raise Refused(refusal.status, refusal.code, refusal.message, f"forecast.times[{k}]") from None
            if times[k] < now:
                text = f"forecasts are for times after the samples, from {clock.tell_time(now, model.nanoseconds)!r} on"
                raise Refused(422, "time_in_the_past", text, f"forecast.times[{k}]")
    else:
        times = now + np.array(default_horizons(model) if question.horizons is None else question.horizons, dtype=float)
    future = np.full((len(times), len(model.known)), np.nan, dtype=np.float32)
    for name, values in (question.known or {}).items():
        place = f"forecast.known.{name}"
        if name not in model.known:
            hint = nearest(name, model.known) or f"; there are {', '.join(model.known[:20]) or 'none'}"
            raise Refused(422, "unknown_channel", f"{name!r} is not a known channel of the model{hint}", place)
        row = values if isinstance(values, list) else [values] * len(times)
        if len(row) != len(times):
            text = f"{name!r} must have a number, or one for each of the {len(times)} times; got {len(row)}"
            raise Refused(422, "bad_question", text, place)
        future[:, model.known.index(name)] = [_number(value, name, place) for value in row]
    return ForecastRequest(times, question.intervals, future, clock)


def default_horizons(model: Forecaster) -> list[float]:
    """Return the model's horizon in equal parts."""
    return [model.horizon * (k + 1) / PARTS_OF_HORIZON for k in range(PARTS_OF_HORIZON)]


def points(model: Forecaster, numbers: Doubles, request: ForecastRequest) -> list[ForecastPoint]:
    """Return forecasts (Q, 3C) as an answer."""

    def named(numbers: Doubles) -> dict[str, float]:
        return dict(zip(model.targets, numbers.tolist(), strict=True))

    return [
        ForecastPoint(request.clock.tell_time(float(time), model.nanoseconds), *map(named, np.split(row, 3)))
        for time, row in zip(request.times, numbers, strict=True)
    ]


def check_count(answers: int) -> None:
    """Refuse more forecasts than a request may have."""
    if answers > MOST_ANSWERS:
        text = f"a request may have at most {MOST_ANSWERS:,} forecasts (series multiplied by times); got {answers:,}"
        raise Refused(413, "too_many_forecasts", text, "forecast")


def origin_of(clock: Clock, nanoseconds: int | None) -> float:
    """Return the zero of the clock of a series in the model's time units since 1970, NaN if its times have no date."""
    if clock.kind not in (NAIVE, AWARE) or clock.origin is None or nanoseconds is None:
        return float("nan")
    return clock.origin / nanoseconds


def without_future(times: Doubles, values: Floats, known: Sequence[int]) -> int:
    """Return the number of samples of a series before those at its end that have only known channels."""
    if not known or not len(times):
        return len(times)
    others = np.setdiff1d(np.arange(values.shape[1]), known)
    measured = np.flatnonzero(~np.isnan(values[:, others]).all(axis=1))
    return int(measured[-1]) + 1 if len(measured) else 0


def known_by(times: Doubles, values: Floats, request: ForecastRequest, known: Sequence[int]) -> ForecastRequest:
    """Return the request with the newest values of known channels by the requested times, unless it has its own."""
    future = request.future.copy()
    for k, place in enumerate(known):
        seen = ~np.isnan(values[:, place])
        at = np.searchsorted(times[seen], request.times, side="right") - 1
        newest = np.append(values[seen, place], np.float32(np.nan))[at]  # -1 is the last: NaN
        future[:, k] = np.where(np.isnan(future[:, k]), newest, future[:, k])
    return request._replace(future=future)


def _number(value: Value, name: str, place: str) -> float:
    if value is None:
        return float("nan")
    if isinstance(value, str) or not abs(value) <= LARGEST_VALUE:
        raise Refused(422, "bad_value", f"{name!r} must be a number in the range of float32, or null", place)
    return float(value)


def answers(
    model: Forecaster, doubles: Doubles, floats: Floats, static: Floats, requests: Sequence[ForecastRequest]
) -> list[Doubles]:
    """Return (Q, 3C) forecasts for each of S series, using as few runs of the model as possible.

    Args:
        model: the model.
        doubles: (S, …) doubles of the states.
        floats: (S, …) floats of the states.
        static: (S, F) static features.
        requests: the request for each series.
    """
    counts = [len(each.times) for each in requests]
    numbers = model.answer(
        doubles,
        floats,
        static,
        np.repeat(np.arange(len(requests)), counts),
        np.concatenate([each.times for each in requests]),
        np.repeat([each.coverage for each in requests], counts),
        np.concatenate([each.future for each in requests]),
    )
    return np.split(numbers, np.cumsum(counts)[:-1])
