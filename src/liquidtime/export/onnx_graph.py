"""A traced graph as ONNX nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from liquidtime.export.trace import Graph, Operation, Value

OPSET, IR_VERSION = 17, 8
TYPES = {
    torch.float32: TensorProto.FLOAT,
    torch.float64: TensorProto.DOUBLE,
    torch.int64: TensorProto.INT64,
    torch.bool: TensorProto.BOOL,
}
_PLAIN = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "max": "Max", "min": "Min", "neg": "Neg", "abs": "Abs",
    "exp": "Exp", "log": "Log", "tanh": "Tanh", "sigmoid": "Sigmoid", "softplus": "Softplus", "relu": "Relu",
    "erf": "Erf", "sqrt": "Sqrt", "floor": "Floor", "sin": "Sin", "cos": "Cos",
    "eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater",
    "ge": "GreaterOrEqual", "and": "And", "or": "Or", "not": "Not", "where": "Where",
}  # fmt: skip

_REWRITTEN = {"linears": (1,), "interpolate": (1, 2, 5)}
"""Operands that are stored in another form than in the graph."""


class Nodes:
    """ONNX nodes and constants, collected one after another.

    Args:
        prefix: prefix of every name, so that graphs can be nested.
    """

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[bytes, onnx.TensorProto] = {}
        self._count = 0
        self._batch: str | None = None
        self._batch_rank = 1
        self._shapes: dict[tuple[int, ...], str] = {}

    def constant(self, array: Any) -> str:
        """Return the name of a constant; equal constants are stored once."""
        array = np.array(array, order="C")
        key = f"{array.dtype}{array.shape}".encode() + array.tobytes()
        if key not in self.constants:
            name = f"{self.prefix}constant_{len(self.constants)}"
            self.constants[key] = numpy_helper.from_array(array, name)
        return str(self.constants[key].name)

    def add(self, kind: str, inputs: Sequence[str], output: str | None = None, **attributes: Any) -> str:
        """Add a node with one output, and return the name of the output."""
        self._count += 1
        name = output or f"{self.prefix}value_{self._count}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def add_graph(self, graph: Graph, inputs: Mapping[str, str]) -> dict[str, str]:
        """Add the operations of a graph, and return the names of its outputs.

        Args:
            graph: the operations.
            inputs: names for the inputs of the graph.
        """
        names = {id(value): inputs[name] for name, value in graph.inputs.items()}
        given_as = {name: value for name, value in graph.inputs.items() if inputs[name]}
        batched = min(given_as, key=lambda name: len(given_as[name].shape))
        self._batch, self._shapes = inputs[batched], {}
        self._batch_rank = 1 + len(given_as[batched].shape)
        names |= self._split_inputs(graph, inputs)
        for operation in graph.operations:
            if id(operation.output) in names:
                continue
            operands = [
                names[id(value)]
                if value.constant is None
                else ""
                if place in _REWRITTEN.get(operation.kind, ())
                else self.constant(_array(value))
                for place, value in enumerate(operation.inputs)
            ]
            names[id(operation.output)] = self._add_operation(operation, operands)
        return {name: names[id(value)] for name, value in graph.outputs.items()}

    def _split_inputs(self, graph: Graph, inputs: Mapping[str, str]) -> dict[int, str]:
        """Split each input that is read in parts by one node; return the names of the parts by their values."""
        names: dict[int, str] = {}
        for name, source in graph.inputs.items():
            cuts = [each for each in graph.operations if each.kind == "slice" and each.inputs[0] is source]
            cuts.sort(key=lambda each: (each.options["start"], each.options["stop"]))
            bounds = [bound for each in cuts for bound in (each.options["start"], each.options["stop"])]
            if len(cuts) < 2 or bounds != sorted(bounds) or len(source.shape) != 1:
                continue
            edges = sorted({0, *bounds, source.shape[0]})
            outputs = {edge: f"{self.prefix}{name}_from_{edge}" for edge in edges[:-1]}
            sizes = self.constant(np.diff(edges).astype(np.int64))
            self.nodes.append(helper.make_node("Split", [inputs[name], sizes], list(outputs.values()), axis=1))
            names |= {id(each.output): outputs[each.options["start"]] for each in cuts}
        return names

    def _add_operation(self, operation: Operation, names: list[str]) -> str:
        kind, options, output = operation.kind, operation.options, operation.output
        if kind in _PLAIN:
            return self.add(_PLAIN[kind], names)
        if kind == "ne":
            return self.add("Not", [self.add("Equal", names)])
        if kind == "cast":
            return self.add("Cast", names, to=TYPES[output.dtype])
        if kind == "linear":
            return self.add("Gemm", names, transB=1)
        if kind == "linears":
            return self._linears(operation, names)
        if kind == "sum":
            axes = self.constant(np.array([options["axis"] + 1]))
            return self.add("ReduceSum", [names[0], axes], keepdims=int(options["keep"]))
        if kind == "softmax":
            return self.add("Softmax", names, axis=-1)
        if kind == "concat":
            return self._concat(operation, names)
        if kind == "slice":
            bounds = [self.constant(np.array([options[name]])) for name in ("start", "stop")]
            return self.add("Slice", [*names, *bounds, self.constant(np.array([options["axis"] + 1]))])
        if kind == "take":
            return self.add("Gather", [names[0], self.constant(np.array(options["index"]))], axis=-1)
        if kind == "reshape":
            return self.add("Reshape", [names[0], self.constant(np.array([-1, *output.shape]))])
        if kind == "fill":
            number = self.constant(np.array(options["number"], dtype=_array_type(output)))
            return self.add("Expand", [number, self._shape_of(output)])
        assert kind == "interpolate", kind
        return self._interpolate(operation, names)

    def _linears(self, operation: Operation, names: list[str]) -> str:
        """Add a product for each lane, of weights (lanes, n, m) and vectors (B, lanes, m)."""
        weight = operation.inputs[1].constant
        assert weight is not None
        axis = self.constant(np.array([2]))
        wide = self.add("Unsqueeze", [names[0], axis])
        turned = self.constant(np.ascontiguousarray(weight.numpy().transpose(0, 2, 1)))
        made = self.add("Squeeze", [self.add("MatMul", [wide, turned]), axis])
        return self.add("Add", [made, names[2]]) if len(names) > 2 else made

    def _concat(self, operation: Operation, names: list[str]) -> str:
        """Join parts; constants among them do not have the axis of series yet."""
        parts = [
            name if value.batched else self.add("Expand", [name, self._shape_of(value)])
            for name, value in zip(names, operation.inputs, strict=True)
        ]
        return self.add("Concat", parts, axis=operation.options["axis"] + 1)

    def _shape_of(self, value: Value) -> str:
        """Return the name of a shape: as many series as there are, each of the shape of `value`."""
        if value.shape not in self._shapes:
            if () not in self._shapes:
                assert self._batch is not None
                shape = self.add("Shape", [self._batch])
                if self._batch_rank > 1:
                    shape = self.add("Slice", [shape, *(self.constant(np.array([at])) for at in (0, 1))])
                self._shapes[()] = shape
            if value.shape:
                sizes = self.constant(np.array(value.shape, dtype=np.int64))
                self._shapes[value.shape] = self.add("Concat", [self._shapes[()], sizes], axis=0)
        return self._shapes[value.shape]

    def _interpolate(self, operation: Operation, names: list[str]) -> str:
        """Add the computation of `interpolate`: the two rows of each column, weighted, as one product."""
        seen, _, _, low, width, _, rows = names
        knots, pieces, corners = (_array(operation.inputs[place]) for place in _REWRITTEN["interpolate"])
        further = np.pad(knots[:, 1:], ((0, 0), (0, int(knots.shape[1] == 1))), constant_values=np.inf)
        middle = self.constant(np.array([1]))
        # The position of the piece that contains a number is the number of further knots that it has reached; columns
        # are the last axis, so that one knot is compared with all of them at once.
        beyond = self.add("GreaterOrEqual", [self.add("Unsqueeze", [seen, middle]), self.constant(further.T)])
        reached = self.add("ReduceSum", [self.add("Cast", [beyond], to=TensorProto.FLOAT), middle], keepdims=0)
        k = self.add("Cast", [reached], to=TensorProto.INT32)
        piece = self.add("Add", [self.constant(pieces.astype(np.int32)), k])
        f = self.add("Sub", [seen, self.add("Gather", [low, piece])])
        f = self.add("Div", [f, self.add("Gather", [width, piece])])
        zero, unit = (self.constant(np.array(number, dtype=np.float32)) for number in (0, 1))
        f = self.add("Clip", [f, zero, unit])
        shares = self.add("Concat", [self.add("Sub", [unit, f]), f], axis=1)  # (B, 2Q)
        sides = self.constant(np.concatenate([corners, corners + 1]).astype(np.int32))
        at = self.add("Add", [sides, self.add("Concat", [k, k], axis=1)])
        both = self.add("Gather", [rows, at])  # (B, 2Q, U)
        total = self.add("MatMul", [self.add("Unsqueeze", [shares, middle]), both])
        return self.add("Squeeze", [total, middle])


def _array(value: Value) -> Any:
    assert value.constant is not None
    return value.constant.numpy()


def _array_type(value: Value) -> Any:
    return torch.zeros(0, dtype=value.dtype).numpy().dtype


def declared(name: str, value: Value, between: Sequence[str] = ()) -> onnx.ValueInfoProto:
    """Return the declaration of an input or output of a graph, with the axes "B" and those in `between` in front."""
    return helper.make_tensor_value_info(name, TYPES[value.dtype], ["B", *between, *value.shape])


def model_of(
    name: str,
    nodes: Nodes,
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    metadata: Mapping[str, str],
) -> onnx.ModelProto:
    """Return a model after checking it.

    Args:
        name: name of the graph.
        nodes: its nodes and constants.
        inputs: declarations of the inputs.
        outputs: declarations of the outputs.
        metadata: texts by name that are stored in the file.
    """
    graph = helper.make_graph(nodes.nodes, name, list(inputs), list(outputs), list(nodes.constants.values()))
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="liquidtime"
    )
    for key, text in metadata.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, text
    onnx.checker.check_model(model, full_check=True)
    return model
