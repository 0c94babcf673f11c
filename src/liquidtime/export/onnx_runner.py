"""Run an exported model; requires only numpy and onnxruntime.

    model = Model("folder")
    model.update("patient 7", 3.5, {"HR": 80})          # one sample of a live series: the prediction so far
    model.predict_proba([(times, values), …])           # whole series, values (T, C) with NaN if not observed
    model.forecast("patient 7", [1.0, 6.0], intervals=0.9)      # for a forecaster, after its samples

`python runner.py` compares the model with the test vectors in its folder.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnxruntime

_STATE = ("doubles_after", "floats_after")


class Model:
    """The model in a folder that `liquidtime export --to onnx` wrote.

    Args:
        folder: folder with step.onnx, series.onnx and model.json.
        threads: number of threads for onnxruntime.
    """

    def __init__(self, folder: str | Path, threads: int = 1) -> None:
        self.folder = Path(folder)
        self._written: dict[str, Any] = _parsed(self.folder / "manifest.json", "files")["files"]
        self.manifest: dict[str, Any] = _parsed(self.folder / "model.json", "format", self._written)
        if self.manifest["format"] != 1:
            raise ValueError(f"the model has format {self.manifest['format']}, but this runner reads format 1")
        self.classes: list[Any] | None = self.manifest["classes"]
        self.forecasts = self.manifest["task"] == "forecasting"
        self._options = onnxruntime.SessionOptions()
        self._options.intra_op_num_threads = self._options.inter_op_num_threads = threads
        self._options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._columns = {name: _Columns(self.manifest[name]) for name in ("channels", "static")}
        self._fields = {field["name"]: field["start"] for field in self.manifest["state"]["fields"]}
        self._sessions: dict[str, Any] = {}
        self._outputs: dict[str, list[str]] = {}
        self._live: dict[Any, _Series] = {}

    def update(self, id: Any, t: Any, values: Any, static: dict[str, Any] | None = None) -> np.ndarray[Any, Any] | None:
        """Process one sample of the live series `id` and return (K,) its prediction from all samples so far.

        A forecaster returns None; call `forecast`.

        Args:
            id: id of the series; an unknown id starts a new series.
            t: time of the sample, a number or a time stamp, not before that of the previous sample.
            values: by channel name, categories by name; or (C,). NaN, None and omitted channels count as not observed.
            static: static features by name, only with the first sample.
        """
        series = self._live.get(id)
        if series is None:
            series = _Series(self._start(), self._columns["static"].row(static or {}))
        elif static is not None:
            raise ValueError(f"the static features of the series {id!r} were set by its first sample; call reset first")
        clock, time = series.clock.read(t, self.manifest["nanoseconds_per_time_unit"])
        if series.newest is not None and time < series.newest:
            raise ValueError(f"`t` must not be earlier than the previous sample, at {series.newest}; got {time}")
        state = series.state
        if series.newest is None and clock.origin is not None and self.manifest.get("calendar"):
            state = self._dated(state, clock.origin / self.manifest["nanoseconds_per_time_unit"])
        feed = {**state, "t": np.array([time]), "values": self._columns["channels"].row(values)}
        after = self._run("step", feed, {} if self.forecasts else {"static": series.static})
        if not _finite(after):
            raise ValueError(f"the sample at t = {t!r} results in numbers too large for float32, so it was refused")
        self._live[id] = _Series({"doubles": after[0], "floats": after[1]}, series.static, clock, time)
        return None if self.forecasts else after[2][0]

    def forecast(
        self,
        id: Any,
        horizons: Any,
        *,
        intervals: float | None = None,
        known: dict[str, Any] | None = None,
    ) -> Any:
        """Return (Q, C) forecasts of the live series `id`; with `intervals`, a `Forecast` of three such arrays.

        Args:
            id: id of the series.
            horizons: (Q,) times after its newest sample (with bins: after the start of its bin).
            intervals: fraction of values that intervals should contain, greater than 0 and at most 0.99.
            known: future of known channels, by name a number or (Q,) numbers; omitted channels remain unchanged.
        """
        self._check_forecasts(True)
        series = self._live.get(id)
        if series is None:
            raise ValueError(f"`id` must be of a live series; {id!r} has had no sample yet. Call update first.")
        ahead = _horizons(horizons)
        now = series.state["doubles"][0, self._fields["scale 0: step"]]
        if series.state["doubles"][0, self._fields["recent: lost"]] > 0:
            text = f"series {id!r} has more samples than the model can store: see `memory` in model.json"
            warnings.warn(text, stacklevel=2)
        Q = len(ahead)
        feed = {name: np.repeat(part, Q, axis=0) for name, part in series.state.items()}
        inputs = self._asked(now + ahead, intervals, _future(known, self.manifest["known_channels"], Q))
        predictions = self._run("forecast", feed | inputs, {"static": np.repeat(series.static, Q, axis=0)})[0]
        return self._as_forecast(predictions, intervals)

    def forecast_series(
        self,
        series: list[Any],
        horizons: Any,
        static: list[dict[str, Any]] | None = None,
        *,
        intervals: float | None = None,
        origins: Any = None,
    ) -> Any:
        """Return (S, Q, C) forecasts after whole series; with `intervals`, a `Forecast` of three such arrays.

        Args:
            series: as in `predict_proba`; samples at their ends with only known channels are the future of these.
            horizons: (Q,) times after the last sample of each series.
            static: as in `predict_proba`.
            intervals: as in `forecast`.
            origins: (S,) time stamps of the zero of the clock of each series, NaT if unknown; None if all are unknown.
        """
        self._check_forecasts(True)
        names = [each["name"] for each in self.manifest["channels"]]
        known = [names.index(name) for name in self.manifest["known_channels"]]
        whole, ahead = series, _horizons(horizons)
        series = [_observed(times, np.asarray(values, dtype=np.float32), known) for times, values in whole]
        feed = self._whole(series)
        last = np.array([times[-1] if len(times) else 0.0 for times, _ in series])
        if self.manifest.get("calendar"):
            stamps = np.full(len(series), "NaT", "datetime64[ns]") if origins is None else np.asarray(origins)
            ticks = stamps.astype("datetime64[ns]").astype(np.int64)
            own = ticks / self.manifest["nanoseconds_per_time_unit"]
            feed["origin"] = np.where(np.isnat(stamps), np.nan, own)
        features, S, Q = self._statics(static, len(series)), len(series), len(ahead)
        nothing = self._asked(last, intervals, np.full((S, len(known)), np.nan, dtype=np.float32))
        states = self._run("series", feed | nothing, {"static": features}, _STATE)
        times = last[:, None] + ahead  # (S, Q)
        future = np.array(
            [_known_by(one[0], one[1], t, known) for one, row in zip(whole, times, strict=True) for t in row]
        )
        inputs = self._asked(times.ravel(), intervals, future.reshape(S * Q, len(known)))
        own = {name: np.repeat(part, Q, axis=0) for name, part in zip(("doubles", "floats"), states, strict=True)}
        predictions = self._run("forecast", own | inputs, {"static": np.repeat(features, Q, axis=0)})[0]
        return self._as_forecast(predictions.reshape(S, Q, -1), intervals)

    def reset(self, id: Any = None) -> None:
        """Remove the live series `id`, or all live series if it is None."""
        if id is None:
            self._live.clear()
        else:
            self._live.pop(id, None)

    def predict_proba(self, series: list[Any], static: list[dict[str, Any]] | None = None) -> np.ndarray[Any, Any]:
        """Return (S, C) the probability of each class for whole series; for a regressor, (S, K) the values.

        Args:
            series: (times (T,), values (T, C)) of each series, with categories as positions.
            static: static features of each series, by name.
        """
        self._check_forecasts(False)
        feed = self._whole(series)
        return np.asarray(self._run("series", feed, {"static": self._statics(static, len(series))})[0])

    def predict(self, series: list[Any], static: list[dict[str, Any]] | None = None) -> list[Any]:
        """Return the class of each series, using the model's threshold if it has one; for a regressor, its values.

        For multi-label models: whether each series has each label, as 0 and 1.
        """
        outputs = self.predict_proba(series, static)
        if self.classes is None:
            return list((outputs >= 0.5).astype(int) if self.manifest["task"] == "multi-label" else outputs)
        threshold = self.manifest["threshold"]
        places = outputs.argmax(axis=1) if threshold is None else (outputs[:, 1] >= threshold).astype(int)
        return [self.classes[k] for k in places]

    def _whole(self, series: list[Any]) -> dict[str, Any]:
        """Return whole series, padded."""
        lengths = np.array([len(times) for times, _ in series], dtype=np.int64)
        B, T, C = len(series), max(1, int(lengths.max(initial=0))), len(self.manifest["channels"])
        times, values = np.zeros((B, T)), np.full((B, T, C), np.nan, dtype=np.float32)
        for b, (t, v) in enumerate(series):
            t, v = np.asarray(t, dtype=np.float64), np.asarray(v, dtype=np.float32)
            if v.shape != (len(t), C) and len(t):
                raise ValueError(f"series {b} must have values of shape {(len(t), C)}; got {v.shape}")
            if not np.isfinite(t).all() or (np.diff(t) < 0).any() or np.isinf(v).any():
                raise ValueError(f"series {b} must have finite, sorted times and no infinite values")
            times[b, : len(t)], values[b, : len(t)] = t, v.reshape(len(t), C)
        return {"times": times, "values": values, "lengths": lengths}

    def _statics(self, static: list[dict[str, Any]] | None, B: int) -> np.ndarray[Any, Any]:
        rows = [self._columns["static"].row(named) for named in (static or [{}] * B)]
        return np.concatenate(rows) if rows else np.zeros((0, 0), dtype=np.float32)

    def _asked(self, times: Any, intervals: float | None, future: np.ndarray[Any, Any]) -> dict[str, Any]:
        if intervals is not None and not 0.0 < intervals <= 0.99:
            raise ValueError(f"`intervals` must be greater than 0 and at most 0.99, or None; got {intervals!r}")
        inputs = {"asked": np.asarray(times), "coverage": np.full(len(times), 0.9 if intervals is None else intervals)}
        return inputs | ({"future": future} if future.shape[1] else {})

    def _as_forecast(self, predictions: np.ndarray[Any, Any], intervals: float | None) -> Any:
        if not np.isfinite(predictions).all():
            raise ValueError("the forecasts are not finite numbers: the requested times, or the values, are too large")
        parts = np.split(predictions, 3, axis=-1)
        return parts[0] if intervals is None else Forecast(*parts)

    def _check_forecasts(self, wanted: bool) -> None:
        if self.forecasts != wanted:
            other = "forecast or forecast_series" if self.forecasts else "update, predict or predict_proba"
            raise ValueError(f"the model is for {self.manifest['task']}; call {other}")

    def _dated(self, state: dict[str, Any], origin: float) -> dict[str, Any]:
        """Return a state with a known zero of the clock."""
        doubles = state["doubles"].copy()
        doubles[0, self._fields["origin"]], doubles[0, self._fields["dated"]] = origin, 1.0
        return {**state, "doubles": doubles}

    def _run(
        self, name: str, feed: dict[str, Any], static: dict[str, Any], outputs: tuple[str, ...] | None = None
    ) -> Any:
        session = self._sessions.get(name)
        if session is None:
            content = _as_written(self.folder / f"{name}.onnx", self._written)
            session = onnxruntime.InferenceSession(content, self._options, ["CPUExecutionProvider"])
            self._sessions[name] = session
            self._outputs[name] = [each.name for each in session.get_outputs()]
        if self._columns["static"].names:
            feed.update(static)
        return session.run(outputs or self._outputs[name], feed)

    def _start(self) -> dict[str, Any]:
        sizes = self.manifest["state"]
        return {
            "doubles": np.zeros((1, sizes["doubles"])),
            "floats": np.zeros((1, sizes["floats"]), dtype=np.float32),
        }


class Forecast(NamedTuple):
    """Forecasts with their prediction intervals."""

    value: np.ndarray[Any, Any]
    low: np.ndarray[Any, Any]
    high: np.ndarray[Any, Any]


class _Columns:
    """Channels or static features in the order of the model."""

    def __init__(self, described: list[dict[str, Any]]) -> None:
        self.names = {each["name"]: k for k, each in enumerate(described)}
        self._labels = [each["categories"] for each in described]
        self._categorical = [(k, len(labels)) for k, labels in enumerate(self._labels) if labels is not None]

    def row(self, values: Any) -> np.ndarray[Any, Any]:
        """Return (1, n) values, with NaN for missing ones."""
        n = len(self.names)
        if not isinstance(values, dict):
            row = np.asarray(values, dtype=np.float32).reshape(1, -1)
            if row.shape[1] != n:
                raise ValueError(f"there must be {n} values; got {row.shape[1]}")
        else:
            row = np.full((1, n), np.nan, dtype=np.float32)
            for name, value in values.items():
                place = self.names.get(name)
                if place is None:
                    raise ValueError(f"{name!r} is not one of {', '.join(self.names)}")
                row[0, place] = _number(value, self._labels[place])
        if np.count_nonzero(np.isinf(row)):
            raise ValueError("values must be finite, or NaN if not observed")
        for place, count in self._categorical:
            value = float(row[0, place])
            if value == value and value not in range(-1, count):
                name = list(self.names)[place]
                raise ValueError(f"{name!r} must be a position in 0…{count - 1}, or -1; got {value:g}")
        return row


class _Clock:
    """The type of times in one series: numbers, or time stamps that are counted from the first one."""

    def __init__(self, stamps: bool | None = None, origin: int | None = None) -> None:
        self.stamps, self.origin = stamps, origin

    def read(self, t: Any, unit: float | None) -> tuple[_Clock, float]:
        stamp = isinstance(t, datetime.datetime | np.datetime64)
        if self.stamps is not None and stamp != self.stamps:
            raise ValueError(f"`t` must be the same type of time as before in this series; got {t!r}")
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
    """The state of a live series."""

    def __init__(
        self, state: dict[str, Any], static: Any, clock: _Clock | None = None, newest: float | None = None
    ) -> None:
        self.state, self.static, self.clock, self.newest = state, static, clock or _Clock(), newest


def _as_written(path: Path, written: dict[str, Any]) -> bytes:
    """Return the contents of a file after checking its sha256 in manifest.json."""
    content = path.read_bytes()
    try:
        same = hashlib.sha256(content).hexdigest() == written[path.name]["sha256"]
    except (KeyError, TypeError):
        same = False
    if not same:
        raise ValueError(f"{path} was changed or belongs to another model; copy the whole folder again")
    return content


def _parsed(path: Path, key: str, written: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the mapping in a JSON file, which must have a certain key."""
    content = path.read_bytes() if written is None else _as_written(path, written)
    try:
        found = json.loads(content)
        found[key]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} was changed; copy the whole folder again") from error
    return dict(found)


def _number(value: Any, labels: list[str] | None) -> float:
    if value is None or value != value:
        return math.nan
    if labels is not None:
        return float(labels.index(str(value))) if str(value) in labels else -1.0
    return float(value)


def _finite(arrays: Any) -> bool:
    return all(np.count_nonzero(np.isfinite(array)) == array.size for array in arrays)  # faster than .all()


def _horizons(horizons: Any) -> np.ndarray[Any, Any]:
    ahead = np.atleast_1d(np.asarray(horizons, dtype=np.float64))
    if ahead.ndim != 1 or not (np.isfinite(ahead) & (ahead >= 0)).all():
        raise ValueError(f"`horizons` must be (Q,) finite times of at least 0; got {horizons!r}")
    return ahead


def _future(known: dict[str, Any] | None, names: list[str], Q: int) -> np.ndarray[Any, Any]:
    future = np.full((Q, len(names)), np.nan, dtype=np.float32)
    for name, values in (known or {}).items():
        if name not in names:
            raise ValueError(f"`known` may only have {', '.join(names) or 'no channel'}; got {name!r}")
        row = np.asarray(values, dtype=np.float32)
        if row.shape not in ((), (Q,)) or np.isinf(row).any():
            raise ValueError(f"`known` must have a number, or one for each of {Q} times, for {name!r}; got {values!r}")
        future[:, names.index(name)] = row
    return future


def _observed(times: Any, values: np.ndarray[Any, Any], known: list[int]) -> tuple[Any, np.ndarray[Any, Any]]:
    """Return a series without the samples at its end that have only known channels."""
    if not known or not len(times):
        return times, values
    others = np.setdiff1d(np.arange(values.shape[1]), known)
    measured = np.flatnonzero(~np.isnan(values[:, others]).all(axis=1))
    end = int(measured[-1]) + 1 if len(measured) else 0
    return times[:end], values[:end]


def _known_by(times: Any, values: Any, t: float, known: list[int]) -> np.ndarray[Any, Any]:
    """Return (K,) the newest values of known channels at or before a time, NaN if there are none."""
    rows = np.asarray(values, dtype=np.float32).reshape(len(times), -1)[np.asarray(times, dtype=np.float64) <= t]
    found = np.full(len(known), np.nan, dtype=np.float32)
    for k, place in enumerate(known):
        seen = rows[:, place][~np.isnan(rows[:, place])] if len(rows) else rows
        found[k] = seen[-1] if len(seen) else np.nan
    return found


def check(folder: str | Path) -> tuple[float, float]:
    """Return the largest differences from the test vectors, for single samples and for whole series."""
    model = Model(folder)
    vectors = json.loads(_as_written(Path(folder) / "vectors.json", model._written))
    stepwise = whole = 0.0
    for vector in vectors:
        stepwise = max(stepwise, max(differences(model, vector), default=0.0))
        whole = max(whole, whole_difference(model, vector))
    return stepwise, whole


def differences(model: Model, vector: dict[str, Any]) -> list[float]:
    """Return the differences of predictions after each sample from those of a test vector, in the unit of the bound."""
    values = np.array(vector["values"], dtype=np.float32)  # None becomes NaN
    static = np.array([vector["static"]], dtype=np.float32)
    state = model._start()
    if vector.get("origin") is not None:
        state = model._dated(state, vector["origin"])
    model._live["check"] = _Series(state, static)
    apart = []
    for k, (t, row) in enumerate(zip(vector["times"], values, strict=True)):
        predictions = model.update("check", t, row)
        if predictions is None:
            feed = model._live["check"].state | _questions(model, vector, k)
            predictions = model._run("forecast", feed, {"static": static})[0][0]
        apart.append(_apart(model, predictions, vector["predictions"][k]))
    model.reset("check")
    return apart


def whole_difference(model: Model, vector: dict[str, Any]) -> float:
    """Return the difference of the prediction for a whole series from the last one of a test vector."""
    feed = model._whole([(vector["times"], np.array(vector["values"], dtype=np.float32))])
    if model.forecasts:
        feed |= _questions(model, vector, len(vector["times"]) - 1)
        if model.manifest["calendar"]:
            feed["origin"] = np.array([np.nan if vector["origin"] is None else vector["origin"]])
    predictions = model._run("series", feed, {"static": np.array([vector["static"]], dtype=np.float32)})[0][0]
    return _apart(model, predictions, vector["predictions"][-1])


def _apart(model: Model, predictions: Any, expected: Any) -> float:
    """Return a difference in the unit of the bound in the manifest; NaN counts as infinite."""
    apart = np.abs(np.asarray(predictions) - expected) / np.array(model.manifest["bound"]["unit"])
    return float(np.nan_to_num(apart, nan=np.inf).max())


def _questions(model: Model, vector: dict[str, Any], k: int) -> dict[str, Any]:
    future = np.array([vector["future"][k]], dtype=np.float32).reshape(1, -1)
    return model._asked(np.array([vector["asked"][k]]), vector["coverage"][k], future)


if __name__ == "__main__":
    print("largest differences: step {:.2g}, series {:.2g}".format(*check(Path(__file__).parent)))
