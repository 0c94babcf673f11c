"""From a cell to the one operation that runs it over a whole sequence, where there is one."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor, nn
from torch.nn.modules import module as module_hooks

from liquidtime._types import State
from liquidtime.cells.linear import LINEAR
from liquidtime.ops.cfc_scan import Form, cfc_scan_native
from liquidtime.ops.fitness import Way, way_for


@dataclasses.dataclass
class Fused:
    """A cell as a scan: its equations, its weights as `cfc_scan` takes them, and the dropout of its backbone."""

    form: Form
    weights: list[Tensor]
    units: int = 0
    dropout: float = 0.0
    recompute: bool = False

    def scan(self, x: Tensor, state: State, dt: Tensor, lengths: Tensor | None) -> tuple[Tensor, State] | None:
        """Return what the cell's plain loop gives, or None where no kernel can take these tensors."""
        way = way_for(x, dt, *state, *self.weights)
        if way is Way.REFERENCE:
            return None
        masks = None
        if any(self.form.masked):
            count = sum(self.form.masked) * self.form.passes
            masks = x.new_empty(count, x.shape[0], x.shape[1], self.units)
            masks = masks.bernoulli_(1 - self.dropout).div_(1 - self.dropout)
        traced = way is Way.TRACED
        return cfc_scan_native(
            x, state, dt, lengths, self.weights, self.form, masks, recompute=self.recompute, traced=traced
        )


def is_plain(module: nn.Module) -> bool:
    """Return whether a module and all inside do what their class says: no hooks, and every linear map is one.

    A hook must see every step, and a map that was replaced may compute anything, so both need the plain loop.
    """
    if module_hooks._global_forward_hooks or module_hooks._global_forward_pre_hooks:
        return False
    for part in module.modules():
        if part._forward_hooks or part._forward_pre_hooks or part._backward_hooks or part._backward_pre_hooks:
            return False
    return True


def is_linear(module: nn.Module, products: str) -> bool:
    """Return whether a module's forward is that of a linear map with these products."""
    return type(module).forward is LINEAR[products].forward


def joined(left: nn.Linear, right: nn.Linear) -> Tensor:
    """Return the weights of two maps of x and h as those of one map of [x ; h]."""
    return torch.cat([left.weight, right.weight], dim=1)
