"""Computes a traced graph with torch, as a reference for its ONNX and C versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from liquidtime.estimators.network.table import interpolate
from liquidtime.export.trace import Graph, Operation, Value

_PLAIN: dict[str, Callable[..., Tensor]] = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "max": torch.maximum, "min": torch.minimum,
    "neg": torch.neg, "abs": torch.abs, "exp": torch.exp, "log": torch.log, "tanh": torch.tanh,
    "sigmoid": torch.sigmoid, "softplus": torch.nn.functional.softplus, "relu": torch.relu, "erf": torch.erf,
    "sqrt": torch.sqrt, "floor": torch.floor, "sin": torch.sin, "cos": torch.cos,
    "eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le,
    "gt": torch.gt, "ge": torch.ge, "and": torch.logical_and, "or": torch.logical_or, "not": torch.logical_not,
    "where": torch.where, "linear": torch.nn.functional.linear, "interpolate": interpolate,
}  # fmt: skip


def run(graph: Graph, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the outputs of a graph for B series, (B, ...) each."""
    B = len(next(iter(inputs.values())))
    known: dict[int, Tensor] = {id(value): inputs[name] for name, value in graph.inputs.items()}

    def tensor_of(value: Value) -> Tensor:
        return known[id(value)] if value.constant is None else value.constant

    with torch.inference_mode():
        for operation in graph.operations:
            known[id(operation.output)] = _computed(operation, [tensor_of(value) for value in operation.inputs], B)
    return {name: known[id(value)] for name, value in graph.outputs.items()}


def _computed(operation: Operation, inputs: list[Tensor], B: int) -> Tensor:
    kind, output = operation.kind, operation.output
    options: Mapping[str, Any] = operation.options
    if kind in _PLAIN:
        return _PLAIN[kind](*inputs)
    x = inputs[0]
    if kind == "cast":
        return x.to(output.dtype)
    if kind == "linears":
        products = torch.einsum("blm,lnm->bln", x, inputs[1])
        return products + inputs[2] if len(inputs) > 2 else products
    if kind == "sum":
        return x.sum(dim=options["axis"] + 1, keepdim=options["keep"])
    if kind == "softmax":
        return x.softmax(dim=-1)
    if kind == "concat":
        parts = [
            part if value.batched else part.expand(B, *part.shape)
            for part, value in zip(inputs, operation.inputs, strict=True)
        ]
        return torch.cat(parts, dim=options["axis"] + 1)
    if kind == "slice":
        return x.narrow(options["axis"] + 1, options["start"], options["stop"] - options["start"])
    if kind == "take":
        return x[..., torch.tensor(options["index"])]
    if kind == "reshape":
        return x.reshape(-1, *output.shape)
    assert kind == "fill", kind
    return torch.full((B, *output.shape), options["number"], dtype=output.dtype)
