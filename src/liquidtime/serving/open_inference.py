"""The Open Inference Protocol (v2) for whole series: tensors by name, as used by KServe, Triton and others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import UNSET, UnsetType

from liquidtime._version import __version__
from liquidtime.serving.clock import NAIVE, NUMBER, Clock
from liquidtime.serving.forecasts import default_horizons
from liquidtime.serving.messages import (
    InferenceAnswer,
    InferenceRequest,
    ModelFacts,
    Question,
    ServerFacts,
    Tensor,
    TensorFacts,
)
from liquidtime.serving.model import Doubles, Floats, ServedModel
from liquidtime.serving.refusal import Refused
from liquidtime.serving.service import Service

VERSION = "1"
_TYPES = {
    "FP64": np.float64, "FP32": np.float32, "INT64": np.int64, "INT32": np.int64, "INT16": np.int64, "INT8": np.int64,
    "UINT8": np.int64, "UINT16": np.int64, "UINT32": np.int64,
}  # fmt: skip
_MOST, _MOST_ROWS = 1 << 26, 100_000
FORECASTS = ("forecast", "low", "high")
"""Tensors (B, Q, C) of a forecaster: for each series and horizon, the forecast and the ends of its interval."""


def server_facts() -> ServerFacts:
    """Return a description of the server."""
    return ServerFacts("liquidtime", __version__, [])


def model_facts(model: ServedModel) -> ModelFacts:
    """Return the input and output tensors of the model."""
    C, F = len(model.channels), len(model.static)
    inputs = [
        TensorFacts("times", "FP64", [-1, -1]),
        TensorFacts("values", "FP32", [-1, -1, C]),
        TensorFacts("lengths", "INT64", [-1]),
    ]
    if F:
        inputs.append(TensorFacts("static", "FP32", [-1, F]))
    if model.forecaster is not None:
        C = len(model.forecaster.targets)
        inputs += [TensorFacts("horizons", "FP64", [-1]), TensorFacts("coverage", "FP64", [1])]
        inputs += [TensorFacts("origin", "FP64", [-1])] if model.forecaster.calendar else []
        outputs = [TensorFacts(name, "FP64", [-1, -1, C]) for name in FORECASTS]
        return ModelFacts(model.name, [VERSION], "onnx_onnxruntime", inputs, outputs)
    outputs = [TensorFacts("prediction", "FP64", [-1, model.outputs])]
    if model.classes is not None:
        outputs.append(TensorFacts("label", "BYTES", [-1]))
    return ModelFacts(model.name, [VERSION], "onnx_onnxruntime", inputs, outputs)


def check_name(model: ServedModel, name: str, version: str = VERSION) -> None:
    """Refuse a model that is not served here."""
    if name != model.name:
        raise Refused(404, "unknown_model", f"the model served here is {model.name!r}; got {name!r}")
    if version != VERSION:
        raise Refused(404, "unknown_model", f"the version served here is {VERSION!r}; got {version!r}")


def infer(service: Service, request: InferenceRequest) -> InferenceAnswer:
    """Return the predictions for whole series as tensors.

    Raises:
        Refused: names, types or shapes of tensors differ from those in `model_facts`, or times are not in order.

    """
    model = service.model
    known = {facts.name: facts for facts in model_facts(model).inputs}
    places = {}
    for k, tensor in enumerate(request.inputs):
        if tensor.name not in known or tensor.name in places:
            why = "was passed twice" if tensor.name in places else f"is not one of {', '.join(known)}"
            raise Refused(422, "bad_tensor", f"{tensor.name[:60]!r} {why}", f"inputs[{k}].name")
        places[tensor.name] = k
    for name in ("times", "values"):
        if name not in places:
            raise Refused(422, "bad_tensor", f"the input {name!r} is required", "inputs")
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, k in places.items():
        try:
            arrays[name] = _array(request.inputs[k], known[name].shape)
        except Refused as refusal:
            raise refusal.within(f"inputs[{k}]") from None
    series, static = _series(service, arrays, places)
    outputs = _forecasts(service, series, static, arrays) if model.forecaster else _outputs(service, series, static)
    wanted = list(outputs) if request.outputs is None else [each.name for each in request.outputs]
    for k, name in enumerate(wanted):
        if name not in outputs:
            raise Refused(422, "bad_tensor", f"{name[:60]!r} is not one of {', '.join(outputs)}", f"outputs[{k}].name")
    id = UNSET if request.id is None else request.id
    return InferenceAnswer(model.name, VERSION, [outputs[name] for name in wanted], id)


def _outputs(service: Service, series: Sequence[tuple[Doubles, Floats]], static: Floats) -> dict[str, Tensor]:
    predictions = service.whole(series, list(static))
    B, K = predictions.shape
    outputs = {"prediction": Tensor("prediction", [B, K], "FP64", predictions.ravel().tolist())}
    if service.model.classes is not None:
        labels = [str(service.model.in_words(row).label) for row in predictions]
        outputs["label"] = Tensor("label", [B], "BYTES", labels)
    return outputs


def _forecasts(
    service: Service, series: Sequence[tuple[Doubles, Floats]], static: Floats, arrays: dict[str, npt.NDArray[Any]]
) -> dict[str, Tensor]:
    """Return (B, Q, C) forecasts and the ends of their intervals."""
    model, B = service.model, len(series)
    assert model.forecaster is not None
    horizons = arrays.get("horizons", np.array(default_horizons(model.forecaster)))
    (coverage,) = arrays.get("coverage", np.array([0.9]))
    if not (np.isfinite(horizons) & (horizons >= 0)).all() or not 0.0 < coverage <= 0.99:
        text = "`horizons` must be finite and at least 0, `coverage` greater than 0 and at most 0.99"
        raise Refused(422, "bad_tensor", text, "inputs")
    origins = arrays.get("origin", np.full(B, np.nan))
    if len(origins) != B:
        raise Refused(422, "bad_tensor", f"`origin` must have {B} numbers, one for each series", "inputs")
    clocks = [_clock(origin, model.nanoseconds) for origin in origins.tolist()]
    question = Question(horizons=horizons.tolist(), intervals=float(coverage))
    predictions = service.whole_forecasts(series, list(static), clocks, question)
    shape = [B, len(horizons), len(model.forecaster.targets)]
    forecasts: dict[str, list[float]] = {name: [] for name in FORECASTS}
    for prediction in predictions:
        assert not isinstance(prediction.forecast, UnsetType)
        for point in prediction.forecast:
            for name, numbers in zip(FORECASTS, (point.values, point.low, point.high), strict=True):
                forecasts[name] += numbers.values()
    return {name: Tensor(name, shape, "FP64", forecasts[name]) for name in FORECASTS}


def _clock(origin: float, nanoseconds: int | None) -> Clock:
    """Return the clock of a series whose zero is `origin` time units after 1970; NaN if its times have no date."""
    if nanoseconds is None or np.isnan(origin):
        return Clock(NUMBER)
    if not abs(origin * nanoseconds) < 2**63:
        raise Refused(422, "bad_tensor", "`origin` must lie in 1678…2262, in time units since 1970", "inputs")
    return Clock(NAIVE, round(origin * nanoseconds))


def _series(
    service: Service, arrays: dict[str, npt.NDArray[Any]], places: dict[str, int]
) -> tuple[list[tuple[Doubles, Floats]], Floats]:
    """Return times (T,) and values (T, C) of each series, and (B, F) static features."""
    model, times, values = service.model, arrays["times"], arrays["values"]
    B, T = times.shape

    def refuse(name: str, text: str) -> Refused:
        return Refused(422, "bad_tensor", text, f"inputs[{places[name]}].data")

    if values.shape[:2] != (B, T):
        raise Refused(422, "bad_tensor", f"`values` must have shape [{B}, {T}, C], as `times` has [{B}, {T}]", "inputs")
    lengths = arrays.get("lengths", np.full(B, T))
    if lengths.shape != (B,) or (lengths < 0).any() or (lengths > T).any():
        raise refuse("lengths", f"`lengths` must be {B} whole numbers in 0…{T}")
    static: Floats = arrays.get("static", np.full((B, len(model.static)), np.nan, dtype=np.float32))
    if len(static) != B:
        raise refuse("static", f"`static` must have {B} rows, one for each series; got {len(static)}")
    model.static.check_rows(static, "inputs")
    series = []
    for b, n in enumerate(lengths.tolist()):
        own_times, own_values = times[b, :n], values[b, :n]
        if not np.isfinite(own_times).all() or (np.diff(own_times) < 0).any():
            raise refuse("times", f"`times` of series {b} must be finite and in order")
        model.channels.check_rows(own_values, f"inputs[{places['values']}].data")
        series.append((own_times, own_values))
    return series, static


def _array(tensor: Tensor, wanted: list[int]) -> npt.NDArray[Any]:
    """Return a tensor as an array of the model's type, with NaN for null."""
    if tensor.datatype not in _TYPES:
        raise Refused(422, "bad_tensor", f"`datatype` must be one of {', '.join(_TYPES)}", "datatype")
    shape = tuple(tensor.shape)
    if len(shape) != len(wanted) or any(w not in (-1, n) for w, n in zip(wanted, shape, strict=True)):
        needed = ", ".join("any" if size == -1 else str(size) for size in wanted)
        raise Refused(422, "bad_tensor", f"`shape` must be [{needed}]; got {list(shape)[:8]}", "shape")
    size = 1
    for n in shape:
        size *= n
    if size > _MOST or any(n > _MOST for n in shape):
        raise Refused(413, "too_long", f"a tensor may have at most {_MOST:,} numbers; got {size:,}", "shape")
    if shape[0] > _MOST_ROWS:  # rows need no numbers if another axis is 0
        raise Refused(413, "too_long", f"a tensor may have at most {_MOST_ROWS:,} rows; got {shape[0]:,}", "shape")
    numbers = list(islice(_flat(tensor.data), size + 1))
    if len(numbers) != size:
        more = "more" if len(numbers) > size else f"{len(numbers)}"
        raise Refused(422, "bad_tensor", f"`data` must have {size} numbers, according to `shape`; got {more}", "data")
    if tensor.name == "lengths":
        if not all(isinstance(number, int) and abs(number) < 2**62 for number in numbers):
            raise Refused(422, "bad_tensor", "`lengths` must be whole numbers", "data")
        return np.array(numbers, dtype=np.int64)
    try:
        array = np.array([np.nan if number is None else number for number in numbers], dtype=np.float64)
    except OverflowError:
        raise Refused(422, "bad_tensor", "`data` must be numbers in the range of float64", "data") from None
    with np.errstate(over="ignore"):
        kind = np.float32 if tensor.name in ("values", "static") else np.float64
        return array.astype(kind).reshape(shape)


def _flat(data: Any) -> Iterator[int | float | None]:
    """Yield the numbers in nested lists."""
    stack = [iter(data)]
    while stack:
        for item in stack[-1]:
            if isinstance(item, list):
                stack.append(iter(item))
                break
            if item is not None and (isinstance(item, bool) or not isinstance(item, int | float)):
                raise Refused(422, "bad_tensor", "`data` must be numbers, or null if not observed", "data")
            yield item
        else:
            stack.pop()
