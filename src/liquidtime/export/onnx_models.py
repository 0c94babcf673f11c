"""The ONNX models of a step: one sample at a time, whole series, and forecasts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper

from liquidtime.export.forecast_step import ForecastStep
from liquidtime.export.graphs import advance_graph, read_graph, step_graph
from liquidtime.export.lanes import with_lanes
from liquidtime.export.onnx_graph import Nodes, declared, model_of
from liquidtime.export.shorten import shortened
from liquidtime.export.step import Step
from liquidtime.export.trace import Graph, Value

STATE = ("doubles", "floats")


def step_model(step: Step, metadata: Mapping[str, str]) -> onnx.ModelProto:
    """Return the model for one more sample of each of B series.

    Inputs `doubles` and `floats` (the state; zeros before the first sample), `t` (B,), `values` (B, C) with NaN for
    values not observed, and `static` (B, F) in the same form, if there are static features. Outputs `doubles_after`,
    `floats_after` and `prediction` (B, K).
    """
    return _plain_model("step", shortened(with_lanes(step_graph(step), step.layout)), metadata)


def forecast_model(step: ForecastStep, metadata: Mapping[str, str]) -> onnx.ModelProto:
    """Return the model for forecasts from the states of B series.

    Inputs `doubles` and `floats`, `static` (B, F) as in `step_model`, `asked` (B,) with the requested times, `coverage`
    (B,) of the intervals, and, if there are known channels, `future` (B, K) with their values at those times, NaN for
    those that remain unchanged. Output `prediction` (B, 3C): forecasts, lower and upper ends.
    """
    return _plain_model("forecast", shortened(with_lanes(read_graph(step), step.layout)), metadata)


def _plain_model(name: str, graph: Graph, metadata: Mapping[str, str]) -> onnx.ModelProto:
    """Return a graph as a model, with one input for numbers and flags that say whether they are present."""
    nodes = Nodes()
    flags = {"values": "seen", "static": "known", "future": "given"}
    names: dict[str, str] = {}
    declared_inputs = []
    for own, value in graph.inputs.items():
        if own in flags.values():
            continue
        if own in flags:
            names |= _observed(nodes, graph, (own, flags[own]))
        else:
            names[own] = own
        if value.shape != (0,):
            declared_inputs.append(declared(own, value))
    for output, made in nodes.add_graph(graph, names).items():
        nodes.add("Identity", [made], output)
    return model_of(
        name, nodes, declared_inputs, [declared(own, value) for own, value in graph.outputs.items()], metadata
    )


def series_model(step: Step, metadata: Mapping[str, str]) -> onnx.ModelProto:
    """Return the model for whole series: a `Scan` over exactly the step of `step_model`, followed by its prediction.

    Inputs `times` (B, T), `values` (B, T, C) with NaN for values not observed, `lengths` (B,) with the number of
    samples of each series (later ones have no effect), and `static` (B, F) if there are static features. Output
    `prediction` (B, K). For a forecaster there are also the inputs of `forecast_model`, and, if it uses the calendar,
    `origin` (B,), the zero of the clock of each series in time units since 1970, or NaN; and the outputs
    `doubles_after` and `floats_after`, the state after each series, from which `forecast_model` can make any number of
    forecasts.
    """
    advance, read = (shortened(with_lanes(graph, step.layout)) for graph in (advance_graph(step), read_graph(step)))
    inside = _live_step(advance)
    nodes = Nodes()
    B = nodes.add("Shape", ["lengths"])
    starts = []
    for name in STATE:
        size = np.array(advance.inputs[name].shape, dtype=np.int64)
        kind = np.float64 if name == "doubles" else np.float32
        zero = nodes.constant(np.zeros((), dtype=kind))
        dated = _dated(nodes, step) if name == "doubles" else []
        size = size - len(dated)
        first = nodes.add("Expand", [zero, nodes.add("Concat", [B, nodes.constant(size)], axis=0)])
        starts.append(nodes.add("Concat", [first, *dated], axis=1) if dated else first)
    T = nodes.add("Slice", [nodes.add("Shape", ["times"]), *(nodes.constant(np.array([at])) for at in (1, 2))])
    T = nodes.add("Squeeze", [T, nodes.constant(np.array([0]))])
    zero, one = (nodes.constant(np.array(number, dtype=np.int64)) for number in (0, 1))
    positions = nodes.add("Unsqueeze", [nodes.add("Range", [zero, T, one]), nodes.constant(np.array([0]))])
    ends = nodes.add("Unsqueeze", ["lengths", nodes.constant(np.array([1]))])
    live = nodes.add("Less", [positions, ends])  # (B, T)
    after = ["doubles_after", "floats_after"]
    nodes.nodes.append(
        helper.make_node(
            "Scan", [*starts, "times", "values", live], after, body=inside, num_scan_inputs=3, scan_input_axes=[1, 1, 1]
        )
    )
    names = dict(zip(STATE, after, strict=True)) | _observed(nodes, read, ("static", "known"))
    asked: list[str] = [name for name in ("asked", "coverage") if name in read.inputs]
    names |= {name: name for name in asked}
    if "future" in read.inputs:
        names |= _observed(nodes, read, ("future", "given"))
        asked += ["future"] if read.inputs["future"].shape != (0,) else []
    nodes.add("Identity", [nodes.add_graph(read, names)["prediction"]], "prediction")
    inputs = [
        declared("times", advance.inputs["t"], ["T"]),
        declared("values", advance.inputs["values"], ["T"]),
        helper.make_tensor_value_info("lengths", TensorProto.INT64, ["B"]),
    ]
    if read.inputs["static"].shape != (0,):
        inputs.append(declared("static", read.inputs["static"]))
    inputs += [declared(name, read.inputs[name]) for name in asked]
    if isinstance(step, ForecastStep) and step.clock:
        inputs.append(helper.make_tensor_value_info("origin", TensorProto.DOUBLE, ["B"]))
    outputs = [declared("prediction", read.outputs["prediction"])]
    if isinstance(step, ForecastStep):
        outputs += [declared(name, advance.outputs[name]) for name in after]
    return model_of("series", nodes, inputs, outputs, metadata)


def _dated(nodes: Nodes, step: Step) -> list[str]:
    """Return the last two doubles of a state, (B, 1) each, from the input `origin`, if a model has them."""
    if not isinstance(step, ForecastStep) or not step.clock:
        return []
    assert [field.start for field in step.clock.values()] == [step.layout.doubles - 2, step.layout.doubles - 1]
    origin = nodes.add("Unsqueeze", ["origin", nodes.constant(np.array([1]))])
    missing = nodes.add("IsNaN", [origin])
    zero = nodes.constant(np.zeros((), dtype=np.float64))
    known = nodes.add("Cast", [nodes.add("Not", [missing])], to=TensorProto.DOUBLE)
    return [nodes.add("Where", [missing, zero, origin]), known]


def _observed(nodes: Nodes, graph: Graph, names: tuple[str, str]) -> dict[str, str]:
    """Return the names of values and of flags for their presence, from one input with NaN for missing values."""
    values, seen = names
    if graph.inputs[values].shape == (0,):
        return {values: "", seen: ""}
    return {values: values, seen: nodes.add("Equal", [values, values])}  # False for NaN


def _live_step(advance: Graph) -> onnx.GraphProto:
    """Return the step as the body of a `Scan`, in which a series that has ended no longer changes."""
    body = Nodes("body_")
    inputs = {"doubles": "body_doubles", "floats": "body_floats", "t": "body_t"}
    inputs |= {"values": "body_values", "seen": body.add("Equal", ["body_values", "body_values"])}
    outputs = body.add_graph(advance, {name: inputs.get(name, "") for name in advance.inputs})
    here = body.add("Unsqueeze", ["body_live", body.constant(np.array([1]))])
    for name in STATE:
        body.add("Where", [here, outputs[f"{name}_after"], f"body_{name}"], f"body_{name}_after")
    live = Value("live", (), torch.bool, batched=True)
    body_inputs = [*((name, advance.inputs[name]) for name in (*STATE, "t", "values")), ("live", live)]
    return helper.make_graph(
        body.nodes,
        "one sample",
        [declared(f"body_{name}", value) for name, value in body_inputs],
        [declared(f"body_{name}_after", advance.outputs[f"{name}_after"]) for name in STATE],
        list(body.constants.values()),
    )
