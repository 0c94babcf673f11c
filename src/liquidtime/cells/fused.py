"""Conversion of a cell to the single operation that runs it over a whole sequence, if there is one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
from torch import Tensor, nn

from liquidtime._types import State
from liquidtime.cells.linear import LINEAR
from liquidtime.ops import cfc_scan
from liquidtime.ops.cfc_scan import Form


@dataclasses.dataclass
class Fused:
    """A cell as a scan: its equations, its weights in the order of `cfc_scan`, and the dropout of its backbone."""

    form: Form
    weights: list[Tensor]
    units: int = 0
    dropout: float = 0.0
    recompute: bool = False

    def scan(self, x: Tensor, state: State, dt: Tensor, lengths: Tensor | None) -> tuple[Tensor, State] | None:
        """Return the result of the cell's plain loop, or None if no backend accepts these tensors."""
        draw: Callable[[], Tensor] | None = None
        if any(self.form.masked):

            def draw() -> Tensor:
                count = sum(self.form.masked) * self.form.passes
                masks = x.new_empty(count, x.shape[0], x.shape[1], self.units).bernoulli_(1 - self.dropout)
                return masks if self.dropout == 1 else masks.div_(1 - self.dropout)

        return cfc_scan(x, state, dt, lengths, self.weights, self.form, draw, recompute=self.recompute)


def is_linear(module: nn.Module, products: str) -> bool:
    """Return whether a module is an affine map with these products; its weight may have a parametrization."""
    return type(module).forward is LINEAR[products].forward and isinstance(module, nn.Linear)


def joined(left: nn.Linear, right: nn.Linear) -> Tensor:
    """Return the weights of two maps, of x and of h, as those of one map of [x ; h]."""
    return torch.cat([left.weight, right.weight], dim=1)
