"""An exported model in onnxruntime: rows from named values, single samples, whole series, predictions as answers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import onnxruntime

from liquidtime.errors import nearest
from liquidtime.serving.exported import FORECAST, identity_of, read_description, read_exported
from liquidtime.serving.messages import Prediction, Value
from liquidtime.serving.refusal import Refused

Floats: TypeAlias = npt.NDArray[np.float32]
Doubles: TypeAlias = npt.NDArray[np.float64]
LARGEST_VALUE = float(np.finfo(np.float32).max)
_AT_ONCE, _MOST = 1 << 20, 1 << 26
"""Largest number of values (B, T, C) in one call of the model, and in one series."""


class Step(NamedTuple):
    """A series after a sample: the two vectors of its state, and (K,) the prediction, if the model makes one."""

    doubles: Doubles
    floats: Floats
    prediction: Doubles


class ServedModel:
    """A model to serve; callers hold the state, so one object can be used for any number of series and threads.

    Args:
        folder: folder written by `liquidtime export --to onnx`.
        name: name under which it is served; if empty, that of the folder.

    Raises:
        ValueError: the folder is incomplete, or has a format unknown to this version.

    """

    def __init__(self, folder: Path, name: str = "") -> None:
        files = read_exported(folder)
        self.description = described = read_description(files["model.json"], folder)
        self.name, self.identity = name or folder.resolve().name, identity_of(described)
        self.classes: list[Any] | None = described["classes"]
        self.outputs: int = described["outputs"]
        self.time_unit: str | None = described["time_unit"]
        nanoseconds = described["nanoseconds_per_time_unit"]
        self.nanoseconds = None if nanoseconds is None else round(nanoseconds)
        self.channels, self.static = Columns(described["channels"]), Columns(described["static"])
        sizes = described["state"]
        self.start = (np.zeros(sizes["doubles"]), np.zeros(sizes["floats"], dtype=np.float32))
        self.forecaster: Forecaster | None = None
        self._step, self._series = (_session(files[name], folder / name, described) for name in _MODELS)
        if described["task"] == "forecasting":
            if FORECAST not in files or "doubles_after" not in [each.name for each in self._series.get_outputs()]:
                raise ValueError(f"{folder} was exported by an older version; export the model again to serve it")
            self.forecaster = Forecaster(described, _session(files[FORECAST], folder / FORECAST, described))
        self._try_out(folder)

    def _try_out(self, folder: Path) -> None:
        """Run every file once, so that files which do not fit together are refused at the start."""
        static = np.full(len(self.static), np.nan, dtype=np.float32)
        row, K = np.full(len(self.channels), np.nan, dtype=np.float32), self.outputs
        try:
            after = self.step(*self.start, 0.0, row, static)
            shapes: list[tuple[npt.NDArray[Any], tuple[int, ...]]] = [
                (after.doubles, self.start[0].shape),
                (after.floats, self.start[1].shape),
            ]
            whole: list[tuple[Doubles, Floats]] = [(np.zeros(1), row[None])]
            if self.forecaster is None:
                shapes.append((after.prediction, (K,)))
                shapes.append((self.whole(whole, [static]), (1, K)))
                self.in_words(after.prediction)
            else:
                states = self.states_after(whole, [static], np.full(1, np.nan))
                shapes.append((states[0][0], self.start[0].shape))
                shapes.append((states[1][0], self.start[1].shape))
                future = np.full((1, len(self.forecaster.known)), np.nan, dtype=np.float32)
                one = np.zeros(1, dtype=np.int64)
                self.forecaster.answer(*states, static[None], one, np.ones(1), np.full(1, 0.9), future)
                self.forecaster.now(after.doubles)
                self.forecaster.forgot(after.doubles)
            if any(made.shape != shape for made, shape in shapes):
                raise ValueError("its files differ in the sizes of state or prediction")
        except Exception as error:  # errors of onnxruntime, of numpy, or Refused
            raise ValueError(f"{folder} contains a model that does not run: {' '.join(str(error).split())}") from error

    def step(self, doubles: Doubles, floats: Floats, t: float, row: Floats, static: Floats) -> Step:
        """Process one sample of one series.

        Args:
            doubles: doubles of its state.
            floats: floats of its state.
            t: time of the sample.
            row: (C,) values, NaN if not observed.
            static: (F,) static features, NaN if unknown.

        Raises:
            Refused: a number after the sample is not finite.

        """
        feed = {"doubles": doubles[None], "floats": floats[None], "t": np.array([t]), "values": row[None]}
        if len(static) and self.forecaster is None:
            feed["static"] = static[None]
        doubles_after, floats_after, *said = (part[0] for part in self._step.run(None, feed))
        after = Step(doubles_after, floats_after, said[0] if said else _NOTHING)
        if not all(np.isfinite(part).all() for part in after):
            text = "the sample results in numbers too large for float32; check its time and values"
            raise Refused(422, "not_finite", text)
        return after

    def whole(self, series: Sequence[tuple[Doubles, Floats]], statics: Sequence[Floats]) -> Doubles:
        """Return (S, K) the predictions for whole series, each with its times (T,) and values (T, C)."""
        out = np.zeros((len(series), self.outputs))
        for rows in self.in_blocks([len(times) for times, _ in series]):
            feed = self.padded([series[row] for row in rows], [statics[row] for row in rows])
            out[rows] = np.asarray(self._series.run(["prediction"], feed)[0])
        check_finite(out)
        return out

    def states_after(
        self, series: Sequence[tuple[Doubles, Floats]], statics: Sequence[Floats], origins: Doubles
    ) -> tuple[Doubles, Floats]:
        """Return (S, …) the states of a forecaster after whole series.

        Args:
            series: one block of `in_blocks`, each with its times (T,) and values (T, C).
            statics: (F,) static features of each series.
            origins: (S,) zeros of their clocks in time units since 1970, NaN if their times have no date.
        """
        assert self.forecaster is not None
        feed, S = self.padded(list(series), list(statics)), len(series)
        feed |= {"asked": np.zeros(S), "coverage": np.full(S, 0.9)}
        if self.forecaster.calendar:
            feed["origin"] = origins
        if self.forecaster.known:
            feed["future"] = np.full((S, len(self.forecaster.known)), np.nan, dtype=np.float32)
        doubles, floats = self._series.run(["doubles_after", "floats_after"], feed)
        return doubles, floats

    def in_blocks(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Yield the positions of series that are read at once, with similar lengths together.

        Raises:
            Refused: a series is too long.

        """
        C, start = max(1, len(self.channels)), 0
        state = sum(map(len, self.start))
        order = sorted(range(len(lengths)), key=lambda s: lengths[s])
        for k, s in enumerate(order):
            if max(1, lengths[s]) * C > _MOST:
                text = f"a series may have at most {_MOST // C:,} samples; got {lengths[s]:,}"
                raise Refused(413, "too_long", text, f"[{s}]")
            last = k + 1 == len(order)
            if last or (k + 2 - start) * max(state, lengths[order[k + 1]] * C) > _AT_ONCE:
                yield order[start : k + 1]
                start = k + 1

    def in_words(self, prediction: Doubles) -> Prediction:
        """Return (K,) numbers as an answer."""
        numbers = prediction.tolist()
        if self.description["task"] == "multi-label":
            chances = {str(place): number for place, number in enumerate(numbers)}
            return Prediction(labels=[number >= 0.5 for number in numbers], probabilities=chances)
        if self.classes is None:
            return Prediction(values=numbers)
        threshold = self.description.get("threshold")
        at = int(numbers[1] >= threshold) if threshold is not None else int(prediction.argmax())
        return Prediction(label=self.classes[at], probabilities=dict(zip(map(str, self.classes), numbers, strict=True)))

    def check_unit(self, unit: str | None) -> None:
        """Refuse times in a unit other than that of the model."""
        if unit is not None and unit != self.time_unit:
            own = f"in {self.time_unit!r}" if self.time_unit else "without a unit"
            raise Refused(422, "other_unit", f"the model's times are {own}; got {unit!r}. Convert them.", "time_unit")

    def padded(self, series: list[tuple[Doubles, Floats]], statics: list[Floats]) -> dict[str, Any]:
        """Return whole series in the form that the model reads."""
        lengths = np.array([len(times) for times, _ in series], dtype=np.int64)
        B, T = len(series), max(1, int(lengths.max()))
        times, values = np.zeros((B, T)), np.full((B, T, len(self.channels)), np.nan, dtype=np.float32)
        for b, (own_times, own_values) in enumerate(series):
            times[b, : len(own_times)], values[b, : len(own_times)] = own_times, own_values
        feed = {"times": times, "values": values, "lengths": lengths}
        if len(self.static):
            feed["static"] = np.stack(statics)
        return feed


class Forecaster:
    """Functions that only forecasters have: forecasts for requested times from the state of a series.

    Args:
        described: contents of model.json.
        session: session of forecast.onnx.
    """

    def __init__(self, described: dict[str, Any], session: Any) -> None:
        self._session, self._statics = session, bool(described["static"])
        self.targets, self.known = list(described["targets"]), list(described["known_channels"])
        names = [each["name"] for each in described["channels"]]
        self.known_places = [names.index(name) for name in self.known]
        self.horizon, self.calendar = float(described["horizon"]), bool(described["calendar"])
        nanoseconds = described["nanoseconds_per_time_unit"]
        self.nanoseconds = None if nanoseconds is None else round(nanoseconds)
        self._fields = {field["name"]: int(field["start"]) for field in described["state"]["fields"]}

    def dated(self, doubles: Doubles, origin: float) -> Doubles:
        """Return the doubles of a state after setting the zero of its clock, if the model uses the calendar."""
        if not self.calendar or math.isnan(origin):
            return doubles
        dated = doubles.copy()
        dated[self._fields["origin"]], dated[self._fields["dated"]] = origin, 1.0
        return dated

    def now(self, doubles: Doubles) -> float:
        """Return the time of the newest sample (with bins: of its bin), from which horizons count."""
        return float(doubles[self._fields["scale 0: step"]])

    def forgot(self, doubles: Doubles) -> bool:
        """Return whether a series had more samples than the model can store."""
        return bool(doubles[self._fields["recent: lost"]] > 0)

    def answer(
        self,
        doubles: Doubles,
        floats: Floats,
        static: Floats,
        rows: npt.NDArray[np.int64],
        times: Doubles,
        coverage: Doubles,
        future: Floats,
    ) -> Doubles:
        """Return (N, 3C) forecasts, then the lower, then the upper ends of their intervals.

        Args:
            doubles: (S, …) doubles of the states.
            floats: (S, …) floats of the states.
            static: (S, F) static features.
            rows: (N,) position of the state for each forecast.
            times: (N,) times as the model reads them.
            coverage: (N,) fraction of values that intervals should contain.
            future: (N, K) known channels, NaN if unchanged.

        Raises:
            Refused: forecasts are not finite.

        """
        said = np.zeros((len(rows), 3 * len(self.targets)))
        most = max(1, _AT_ONCE // max(1, doubles.shape[1] + floats.shape[1]))
        for begin in range(0, len(rows), most):
            own = slice(begin, begin + most)
            feed = {"doubles": doubles[rows[own]], "floats": floats[rows[own]]}
            feed |= {"asked": times[own], "coverage": coverage[own]}
            if self.known:
                feed["future"] = future[own]
            if self._statics:
                feed["static"] = static[rows[own]]
            said[own] = self._session.run(None, feed)[0]
        if not np.isfinite(said).all():
            raise Refused(422, "not_finite", "the forecasts are not finite numbers; check times and values", "forecast")
        return said


def check_finite(predictions: Doubles) -> None:
    """Refuse predictions (S, K) unless all are finite."""
    bad = np.flatnonzero(~np.isfinite(predictions).all(axis=1))
    if len(bad):
        text = "the series results in numbers too large for float32; check its times and values"
        raise Refused(422, "not_finite", text, f"[{bad[0]}]")


_NOTHING = np.zeros(0)
_MODELS = ("step.onnx", "series.onnx")


def _session(content: bytes, path: Path, described: dict[str, Any]) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # processes, not threads, use further cores
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])
        same = json.loads(session.get_modelmeta().custom_metadata_map["manifest"]) == described
    except Exception as error:  # onnxruntime has many exception classes for bad files
        raise ValueError(f"{path} is not a model that onnxruntime can run: {error}") from error
    if not same:
        raise ValueError(f"{path} does not belong to the model.json in its folder; export the model again")
    return session


class Columns:
    """Channels or static features: their names, and for categorical ones the categories."""

    def __init__(self, described: Sequence[Mapping[str, Any]]) -> None:
        self.names = [str(each["name"]) for each in described]
        self.categories = [each["categories"] for each in described]
        self._at = {name: at for at, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def name_of(self, at: int, number: float) -> float | str:
        """Return a value as it was passed: a number, or the name of a category."""
        categories = self.categories[at]
        if categories is None:
            return number
        return str(categories[int(number)]) if number >= 0 else "another category"

    def row(self, values: Mapping[str, Value], place: str) -> Floats:
        """Return (n,) values in the order of the model, NaN for missing ones.

        Args:
            values: values by name.
            place: name of the values in error messages.

        Raises:
            Refused: the model does not have this name, or a value has the wrong type.

        """
        row = np.full(len(self.names), np.nan, dtype=np.float32)
        for name, value in values.items():
            at = self._at.get(name)
            if at is None:
                what = "channel" if place == "values" else "static feature"
                known = nearest(name, self.names) or f"; there are {', '.join(self.names[:20]) or 'none'}"
                raise Refused(
                    422, f"unknown_{what.replace(' ', '_')}", f"{name!r} is not a {what} of the model{known}", place
                )
            if value is not None:
                row[at] = self._number(at, value, f"{place}.{name}")
        return row

    def check_rows(self, rows: Floats, place: str) -> None:
        """Refuse rows (N, n) of numbers with infinite numbers, or with positions that are not those of a category."""
        if np.isinf(rows).any():
            raise Refused(422, "bad_value", "values must be finite numbers, or null if not observed", place)
        for at, categories in enumerate(self.categories):
            if categories is not None:
                column = rows[:, at][~np.isnan(rows[:, at])]
                if not np.isin(column, np.arange(-1, len(categories))).all():
                    text = (
                        f"{self.names[at]!r} must be positions in 0…{len(categories) - 1}, or -1 for another category"
                    )
                    raise Refused(422, "bad_value", text, place)

    def _number(self, at: int, value: int | float | str, place: str) -> float:
        categories = self.categories[at]
        if categories is not None:
            label = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
            return float(categories.index(label)) if label in categories else -1.0
        if isinstance(value, str):
            text = (
                f"{self.names[at]!r} must be a number, in the unit of training and without its name; got {value[:60]!r}"
            )
            raise Refused(422, "bad_value", text, place)
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not abs(number) <= LARGEST_VALUE:
            raise Refused(422, "bad_value", f"{self.names[at]!r} must be finite and fit in float32", place)
        return number
