"""A graph with fewer operations and the same outputs, bit by bit."""

from __future__ import annotations

from typing import Any

from liquidtime.export.trace import Graph, Operation, Value


def simplified(graph: Graph) -> Graph:
    """Return a graph in which slices of joined parts are taken from the parts, and nothing is computed twice."""
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
        key = (operation.kind, tuple(map(id, inputs)), repr(options), operation.output.dtype, operation.output.shape)
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
    """Return a slice as one of the part that it lies in, where what it cuts was joined of parts."""
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
