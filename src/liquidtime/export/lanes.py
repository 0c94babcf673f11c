"""Equal parts of a graph side by side: the members of an ensemble as lanes of one operation.

Operations that compute the same from the same fields of different members, or scales, become one operation on values
with an additional first axis for lanes, for runtimes whose cost grows with the number of operations. Weights are stored
side by side.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import torch

from liquidtime.export.layout import Layout
from liquidtime.export.operations import ELEMENTWISE
from liquidtime.export.simplify import simplified
from liquidtime.export.trace import Graph, Operation, Value

_LANED = ELEMENTWISE | {"linear", "sum", "softmax", "concat", "slice", "take", "reshape"}


def with_lanes(graph: Graph, layout: Layout) -> Graph:
    """Return a graph with fewer operations and the same outputs, except for the order of sums.

    Args:
        graph: graph with the inputs `doubles` and `floats`.
        layout: layout of these inputs.
    """
    made = _Lanes(graph, layout).graph()
    return made if len(made.operations) < len(graph.operations) else graph


class _Lanes:
    """Rewrites one graph.

    Args:
        graph: graph to rewrite.
        layout: layout of its state.
    """

    def __init__(self, graph: Graph, layout: Layout) -> None:
        self._graph, self._makers = graph, {id(operation.output): operation for operation in graph.operations}
        roles: dict[tuple[str, int, int], str] = {
            (field.kind, field.start, field.start + field.size): re.sub(r"(member|scale) \d+", r"\1", field.name)
            for field in layout.fields
        }
        members = [field.start for field in layout.fields if field.kind == "float" and field.name.startswith("member")]
        self._first = min(members, default=0)
        self._groups = self._alike(roles)
        self._lane = {
            id(operation.output): (group, lane) for group in self._groups for lane, operation in enumerate(group)
        }
        self._new: dict[int, Value] = {id(value): value for value in graph.inputs.values()}
        self._fused: dict[int, Value] = {}
        self._known: dict[Any, Value] = {}
        self._operations: list[Operation] = []
        self._constants: dict[Any, Value] = {}

    def graph(self) -> Graph:
        """Return the rewritten graph."""
        outputs = {name: self._value(value) for name, value in self._graph.outputs.items()}
        return simplified(Graph(self._graph.inputs, self._operations, outputs))

    def _alike(self, roles: dict[tuple[str, int, int], str]) -> list[list[Operation]]:
        """Return the groups of operations that do the same to different lanes, in the order of lanes."""
        numbers: dict[Any, int] = {}
        signs: dict[int, int] = {}
        alike: dict[int, list[Operation]] = {}
        states = {id(self._graph.inputs[f"{kind}s"]): kind for kind in ("double", "float")}
        for operation in self._graph.operations:
            options = operation.options
            if operation.kind == "slice" and id(operation.inputs[0]) in states:
                place = (states[id(operation.inputs[0])], options["start"], options["stop"])
                key: Any = ("state", place[0], roles.get(place, place))
                signs[id(operation.output)] = numbers.setdefault(key, len(numbers))
                continue
            given = tuple(
                (value.dtype, value.shape) if value.constant is not None else signs.get(id(value), id(value))
                for value in operation.inputs
            )
            loose = {} if self._is_table_slice(operation) else options
            key = (operation.kind, given, repr(loose), operation.output.dtype, operation.output.shape)
            sign = signs[id(operation.output)] = numbers.setdefault(key, len(numbers))
            if operation.kind in _LANED and not self._is_table_slice(operation):
                alike.setdefault(sign, []).append(operation)
        return [group for group in alike.values() if len(group) > 1]

    def _is_table_slice(self, operation: Operation) -> bool:
        """Return whether an operation reads one member's part of tables that were joined."""
        maker = self._makers.get(id(operation.inputs[0])) if operation.kind == "slice" else None
        return maker is not None and maker.kind == "interpolate"

    def _value(self, value: Value) -> Value:
        """Return the new value for an old one, without lanes."""
        if value.constant is not None:
            return value
        known = self._new.get(id(value))
        if known is None:
            place = self._lane.get(id(value))
            known = self._apart(value) if place is None else self._one_lane(value, *place)
            self._new[id(value)] = known
        return known

    def _apart(self, value: Value) -> Value:
        """Return the output of an operation without lanes."""
        operation = self._makers[id(value)]
        if operation.kind == "concat" and operation.options["axis"] == 0:
            parts = self._joined_parts(operation.inputs)
        else:
            parts = [self._value(part) for part in operation.inputs]
        return self._add(operation.kind, parts, value.shape, value.dtype, operation.options)

    def _one_lane(self, value: Value, group: list[Operation], lane: int) -> Value:
        whole = self._side_by_side(group)
        options = {"axis": 0, "start": lane, "stop": lane + 1}
        part = self._add("slice", [whole], (1, *value.shape), value.dtype, options)
        return self._add("reshape", [part], value.shape, value.dtype)

    def _joined_parts(self, parts: Sequence[Value]) -> list[Value]:
        """Return the parts of a concatenation, with consecutive lanes joined."""
        made, at = [], 0
        while at < len(parts):
            block = self._block(parts, at)
            if block is None:
                made.append(self._value(parts[at]))
                at += 1
                continue
            groups, count = block
            lanes = [self._side_by_side(group) for group in groups]
            widths = [group[0].output.shape[0] for group in groups]
            n, kind = len(groups[0]), parts[at].dtype
            row = lanes[0] if len(lanes) == 1 else self._add("concat", lanes, (n, sum(widths)), kind, {"axis": 1})
            made.append(self._add("reshape", [row], (n * sum(widths),), kind))
            at += count
        return made

    def _block(self, parts: Sequence[Value], at: int) -> tuple[list[list[Operation]], int] | None:
        """Return the groups whose lanes are the next parts, in turn one lane of each group, and the number of parts."""
        first = self._lane.get(id(parts[at]))
        if first is None or first[1] != 0 or len(parts[at].shape) != 1:
            return None
        group, n = first[0], len(first[0])
        ends = [k for k in range(at + 1, len(parts)) if parts[k] is group[1].output]
        period = ends[0] - at if ends else 0
        if not period or at + n * period > len(parts):
            return None
        groups = []
        for k in range(period):
            place = self._lane.get(id(parts[at + k]))
            if place is None or place[1] != 0 or len(place[0]) != n or len(parts[at + k].shape) != 1:
                return None
            if any(parts[at + lane * period + k] is not place[0][lane].output for lane in range(n)):
                return None
            groups.append(place[0])
        return groups, n * period

    def _side_by_side(self, group: list[Operation]) -> Value:
        """Return (lanes, ...) the outputs of a group of operations."""
        known = self._fused.get(id(group[0]))
        if known is None:
            known = self._fused[id(group[0])] = self._fuse(group)
        return known

    def _fuse(self, group: list[Operation]) -> Value:
        first, n = group[0], len(group)
        kind, output, options = first.kind, first.output, dict(first.options)
        shape = (n, *output.shape)
        if kind == "linear":
            return self._products(group)
        if kind == "concat":
            operands = [self._operand(group, k, len(shape), whole=True) for k in range(len(first.inputs))]
            return self._add(kind, operands, shape, output.dtype, {"axis": options["axis"] + 1})
        rank = 1 + (len(output.shape) if kind in ELEMENTWISE else len(first.inputs[0].shape))
        operands = [self._operand(group, k, rank, whole=kind not in ELEMENTWISE) for k in range(len(first.inputs))]
        if "axis" in options:
            options["axis"] += 1
        return self._add(kind, operands, shape, output.dtype, options)

    def _products(self, group: list[Operation]) -> Value:
        """Return (lanes, n) matrices times vectors, as one product if the vector is shared."""
        first, n = group[0], len(group)
        out, width = first.inputs[1].shape
        weights = torch.stack([_numbers(operation.inputs[1]) for operation in group])  # (lanes, out, width)
        bias = torch.stack([_numbers(operation.inputs[2]) for operation in group]) if len(first.inputs) > 2 else None
        kind = first.output.dtype
        if all(operation.inputs[0] is first.inputs[0] for operation in group):
            parts = [self._value(first.inputs[0]), self._constant(weights.reshape(n * out, width))]
            parts += [] if bias is None else [self._constant(bias.reshape(-1))]
            whole = self._add("linear", parts, (n * out,), kind)
            return self._add("reshape", [whole], (n, out), kind)
        parts = [self._operand(group, 0, 2, whole=True), self._constant(weights)]
        parts += [] if bias is None else [self._constant(bias)]
        return self._add("linears", parts, (n, out), kind)

    def _operand(self, group: list[Operation], k: int, rank: int, whole: bool) -> Value:
        """Return operands k of a group as one of a certain rank, with an entry for each lane if it must be `whole`."""
        values = [self._number_for_fill(operation.inputs[k]) for operation in group]
        n, first = len(values), values[0]
        if all(value is first for value in values):
            if first.constant is not None and not whole:
                return first
            if first.constant is None:
                alone = self._value(first)
                shape = (*[1] * (rank - len(first.shape)), *first.shape)
                alone = self._add("reshape", [alone], shape, first.dtype)
                if not whole:
                    return alone
                nothing = self._constant(torch.zeros(n, *shape[1:], dtype=first.dtype))
                kind = "or" if first.dtype == torch.bool else "add"
                return self._add(kind, [alone, nothing], (n, *shape[1:]), first.dtype)
        if all(value.constant is not None for value in values):
            shape = (n, *[1] * (rank - 1 - len(first.shape)), *first.shape)
            return self._constant(torch.stack([_numbers(value) for value in values]).reshape(shape))
        lanes = self._gathered(values)
        shape = (n, *[1] * (rank - 1 - len(first.shape)), *first.shape)
        return lanes if lanes.shape == shape else self._add("reshape", [lanes], shape, first.dtype)

    def _number_for_fill(self, value: Value) -> Value:
        """Return a constant for a value with the same number everywhere."""
        maker = self._makers.get(id(value))
        if maker is None or maker.kind != "fill":
            return value
        return self._constant(torch.full(value.shape, maker.options["number"], dtype=value.dtype))

    def _gathered(self, values: Sequence[Value]) -> Value:
        """Return (lanes, ...) different values side by side."""
        n, first = len(values), values[0]
        place = self._lane.get(id(first))
        if place is not None and [id(value) for value in values] == [id(one.output) for one in place[0]]:
            return self._side_by_side(place[0])
        makers = [self._makers.get(id(value)) for value in values]
        sliced = [maker for maker in makers if maker is not None and maker.kind == "slice"]
        if len(sliced) == n and all(maker.inputs[0] is sliced[0].inputs[0] for maker in sliced):
            strided = self._strided(sliced)
            if strided is not None:
                return strided
        flat = [self._add("reshape", [self._value(value)], (1, *first.shape), first.dtype) for value in values]
        return self._add("concat", flat, (n, *first.shape), first.dtype, {"axis": 0})

    def _strided(self, slices: Sequence[Operation]) -> Value | None:
        """Return slices of one value at equal distances as (lanes, size)."""
        source, starts = slices[0].inputs[0], [one.options["start"] for one in slices]
        n, size, stride = len(slices), slices[0].output.shape[0], starts[1] - starts[0]
        even = starts == [starts[0] + k * stride for k in range(n)] and stride >= size
        begin = self._first if 0 <= starts[0] - self._first <= stride - size else starts[0]
        end, inside = begin + n * stride, starts[0] - begin
        if not even or len(source.shape) != 1 or end > source.shape[0]:
            return None
        options = {"axis": 0, "start": begin, "stop": end}
        block = self._add("slice", [self._value(source)], (n * stride,), source.dtype, options)
        rows = self._add("reshape", [block], (n, stride), source.dtype)
        options = {"axis": 1, "start": inside, "stop": inside + size}
        return self._add("slice", [rows], (n, size), source.dtype, options)

    def _add(
        self, kind: str, inputs: Sequence[Value], shape: tuple[int, ...], dtype: torch.dtype, options: Any = None
    ) -> Value:
        if kind == "reshape" and inputs[0].shape == shape:
            return inputs[0]
        key = (kind, tuple(map(id, inputs)), shape, dtype, repr(options))
        if key not in self._known:
            value = Value(f"l{len(self._operations)}", shape, dtype, batched=True)
            self._operations.append(Operation(kind, tuple(inputs), value, options or {}))
            self._known[key] = value
        return self._known[key]

    def _constant(self, numbers: torch.Tensor) -> Value:
        key = (numbers.dtype, tuple(numbers.shape), numbers.numpy().tobytes() if math.prod(numbers.shape) else b"")
        if key not in self._constants:
            name = f"lanes_{len(self._constants)}"
            self._constants[key] = Value(name, tuple(numbers.shape), numbers.dtype, False, numbers.contiguous())
        return self._constants[key]


def _numbers(value: Value) -> torch.Tensor:
    assert value.constant is not None
    return value.constant
