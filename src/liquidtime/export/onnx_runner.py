"""Run an exported model; needs numpy and onnxruntime, nothing else.

    model = Model("folder")
    model.update("patient 7", 3.5, {"HR": 80})          # one sample of a live series: the prediction so far
    model.predict_proba([(times, values), …])           # whole series, values (T, C) with NaN for what is not observed

`python runner.py` compares the model with the test vectors beside it.
"""

from __future__ import annotations

import datetime
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime


class Model:
    """A model in the folder that `liquidtime export --to onnx` wrote.

    Args:
        folder: with step.onnx, series.onnx and model.json.
        threads: that onnxruntime uses.
    """

    def __init__(self, folder: str | Path, threads: int = 1) -> None:
        self.folder = Path(folder)
        self.manifest: dict[str, Any] = json.loads((self.folder / "model.json").read_text(encoding="utf-8"))
        if self.manifest["format"] != 1:
            raise ValueError(f"the model is of format {self.manifest['format']}, this runner reads format 1")
        self.classes: list[Any] | None = self.manifest["classes"]
        self._options = onnxruntime.SessionOptions()
        self._options.intra_op_num_threads = self._options.inter_op_num_threads = threads
        self._sessions: dict[str, Any] = {}
        self._live: dict[Any, _Series] = {}

    def update(self, id: Any, t: Any, values: Any, static: dict[str, Any] | None = None) -> np.ndarray[Any, Any]:
        """Take one sample of the live series `id` and return (K,) its prediction from all samples so far.

        Args:
            id: of the series; a new one starts.
            t: the sample's time, a number or a time stamp, not before the one before.
            values: by channel, categories by name; or (C,). NaN, None and channels left out are not observed.
            static: static features by name, with the first sample.
        """
        series = self._live.get(id)
        if series is None:
            series = _Series(self._start(), self._row("static", static or {}))
        elif static is not None:
            raise ValueError(f"the static features of the series {id!r} were set by its first sample; call reset first")
        clock, time = series.clock.read(t, self.manifest["nanoseconds_per_time_unit"])
        if series.newest is not None and time < series.newest:
            raise ValueError(f"`t` must not be before the sample before it, at {series.newest}; got {time}")
        feed = {**series.state, "t": np.array([time]), "values": self._row("channels", values)}
        doubles, floats, prediction = self._run("step", feed, series.static)
        if not (np.isfinite(doubles).all() and np.isfinite(floats).all() and np.isfinite(prediction).all()):
            raise ValueError(f"the sample at t = {t!r} gives numbers that float32 cannot hold; it was not taken")
        state = {"doubles": doubles, "floats": floats}
        self._live[id] = _Series(state, series.static, clock, time)
        return np.asarray(prediction[0])

    def reset(self, id: Any = None) -> None:
        """Forget the live series `id`, or all of them if None."""
        if id is None:
            self._live.clear()
        else:
            self._live.pop(id, None)

    def predict_proba(self, series: list[Any], static: list[dict[str, Any]] | None = None) -> np.ndarray[Any, Any]:
        """Return (S, C) the probability of each class for whole series; of a regressor (S, K) the values.

        Args:
            series: (times (T,), values (T, C)) of each, categories by their position.
            static: static features of each, by name.
        """
        lengths = np.array([len(times) for times, _ in series], dtype=np.int64)
        B, T, C = len(series), max(1, int(lengths.max(initial=0))), len(self.manifest["channels"])
        times, values = np.zeros((B, T)), np.full((B, T, C), np.nan, dtype=np.float32)
        for b, (t, v) in enumerate(series):
            t, v = np.asarray(t, dtype=np.float64), np.asarray(v, dtype=np.float32)
            if v.shape != (len(t), C) and len(t):
                raise ValueError(f"series {b} must have values of shape {(len(t), C)}; got {v.shape}")
            if not np.isfinite(t).all() or (np.diff(t) < 0).any() or np.isinf(v).any():
                raise ValueError(f"series {b} must have finite times in order, and no infinite values")
            times[b, : len(t)], values[b, : len(t)] = t, v.reshape(len(t), C)
        features = [self._row("static", named) for named in (static or [{}] * B)]
        feed = {"times": times, "values": values, "lengths": lengths}
        return np.asarray(self._run("series", feed, np.concatenate(features) if features else np.zeros((0, 0)))[0])

    def predict(self, series: list[Any], static: list[dict[str, Any]] | None = None) -> list[Any]:
        """Return the class of each series, by the model's threshold if it has one; of a regressor its values.

        Of several labels: whether each series has them, as 0 and 1.
        """
        outputs = self.predict_proba(series, static)
        if self.classes is None:
            return list((outputs >= 0.5).astype(int) if self.manifest["task"] == "multi-label" else outputs)
        threshold = self.manifest["threshold"]
        places = outputs.argmax(axis=1) if threshold is None else (outputs[:, 1] >= threshold).astype(int)
        return [self.classes[k] for k in places]

    def _run(self, name: str, feed: dict[str, Any], static: np.ndarray[Any, Any]) -> Any:
        if name not in self._sessions:
            path = str(self.folder / f"{name}.onnx")
            self._sessions[name] = onnxruntime.InferenceSession(path, self._options, ["CPUExecutionProvider"])
        if self.manifest["static"]:
            feed = {**feed, "static": static}
        return self._sessions[name].run(None, feed)

    def _start(self) -> dict[str, Any]:
        sizes = self.manifest["state"]
        return {
            "doubles": np.zeros((1, sizes["doubles"])),
            "floats": np.zeros((1, sizes["floats"]), dtype=np.float32),
        }

    def _row(self, block: str, values: Any) -> np.ndarray[Any, Any]:
        """Return (1, n) values in the order of the model, NaN for what is not given."""
        described = self.manifest[block]
        if not isinstance(values, dict):
            row = np.asarray(values, dtype=np.float32).reshape(1, -1)
            if row.shape[1] != len(described):
                raise ValueError(f"there must be {len(described)} values; got {row.shape[1]}")
        else:
            names = [each["name"] for each in described]
            for name in values:
                if name not in names:
                    raise ValueError(f"{name!r} is none of {', '.join(names)}")
            row = np.array([[_number(values.get(each["name"]), each) for each in described]], dtype=np.float32)
        if np.isinf(row).any():
            raise ValueError("values must be finite, or NaN for what is not observed")
        for each, value in zip(described, row[0].tolist(), strict=True):
            labels = each["categories"]
            if labels is not None and value == value and value not in range(-1, len(labels)):
                raise ValueError(f"{each['name']!r} must be a position in 0…{len(labels) - 1}, or -1; got {value:g}")
        return row


class _Clock:
    """How the times of one series are told: by numbers, or by time stamps that count from the first."""

    def __init__(self, stamps: bool | None = None, origin: int | None = None) -> None:
        self.stamps, self.origin = stamps, origin

    def read(self, t: Any, unit: float | None) -> tuple[_Clock, float]:
        stamp = isinstance(t, datetime.datetime | np.datetime64)
        if self.stamps is not None and stamp != self.stamps:
            raise ValueError(f"`t` must be of the kind of the series' times so far; got {t!r}")
        if not stamp:
            if not math.isfinite(t):
                raise ValueError(f"`t` must be finite; got {t!r}")
            return _Clock(False), float(t)
        if unit is None:
            raise ValueError("`t` must be a number: the times of training had no unit")
        if isinstance(t, datetime.datetime) and t.tzinfo is not None:
            t = t.astimezone(datetime.UTC).replace(tzinfo=None)
        ticks = int(np.datetime64(t, "ns").astype(np.int64))
        origin = ticks if self.origin is None else self.origin
        return _Clock(True, origin), float(ticks - origin) / round(unit)


class _Series:
    """Where a live series stands."""

    def __init__(
        self, state: dict[str, Any], static: Any, clock: _Clock | None = None, newest: float | None = None
    ) -> None:
        self.state, self.static, self.clock, self.newest = state, static, clock or _Clock(), newest


def _number(value: Any, described: dict[str, Any]) -> float:
    if value is None or value != value:
        return math.nan
    labels = described["categories"]
    if labels is not None:
        return float(labels.index(str(value))) if str(value) in labels else -1.0
    return float(value)


def check(folder: str | Path) -> tuple[float, float]:
    """Return the largest difference from the test vectors, sample by sample and of whole series."""
    model = Model(folder)
    vectors = json.loads((Path(folder) / "vectors.json").read_text(encoding="utf-8"))
    stepwise, whole, series, rows = 0.0, 0.0, [], []
    for vector in vectors:
        values = np.array(vector["values"], dtype=np.float32)  # None becomes NaN
        static = np.array([vector["static"]], dtype=np.float32)
        model._live["check"] = _Series(model._start(), static)
        for t, row, wanted in zip(vector["times"], values, vector["predictions"], strict=True):
            stepwise = max(stepwise, float(np.abs(model.update("check", t, row) - wanted).max()))
        model.reset()
        series.append((vector["times"], values))
        rows.append(static)
    for (times, values), static, vector in zip(series, rows, vectors, strict=True):
        feed = {"times": np.array([times]), "values": values[None], "lengths": np.array([len(times)])}
        prediction = model._run("series", feed, static)[0][0]
        whole = max(whole, float(np.abs(prediction - vector["predictions"][-1]).max()))
    return stepwise, whole


if __name__ == "__main__":
    print("largest differences: step {:.2g}, series {:.2g}".format(*check(Path(__file__).parent)))
