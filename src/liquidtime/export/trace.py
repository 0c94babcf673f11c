"""A pure torch function as a list of simple operations, from which ONNX and C are written.

The function is run once on a batch, and the operations that depend on its inputs are recorded as they are dispatched.
Everything that depends on no input is a constant. Every recorded value has the series on its first axis.
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
"""Number of series in the traced batch: neither 0 nor 1, which would broadcast."""


@dataclass(frozen=True, eq=False)
class Value:
    """The output of an operation, an input, or a constant.

    Args:
        name: name, unique in the graph.
        shape: shape, without the axis of series if the value is `batched`.
        dtype: torch dtype.
        batched: whether there is a separate value for each series.
        constant: the numbers of a constant.
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
        kind: name of the kind.
        inputs: input values.
        output: output value.
        options: numbers that belong to the kind, such as the axis; axes are counted without that of the series.
    """

    kind: str
    inputs: tuple[Value, ...]
    output: Value
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Graph:
    """Operations in an order in which they can be computed.

    Args:
        inputs: values by the names of the arguments of the traced function.
        operations: the operations.
        outputs: values by name; each is the output of an operation.
    """

    inputs: dict[str, Value]
    operations: list[Operation]
    outputs: dict[str, Value]

    def constants(self) -> list[Value]:
        """Return every constant once, in order of use."""
        constants: dict[str, Value] = {}
        for operation in self.operations:
            for value in operation.inputs:
                if value.constant is not None:
                    constants.setdefault(value.name, value)
        return list(constants.values())

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
        function: pure function, elementwise over the series, without branches on data.
        inputs: for each argument, in order, an example tensor of one series, (1, ...).
        outputs: names for the results.

    Raises:
        ValueError: an operation has no counterpart, or mixes series.

    """
    batches = {name: example.repeat(_B, *[1] * (example.dim() - 1)) for name, example in inputs.items()}
    recorder = _Recorder()
    places = {name: recorder.take(name, tensor) for name, tensor in batches.items()}
    with torch.no_grad(), recorder:
        results = function(*batches.values())
    made = [recorder.value_of(result) for result in ((results,) if isinstance(results, Tensor) else results)]
    for value, name in zip(made, outputs, strict=True):
        if not value.batched:
            raise ValueError(f"the output {name!r} does not depend on any input")
    return Graph(places, recorder.operations, dict(zip(outputs, made, strict=True))).needed()


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records everything that is computed from its inputs."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations: list[Operation] = []
        self._values: dict[int, Value] = {}
        self._alive: list[Tensor] = []  # so that no identity is reused
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
        """Record an operation with the output `result`."""
        if result.dim() == 0 or result.shape[0] != _B:
            raise ValueError(f"the operation {kind!r} mixes series or their steps; it cannot be exported")
        output = Value(self._name("v"), tuple(result.shape[1:]), result.dtype, batched=True)
        self.operations.append(Operation(kind, tuple(inputs), output, options))
        self._keep(result, output)
        return output

    def same(self, result: Tensor, value: Value) -> None:
        """Register a result as another name for a value."""
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
