"""The effect of 8-bit weights on the predictions of test vectors, and on the metrics of the model."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from liquidtime.data import SeriesSet
from liquidtime.data.encoding.alignment import aligned
from liquidtime.errors import wrong_shape
from liquidtime.export.forecast_step import ForecastStep
from liquidtime.export.graphs import advance_graph, read_graph
from liquidtime.export.quantise import quantised, with_weights
from liquidtime.export.run import run
from liquidtime.export.step import FlatState, Step
from liquidtime.export.trace import Graph
from liquidtime.export.vectors import Questions, Vector, as_tensors
from liquidtime.tasks.classification import Classification, codes_of
from liquidtime.tasks.regression import Regression
from liquidtime.training import METRICS


def graphs_of(step: Step, int8: bool) -> tuple[Graph, Graph]:
    """Return the graphs of a sample and of a prediction, with 8-bit weights if `int8`."""
    advance, read = advance_graph(step), read_graph(step)
    if not int8:
        return advance, read
    matrices = quantised([advance, read])
    return with_weights(advance, matrices), with_weights(read, matrices)


def predictions(step: Step, vectors: Sequence[Vector]) -> list[Vector]:
    """Return test vectors with the predictions of the model with 8-bit weights."""
    advance, read = graphs_of(step, int8=True)
    changed = []
    for vector in vectors:
        rows: list[npt.NDArray[np.float64]] = []
        state: Any = start_of(step, vector)
        for k, (t, values) in enumerate(zip(vector.times, vector.values, strict=True)):
            state = _advanced(advance, state, np.array([t]), values[None])
            rows.append(_read(read, state, vector.static[None], _asked(vector.questions, k))[0])
        changed.append(dataclasses.replace(vector, predictions=np.stack(rows)))
    return changed


def whole_series(step: Step, data: SeriesSet, int8: bool) -> npt.NDArray[np.float64]:
    """Return (S, K) the predictions of the exported model for whole series, computed by torch.

    Args:
        step: the model.
        data: series with the same channels as in training.
        int8: whether weights have 8 bits.
    """
    encoder = step.encoder
    data = aligned(data, encoder.channels_, encoder.static_names_, encoder.categories_, encoder.time_unit_)
    advance, read = graphs_of(step, int8)
    order = np.argsort(-data.lengths, kind="stable")  # longest first: series with remaining samples are in front
    lengths, first = data.lengths[order], data.offsets[order]
    doubles, floats = step.start(len(data))
    for k in range(int(lengths.max(initial=0))):
        B = int((lengths > k).sum())
        rows = first[:B] + k
        after = _advanced(advance, (doubles[:B], floats[:B]), data.times[rows], data.values[rows])
        doubles, floats = torch.cat([after[0], doubles[B:]]), torch.cat([after[1], floats[B:]])
    outputs = np.empty((len(data), step.outputs))
    outputs[order] = _read(read, (doubles, floats), data.static[order])
    return outputs


def change_in_words(
    step: Step, vectors: Sequence[Vector], changed: Sequence[Vector], data: SeriesSet | None, target: Any
) -> str:
    """Describe the effect of 8-bit weights.

    Args:
        step: the model.
        vectors: test vectors with the predictions of the model.
        changed: the same with 8-bit weights.
        data: series, or None.
        target: targets of the series; with targets the metrics of the model are compared, otherwise the predictions.
    """
    if data is None or target is None or step.per_step or step.task not in ("classification", "regression"):
        apart = np.concatenate(
            [
                np.abs(one.predictions - other.predictions) / step.spread
                for one, other in zip(vectors, changed, strict=True)
            ]
        )
        unit = "" if step.has_chances else " standard deviations of the targets"
        text = (
            f"predictions on the test vectors change by {apart.mean():.2g} on average, {apart.max():.2g} at most{unit}"
        )
        return text + "; pass labelled data to measure the change in the model's metrics"
    truth = np.asarray(target)
    if len(truth) != len(data):
        raise wrong_shape("target", "(S,)", [len(data)], truth.shape, "One target per series.")
    names = (Regression if step.classes is None else Classification).metrics
    classes = step.classes
    truth = truth.reshape(len(truth), -1) if classes is None else codes_of(truth, np.array(classes))
    before, after = (whole_series(step, data, int8) for int8 in (False, True))
    parts = []
    for name in names:
        metric = METRICS[name]
        parts.append(f"{metric.label} {metric(truth, before):.4f} -> {metric(truth, after):.4f}")
    return f"on {len(data):,} series: " + ", ".join(parts)


def start_of(step: Step, vector: Vector) -> FlatState:
    """Return the state of a test vector before its first sample."""
    state = step.start(1)
    if isinstance(step, ForecastStep) and step.clock and vector.questions and vector.questions.origin is not None:
        state.doubles[0, step.clock["origin"].start] = vector.questions.origin
        state.doubles[0, step.clock["dated"].start] = 1.0
    return state


def _asked(questions: Questions | None, k: int) -> dict[str, torch.Tensor]:
    """Return the arguments of a forecast after sample k, by the names of the inputs of the graph."""
    if questions is None:
        return {}
    future, given = as_tensors(questions.future[k : k + 1])
    times = {
        name: torch.from_numpy(part[k : k + 1])
        for name, part in (("asked", questions.asked), ("coverage", questions.coverage))
    }
    return times | {"future": future, "given": given}


def _advanced(graph: Graph, state: Any, times: npt.NDArray[Any], values: npt.NDArray[Any]) -> tuple[Any, Any]:
    row, seen = as_tensors(values)
    inputs = {"doubles": state[0], "floats": state[1], "t": torch.from_numpy(times), "values": row, "seen": seen}
    none = torch.zeros(len(times), 0)
    after = run(graph, {name: (inputs | {"static": none, "known": none})[name] for name in graph.inputs})
    return after["doubles_after"], after["floats_after"]


def _read(
    graph: Graph, state: Any, static: npt.NDArray[Any], asked: Mapping[str, torch.Tensor] | None = None
) -> npt.NDArray[np.float64]:
    row, known = as_tensors(static)
    inputs = {"doubles": state[0], "floats": state[1], "static": row, "known": known, **(asked or {})}
    predicted: npt.NDArray[np.float64] = run(graph, inputs)["prediction"].numpy()
    return predicted
