"""Reduces the number of nodes of a graph, for runtimes in which nodes cost more than their numbers."""

from __future__ import annotations

import torch

from liquidtime.export.trace import Graph, Operation, Value


def shortened(graph: Graph) -> Graph:
    """Return a graph without repeated reshapes, parts that are split and joined again, nested joins, and flags that are
    converted to numbers and back. The outputs are the same bit by bit.
    """
    new: dict[int, Value] = {}  # by the identity of an old value
    makers: dict[int, Operation] = {}  # by the identity of a new value
    operations: list[Operation] = []
    for operation in graph.operations:
        inputs = tuple(new.get(id(value), value) for value in operation.inputs)
        made = Operation(operation.kind, inputs, operation.output, operation.options)
        if made.kind == "reshape":
            made = _of_source(made, makers)
        elif made.kind == "concat":
            made = _as_cut(_flat(made, makers), makers)
        elif made.kind == "gt":
            flag = _flag(made, makers)
            if flag is not None:
                new[id(operation.output)] = flag
                continue
        if made.kind == "reshape" and made.inputs[0].shape == made.output.shape:
            new[id(operation.output)] = made.inputs[0]
            continue
        makers[id(made.output)] = made
        operations.append(made)
    outputs = {name: new.get(id(value), value) for name, value in graph.outputs.items()}
    return Graph(graph.inputs, operations, outputs).needed()


def _of_source(operation: Operation, makers: dict[int, Operation]) -> Operation:
    """Return a reshape of the input of another reshape."""
    before = makers.get(id(operation.inputs[0]))
    if before is None or before.kind != "reshape":
        return operation
    return Operation("reshape", before.inputs, operation.output)


def _flat(operation: Operation, makers: dict[int, Operation]) -> Operation:
    """Return a join in which parts that are joins along the same axis are replaced by their own parts."""
    parts: list[Value] = []
    for value in operation.inputs:
        maker = makers.get(id(value))
        same = maker is not None and maker.kind == "concat" and maker.options["axis"] == operation.options["axis"]
        parts += maker.inputs if same and maker is not None else (value,)
    return Operation("concat", tuple(parts), operation.output, operation.options)


def _as_cut(operation: Operation, makers: dict[int, Operation]) -> Operation:
    """Return a reshape of a value instead of a join of all its parts along the first axis, in order."""
    if operation.options["axis"] != 0:
        return operation
    source, end = None, 0
    for value in operation.inputs:
        maker = makers.get(id(value))
        if maker is not None and maker.kind == "reshape":
            maker = makers.get(id(maker.inputs[0]))
        if maker is None or maker.kind != "slice" or maker.options["axis"] != 0 or maker.options["start"] != end:
            return operation
        if source is not None and maker.inputs[0] is not source:
            return operation
        source, end = maker.inputs[0], maker.options["stop"]
    if source is None or end != source.shape[0] or not source.batched:
        return operation
    return _of_source(Operation("reshape", (source,), operation.output), makers)


def _flag(operation: Operation, makers: dict[int, Operation]) -> Value | None:
    """Return the flag from which a number was made that is compared with 0."""
    left, right = operation.inputs
    maker = makers.get(id(left))
    if right.constant is None or right.constant.any() or maker is None or maker.kind != "cast":
        return None
    flag = maker.inputs[0]
    return flag if flag.dtype == torch.bool and flag.shape == operation.output.shape else None
