"""The short way of a layer: one call into the kernel, with as few checks as are needed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as module_hooks

from liquidtime._types import HiddenState
from liquidtime.cells import Cell, HeadedCell, MixedMemory
from liquidtime.cells.fused import Fused
from liquidtime.ops.cfc_scan.native import Scan
from liquidtime.ops.cfc_scan.runs import BadIntervalError, Inputs, run_forward
from liquidtime.ops.cfc_scan.step import Stepper
from liquidtime.ops.fitness import Way, can_call_straight, way_for

_HOOKS = ("_forward_hooks", "_forward_pre_hooks")
_BACKWARD_HOOKS = ("_backward_hooks", "_backward_pre_hooks")  # which without gradients are never called


def _is_dense(part: object, shape: tuple[int, ...], dtype: torch.dtype) -> bool:
    if type(part) is not Tensor or part.shape != shape or part.dtype is not dtype:
        return False
    return part.is_contiguous() and part.is_cpu


class Quick:
    """A layer's cells as the kernel takes them, and what must not have changed since.

    It watches every submodule, hook and tensor of the cells, for single steps, whose weights are packed, also the
    tensors' storage and version, and looks at the cells again when one is another. Copies of a layer start with an
    empty one.
    """

    def __init__(self) -> None:
        self._fused: list[Fused] = []
        self._own_weights = False  # whether the only cell's scan is on its parameters themselves
        self._stepper: Stepper | None = None
        self._watched: list[tuple[dict[str, Any], str, Tensor | nn.Module]] = []
        self._tensors: list[Tensor] = []
        self._numbers: list[tuple[Tensor, int, int]] = []
        self._hooks: list[dict[int, Any]] = []
        self._backward_hooks: list[dict[int, Any]] = []
        self._dropouts: list[nn.Dropout] = []

    def __reduce__(self) -> tuple[type[Quick], tuple[()]]:
        return Quick, ()

    def scan(
        self, layer: nn.Module, x: object, h0: HiddenState | None, dt: object
    ) -> tuple[Tensor, HiddenState] | None:
        """Run over whole sequences, or return None where the plain way must be taken.

        Args:
            layer: whose only cell runs forward.
            x: (B, T, D).
            h0: as `Recurrent.forward` takes it.
            dt: (B, T); any other form of it takes the plain way.

        """
        if type(x) is not Tensor or type(dt) is not Tensor or not can_call_straight():
            return None
        same = self._fused and self._is_unchanged() and not any(self._backward_hooks)
        if not same and not self._look_at(layer.cells):  # type: ignore[arg-type]
            return None
        if not self._own_weights:
            return None
        fused, dtype, shape = self._fused[0], x.dtype, x.shape
        form, weights = fused.form, fused.weights
        if len(shape) != 3 or shape[2] != layer.input_size or dt.shape != shape[:2] or dt.dtype is not dtype:
            return None
        if not x.is_cpu or not dt.is_cpu:
            return None
        for w in weights:
            if w.dtype is not dtype or not w.is_cpu:
                return None
        H = weights[2 * form.layers + 1].shape[0] // form.heads
        if h0 is None:
            first = x.new_zeros(shape[0], H)
        elif type(h0) is Tensor and h0.shape == (1, shape[0], H) and h0.dtype is dtype and h0.is_cpu:
            first = h0[0]
        else:
            return None
        try:
            if torch.is_grad_enabled():
                y, hn, _ = Scan.apply(form, True, x, first, None, dt, None, None, *weights)  # type: ignore[no-untyped-call]
            else:
                inputs = Inputs(x, first, None, dt, None, weights, None)
                y, hn, _, _ = run_forward(form, inputs, False, False, check=True)
        except BadIntervalError:
            return None
        return y, hn.unsqueeze(0)

    def step(
        self, layer: nn.Module, x: object, h: HiddenState | None, dt: Tensor | float | None
    ) -> tuple[Tensor, HiddenState] | None:
        """Take one step without gradients, or return None where the plain way must be taken.

        Args:
            layer: whose `cells` are one of each layer.
            x: (B, D).
            h: as `Recurrent.step` takes it.
            dt: as `Recurrent.step` takes it.

        """
        if not can_call_straight() or type(x) is not Tensor:
            return None
        stepper = self._stepper
        if stepper is None or not self._is_unchanged() or not self._has_same_numbers():
            if not self._look_at(layer.cells):  # type: ignore[arg-type]
                return None
            stepper = self._pack(layer.cells)  # type: ignore[arg-type]
        dtype, shape = stepper.dtype, x.shape
        if len(shape) != 2 or shape[1] != stepper.D or x.dtype is not dtype or not x.is_contiguous() or not x.is_cpu:
            return None
        rows = shape[0]
        state = (stepper.layers, rows, stepper.H)
        first, memory = h, None
        if stepper.remembers and h is not None:
            if type(h) is not tuple or len(h) != 2:
                return None
            first, memory = h
            if not _is_dense(memory, state, dtype):
                return None
        if first is not None and not _is_dense(first, state, dtype):
            return None
        if dt is None:
            dt = 1.0
        elif type(dt) is int:
            dt = float(dt)
        elif type(dt) is not float and not _is_dense(dt, (rows,), dtype):
            return None
        done = stepper.step(x, first, memory, dt)  # type: ignore[arg-type]
        if done is None:
            return None
        y, hn, mn = done
        return y, hn if mn is None else (hn, mn)

    def _is_unchanged(self) -> bool:
        try:
            for owner, name, part in self._watched:
                if owner[name] is not part:
                    return False
        except KeyError:  # such as a parameter that became a parametrization's
            return False
        for dropout in self._dropouts:
            if dropout.p and dropout.training:
                return False
        return not (any(self._hooks) or module_hooks._global_forward_hooks or module_hooks._global_forward_pre_hooks)

    def _has_same_numbers(self) -> bool:
        for tensor, pointer, version in self._numbers:
            if tensor._version != version or tensor.data_ptr() != pointer:
                return False
        return True

    def _look_at(self, cells: nn.ModuleList) -> bool:
        """Look at the cells anew, and return whether the kernel can take them."""
        self._fused, self._stepper = [], None
        found = []
        for cell in cells:
            fused = cell.fused() if isinstance(cell, HeadedCell | MixedMemory) else None
            if fused is None or any(fused.form.masked):
                return False
            if way_for(*(w.detach() for w in fused.weights)) is not Way.EAGER:
                return False
            found.append(fused)
        if any(part.form != found[0].form for part in found):
            return False
        modules = list(cells.modules())
        self._watched = [
            (owner, name, part)
            for module in modules
            for owner in (module._parameters, module._buffers, module._modules)
            for name, part in owner.items()
            if part is not None
        ]
        self._tensors = [part for _, _, part in self._watched if isinstance(part, Tensor)]
        self._hooks = [getattr(module, name) for module in modules for name in _HOOKS]
        self._backward_hooks = [getattr(module, name) for module in modules for name in _BACKWARD_HOOKS]
        self._dropouts = [module for module in modules if isinstance(module, nn.Dropout)]
        self._fused = found
        known = {id(tensor) for tensor in self._tensors}
        own = all(id(w) in known for w in found[0].weights) and not found[0].form.remembers
        self._own_weights = len(found) == 1 and own and not found[0].recompute
        return True

    def _pack(self, cells: nn.ModuleList) -> Stepper:
        self._numbers = [(tensor, tensor.data_ptr(), tensor._version) for tensor in self._tensors]
        weights = [[w.detach() for w in part.weights] for part in self._fused]
        inputs = [cell.input_size for cell in cells if isinstance(cell, Cell)]
        self._stepper = Stepper(self._fused[0].form, weights, inputs)
        return self._stepper
