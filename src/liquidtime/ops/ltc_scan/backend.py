"""The interface of a backend of the scan: its runs, their inputs and their outputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from liquidtime._checks import check_choice, check_size
from liquidtime.ops.dispatch import Backends
from liquidtime.ops.ltc_scan.graph import SOLVERS, Graph
from liquidtime.ops.shapes import check_part, check_parts, check_samples


class Inputs(NamedTuple):
    """Inputs of a scan."""

    x: Tensor  # (B, T, D)
    v0: Tensor  # (B, H)
    dt: Tensor  # (B, T)
    lengths: Tensor | None  # (B,)
    parameters: Sequence[Tensor]  # in the order of `ltc_scan`
    sensory: Graph
    recurrent: Graph
    unfolds: int
    solver: str


class Outputs(NamedTuple):
    """Results of a forward run: potentials, the last ones, and opaque data for its backward run."""

    y: Tensor  # (B, T, H), 0 past the end of a row
    vn: Tensor  # (B, H)
    saved: Tensor | None


class Gradients(NamedTuple):
    """Results of a backward run; None for gradients that were not requested."""

    x: Tensor | None
    v0: Tensor
    dt: Tensor | None
    parameters: list[Tensor]


class Backend(ABC):
    """Runs scans on the devices that it lists. It is registered once: `BACKENDS.register(YourBackend())`.

    A backend refuses types that it does not support, and training if it has no backward run; such a scan runs in the
    plain loop.
    """

    devices: tuple[str, ...]

    @abstractmethod
    def refusal(self, inputs: Inputs, training: bool) -> str | None:
        """Return why this scan is refused, or None if not. It is also called while tracing, so it reads no values."""

    @abstractmethod
    def saved_like(self, inputs: Inputs) -> Tensor:
        """Return an uninitialised tensor like the one that a forward run with these inputs saves."""

    @abstractmethod
    def forward(self, inputs: Inputs, save: bool, *, zeroed: bool = False) -> Outputs:
        """Run forward. Shapes, types and devices have been checked; numbers, lengths, synapses and memory have not.

        Args:
            inputs: inputs of the scan.
            save: whether a backward run will follow.
            zeroed: whether the saved data are returned to a caller, and so must not differ from run to run.

        Raises:
            ValueError: an interval that is negative, NaN or infinite, or a length outside 0…T.

        """

    def backward(
        self, inputs: Inputs, saved: Tensor, dy: Tensor | None, dvn: Tensor | None, need_dx: bool, need_ddt: bool
    ) -> Gradients:
        """Run backward from the gradients of y and of the last potentials; None is 0."""
        raise NotImplementedError(f"{type(self).__name__} has no backward run, so it must refuse training")


BACKENDS: Backends[Backend] = Backends()


def check_inputs(inputs: Inputs) -> None:
    """Refuse inputs that do not fit each other.

    Raises:
        ValueError: a shape, the solver or the number of steps does not fit.
        TypeError: a type or device does not fit.

    """
    x, v0, dt, lengths, parameters, sensory, recurrent, unfolds, solver = inputs
    B, _, _ = check_samples(x, dt, lengths)
    if v0.dim() != 2 or v0.shape[1] < 1:
        raise ValueError(f"`v0` must have shape (B, H) with H at least 1; got {tuple(v0.shape)}")
    H = v0.shape[1]
    check_part("v0", v0, (B, H), x)
    check_choice("solver", solver, SOLVERS)
    check_size("unfolds", unfolds)
    for name, graph in (("sensory", sensory), ("recurrent", recurrent)):
        for part in graph:
            if part.dtype is not torch.int64 or part.device != x.device or part.dim() != 1:
                raise TypeError(f"`{name}` must be int64 vectors on {x.device}; got {part.dtype} on {part.device}")
        if graph.post.shape != graph.pre.shape or graph.first.shape != (H + 1,):
            raise ValueError(f"`{name}` must be synapses onto {H} neurons; got {[tuple(part.shape) for part in graph]}")
    shapes = [sensory.pre.shape] * 4 + [recurrent.pre.shape] * 4 + [(H,)] * 3
    check_parts("parameters", parameters, shapes, x)
