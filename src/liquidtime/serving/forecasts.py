"""What is asked of a forecaster, as its model takes it, and its answers in words."""

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
"""Times that are answered where none are named: these equal parts of the model's horizon."""
MOST_ANSWERS = 100_000
"""Forecasts of one request, over all its series and times."""


class Asked(NamedTuple):
    """What is asked of one series.

    Args:
        times: (Q,) as the model takes them.
        coverage: the share of values that intervals are to hold.
        future: (Q, K) the known channels at those times, NaN for those that stay as they are.
        clock: of the series, by which the times are told.
    """

    times: Doubles
    coverage: float
    future: Floats
    clock: Clock


def read_question(model: Forecaster, question: Question | None, clock: Clock, now: float) -> Asked:
    """Return a question about one series as the model takes it.

    Args:
        model: that is asked.
        question: None for the model's horizon in equal parts.
        clock: of the series.
        now: the time from which horizons count, and before which nothing is asked.

    Raises:
        Refused: times before `now` or of another kind than the series', or channels whose future is not known.

    """
    question = question or Question()
    if question.times is not None:
        if question.horizons is not None:
            raise Refused(422, "bad_question", "name `horizons` or `times`, not both", "forecast")
        times = np.zeros(len(question.times))
        for k, told in enumerate(question.times):
            try:
                _, _, times[k] = clock.read(told, model.nanoseconds)
            except Refused as refusal:
                raise Refused(refusal.status, refusal.code, refusal.message, f"forecast.times[{k}]") from None
            if times[k] < now:
                text = f"a forecast is for times after the samples, from {clock.tell_time(now, model.nanoseconds)!r} on"
                raise Refused(422, "time_in_the_past", text, f"forecast.times[{k}]")
    else:
        times = now + np.array(default_horizons(model) if question.horizons is None else question.horizons, dtype=float)
    future = np.full((len(times), len(model.known)), np.nan, dtype=np.float32)
    for name, values in (question.known or {}).items():
        place = f"forecast.known.{name}"
        if name not in model.known:
            hint = nearest(name, model.known) or f"; there are {', '.join(model.known[:20]) or 'none'}"
            raise Refused(422, "unknown_channel", f"{name!r} is not a channel whose future the model uses{hint}", place)
        row = values if isinstance(values, list) else [values] * len(times)
        if len(row) != len(times):
            text = f"{name!r} must have a number, or one for each of the {len(times)} times; got {len(row)}"
            raise Refused(422, "bad_question", text, place)
        future[:, model.known.index(name)] = [_number(value, name, place) for value in row]
    return Asked(times, question.intervals, future, clock)


def default_horizons(model: Forecaster) -> list[float]:
    """Return the model's horizon in equal parts."""
    return [model.horizon * (k + 1) / PARTS_OF_HORIZON for k in range(PARTS_OF_HORIZON)]


def points(model: Forecaster, said: Doubles, asked: Asked) -> list[ForecastPoint]:
    """Return forecasts (Q, 3C) in words."""

    def named(numbers: Doubles) -> dict[str, float]:
        return dict(zip(model.targets, numbers.tolist(), strict=True))

    return [
        ForecastPoint(asked.clock.tell_time(float(time), model.nanoseconds), *map(named, np.split(row, 3)))
        for time, row in zip(asked.times, said, strict=True)
    ]


def check_count(answers: int) -> None:
    """Refuse more forecasts than one request may ask for."""
    if answers > MOST_ANSWERS:
        text = f"a request may ask for {MOST_ANSWERS:,} forecasts, series times times; got {answers:,}"
        raise Refused(413, "too_many_forecasts", text, "forecast")


def origin_of(clock: Clock, nanoseconds: int | None) -> float:
    """Return the zero of a series' clock in the model's units of time since 1970, NaN where it is not dated."""
    if clock.kind not in (NAIVE, AWARE) or clock.origin is None or nanoseconds is None:
        return float("nan")
    return clock.origin / nanoseconds


def without_future(times: Doubles, values: Floats, known: Sequence[int]) -> int:
    """Return how many samples of a series come before those at its end that hold known channels alone."""
    if not known or not len(times):
        return len(times)
    others = np.setdiff1d(np.arange(values.shape[1]), known)
    measured = np.flatnonzero(~np.isnan(values[:, others]).all(axis=1))
    return int(measured[-1]) + 1 if len(measured) else 0


def known_by(times: Doubles, values: Floats, asked: Asked, known: Sequence[int]) -> Asked:
    """Return a question with the newest values of known channels by the times asked, where it names none itself."""
    future = asked.future.copy()
    for k, place in enumerate(known):
        seen = ~np.isnan(values[:, place])
        at = np.searchsorted(times[seen], asked.times, side="right") - 1
        newest = np.append(values[seen, place], np.float32(np.nan))[at]  # -1 is the last: NaN
        future[:, k] = np.where(np.isnan(future[:, k]), newest, future[:, k])
    return asked._replace(future=future)


def _number(value: Value, name: str, place: str) -> float:
    if value is None:
        return float("nan")
    if isinstance(value, str) or not abs(value) <= LARGEST_VALUE:
        raise Refused(422, "bad_value", f"{name!r} must be a number that float32 can hold, or null", place)
    return float(value)


def answers(
    model: Forecaster, doubles: Doubles, floats: Floats, static: Floats, asked: Sequence[Asked]
) -> list[Doubles]:
    """Return (Q, 3C) forecasts for each of S series, all in as few runs of the model as fit.

    Args:
        model: that is asked.
        doubles: (S, …) of the states.
        floats: (S, …) likewise.
        static: (S, F).
        asked: of each series.
    """
    counts = [len(each.times) for each in asked]
    said = model.answer(
        doubles,
        floats,
        static,
        np.repeat(np.arange(len(asked)), counts),
        np.concatenate([each.times for each in asked]),
        np.repeat([each.coverage for each in asked], counts),
        np.concatenate([each.future for each in asked]),
    )
    return np.split(said, np.cumsum(counts)[:-1])
