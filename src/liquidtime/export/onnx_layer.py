"""The ONNX model of a bare recurrent layer."""

from __future__ import annotations

from typing import cast

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper

from liquidtime.cells import Cell
from liquidtime.export.onnx_graph import Nodes, declared, model_of
from liquidtime.export.simplify import simplified
from liquidtime.export.trace import trace
from liquidtime.layers import Recurrent


def layer_model(layer: Recurrent) -> onnx.ModelProto:
    """Return the model of a layer over whole sequences: a `Scan` over single steps for each cell.

    Inputs `x` (B, T, D), `dt` (B, T), and for each part of the state `h0`, `h0_1`, … (L·directions, B, ·); outputs `y`
    (B, T, ·), and `h`, `h_1`, … after the last sample. With `batch_first=False` the first two axes of x, dt
    and y are swapped.

    Args:
        layer: layer in evaluation mode, float32.

    Raises:
        ValueError: a cell has an operation without counterpart.

    """
    nodes, axis = Nodes(), 1 if layer.batch_first else 0
    cells = cast(list[Cell], list(layer.cells))
    parts = ["" if k == 0 else f"_{k}" for k in range(len(cells[0].state_sizes))]
    backward_dt = _backward_intervals(nodes, axis) if layer.bidirectional else ""
    y, D = "x", layer.num_directions
    for number in range(layer.num_layers):
        outputs = []
        for direction in range(D):
            row = number * D + direction
            place = nodes.constant(np.array(row, dtype=np.int64))
            starts = [nodes.add("Gather", [f"h0{part}", place], axis=0) for part in parts]
            ends, out = [f"end_{row}{part}" for part in parts], f"y_{row}"
            nodes.nodes.append(
                helper.make_node(
                    "Scan", [*starts, y, backward_dt if direction else "dt"], [*ends, out], body=_body(cells[row], row),
                    num_scan_inputs=2, scan_input_axes=[axis, axis], scan_output_axes=[axis],
                    scan_input_directions=[direction, direction], scan_output_directions=[direction],
                )
            )  # fmt: skip
            outputs.append(out)
        y = outputs[0] if D == 1 else nodes.add("Concat", outputs, axis=2)
    if layer.projection is not None:
        weight = nodes.constant(np.ascontiguousarray(layer.projection.weight.detach().numpy().T))
        y = nodes.add("Add", [nodes.add("MatMul", [y, weight]), nodes.constant(layer.projection.bias.detach().numpy())])
    nodes.add("Identity", [y], "y")
    front = nodes.constant(np.array([0]))
    for part in parts:
        rows = [nodes.add("Unsqueeze", [f"end_{row}{part}", front]) for row in range(len(cells))]
        nodes.add("Concat", rows, f"h{part}", axis=0)
    axes = ["B", "T"] if layer.batch_first else ["T", "B"]
    states: list[tuple[str, list[int | str]]] = [
        (part, [len(cells), "B", size]) for part, size in zip(parts, cells[0].state_sizes, strict=True)
    ]
    inputs = [
        _floats("x", *axes, layer.input_size),
        _floats("dt", *axes),
        *(_floats(f"h0{part}", *rest) for part, rest in states),
    ]
    results = [_floats("y", *axes, layer.output_size), *(_floats(f"h{part}", *rest) for part, rest in states)]
    return model_of("layer", nodes, inputs, results, {})


def _body(cell: Cell, row: int) -> onnx.GraphProto:
    """Return one step of a cell as the body of a `Scan`."""
    sizes = {f"s{k}": torch.zeros(1, size) for k, size in enumerate(cell.state_sizes)}
    example = {"x": torch.zeros(1, cell.input_size), "dt": torch.zeros(1)} | sizes

    def run(x: torch.Tensor, dt: torch.Tensor, *state: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y, after = cell(x, state, dt)
        return (y, *after)

    graph = simplified(trace(run, example, ("y", *(f"{name}_after" for name in sizes))))
    prefix = f"body_{row}_"
    body = Nodes(prefix)
    outputs = body.add_graph(graph, {name: prefix + name for name in graph.inputs})
    ordered = [*(f"{name}_after" for name in sizes), "y"]
    for name in ordered:
        body.add("Identity", [outputs[name]], prefix + name)
    return helper.make_graph(
        body.nodes,
        "one step",
        [declared(prefix + name, graph.inputs[name]) for name in (*sizes, "x", "dt")],
        [declared(prefix + name, graph.outputs[name]) for name in ordered],
        list(body.constants.values()),
    )


def _backward_intervals(nodes: Nodes, axis: int) -> str:
    """Return the intervals for samples in reverse order: each is the interval of the following sample."""
    first, second, last = (nodes.constant(np.array([number])) for number in (0, 1, np.iinfo(np.int64).max))
    along = nodes.constant(np.array([axis]))
    later, front = (nodes.add("Slice", ["dt", *ends, along]) for ends in ((second, last), (first, second)))
    return nodes.add("Concat", [later, front], axis=axis)


def _floats(name: str, *shape: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))
