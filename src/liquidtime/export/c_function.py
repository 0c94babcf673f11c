"""A traced graph as the body of a C function: elementwise operations as loops, others as calls of the runtime."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch

from liquidtime.export.c_constants import Constants, literal
from liquidtime.export.operations import ELEMENTWISE
from liquidtime.export.trace import Graph, Operation, Value

_TYPES = {torch.float32: "float", torch.float64: "double", torch.bool: "uint8_t"}
_BYTES = {"float": 4, "double": 8, "uint8_t": 1}
_VIEWS = frozenset({"slice", "reshape", "take"})
_CHEAP = frozenset({"cast", "fill", "not"})
_WHOLE = frozenset({"linear", "interpolate", "softmax"})  # these read their first input as an array
_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">",
    "ge": ">=", "and": "&&", "or": "||",
}  # fmt: skip
_CALLS = {"max": "lt_max", "min": "lt_min", "abs": "lt_abs"}
_FLOAT_CALLS = {
    "exp": "lt_expf",
    "tanh": "lt_tanhf",
    "sigmoid": "lt_sigmoidf",
    "softplus": "lt_softplusf",
    "erf": "lt_erff",
    "sin": "lt_sinf",
    "cos": "lt_cosf",
}
_NEEDS = {
    "exp": "exp",
    "tanh": "exp",
    "sigmoid": "exp",
    "softplus": "softplus",
    "erf": "erf",
    "log": "log",
    "sin": "sin",
    "cos": "sin",
}


@dataclass
class Body:
    """The body of a function.

    Args:
        lines: statements.
        scratch: for each C type, how many numbers of it are on the stack.
        needs: parts of the runtime that it calls.
    """

    lines: list[str] = field(default_factory=list)
    scratch: dict[str, int] = field(default_factory=dict)
    needs: set[str] = field(default_factory=set)

    @property
    def nbytes(self) -> int:
        """Bytes of scratch memory."""
        return sum(_BYTES[kind] * count for kind, count in self.scratch.items())


class FunctionWriter:
    """Writes the body of one function.

    Args:
        graph: graph of the computation, for one series.
        inputs: C expressions of the arrays of the graph's inputs (or of the number, for a single number).
        outputs: C expressions of the arrays to which the outputs are written.
        constants: constants of the file.
    """

    def __init__(
        self, graph: Graph, inputs: Mapping[str, str], outputs: Mapping[str, str], constants: Constants
    ) -> None:
        self._graph, self._constants = graph, constants
        self._arrays: dict[int, str] = {id(value): inputs[name] for name, value in graph.inputs.items()}
        self._makers = {id(operation.output): operation for operation in graph.operations}
        self._wanted = {id(value): outputs[name] for name, value in graph.outputs.items()}
        self._statements: list[tuple[list[str], set[str]]] = []
        self._sizes: dict[str, tuple[str, int]] = {}
        self._reads: set[str] = set()
        self._body = Body()
        self._stored = self._find_stored()

    def write(self) -> Body:
        """Return the body."""
        for operation in self._graph.operations:
            if id(operation.output) in self._stored:
                self._store(operation)
        for name, value in self._graph.outputs.items():
            target = self._wanted[id(value)]
            if self._arrays.get(id(value)) != target:
                raise ValueError(f"the output {name!r} is not computed by an operation of its own")
        self._place()
        return self._body

    def _find_stored(self) -> set[int]:
        """Return the values that are stored in memory; the others are written into the loops that use them."""
        uses: dict[int, int] = {}
        stored = set(self._wanted)
        for operation in self._graph.operations:
            kind, wide = operation.kind, math.prod(operation.output.shape)
            whole = kind in _WHOLE or (
                kind == "reshape" and not _only_ones(operation.inputs[0].shape, operation.output.shape)
            )
            if kind not in ELEMENTWISE | _VIEWS | {"fill"}:
                stored.add(id(operation.output))
            for position, value in enumerate(operation.inputs):
                if whole and position == 0 and id(value) in self._makers:
                    stored.add(id(value))
                root = self._root(value)
                if root is None or kind in _VIEWS | _CHEAP:
                    continue
                uses[id(root)] = uses.get(id(root), 0) + 1
                if uses[id(root)] > 1 or (math.prod(root.shape) < wide and kind in ELEMENTWISE):
                    stored.add(id(root))
        return stored

    def _root(self, value: Value) -> Value | None:
        """Return the value at the start of a chain of views and casts; None if no operation computes it."""
        maker = self._makers.get(id(value))
        while maker is not None and maker.kind in _VIEWS | _CHEAP and maker.kind != "fill":
            value = maker.inputs[0]
            maker = self._makers.get(id(value))
        return None if maker is None or maker.kind == "fill" else value

    def _store(self, operation: Operation) -> None:
        value, kind = operation.output, _TYPES[operation.output.dtype]
        self._reads = set()
        target = self._wanted.get(id(value))
        if target is None:
            target = f"@{len(self._sizes)}@"
            self._sizes[target] = (kind, math.prod(value.shape))
        lines = self._computed(operation, target)
        self._arrays[id(value)] = target
        self._statements.append((lines, self._reads | {target}))

    def _computed(self, operation: Operation, target: str) -> list[str]:
        """Return the statements that write the output of an operation."""
        value, inputs = operation.output, operation.inputs
        n = math.prod(value.shape)
        if operation.kind == "linear":
            start = self._loop(
                value.shape, lambda at: f"{target}[{_flat(at, value.shape)}] = {self._bias(inputs, at)};"
            )
            weight, size = inputs[1], inputs[1].shape
            quantised = self._constants.quantised.get(id(weight))
            if quantised is not None:
                self._body.needs.add("linear_q")
                codes, scales = (
                    self._constants.array("int8_t", quantised.codes),
                    self._constants.array("float", quantised.scales),
                )
                return [
                    *start,
                    f"lt_linear_q({codes}, {scales}, {self._array(inputs[0])}, {target}, {size[0]}, {size[1]});",
                ]
            self._body.needs.add("linear")
            assert weight.constant is not None
            weights = self._constants.array("float", weight.constant.numpy())
            return [*start, f"lt_linear({weights}, {self._array(inputs[0])}, {target}, {size[0]}, {size[1]});"]
        if operation.kind == "interpolate":
            return self._interpolated(operation, target)
        if operation.kind == "softmax":
            self._body.needs.add("softmax")
            return [f"lt_softmax({self._array(inputs[0])}, {target}, {n});"]
        if operation.kind == "sum":
            return self._summed(operation, target)
        if operation.kind == "concat":
            lines, axis, begin = [], operation.options["axis"], 0
            for part in inputs:

                def moved(at: list[str], part: Value = part, begin: int = begin) -> str:
                    place = [f"{index} + {begin}" if k == axis and begin else index for k, index in enumerate(at)]
                    return f"{target}[{_flat(place, value.shape)}] = {self._expression(part, at)};"

                lines += self._loop(part.shape, moved)
                begin += part.shape[axis]
            return lines
        return self._loop(value.shape, lambda at: f"{target}[{_flat(at, value.shape)}] = {self._inner(operation, at)};")

    def _bias(self, inputs: tuple[Value, ...], at: list[str]) -> str:
        return self._expression(inputs[2], at) if len(inputs) > 2 else "0.0f"

    def _summed(self, operation: Operation, target: str) -> list[str]:
        x, axis, output = operation.inputs[0], operation.options["axis"], operation.output
        lines = self._loop(output.shape, lambda at: f"{target}[{_flat(at, output.shape)}] = 0;")

        def added(at: list[str]) -> str:
            place = [index for k, index in enumerate(at) if k != axis]
            if operation.options["keep"]:
                place.insert(axis, "0")
            return f"{target}[{_flat(place, output.shape)}] += {self._expression(x, at)};"

        return lines + self._loop(x.shape, added)

    def _interpolated(self, operation: Operation, target: str) -> list[str]:
        seen, _, pieces, low, width, _, rows = operation.inputs
        assert pieces.constant is not None
        assert low.constant is not None
        assert width.constant is not None
        assert rows.constant is not None
        first = [*pieces.constant.tolist(), len(low.constant)]
        names = [
            self._array(seen),
            self._constants.array("uint32_t", first),
            self._constants.array("float", low.constant.numpy()),
            self._constants.array("float", width.constant.numpy()),
        ]
        quantised = self._constants.quantised.get(id(rows))
        clear = f"for (int i = 0; i < {rows.shape[1]}; i++) {target}[i] = 0.0f;"
        sizes = f"{target}, {len(first) - 1}, {rows.shape[1]}"
        if quantised is None:
            self._body.needs.add("interpolate")
            table = self._constants.array("float", rows.constant.numpy())
            return [clear, f"lt_interpolate({', '.join(names)}, {table}, {sizes});"]
        self._body.needs.add("interpolate_q")
        codes, scales = (
            self._constants.array("int8_t", quantised.codes),
            self._constants.array("float", quantised.scales),
        )
        return [clear, f"lt_interpolate_q({', '.join(names)}, {codes}, {scales}, {sizes});"]

    def _array(self, value: Value) -> str:
        """Return the array of a value that is stored in memory."""
        if value.constant is not None:
            return self._constants.array(_TYPES[value.dtype], value.constant.numpy())
        name = self._arrays[id(value)]
        self._reads.add(name)
        return name

    def _expression(self, value: Value, at: Sequence[str]) -> str:
        """Return C code for one number of a value, at an index for each of its axes."""
        if value.constant is not None:
            kind = _TYPES[value.dtype]
            if value.constant.numel() == 1:
                return literal(value.constant.item(), kind)
            return f"{self._constants.array(kind, value.constant.numpy())}[{_flat(at, value.shape)}]"
        if id(value) in self._arrays:
            name = self._array(value)
            return f"{name}[{_flat(at, value.shape)}]" if value.shape or name.startswith("@") else name
        return self._inner(self._makers[id(value)], at)

    def _inner(self, operation: Operation, at: Sequence[str]) -> str:
        kind, inputs, output, options = operation.kind, operation.inputs, operation.output, operation.options
        if kind == "fill":
            return literal(options["number"], _TYPES[output.dtype])
        if kind == "slice":
            place = list(at)
            start = options["start"]
            place[options["axis"]] += f" + {start}" if start else ""
            return self._expression(inputs[0], place)
        if kind == "take":
            index = self._constants.places(options["index"])
            return self._expression(inputs[0], [*at[:-1], f"{index}[{at[-1]}]"])
        if kind == "reshape":
            return self._reshaped(inputs[0], output, at)
        terms = [self._expression(value, _broadcast(at, value.shape)) for value in inputs]
        return self._term(kind, inputs, output, terms)

    def _term(self, kind: str, inputs: tuple[Value, ...], output: Value, terms: list[str]) -> str:
        """Return C code for an elementwise operation on one number of each input."""
        double = inputs[-1].dtype == torch.float64
        if kind in _NEEDS:
            self._body.needs.add(_NEEDS[kind])
        if kind in _BINARY:
            return f"({terms[0]} {_BINARY[kind]} {terms[1]})"
        if kind == "where":
            return f"({terms[0]} ? {terms[1]} : {terms[2]})"
        if kind == "cast":
            if inputs[0].dtype == torch.bool:
                one, zero = literal(1, _TYPES[output.dtype]), literal(0, _TYPES[output.dtype])
                return f"({terms[0]} ? {one} : {zero})"
            return f"({_TYPES[output.dtype]})({terms[0]})"
        if kind in ("neg", "not"):
            return f"({'-' if kind == 'neg' else '!'}{terms[0]})"
        if kind in _CALLS:
            return f"{_CALLS[kind]}{'' if double else 'f'}({', '.join(terms)})"
        if kind == "relu":
            return f"lt_max({terms[0]}, 0.0)" if double else f"lt_maxf({terms[0]}, 0.0f)"
        if kind in ("sqrt", "floor"):
            return f"LT_{kind.upper()}({terms[0]})" if double else f"(float)LT_{kind.upper()}((double)({terms[0]}))"
        if kind == "log":
            return f"lt_log({terms[0]})" if double else f"(float)lt_log((double)({terms[0]}))"
        if double:
            raise ValueError(f"{kind!r} in double precision has no counterpart in C; it cannot be exported")
        return f"{_FLOAT_CALLS[kind]}({terms[0]})"

    def _reshaped(self, source: Value, output: Value, at: Sequence[str]) -> str:
        if _only_ones(source.shape, output.shape):
            kept = iter(index for index, size in zip(at, output.shape, strict=True) if size != 1)
            return self._expression(source, [next(kept) if size != 1 else "0" for size in source.shape])
        return f"{self._array(source)}[{_flat(at, output.shape)}]"

    def _loop(self, shape: tuple[int, ...], inside: object) -> list[str]:
        """Return loops over every axis longer than 1, around the statement that `inside` returns for the indices."""
        at, lines = [], []
        for axis, size in enumerate(shape):
            name = "ijkl"[axis]
            at.append(name if size != 1 else "0")
            if size != 1:
                lines.append(f"for (int {name} = 0; {name} < {size}; {name}++)")
        assert callable(inside)
        statement = inside(at)
        return [" ".join([*lines, statement])]

    def _place(self) -> None:
        """Assign each stored value a place on the stack, reusing the place of values that are no longer read."""
        last: dict[str, int] = {}
        for number, (_, names) in enumerate(self._statements):
            last |= {name: number for name in names if name in self._sizes}
        free: dict[str, list[tuple[int, int]]] = {}
        places: dict[str, str] = {}
        holds: dict[str, tuple[str, int, int]] = {}
        for number, (lines, names) in enumerate(self._statements):
            for name in sorted(names & set(self._sizes) - set(places)):
                kind, size = self._sizes[name]
                begin = _allocated(free.setdefault(kind, []), size, self._body.scratch, kind)
                places[name], holds[name] = f"(w{kind[0]} + {begin})", (kind, begin, size)
            for line in lines:
                self._body.lines.append(_with_places(line, places))
            for name in [name for name in holds if last[name] == number]:
                kind, begin, size = holds.pop(name)
                free[kind] = _merged([*free[kind], (begin, size)])


def _allocated(free: list[tuple[int, int]], size: int, scratch: dict[str, int], kind: str) -> int:
    """Return a position where `size` numbers fit, in the smallest sufficient hole or at the end."""
    holes = [hole for hole in free if hole[1] >= size]
    if holes:
        begin, room = min(holes, key=lambda hole: hole[1])
        free.remove((begin, room))
        if room > size:
            free.append((begin + size, room - size))
        return begin
    begin = scratch.get(kind, 0)
    scratch[kind] = begin + size
    return begin


def _merged(holes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for begin, size in sorted(holes):
        if joined and joined[-1][0] + joined[-1][1] == begin:
            joined[-1] = (joined[-1][0], joined[-1][1] + size)
        else:
            joined.append((begin, size))
    return joined


def _with_places(line: str, places: Mapping[str, str]) -> str:
    parts = line.split("@")
    return "".join(part if k % 2 == 0 else places[f"@{part}@"] for k, part in enumerate(parts))


def _flat(at: Sequence[str], shape: tuple[int, ...]) -> str:
    """Return the memory position of an index."""
    terms, stride = [], 1
    for index, size in zip(reversed(at), reversed(shape), strict=True):
        if index != "0":
            terms.append(index if stride == 1 else f"({index}) * {stride}")
        stride *= size
    return " + ".join(reversed(terms)) or "0"


def _broadcast(at: Sequence[str], shape: tuple[int, ...]) -> list[str]:
    """Return the index of an operand for the index `at` of the result."""
    own = list(at)[len(at) - len(shape) :] if shape else []
    return ["0" if size == 1 else index for index, size in zip(own, shape, strict=True)]


def _only_ones(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return [size for size in one if size != 1] == [size for size in other if size != 1]
