"""8-bit weights, and the weights that they represent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from liquidtime.export.trace import Graph, Operation, Value


@dataclass(frozen=True)
class Quantised:
    """An 8-bit matrix: weight = scale of its row, or of its group of rows, times a whole number in -127…127.

    Args:
        codes: (n, m) int8.
        scales: (n,) for rows, or (groups,).
        group: (n,) group of each row.
    """

    codes: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]
    group: npt.NDArray[np.int64]

    @staticmethod
    def of(weights: Tensor, group: npt.NDArray[np.int64]) -> Quantised:
        """Quantise a matrix (n, m) with one scale for each group of rows."""
        table = weights.double().numpy()
        largest = np.zeros(int(group.max(initial=-1)) + 1)
        np.maximum.at(largest, group, np.abs(table).max(axis=1, initial=0.0))
        scales = np.where(largest > 0, largest / 127.0, 1.0).astype(np.float32)
        codes = np.rint(table / scales[group][:, None]).clip(-127, 127).astype(np.int8)
        return Quantised(codes, scales, group)

    def weights(self) -> Tensor:
        """Return the matrix that the codes represent."""
        return torch.from_numpy(self.codes.astype(np.float32) * self.scales[self.group][:, None])


def quantised(graphs: list[Graph]) -> dict[int, Quantised]:
    """Quantise the matrices of products and read-out tables, and return them by the identity of their values.

    A product has one scale per row, a table one per column that it reads.
    """
    matrices: dict[int, Quantised] = {}
    for graph in graphs:
        for operation in graph.operations:
            if operation.kind == "linear":
                weight = _constant(operation.inputs[1])
                matrices[id(operation.inputs[1])] = Quantised.of(weight, np.arange(len(weight)))
            elif operation.kind == "interpolate":
                corners, rows = (_constant(value) for value in operation.inputs[5:])
                group = np.searchsorted(corners.numpy(), np.arange(len(rows)), side="right") - 1
                matrices[id(operation.inputs[6])] = Quantised.of(rows, group)
    return matrices


def with_weights(graph: Graph, matrices: Mapping[int, Quantised]) -> Graph:
    """Return a graph with the weights that 8 bits represent."""
    values = {
        place: Value(f"quantised_{place}", tuple(matrix.codes.shape), torch.float32, False, matrix.weights())
        for place, matrix in matrices.items()
    }
    operations = [
        Operation(made.kind, tuple(values.get(id(value), value) for value in made.inputs), made.output, made.options)
        for made in graph.operations
    ]
    return Graph(graph.inputs, operations, graph.outputs)


def _constant(value: Value) -> Tensor:
    assert value.constant is not None
    return value.constant
