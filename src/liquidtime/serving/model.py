"""An exported model before onnxruntime: rows from named values, one sample more, whole series, predictions in words."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import onnxruntime

from liquidtime.errors import nearest
from liquidtime.serving.exported import identity_of, read_description, read_exported
from liquidtime.serving.messages import Prediction, Value
from liquidtime.serving.refusal import Refused

Floats: TypeAlias = npt.NDArray[np.float32]
Doubles: TypeAlias = npt.NDArray[np.float64]
LARGEST_VALUE = float(np.finfo(np.float32).max)
_AT_ONCE, _MOST = 1 << 20, 1 << 26
"""Values (B, T, C) in one call of the model, and in one series."""


class Step(NamedTuple):
    """Where a series stands after a sample: the two vectors of its state, and (K,) the prediction."""

    doubles: Doubles
    floats: Floats
    prediction: Doubles


class ServedModel:
    """A model that serves; its state is of the caller, so that one object is for any number of series and threads.

    Args:
        folder: which `liquidtime export --to onnx` wrote.
        name: under which it is served; the folder's if empty.

    Raises:
        ValueError: a folder that is not whole, or of a format that this version does not know.

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
        self._step, self._series = (_session(files[name], folder / name, described) for name in _MODELS)

    def step(self, doubles: Doubles, floats: Floats, t: float, row: Floats, static: Floats) -> Step:
        """Take one sample of one series.

        Args:
            doubles: of its state.
            floats: likewise.
            t: its time.
            row: (C,) NaN for what was not observed.
            static: (F,) NaN for what is not known.

        Raises:
            Refused: after the sample a number is not finite.

        """
        feed = {"doubles": doubles[None], "floats": floats[None], "t": np.array([t]), "values": row[None]}
        if len(static):
            feed["static"] = static[None]
        after = Step(*(part[0] for part in self._step.run(None, feed)))
        if not all(np.isfinite(part).all() for part in after):
            text = "the sample gives numbers that float32 cannot hold; check its time and values"
            raise Refused(422, "not_finite", text)
        return after

    def whole(self, series: Sequence[tuple[Doubles, Floats]], statics: Sequence[Floats]) -> Doubles:
        """Return (S, K) the predictions for whole series, each with its times (T,) and values (T, C)."""
        out = np.zeros((len(series), self.outputs))
        C, start = max(1, len(self.channels)), 0
        order = sorted(range(len(series)), key=lambda s: len(series[s][0]))
        for k, s in enumerate(order):
            longest = max(1, len(series[s][0]))
            if longest * C > _MOST:
                raise Refused(413, "too_long", f"a series may have {_MOST // C:,} samples; got {longest:,}", f"[{s}]")
            last = k + 1 == len(order)
            if last or (k + 2 - start) * max(1, len(series[order[k + 1]][0])) * C > _AT_ONCE:
                rows = order[start : k + 1]
                out[rows] = self._at_once([series[row] for row in rows], [statics[row] for row in rows])
                start = k + 1
        bad = np.flatnonzero(~np.isfinite(out).all(axis=1))
        if len(bad):
            text = "the series gives numbers that float32 cannot hold; check its times and values"
            raise Refused(422, "not_finite", text, f"[{bad[0]}]")
        return out

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
        """Refuse times in another unit than the model's."""
        if unit is not None and unit != self.time_unit:
            own = f"in {self.time_unit!r}" if self.time_unit else "without a unit"
            raise Refused(422, "other_unit", f"the model's times are {own}; got {unit!r}. Convert them.", "time_unit")

    def _at_once(self, series: list[tuple[Doubles, Floats]], statics: list[Floats]) -> Doubles:
        lengths = np.array([len(times) for times, _ in series], dtype=np.int64)
        B, T = len(series), max(1, int(lengths.max()))
        times, values = np.zeros((B, T)), np.full((B, T, len(self.channels)), np.nan, dtype=np.float32)
        for b, (own_times, own_values) in enumerate(series):
            times[b, : len(own_times)], values[b, : len(own_times)] = own_times, own_values
        feed = {"times": times, "values": values, "lengths": lengths}
        if len(self.static):
            feed["static"] = np.stack(statics)
        return np.asarray(self._series.run(None, feed)[0])


_MODELS = ("step.onnx", "series.onnx")


def _session(content: bytes, path: Path, described: dict[str, Any]) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # processes, not threads, use further cores
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])
        same = json.loads(session.get_modelmeta().custom_metadata_map["manifest"]) == described
    except Exception as error:  # onnxruntime has a class of its own for every fault of a file
        raise ValueError(f"{path} is no model that onnxruntime can run: {error}") from error
    if not same:
        raise ValueError(f"{path} is of another model than model.json beside it; export the model again")
    return session


class Columns:
    """Channels or static features: their names, and for categorical ones the categories."""

    def __init__(self, described: Sequence[Mapping[str, Any]]) -> None:
        self.names = [str(each["name"]) for each in described]
        self.categories = [each["categories"] for each in described]
        self._at = {name: at for at, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def row(self, values: Mapping[str, Value], place: str) -> Floats:
        """Return (n,) values in the order of the model, NaN for what is not there.

        Args:
            values: by name.
            place: what refusals call them.

        Raises:
            Refused: a name that the model does not know, or a value that is not of its kind.

        """
        row = np.full(len(self.names), np.nan, dtype=np.float32)
        for name, value in values.items():
            at = self._at.get(name)
            if at is None:
                what = "channel" if place == "values" else "static feature"
                known = nearest(name, self.names) or f"; there are {', '.join(self.names[:20]) or 'none'}"
                raise Refused(
                    422, f"unknown_{what.replace(' ', '_')}", f"{name!r} is no {what} of the model{known}", place
                )
            if value is not None:
                row[at] = self._number(at, value, f"{place}.{name}")
        return row

    def check_rows(self, rows: Floats, place: str) -> None:
        """Refuse rows (N, n) of numbers with infinite ones, or with positions that are no category's."""
        if np.isinf(rows).any():
            raise Refused(422, "bad_value", "values must be finite numbers, or null for what was not observed", place)
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
