"""Reduces the number of operations of a graph without changing its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from liquidtime.export.operations import ELEMENTWISE
from liquidtime.export.trace import Graph, Operation, Value


def simplified(graph: Graph) -> Graph:
    """Return a graph in which slices of joined parts are taken from the parts, and nothing is computed twice.

    Numbers that fill a shape become constants if other operands have that shape; tables with the same inputs become one
    table with their rows side by side. The outputs are the same bit by bit.
    """
    return _joined_tables(_without_repeats(graph))


def _without_repeats(graph: Graph) -> Graph:
    new: dict[int, Value] = {}  # by the identity of an old value
    known: dict[Any, Value] = {}  # by what is computed
    makers: dict[int, Operation] = {}  # by the identity of a new value
    constants: dict[Any, Value] = {}

    def replaced(value: Value) -> Value:
        if value.constant is None:
            return new.get(id(value), value)
        array = value.constant.numpy()
        return constants.setdefault((value.dtype, value.shape, array.tobytes()), value)

    operations: list[Operation] = []
    for operation in graph.operations:
        inputs = tuple(replaced(value) for value in operation.inputs)
        options = dict(operation.options)
        if operation.kind == "slice":
            inputs, options = _inside_part(inputs, options, makers)
            if (options["start"], options["stop"]) == (0, inputs[0].shape[options["axis"]]):
                new[id(operation.output)] = inputs[0]
                continue
        if operation.kind == "take" and options["index"] == list(range(inputs[0].shape[-1])):
            new[id(operation.output)] = inputs[0]
            continue
        if operation.kind in ELEMENTWISE:
            inputs = _numbers_for_fills(inputs, operation.output.shape, makers, constants)
        asked = () if operation.kind == "fill" else tuple(map(id, inputs))
        key = (operation.kind, asked, repr(options), operation.output.dtype, operation.output.shape)
        if key in known:
            new[id(operation.output)] = known[key]
            continue
        made = Operation(operation.kind, inputs, operation.output, options)
        known[key], makers[id(made.output)] = made.output, made
        operations.append(made)
    outputs = {name: replaced(value) for name, value in graph.outputs.items()}
    return Graph(graph.inputs, operations, outputs).needed()


def _inside_part(
    inputs: tuple[Value, ...], options: dict[str, Any], makers: dict[int, Operation]
) -> tuple[tuple[Value, ...], dict[str, Any]]:
    """Return a slice of a join as a slice of the part that contains it."""
    maker = makers.get(id(inputs[0]))
    if maker is None or maker.kind != "concat" or maker.options["axis"] != options["axis"]:
        return inputs, options
    begin = 0
    for part in maker.inputs:
        end = begin + part.shape[options["axis"]]
        if begin <= options["start"] and options["stop"] <= end and part.batched:
            moved = {"start": options["start"] - begin, "stop": options["stop"] - begin}
            return _inside_part((part,), options | moved, makers)
        begin = end
    return inputs, options


def _numbers_for_fills(
    inputs: tuple[Value, ...], shape: tuple[int, ...], makers: dict[int, Operation], constants: dict[Any, Value]
) -> tuple[Value, ...]:
    """Return the operands of an elementwise operation, with a number for each that has the same number everywhere."""
    fills = [makers.get(id(value)) for value in inputs]
    is_fill = [maker is not None and maker.kind == "fill" for maker in fills]
    others = [value for value, fill in zip(inputs, is_fill, strict=True) if not fill]
    if not any(value.batched for value in others) or _broadcast(others) != shape:
        return inputs
    chosen = []
    for value, maker in zip(inputs, fills, strict=True):
        if maker is None or maker.kind != "fill":
            chosen.append(value)
            continue
        number = torch.tensor(maker.options["number"], dtype=value.dtype)
        made = Value(f"number_of_{value.name}", (), value.dtype, False, number)
        chosen.append(constants.setdefault((made.dtype, (), number.numpy().tobytes()), made))
    return tuple(chosen)


def _broadcast(values: Sequence[Value]) -> tuple[int, ...]:
    return np.broadcast_shapes(*(value.shape for value in values))


def _joined_tables(graph: Graph) -> Graph:
    """Return a graph in which tables that read the same numbers with the same pieces are joined."""
    groups: dict[Any, list[Operation]] = {}
    for operation in graph.operations:
        if operation.kind == "interpolate":
            groups.setdefault(tuple(map(id, operation.inputs[:-1])), []).append(operation)
    several = {id(group[0]): group for group in groups.values() if len(group) > 1}
    later = {id(one) for group in several.values() for one in group[1:]}
    operations: list[Operation] = []
    for operation in graph.operations:
        group = several.get(id(operation))
        if group is not None:
            operations += _side_by_side(group)
        elif id(operation) not in later:
            operations.append(operation)
    return Graph(graph.inputs, operations, graph.outputs)


def _side_by_side(group: Sequence[Operation]) -> list[Operation]:
    tables = [operation.inputs[-1].constant for operation in group]
    rows = torch.cat([table for table in tables if table is not None], dim=1)
    first = group[0]
    whole = Value(f"{first.output.name}_whole", (rows.shape[1],), first.output.dtype, batched=True)
    wide = Value(f"{first.output.name}_rows", tuple(rows.shape), rows.dtype, False, rows)
    made = [Operation("interpolate", (*first.inputs[:-1], wide), whole, first.options)]
    begin = 0
    for operation in group:
        end = begin + operation.output.shape[0]
        made.append(Operation("slice", (whole,), operation.output, {"axis": 0, "start": begin, "stop": end}))
        begin = end
    return made
