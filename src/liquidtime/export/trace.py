"""A pure torch function as a list of plain operations, from which ONNX and C are written.

The function is run once on a batch, and the operations that its inputs reach are recorded as they are dispatched. What
no input reaches is a constant. Every recorded value has the series on its first axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from liquidtime.export.operations import NORMAL

_B = 2
"""Series in the batch that is traced: neither 0 nor 1, which broadcast."""


@dataclass(frozen=True, eq=False)
class Value:
    """What an operation gives, an input, or a constant.

    Args:
        name: unique in the graph.
        shape: without the axis of series where the value is `batched`.
        dtype: of torch.
        batched: whether there is one for each series.
        constant: the numbers, where it is one.
    """

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    batched: bool
    constant: Tensor | None = None


@dataclass(frozen=True, eq=False)
class Operation:
    """One operation; `liquidtime.export.operations` lists the kinds.

    Args:
        kind: its name.
        inputs: values.
        output: what it gives.
        options: numbers that belong to the kind, such as the axis; axes do not count that of the series.
    """

    kind: str
    inputs: tuple[Value, ...]
    output: Value
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Graph:
    """Operations in the order in which they can be computed.

    Args:
        inputs: by the names of the traced function's arguments.
        operations: one after another.
        outputs: by name; each is a value that an operation gives.
    """

    inputs: dict[str, Value]
    operations: list[Operation]
    outputs: dict[str, Value]

    def constants(self) -> list[Value]:
        """Return every constant once, in the order of use."""
        found: dict[str, Value] = {}
        for operation in self.operations:
            for value in operation.inputs:
                if value.constant is not None:
                    found.setdefault(value.name, value)
        return list(found.values())

    def needed(self) -> Graph:
        """Return the graph without operations that no output needs."""
        wanted = {id(value) for value in self.outputs.values()}
        kept: list[Operation] = []
        for operation in reversed(self.operations):
            if id(operation.output) in wanted:
                kept.append(operation)
                wanted |= {id(value) for value in operation.inputs}
        return Graph(self.inputs, kept[::-1], self.outputs)


def trace(function: Callable[..., Any], inputs: Mapping[str, Tensor], outputs: Sequence[str]) -> Graph:
    """Return the graph of a function.

    Args:
        function: pure, elementwise over the series, without branches on data.
        inputs: for each argument, in order, a tensor of one series, (1, ...), as an example.
        outputs: names for what it returns.

    Raises:
        ValueError: an operation that has no counterpart, or one that mixes series.

    """
    given = {name: example.repeat(_B, *[1] * (example.dim() - 1)) for name, example in inputs.items()}
    recorder = _Recorder()
    places = {name: recorder.take(name, tensor) for name, tensor in given.items()}
    with torch.no_grad(), recorder:
        results = function(*given.values())
    made = [recorder.value_of(result) for result in ((results,) if isinstance(results, Tensor) else results)]
    for value, name in zip(made, outputs, strict=True):
        if not value.batched:
            raise ValueError(f"the output {name!r} does not depend on any input")
    return Graph(places, recorder.operations, dict(zip(outputs, made, strict=True))).needed()


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records what is computed from the tensors that it took."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations: list[Operation] = []
        self._values: dict[int, Value] = {}
        self._alive: list[Tensor] = []  # so that no identity is used twice
        self._numbers = iter(range(1 << 30))

    def take(self, name: str, tensor: Tensor) -> Value:
        value = Value(name, tuple(tensor.shape[1:]), tensor.dtype, batched=True)
        self._keep(tensor, value)
        return value

    def value_of(self, tensor: Tensor) -> Value:
        known = self._values.get(id(tensor))
        if known is None:
            known = Value(self._name("c"), tuple(tensor.shape), tensor.dtype, False, tensor.detach().clone())
            self._keep(tensor, known)
        return known

    def add(self, kind: str, inputs: Sequence[Value], result: Tensor, **options: Any) -> Value:
        """Record an operation that gives `result`."""
        if result.dim() == 0 or result.shape[0] != _B:
            raise ValueError(f"the operation {kind!r} mixes series or their steps; it cannot be exported")
        output = Value(self._name("v"), tuple(result.shape[1:]), result.dtype, batched=True)
        self.operations.append(Operation(kind, tuple(inputs), output, options))
        self._keep(result, output)
        return output

    def same(self, result: Tensor, value: Value) -> None:
        """Take a result as another name of a value."""
        self._keep(result, value)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        flat = [item for arg in (*args, *kwargs.values()) for item in (arg if isinstance(arg, list | tuple) else [arg])]
        reached = [item for item in flat if isinstance(item, Tensor) and self._reaches(item)]
        if not reached:
            return result
        name = func.overloadpacket._qualified_op_name.replace("::", ".")
        normal = NORMAL.get(name)
        if normal is None:
            raise ValueError(
                f"the network computes {name!r}, which has no counterpart outside PyTorch yet; it cannot be exported. "
                "Use another network, such as 'cfc'."
            )
        normal(self, args, kwargs, result)
        return result

    def _reaches(self, tensor: Tensor) -> bool:
        value = self._values.get(id(tensor))
        return value is not None and value.batched

    def _keep(self, tensor: Tensor, value: Value) -> None:
        self._alive.append(tensor)
        self._values[id(tensor)] = value

    def _name(self, letter: str) -> str:
        return f"{letter}{next(self._numbers)}"
